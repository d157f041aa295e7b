"""Semi-supervised ranking pursuit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_consistent_length, column_or_1d, validate_data

from rankpursuit.estimators._base import (
    Array,
    Kernel,
    KernelEstimator,
    RandomState,
    RankerMixin,
    group_preferences,
    random_generator,
)
from rankpursuit.estimators._validation import (
    check_choice,
    check_number,
    check_whole,
)
from rankpursuit.estimators.pursuit import draw_candidates, warn_of_early_end
from rankpursuit.metrics import pairwise_accuracy
from rankpursuit.preferences import GroupPreferences
from rankpursuit.solvers import coregularised_pursuit, count_basis
from rankpursuit.solvers.coregularised import Agreement, JointFitting
from rankpursuit.solvers.coregularised.views import split_features, split_points

Views = Literal["points", "features"] | Sequence[Kernel]


class SemiSupervisedRankingPursuit(RankerMixin, KernelEstimator):
    """Ranking pursuit with several functions that agree with each other on unscored points.

    Each view has its own function. All fit the scored points, and the pursuit also lowers
    `nu` times the squared disagreement of every two of them on the pairs of unscored points.

    Parameters
    ----------
    n_basis : int or float, default 0.5
        Number of basis functions of each view, or a share in (0, 1] of its dictionary.
    nu : float, default 1
        Weight of the agreement.
    n_views : int, default 2
    views : {"points", "features"} or sequence of kernels, default "points"
        What sets the views apart. "points": the points are dealt out, and each view is an
        expansion over its own scored and unscored points. "features": the features are dealt
        out. A sequence of `n_views` kernels (names or callables): one for each view.
    shared_basis : bool, default False
        Choose the same point for all views at every step; time is then linear in the number of
        unscored points. Not with views="points", where views have no point in common.
    fitting : {"basic", "backfit"}, default "basic"
        Whether a step refits all coefficients of all views jointly.
    agreement : {"cumulative", "incremental"}, default "cumulative"
        Whether a step is chosen to bring the whole functions together or only its increments.
    n_candidates : int, optional
        Number of training points, drawn at random, whose functions make up the dictionaries.
        Default: all points.
    kernel, gamma, degree, coef0
        The kernel; see :class:`~rankpursuit.estimators._base.KernelEstimator`.
    random_state : int, Generator, RandomState or None
        Draws the candidates and deals out points or features.

    Attributes
    ----------
    basis_ : list of ndarray of shape (n_basis,)
        For each view the chosen training points, in the order in which they were chosen.
    coef_ : list of ndarray of shape (n_basis,)
        For each view its coefficients.
    staged_coef_ : list of ndarray of shape (n_basis, n_basis)
        For each view, row p holds the coefficients after p + 1 steps.
    view_features_ : list of ndarray
        For each view the features that it sees.
    cost_ : ndarray of shape (n_basis + 1,)
        Joint training cost after 0, 1, 2, ... steps.
    """

    def __init__(
        self,
        n_basis: int | float = 0.5,
        *,
        nu: float = 1.0,
        n_views: int = 2,
        views: Views = "points",
        shared_basis: bool = False,
        fitting: JointFitting = "basic",
        agreement: Agreement = "cumulative",
        n_candidates: int | None = None,
        kernel: Kernel = "rbf",
        gamma: float | None = None,
        degree: int = 3,
        coef0: float = 1.0,
        random_state: RandomState = None,
    ) -> None:
        self.n_basis = n_basis
        self.nu = nu
        self.n_views = n_views
        self.views = views
        self.shared_basis = shared_basis
        self.fitting = fitting
        self.agreement = agreement
        self.n_candidates = n_candidates
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.random_state = random_state

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_number("nu", self.nu, low=0.0)
        check_whole("n_views", self.n_views, low=1)
        check_choice("fitting", self.fitting, ("basic", "backfit"))
        check_choice("agreement", self.agreement, ("cumulative", "incremental"))
        if self.n_candidates is not None:
            check_whole("n_candidates", self.n_candidates, low=1)
        if isinstance(self.views, str):
            check_choice("views", self.views, ("points", "features"))
        elif len(self.views) != self.n_views:
            raise ValueError(
                f"views holds {len(self.views)} kernels, but n_views is {self.n_views}; "
                "give one kernel for each view"
            )
        if self.kernel == "precomputed" and not (
            isinstance(self.views, str) and self.views == "points"
        ):
            raise ValueError(
                "views must be 'points' with kernel='precomputed': other views need the features"
            )
        if self.shared_basis and isinstance(self.views, str) and self.views == "points":
            raise ValueError(
                "shared_basis needs views that share their points; use views='features' or kernels"
            )

    def fit(self, X: ArrayLike, y: ArrayLike, groups: ArrayLike | None = None) -> Self:
        """Fit to the order of the scored points inside each group.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
        y : array-like of shape (n,)
            Scores; NaN marks an unscored point. Without any, the views agree on the scored
            points.
        groups : array-like of shape (n,), optional
            Only points with the same label are compared. Default: all points.
        """
        self._check_parameters()
        X = validate_data(self, X, dtype=np.float64, ensure_min_samples=2)
        y = _scores(X, y)
        groups = self._check_groups(groups, X)
        scored = ~np.isnan(y)
        if np.count_nonzero(scored) < 2:
            raise ValueError("y must hold at least two scores; NaN marks an unscored point")
        preferences = group_preferences(groups[scored])
        unscored, unscored_preferences = ~scored, GroupPreferences(groups[~scored])
        if unscored_preferences.n_pairs == 0:
            unscored, unscored_preferences = scored, preferences
        points = self._deal(X, scored)
        kernels = [self._view_kernel(X, X[own], own, v) for v, own in enumerate(points)]
        n_steps = count_basis(self.n_basis, min(len(own) for own in points))
        path = coregularised_pursuit(
            [preferences.root(kernel[None, scored]) for kernel in kernels],
            [unscored_preferences.root(kernel[None, unscored]) for kernel in kernels],
            [preferences.root(y[scored])] * self.n_views,
            [self.nu],
            n_steps,
            fitting=self.fitting,
            agreement=self.agreement,
            shared=self.shared_basis,
        )
        reached = int(path.n_steps[0, 0])
        warn_of_early_end(reached, n_steps)
        self.cost_ = path.cost[0, 0, : reached + 1]
        chosen = path.selected[0, 0, :reached]
        self.basis_ = [own[chosen[:, view]] for view, own in enumerate(points)]
        self.X_basis_ = [X[basis] for basis in self.basis_]
        self.staged_coef_ = [
            path.coefficients(view)[0, 0, :reached, :reached] for view in range(self.n_views)
        ]
        self.coef_ = [staged[-1] if reached else np.empty(0) for staged in self.staged_coef_]
        return self

    def _deal(self, X: Array, scored: NDArray[np.bool_]) -> list[NDArray[np.intp]]:
        """Set up the views and return the dictionary points of each."""
        generator = random_generator(self.random_state)
        candidates = draw_candidates(len(X), self.n_candidates, generator)
        every = np.arange(X.shape[1])
        self.view_features_ = [every] * self.n_views
        if self.views == "points":
            if len(candidates) < self.n_views:
                raise ValueError(
                    f"n_views={self.n_views} views need at least as many points; got "
                    f"{len(candidates)}: lower n_views or add samples or candidates"
                )
            parts = split_points(scored[candidates], self.n_views, generator)
            return [candidates[part] for part in parts]
        if self.views == "features":
            if X.shape[1] < self.n_views:
                raise ValueError(
                    f"n_views={self.n_views} views need at least as many features; got "
                    f"{X.shape[1]}: lower n_views or use views='points'"
                )
            self.view_features_ = split_features(X.shape[1], self.n_views, generator)
        return [candidates] * self.n_views

    def _view_kernel(
        self, X: Array, basis_points: Array, basis: NDArray[np.intp], view: int
    ) -> Array:
        """Values of one view's functions at points, shape (len(X), len(basis))."""
        if self.kernel == "precomputed":
            return X[:, basis]
        features = self.view_features_[view]
        kernel = self.kernel if isinstance(self.views, str) else self.views[view]
        return self._kernel(X[:, features], basis_points[:, features], kernel)

    def view_predict(self, X: ArrayLike) -> Array:
        """Predict with the function of each view apart.

        Parameters
        ----------
        X : array-like of shape (m, n_features)

        Returns
        -------
        ndarray of shape (m, n_views)
        """
        return np.column_stack(
            [kernel @ coef for kernel, coef in zip(self._kernels(X), self.coef_, strict=True)]
        )

    def predict(self, X: ArrayLike) -> Array:
        """Predict with the mean of the views' functions.

        Parameters
        ----------
        X : array-like of shape (m, n_features)

        Returns
        -------
        ndarray of shape (m,)
        """
        return self.view_predict(X).mean(axis=1)

    def staged_predict(self, X: ArrayLike) -> Iterator[Array]:
        """Predict with 1, 2, ... basis functions in each view.

        Parameters
        ----------
        X : array-like of shape (m, n_features)

        Yields
        ------
        ndarray of shape (m,)
        """
        kernels = self._kernels(X)
        for coefs in zip(*self.staged_coef_, strict=True):
            views = [kernel @ coef for kernel, coef in zip(kernels, coefs, strict=True)]
            yield np.mean(views, axis=0)

    def _kernels(self, X: ArrayLike) -> list[Array]:
        X = self._new_points(X)
        return [
            self._view_kernel(X, points, basis, view)
            for view, (points, basis) in enumerate(zip(self.X_basis_, self.basis_, strict=True))
        ]

    def score(self, X: ArrayLike, y: ArrayLike, groups: ArrayLike | None = None) -> float:
        """Pairwise accuracy on the scored points; see :meth:`RankerMixin.score`."""
        y = np.asarray(y, dtype=np.float64)
        scored = ~np.isnan(y)
        groups = None if groups is None else np.asarray(groups)[scored]
        return float(pairwise_accuracy(y[scored], self.predict(X)[scored], groups))


def _scores(X: Array, y: ArrayLike) -> Array:
    """Check scores of which some may be NaN."""
    if y is None:
        raise ValueError("requires y to be passed, but the target y is None")
    scores = column_or_1d(y, dtype=np.float64, warn=True)
    check_consistent_length(X, scores)
    if np.isinf(scores).any():
        raise ValueError("y contains infinity; a score is a finite number, NaN if there is none")
    return scores
