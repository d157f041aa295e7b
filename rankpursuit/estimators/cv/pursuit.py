"""The pursuits with one function, with the length of their path and its parameters chosen."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field
from functools import partial
from typing import ClassVar

import numpy as np

from rankpursuit.estimators._constraints import (
    NONE,
    SEED,
    Choice,
    Constraints,
    Number,
    Several,
    Whole,
)
from rankpursuit.estimators._kernels import Array
from rankpursuit.estimators._parameters import RandomState, parameters
from rankpursuit.estimators._pursuit_base import draw_candidates
from rankpursuit.estimators.cv._base import RankerCV, Staged
from rankpursuit.estimators.cv._docs import documented
from rankpursuit.estimators.cv._problem import (
    PENALTIES,
    Axis,
    Gammas,
    Numbers,
    Problem,
    columns_at_most,
)
from rankpursuit.estimators.pursuit import (
    CombinedRankingRegressionPursuit,
    KernelMatchingPursuit,
    RankingPursuit,
)
from rankpursuit.preferences import Blend, Preferences
from rankpursuit.solvers import pursue_held_out
from rankpursuit.solvers.folds import FormOf, Indices
from rankpursuit.solvers.pursuit import Fitting

_MOST = 100


@parameters
class _PursuitCV(Staged):
    """Base of the pursuits with one function."""

    n_basis: int | None = field(default=None, kw_only=False)
    ridges: Numbers = PENALTIES
    fitting: Fitting = "backfit"
    n_candidates: int | None = 1000
    random_state: RandomState = None

    _constraints: ClassVar[Constraints] = {
        "n_basis": (Whole(1), NONE),
        "ridges": (Several(Number(low=0.0)),),
        "fitting": (Choice.of(Fitting),),
        "n_candidates": (Whole(1), NONE),
        "random_state": SEED,
    }

    def _candidates(self, problem: Problem) -> Indices:
        return draw_candidates(len(problem.y), self.n_candidates, problem.seed)

    def _axes(self, problem: Problem) -> dict[str, Axis]:
        candidates = self._candidates(problem)
        available = min(np.isin(candidates, train).sum() for train, _ in problem.splits)
        most = columns_at_most(self.n_basis, _MOST, int(available), "raise n_candidates or cv")
        return {
            "ridge": np.asarray(self.ridges, dtype=np.float64),
            "n_basis": np.arange(1, most + 1),
        }

    def _room(self, problem: Problem, axes: Mapping[str, Axis]) -> int:
        n_points, n_candidates = len(problem.y), len(self._candidates(problem))
        n_squares = len(problem.splits) + 2 + len(axes["ridge"])
        of_path = len(axes["n_basis"]) * (n_points + n_candidates) * len(axes["ridge"])
        return n_points * n_candidates + n_squares * n_candidates**2 + of_path

    def _held_out(
        self, problem: Problem, gammas: Gammas, axes: Mapping[str, Axis]
    ) -> Iterable[Array]:
        columns = self._columns(problem, gammas)
        return self._follow(problem, columns, axes, partial(self._form, problem))

    def _columns(self, problem: Problem, gammas: Gammas) -> Array:
        every = np.arange(len(problem.y))
        return self._kernels(problem, every, self._candidates(problem), gammas)

    def _follow(
        self, problem: Problem, columns: Array, axes: Mapping[str, Axis], form_of: FormOf
    ) -> Iterable[Array]:
        return pursue_held_out(
            columns,
            self._candidates(problem),
            problem.scores,
            problem.splits,
            form_of,
            axes["ridge"],
            len(axes["n_basis"]),
            fitting=self.fitting,
            additive=self._sums_add_up(problem),
            positive=self._positive_definite,
        )


@documented
class KernelMatchingPursuitCV(_PursuitCV):
    """Kernel matching pursuit with its number of functions, ridge and gamma by cross-validation.

    Parameters
    ----------
    {n_basis, ridges, fitting, n_candidates, kernel_parameters}
    {search_regression, random_state}

    Attributes
    ----------
    {found, basis_, coef_, input_attributes}

    See Also
    --------
    KernelMatchingPursuit : The same with given parameters.
    RankingPursuitCV : The same on the differences of pairs.
    RLSCV : Regularised least squares with all points.

    Notes
    -----
    {honest_note}

    Examples
    --------
    >>> import numpy as np
    >>> from rankpursuit import KernelMatchingPursuitCV
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(0.0, 6.0, size=(100, 1))
    >>> y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=100)
    >>> model = KernelMatchingPursuitCV(n_basis=20, selection="sparsest").fit(X, y)
    >>> model.best_params_["n_basis"], round(model.score(X, y), 2)
    (4, 0.98)
    """

    _estimator = KernelMatchingPursuit


@documented
@parameters
class RankingPursuitCV(RankerCV, _PursuitCV):
    """Ranking pursuit with its number of functions, ridge and gamma chosen by cross-validation.

    All numbers of functions are judged from one path a fold, and the Gram matrix of a path without
    a fold is that of all points less that of the fold.

    Parameters
    ----------
    {n_basis, ridges, fitting, group_weight, n_candidates, kernel_parameters, search, random_state}

    Attributes
    ----------
    {found, basis_, coef_, n_groups_, input_attributes}

    See Also
    --------
    RankingPursuit : The same with given parameters.
    KernelMatchingPursuitCV : The same on the scores of single points.
    CombinedRankingRegressionPursuitCV : A blend of both.
    RankRLSCV : Regularised least squares on the same differences.

    Notes
    -----
    {honest_note}

    Examples
    --------
    >>> import numpy as np
    >>> from rankpursuit import RankingPursuitCV
    >>> rng = np.random.default_rng(0)
    >>> X, groups = rng.normal(size=(200, 2)), np.repeat(np.arange(20), 10)
    >>> y = X[:, 0] + np.sin(2 * X[:, 1]) + 0.3 * rng.normal(size=200) + 10 * groups
    >>> model = RankingPursuitCV(n_basis=30, selection="sparsest").fit(X, y, groups)
    >>> model.best_params_["n_basis"], round(model.best_score_, 2)
    (10, 0.92)

    The whole grid, as a table:

    >>> import pandas as pd
    >>> table = pd.DataFrame(model.cv_results_)
    >>> len(table), len(table.param_gamma.unique()), len(table.param_ridge.unique())
    (900, 6, 5)
    """

    _estimator = RankingPursuit


@documented
@parameters
class CombinedRankingRegressionPursuitCV(RankerCV, _PursuitCV):
    """Combined ranking and regression pursuit (CRRP) with parameters by cross-validation.

    Parameters
    ----------
    {n_basis}
    betas : list of float, default (0.0, 0.5, 1.0)
        Weights to try of the regression part, from 0, ranking alone, to 1, regression alone.
    {ridges, fitting, group_weight, n_candidates, kernel_parameters, search, random_state}

    Attributes
    ----------
    {found, basis_, coef_, n_groups_, input_attributes}

    See Also
    --------
    CombinedRankingRegressionPursuit : The same with given parameters.
    KernelMatchingPursuitCV : The regression part alone.
    RankingPursuitCV : The ranking part alone.

    Notes
    -----
    {honest_note}

    Examples
    --------
    >>> import numpy as np
    >>> from rankpursuit import CombinedRankingRegressionPursuitCV
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(0.0, 3.0, size=(100, 1))
    >>> model = CombinedRankingRegressionPursuitCV(n_basis=10, scoring="r2")
    >>> model.fit(X, np.exp(X[:, 0])).predict([[1.0], [2.0]]).round(1)
    array([2.7, 7.4])
    """

    betas: Numbers = (0.0, 0.5, 1.0)

    _constraints: ClassVar[Constraints] = {"betas": (Several(Number(low=0.0, high=1.0)),)}
    _estimator = CombinedRankingRegressionPursuit

    def _axes(self, problem: Problem) -> dict[str, Axis]:
        return {"beta": np.asarray(self.betas, dtype=np.float64), **super()._axes(problem)}

    def _held_out(
        self, problem: Problem, gammas: Gammas, axes: Mapping[str, Axis]
    ) -> Iterable[Array]:
        columns = self._columns(problem, gammas)
        followed = [
            self._follow(problem, columns, axes, partial(self._blend, problem, float(beta)))
            for beta in axes["beta"]
        ]
        for of_split in zip(*followed, strict=True):
            yield np.stack(of_split, axis=1)

    def _blend(self, problem: Problem, beta: float, rows: Indices) -> Preferences:
        return Blend(self._form(problem, rows), beta)
