"""Semi-supervised ranking pursuit with the length of its path and its parameters chosen."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankpursuit.estimators._comparisons import weighted_groups
from rankpursuit.estimators._constraints import (
    FLAG,
    NONE,
    SEED,
    Choice,
    Constraints,
    Instance,
    Number,
    Several,
    Whole,
)
from rankpursuit.estimators._kernels import Array, Kernel
from rankpursuit.estimators._parameters import RandomState, parameters
from rankpursuit.estimators._scored import checked_scores
from rankpursuit.estimators._view_functions import ViewKernels
from rankpursuit.estimators.cv._base import RankerCV, Staged
from rankpursuit.estimators.cv._docs import documented
from rankpursuit.estimators.cv._problem import (
    PENALTIES,
    Axis,
    Gammas,
    Numbers,
    Problem,
    checked_kernels,
    columns_at_most,
)
from rankpursuit.estimators.semi_supervised import LARGEST_NU, SemiSupervisedRankingPursuit
from rankpursuit.solvers.coregularised import Agreement, JointFitting, Views, pursue_views
from rankpursuit.solvers.folds import Indices, Split

_MOST = 50


@dataclass(frozen=True)
class _Dealt:
    """The views of the training part of a split, their points as rows of all training data."""

    points: list[Indices]
    losses: list[Indices]
    agreeing: Indices
    features: list[Indices]


@documented
@parameters
class SemiSupervisedRankingPursuitCV(RankerCV, Staged):
    """Semi-supervised ranking pursuit with its parameters chosen by cross-validation.

    Folds are of the scored points; all unscored points stay in every training part.

    Parameters
    ----------
    n_basis : int or None, default None
        Largest number of basis functions of each view: every number up to it is tried. None:
        50, or as many as the smallest dictionary of a training part has points.
    nus : list of float, default (0.1, 1.0, 10.0)
        Weights of the agreement to try.
    {ridges}
    n_views : int, default 2
        Number of views.
    views : {"points", "loss", "features"} or list of kernels, default "points"
        What sets the views apart, see :class:`SemiSupervisedRankingPursuit`.
    shared_basis : bool, default False
        Choose the same point for all views at every step.
    fitting : {"basic", "backfit"}, default "backfit"
        Whether a step refits all coefficients of all views jointly.
    {agreement, group_weight}
    n_candidates : int or None, default 200
        Number of points of a training part, drawn at random, that are dealt out to the
        dictionaries; a step compares all pairs of their functions. None: all points.
    {kernel_parameters, search, dealing_state}

    Attributes
    ----------
    {found, functions_of_views, n_groups_, input_attributes}

    See Also
    --------
    SemiSupervisedRankingPursuit : The same with given parameters.
    RankingPursuitCV : The same with one function, which the scored points alone determine.

    Notes
    -----
    {honest_note}

    Examples
    --------
    >>> import numpy as np
    >>> from rankpursuit import SemiSupervisedRankingPursuitCV
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> y = X[:, 0] + X[:, 1]
    >>> scores = np.where(np.arange(60) < 30, y, np.nan)
    >>> model = SemiSupervisedRankingPursuitCV(n_basis=5, random_state=0).fit(X, scores)
    >>> model.best_params_["n_basis"], round(model.score(X, y), 2)
    (2, 0.94)
    """

    n_basis: int | None = field(default=None, kw_only=False)
    nus: Numbers = (0.1, 1.0, 10.0)
    ridges: Numbers = PENALTIES
    n_views: int = 2
    views: Views | ViewKernels = "points"
    shared_basis: bool = False
    fitting: JointFitting = "backfit"
    agreement: Agreement = "cumulative"
    n_candidates: int | None = 200
    random_state: RandomState = None

    _constraints: ClassVar[Constraints] = {
        "n_basis": (Whole(1), NONE),
        "nus": (Several(Number(low=0.0)),),
        "ridges": (Several(Number(low=0.0)),),
        "n_views": (Whole(1),),
        "views": (Choice.of(Views), Instance((list, tuple), "a list of kernels")),
        "shared_basis": FLAG,
        "fitting": (Choice.of(JointFitting),),
        "agreement": (Choice.of(Agreement),),
        "n_candidates": (Whole(1), NONE),
        "random_state": SEED,
    }
    _estimator = SemiSupervisedRankingPursuit

    def _kernels_in_use(self) -> tuple[Kernel, ...]:
        return tuple(self.views) if isinstance(self.views, list | tuple) else (self.kernel,)

    def _check_data(self, X: ArrayLike, y: ArrayLike) -> tuple[Array, Array]:
        X = self._check_points(X, min_samples=2)
        return X, checked_scores(X, y)

    def _check_scores(self, y: Array, labels: NDArray | None) -> None:
        scored = ~np.isnan(y)
        if np.count_nonzero(scored) < 2:
            raise ValueError("y must hold at least two scores; NaN marks an unscored point")
        super()._check_scores(y[scored], None if labels is None else labels[scored])

    def _axes(self, problem: Problem) -> dict[str, Axis]:
        sizes = [len(own) for split in problem.splits for own in self._deal(problem, split).points]
        more = "raise n_candidates or cv, or lower n_views"
        most = columns_at_most(self.n_basis, _MOST, min(sizes), more)
        return {
            "ridge": np.asarray(self.ridges, dtype=np.float64),
            "nu": np.asarray(self.nus, dtype=np.float64),
            "n_basis": np.arange(1, most + 1),
        }

    def _room(self, problem: Problem, axes: Mapping[str, Axis]) -> int:
        size = len(problem.y) if self.n_candidates is None else self.n_candidates
        n_models = len(axes["ridge"]) * len(axes["nu"])
        return (len(axes["ridge"]) * len(problem.y) + 4 * n_models * size) * size

    def _held_out(
        self, problem: Problem, gammas: Gammas, axes: Mapping[str, Axis]
    ) -> Iterable[Array]:
        n_steps, n_ridges = len(axes["n_basis"]), len(axes["ridge"])
        every = np.arange(len(problem.y))
        for split in problem.splits:
            dealt = self._deal(problem, split)
            kernels = [
                self._view_kernels(problem, dealt, view, every, gammas)
                for view in range(self.n_views)
            ]
            path = pursue_views(
                kernels,
                problem.scores,
                dealt.points,
                dealt.losses,
                [
                    weighted_groups(problem.compared[loss], self.group_weight)
                    for loss in dealt.losses
                ],
                (
                    dealt.agreeing,
                    weighted_groups(problem.compared[dealt.agreeing], self.group_weight),
                ),
                axes["ridge"],
                np.minimum(axes["nu"], LARGEST_NU),
                n_steps,
                fitting=self.fitting,
                agreement=self.agreement,
                shared=self.shared_basis,
            )
            new = [np.repeat(kernel[:, split.test], n_ridges, axis=0) for kernel in kernels]
            values = path.predict_mean(new, axes["n_basis"])
            yield values.reshape(len(gammas), n_ridges, *values.shape[1:])

    def _deal(self, problem: Problem, split: Split) -> _Dealt:
        """Set up the views of a training part as the estimator itself does."""
        plain, train = self._plain(problem), split.train
        scored, labels = ~np.isnan(problem.y[train]), problem.compared[train]
        agreeing, _ = plain._agreeing(scored, labels)
        points, losses = plain._deal(problem.X[train], scored, labels)
        return _Dealt(
            [train[own] for own in points],
            [train[loss] for loss in losses],
            train[agreeing],
            plain.view_features_,
        )

    def _view_kernels(
        self, problem: Problem, dealt: _Dealt, view: int, rows: Indices, gammas: Gammas
    ) -> Array:
        """Kernels of some points with the dictionary of one view."""
        points = dealt.points[view]
        if self._precomputed:
            return checked_kernels(problem.X[None, rows[:, None], points])
        kernel = self._kernels_in_use()[view if isinstance(self.views, list | tuple) else 0]
        features = dealt.features[view]
        X = problem.X[:, features]
        stack = [self._kernel(X[rows], X[points], gamma, kernel) for gamma in gammas]
        return checked_kernels(np.stack(stack))
