"""Semi-supervised ranking pursuit: one function per view, agreeing on unscored points."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankpursuit.estimators._base import (
    PENALTIES,
    FoldPath,
    Grid,
    KernelEstimator,
    RandomState,
    Split,
    TrainingData,
    draw_candidates,
    predict_blocks,
    random_generator,
    resolve_gamma,
)
from rankpursuit.estimators._checks import (
    CALLABLE,
    KERNELS,
    N_BASIS,
    Array,
    Constraints,
    GroupWeights,
    Indices,
    Kernel,
    check_finite,
    check_parameter,
    choice,
    count_groups,
    warn_if_flat,
)
from rankpursuit.estimators.pursuit import warn_early_end
from rankpursuit.preferences import GroupPreferences
from rankpursuit.solvers import (
    Agreement,
    JointFitting,
    JointGrid,
    View,
    count_basis,
    joint_grid,
    split_features,
    split_points,
)

VIEW_KERNEL = (choice(*KERNELS), CALLABLE)

MAX_BYTES = 8 << 30
"""Approximate limit on the memory of a fit."""
COPIES = 6
"""Estimated copies of the kernel values that a fit holds at once: 18 GB for 20,000 points."""


@dataclass(frozen=True)
class ViewSetup:
    """Parts of each view, as indices of the training points or features.

    For each view: the `points` of its dictionary, the scored points of its loss (`losses`) and the
    `features` that it uses. `agreeing` are the points on which all views should agree.
    """

    points: list[Indices]
    losses: list[Indices]
    agreeing: Indices
    features: list[Indices]


class SemiSupervisedRankingPursuit(KernelEstimator):
    """Ranking pursuit with several functions that agree with each other on unscored points.

    Each view has its own function. All fit the scored points, and the pursuit also lowers `nu`
    times the squared disagreement between every two of them on the pairs of unscored points. The
    prediction is their mean.

    Parameters
    ----------
    n_basis : int or float, default 0.5
        Number of basis functions per view, or a fraction in (0, 1] of its dictionary.
    nu : float, default 1
        Weight of the agreement.
    ridge : float, default 0
        Weight of a penalty ``a' K a`` of each view, which needs positive semi-definite kernels;
        the paper has none.
    n_views : int, default 2
        Number of views; at most the number of points or features that are split among them.
    views : {"points", "loss", "features"} or list of kernels, default "points"
        Difference between the views: dictionaries of different points ("points"); also losses over
        different scored points ("loss"); different features ("features"); or one kernel per view,
        by name or as a callable.
    shared_basis : bool, default False
        Choose the same point for all views at every step; only with views that share their
        points: features or kernels.
    fitting : {"basic", "backfit"}, default "basic"
        Keep the earlier coefficients, or refit those of all views jointly after every step.
    agreement : {"cumulative", "incremental"}, default "cumulative"
        Choose a step by the disagreement of the whole functions, or of its increments only.
    n_candidates : int or None, default None
        Number of training points, drawn at random, that are split among the dictionaries. Memory
        grows with samples times candidates; a fit that would need more than 8 GB raises an error.
        None: all points.
    group_weight, kernel, gamma, degree, coef0, kernel_params : optional
        The weights of groups and the kernel, as in :class:`RankingPursuit`.
    random_state : int, Generator, RandomState or None, default None
        Controls the random draw of the candidates and the split of points or features.

    Attributes
    ----------
    basis_ : list of ndarray of shape (n_basis,)
        For each view the indices of the chosen training points, in the order chosen.
    coef_ : list of ndarray of shape (n_basis,)
        For each view its coefficients.
    staged_coef_ : list of ndarray of shape (n_basis, n_basis)
        For each view, row p holds the coefficients after p + 1 steps.
    cost_ : ndarray of shape (n_basis + 1,)
        Joint training cost after 0, 1, 2, ... steps.
    view_features_ : list of ndarray
        For each view the features that it uses.
    X_basis_ : list of ndarray of shape (n_basis, n_features), or None
        For each view its chosen points; None with a precomputed kernel.
    gamma_ : list of float or None
        For each view the value of gamma, computed from the features that it uses.
    n_groups_, n_features_in_, feature_names_in_
    categories_, missing_, group_column_
        As in :class:`RankingPursuit`.

    See Also
    --------
    RankingPursuit : The same with one function, which the scored points alone determine.

    Notes
    -----
    All kernel values are kept in memory; only the pursuits with one function can learn from blocks.

    Examples
    --------
    >>> import numpy as np
    >>> from rankpursuit import SemiSupervisedRankingPursuit
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> y = X[:, 0] + X[:, 1]
    >>> scores = np.where(np.arange(60) < 20, y, np.nan)
    >>> model = SemiSupervisedRankingPursuit(n_basis=5, fitting="backfit", random_state=0)
    >>> model = model.fit(X, scores)
    >>> model.view_predict(X).shape, round(model.score(X, y), 2)
    ((60, 2), 0.89)
    """

    _partly_scored = True
    _not_taken = ("sample_weight", "pairs", "weights")
    _path_axes = ("ridge", "nu", "n_basis")
    _search_values: ClassVar = {"ridge": PENALTIES, "nu": (0.1, 1.0, 10.0), "n_basis": None}
    _constraints: ClassVar[Constraints] = {
        "n_basis": N_BASIS,
        "fitting": (choice("basic", "backfit"),),
    }

    def __init__(
        self,
        n_basis: int | float = 0.5,
        *,
        nu: float = 1.0,
        ridge: float = 0.0,
        n_views: int = 2,
        views: str | Sequence[Kernel] = "points",
        shared_basis: bool = False,
        fitting: JointFitting = "basic",
        agreement: Agreement = "cumulative",
        group_weight: GroupWeights = "equal",
        n_candidates: int | None = None,
        kernel: Kernel = "rbf",
        gamma: float | str | None = "scale",
        degree: int = 3,
        coef0: float = 1.0,
        kernel_params: Mapping[str, Any] | None = None,
        random_state: RandomState = None,
    ) -> None:
        self._set_parameters(locals())

    @property
    def _splits_points(self) -> bool:
        return isinstance(self.views, str) and self.views in ("points", "loss")

    def _kernel_of(self, view: int) -> Kernel:
        return self.kernel if isinstance(self.views, str) else self.views[view]

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if not isinstance(self.views, str):
            if len(self.views) != self.n_views:
                raise ValueError(
                    f"views holds {len(self.views)} kernels, but n_views is {self.n_views}; pass "
                    "one kernel per view"
                )
            for place, kernel in enumerate(self.views):
                check_parameter(f"views[{place}]", kernel, VIEW_KERNEL)
        if self._precomputed and not self._splits_points:
            raise ValueError(
                "views must be 'points' or 'loss' with kernel='precomputed': other views need the "
                "features"
            )
        if self.shared_basis and self._splits_points:
            raise ValueError(
                "shared_basis must be False with views that share no points; use views='features' "
                "or a list of kernels"
            )

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        *,
        qid: ArrayLike | None = None,
        group: ArrayLike | None = None,
        **unsupported: Any,
    ) -> Self:
        """Fit to the order of the scored points within each group.

        Parameters
        ----------
        X : array-like of shape (n, n_features), or (n, n) kernel values if precomputed
        y : array-like of shape (n,)
            Scores; NaN marks an unscored point. Without unscored points, the views agree on the
            scored ones.
        groups : array-like of shape (n,), optional
            Label or query id of each point; only points of one group are compared. Default: all.
        qid : array-like of shape (n,), optional
            Another name for `groups`.
        group : array-like of shape (n_groups,), optional
            Sizes of consecutive groups, as in LightGBM, instead of `groups`.
        **unsupported : dict
            Not supported; `sample_weight` and `pairs` raise a ValueError.

        Returns
        -------
        self
        """
        self._refuse(**unsupported)
        return self._fit_data(self._check_training(X, y, groups, qid, group))

    def _fit_scaled(self, data: TrainingData) -> Self:
        X, y, labels = data.X, data.y, data.labels
        setup = self._set_up(X, ~np.isnan(y), labels)
        gammas = [
            resolve_gamma(self._kernel_of(view), self.gamma, X[:, features])
            for view, features in enumerate(setup.features)
        ]
        kernels = self._view_stacks(X, setup, [self.gamma])
        for view, points in enumerate(setup.points):
            (kernel,), name = kernels[view], self._kernel_of(view)
            if self.ridge > 0.0:
                self._check_symmetric(kernel[points], name)
            warn_if_flat(name, gammas[view], kernel, points)
        n_steps = count_basis(self.n_basis, min(map(len, setup.points)))
        grid = {"ridge": [self.ridge], "nu": [self.nu], "n_basis": [n_steps]}
        joint = self._joint_path(kernels, data, setup, grid)()
        views = joint.coefficients((0, 0, 0, 0))
        reached = len(views[0][0])
        if reached < n_steps:
            warn_early_end(reached, n_steps)
        staged = [np.array(coef, order="C") for _, coef in views]
        check_finite(*staged)
        self.n_groups_ = len(np.unique(labels))
        self.view_features_, self.gamma_, self.staged_coef_ = setup.features, gammas, staged
        self.coef_ = [coefs[-1] if reached else np.empty(0) for coefs in staged]
        self.basis_ = [
            points[chosen] for points, (chosen, _) in zip(setup.points, views, strict=True)
        ]
        self.X_basis_ = None
        if not self._precomputed:
            self.X_basis_ = [np.array(X[basis], order="C") for basis in self.basis_]
        self.cost_ = np.array(joint.path.cost[0, 0, : reached + 1])
        return self

    def _joint_path(
        self, kernels: Sequence[Array], data: TrainingData, setup: ViewSetup, grid: Grid
    ) -> partial[JointGrid]:
        """Return the joint paths of w kernels of each view, (w, n, N_v), of all n points."""
        common = data.preferences(self, setup.agreeing)
        views = []
        for kernel, points, loss in zip(kernels, setup.points, setup.losses, strict=True):
            form = data.preferences(self, loss)
            rows, target = form.root(kernel[:, loss]), form.root(data.y[loss])
            agreeing = common.root(kernel[:, setup.agreeing])
            views.append(View(rows, target, agreeing, kernel[:, points]))
        options: Any = {"fitting": self.fitting, "agreement": self.agreement}
        return partial(joint_grid, views, grid, shared=self.shared_basis, **options)

    def _n_available(self, data: TrainingData, train: Indices) -> int:
        return min(map(len, self._set_up_rows(data, train).points))

    def _iter_paths(
        self, data: TrainingData, splits: list[Split], gammas: list[Any], grid: Grid
    ) -> Iterator[FoldPath]:
        for train, test in splits:
            setup = self._set_up_rows(data, train)
            kernels = self._view_stacks(data.X, setup, gammas)
            n_available = min(map(len, setup.points))
            axes = {**grid, "n_basis": [count_basis(n, n_available) for n in grid["n_basis"]]}
            path = self._joint_path(kernels, data, setup, axes)
            yield path, [kernel[:, test] for kernel in kernels]

    def _set_up_rows(self, data: TrainingData, rows: Indices) -> ViewSetup:
        """Set up the views of a training set, with indices of all points."""
        setup = self._set_up(data.X[rows], ~np.isnan(data.y[rows]), data.labels[rows])
        points, losses = [rows[x] for x in setup.points], [rows[x] for x in setup.losses]
        return ViewSetup(points, losses, rows[setup.agreeing], setup.features)

    def _set_up(self, X: Array, scored: NDArray[np.bool_], labels: NDArray) -> ViewSetup:
        """Draw the candidates, and split points, losses or features among the views."""
        count_groups(self._preferences(labels[scored]))
        generator = random_generator(self.random_state)
        candidates = draw_candidates(len(X), self.n_candidates, generator)
        self._check_views(len(X), len(candidates), X.shape[1])
        points, losses = [candidates] * self.n_views, [np.flatnonzero(scored)] * self.n_views
        features = [np.arange(X.shape[1])] * self.n_views
        if self._splits_points:
            of_views = split_points(scored[candidates], self.n_views, generator)
            points = [candidates[places] for places in of_views]
        if self.views == "loss":
            losses = _split_losses(scored, labels, points, generator)
        if self.views == "features":
            features = split_features(X.shape[1], self.n_views, generator)
        unscored = np.flatnonzero(~scored)
        within = GroupPreferences(labels[unscored])
        return ViewSetup(
            points, losses, unscored if within.n_pairs else np.flatnonzero(scored), features
        )

    def _check_views(self, n_points: int, n_candidates: int, n_features: int) -> None:
        """Raise a ValueError if a view would be empty, or if a fit would take too much memory."""
        if self._splits_points and n_candidates < self.n_views:
            raise ValueError(
                f"n_views={self.n_views} views need at least as many points; got {n_candidates}: "
                "lower n_views or add samples or candidates"
            )
        if self.views == "features" and n_features < self.n_views:
            raise ValueError(
                f"n_views={self.n_views} views need at least as many features; got {n_features}: "
                "lower n_views or use views='points'"
            )
        kernel_values = n_points * n_candidates * (1 if self._splits_points else self.n_views)
        differences = n_points * self.n_views * (self.n_views - 1) // 2
        n_bytes = 8 * (COPIES * kernel_values + differences)
        if n_bytes > MAX_BYTES:
            raise ValueError(
                f"{self.n_views} views of {n_points} samples with {n_candidates} candidates take "
                f"about {n_bytes / 2**30:.0f} GB, above the limit of {MAX_BYTES / 2**30:.0f} GB; "
                "lower n_candidates or n_views"
            )

    def _view_stacks(self, X: Array, setup: ViewSetup, gammas: Sequence[Any]) -> list[Array]:
        """Return each view's checked kernels, (w, n, N_v), of all points with its dictionary."""
        stacks = []
        for view, (points, features) in enumerate(zip(setup.points, setup.features, strict=True)):
            name, used = self._kernel_of(view), X[:, features]
            if self._precomputed:
                stack = X[None, :, points]
            else:
                resolved = [resolve_gamma(name, gamma, used) for gamma in gammas]
                stack = np.stack(
                    [self._kernel(used, used[points], gamma, name) for gamma in resolved]
                )
            self._check_kernel_values(stack, name)
            stacks.append(stack)
        return stacks

    def _view_values(self, X: Array) -> list[Array]:
        """Return the values of each view's basis functions at checked points."""
        if self.X_basis_ is None:
            return [X[:, basis] for basis in self.basis_]
        views = zip(self.X_basis_, self.view_features_, self.gamma_, strict=True)
        return [
            self._kernel(X[:, features], points[:, features], gamma, self._kernel_of(view))
            for view, (points, features, gamma) in enumerate(views)
        ]

    def view_predict(self, X: ArrayLike) -> Array:
        """Predict with the function of each view.

        Parameters
        ----------
        X : array-like of shape (m, n_features), or (m, n) kernel values if precomputed

        Returns
        -------
        ndarray of shape (m, n_views)
            float32 if `X` is, and float64 otherwise.
        """
        return predict_blocks(
            self._new_points(X),
            np.size(self.coef_),
            lambda points: _side_by_side(self._view_values(self._scaled(points)), self.coef_),
        )

    def _values(self, X: Array) -> Array:
        """Return the mean of the views' functions."""
        return _side_by_side(self._view_values(X), self.coef_).mean(axis=1)

    def staged_predict(self, X: ArrayLike, groups: ArrayLike | None = None) -> Iterator[Array]:
        """Predict with 1, 2, ... basis functions in each view.

        Parameters
        ----------
        X : array-like of shape (m, n_features), or (m, n) kernel values if precomputed
        groups : array-like of shape (m,), optional
            As in `predict`.

        Yields
        ------
        ndarray of shape (m,)
        """
        points = self._new_points(X, groups).astype(np.float64, copy=False)
        values = self._view_values(self._scaled(points))
        for coefs in zip(*self.staged_coef_, strict=True):
            yield _side_by_side(values, coefs).mean(axis=1)


def _side_by_side(values: Sequence[Array], coefs: Sequence[Array]) -> Array:
    """Return the values of the views' functions, shape (m, M)."""
    return np.column_stack([view @ coef for view, coef in zip(values, coefs, strict=True)])


def _split_losses(
    scored: NDArray[np.bool_],
    labels: NDArray,
    dictionaries: list[Indices],
    generator: np.random.Generator | np.random.RandomState,
) -> list[Indices]:
    """Return the scored points of each view's loss, in ascending order.

    They are the points of its dictionary and, if only some points are candidates, a random part of
    the others.
    """
    others = np.setdiff1d(np.arange(len(scored)), np.concatenate(dictionaries))
    added = split_points(scored[others], len(dictionaries), generator)
    losses = []
    for view, (dictionary, places) in enumerate(zip(dictionaries, added, strict=True)):
        points = np.union1d(dictionary, others[places])
        losses.append(points[scored[points]])
        if GroupPreferences(labels[losses[-1]]).n_pairs == 0:
            raise ValueError(
                f"views='loss' leaves view {view} without a pair of scored points to learn from; "
                "lower n_views, score more points, or use views='points'"
            )
    return losses
