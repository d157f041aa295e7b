"""Regularised least squares, with all lambdas of a width from one decomposition a fold."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from functools import partial
from typing import ClassVar

import numpy as np

from rankpursuit.estimators._constraints import NONE, SEED, Constraints, Number, Several, Whole
from rankpursuit.estimators._kernels import Array
from rankpursuit.estimators._parameters import RandomState, parameters, random_generator
from rankpursuit.estimators.cv._base import PathCV, RankerCV
from rankpursuit.estimators.cv._docs import documented
from rankpursuit.estimators.cv._problem import (
    PENALTIES,
    Axis,
    Gammas,
    Numbers,
    Problem,
    columns_at_most,
)
from rankpursuit.estimators.rls import RLS, RankRLS, SparseRankRLS
from rankpursuit.solvers import rls_held_out, sparse_rls_held_out

_MOST = 1000
_HALVINGS = 5


class _WithAlphas(PathCV):
    """A path of weights of the regulariser."""

    alphas: Numbers

    _constraints: ClassVar[Constraints] = {"alphas": (Several(Number(low=0.0, open_low=True)),)}

    def _axes(self, problem: Problem) -> dict[str, Axis]:
        return {"alpha": np.asarray(self.alphas, dtype=np.float64)}


class _RegularisedLeastSquaresCV(_WithAlphas):
    """Base of the methods with a function for each training point."""

    _path_axis = "alpha"

    def _room(self, problem: Problem, axes: Mapping[str, Axis]) -> int:
        return 4 * len(problem.y) ** 2

    def _held_out(
        self, problem: Problem, gammas: Gammas, axes: Mapping[str, Axis]
    ) -> Iterable[Array]:
        every = np.arange(len(problem.y))
        return rls_held_out(
            self._kernels(problem, every, every, gammas),
            problem.scores,
            problem.splits,
            partial(self._form, problem),
            axes["alpha"],
        )


@documented
@parameters
class RLSCV(_RegularisedLeastSquaresCV):
    """Regularised least squares with alpha and gamma chosen by cross-validation.

    Parameters
    ----------
    {alphas, kernel_parameters, search_regression}

    Attributes
    ----------
    {found, all_points, coef_, input_attributes}

    See Also
    --------
    RLS : The same with given parameters.
    RankRLSCV : The same on the differences of pairs.
    KernelMatchingPursuitCV : A sparse expansion for the same scores.

    Notes
    -----
    {honest_note}

    Examples
    --------
    >>> import numpy as np
    >>> from rankpursuit import RLSCV
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(0.0, 6.0, size=(100, 1))
    >>> model = RLSCV().fit(X, np.sin(X[:, 0]) + 0.1 * rng.normal(size=100))
    >>> model.predict([[0.5], [1.5]]).round(1)
    array([0.5, 1. ])
    """

    alphas: Numbers = field(default=PENALTIES, kw_only=False)

    _estimator = RLS


@documented
@parameters
class RankRLSCV(RankerCV, _RegularisedLeastSquaresCV):
    """RankRLS with alpha and gamma chosen by cross-validation.

    Parameters
    ----------
    {alphas, group_weight, kernel_parameters, search}

    Attributes
    ----------
    {found, all_points, coef_, n_groups_, input_attributes}

    See Also
    --------
    RankRLS : The same with given parameters.
    SparseRankRLSCV : The same on a random subset of regressors.
    RankingPursuitCV : A sparse expansion for the same cost.

    Notes
    -----
    {honest_note}

    Examples
    --------
    >>> import numpy as np
    >>> from rankpursuit import RankRLSCV
    >>> rng = np.random.default_rng(0)
    >>> X, groups = rng.normal(size=(100, 2)), np.repeat(np.arange(10), 10)
    >>> y = X[:, 0] + np.sin(2 * X[:, 1]) + 0.3 * rng.normal(size=100) + 10 * groups
    >>> model = RankRLSCV().fit(X, y, groups)
    >>> model.best_params_["alpha"], round(model.best_score_, 2)
    (0.01, 0.92)
    """

    alphas: Numbers = field(default=PENALTIES, kw_only=False)

    _estimator = RankRLS


@documented
@parameters
class SparseRankRLSCV(RankerCV, _WithAlphas):
    """RankRLS on a random subset of regressors, with its size and the rest by cross-validation.

    Parameters
    ----------
    n_basis : list of int or None, default None
        Sizes of the subset to try. None: five sizes, each half of the next, up to 1000 or the
        smallest training part.
    {alphas, group_weight, kernel_parameters, search}
    random_state : int, Generator, RandomState or None, default None
        Draws the subset.

    Attributes
    ----------
    {found}
    basis_ : ndarray of shape (n_basis,)
        The subset.
    {coef_, n_groups_, input_attributes}

    See Also
    --------
    SparseRankRLS : The same with given parameters.
    RankRLSCV : The same with all points as regressors.
    RankingPursuitCV : Chooses its regressors one by one.

    Notes
    -----
    {honest_note}

    Examples
    --------
    >>> import numpy as np
    >>> from rankpursuit import SparseRankRLSCV
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> model = SparseRankRLSCV(n_basis=[5, 10, 20], random_state=0).fit(X, X[:, 0] * X[:, 1])
    >>> model.best_params_["n_basis"], model.basis_.shape
    (20, (20,))
    """

    n_basis: Sequence[int] | None = field(default=None, kw_only=False)
    alphas: Numbers = field(default=PENALTIES, kw_only=False)
    random_state: RandomState = None

    _constraints: ClassVar[Constraints] = {
        "n_basis": (Several(Whole(1)), NONE),
        "random_state": SEED,
    }
    _estimator = SparseRankRLS

    def _axes(self, problem: Problem) -> dict[str, Axis]:
        asked = None if self.n_basis is None else max(self.n_basis)
        most = columns_at_most(asked, _MOST, problem.least_train, "raise cv")
        halved = sorted({max(1, most >> halving) for halving in range(_HALVINGS)})
        sizes = halved if self.n_basis is None else self.n_basis
        return {"n_basis": np.asarray(sizes, dtype=np.intp), **super()._axes(problem)}

    def _room(self, problem: Problem, axes: Mapping[str, Axis]) -> int:
        n_points, most = len(problem.y), int(axes["n_basis"].max())
        n_models = len(axes["n_basis"]) * len(axes["alpha"])
        return 3 * n_points * most + 3 * most**2 + n_models * n_points

    def _held_out(
        self, problem: Problem, gammas: Gammas, axes: Mapping[str, Axis]
    ) -> Iterable[Array]:
        orders = [
            train[random_generator(problem.seed).permutation(len(train))]
            for train, _ in problem.splits
        ]
        return sparse_rls_held_out(
            lambda rows, columns: self._kernels(problem, rows, columns, gammas),
            problem.scores,
            problem.splits,
            partial(self._form, problem),
            orders,
            axes["n_basis"].tolist(),
            axes["alpha"],
            positive=self._positive_definite,
        )
