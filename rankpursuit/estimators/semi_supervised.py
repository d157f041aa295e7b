"""Semi-supervised ranking pursuit."""

from __future__ import annotations

from dataclasses import field
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankpursuit.estimators._comparisons import group_preferences, weighted_groups
from rankpursuit.estimators._constraints import FLAG, NOT_NEGATIVE, Choice, Constraints
from rankpursuit.estimators._dealing import (
    check_number_of_views,
    check_size_of_views,
    deal_losses,
)
from rankpursuit.estimators._dictionary import draw_candidates
from rankpursuit.estimators._docs import documented
from rankpursuit.estimators._flat_kernels import warn_of_flat_kernel
from rankpursuit.estimators._kernels import Array
from rankpursuit.estimators._parameters import RandomState, parameters, random_generator
from rankpursuit.estimators._pursuit_base import (
    DICTIONARY_CONSTRAINTS,
    LARGEST_RIDGE,
    warn_of_early_end,
)
from rankpursuit.estimators._scaling import exponent_of, overflow_found_later, shifted
from rankpursuit.estimators._scored import checked_scores
from rankpursuit.estimators._view_functions import FunctionsOfViews
from rankpursuit.preferences import GroupPreferences
from rankpursuit.solvers import coregularised_pursuit, count_basis, ridge_rows
from rankpursuit.solvers.coregularised import Agreement, JointFitting, split_features, split_points

LARGEST_NU = 1e30
"""A larger one counts as this: beside it the loss has no digit left already."""


@documented
@parameters
class SemiSupervisedRankingPursuit(FunctionsOfViews):
    """Ranking pursuit with several functions that agree with each other on unscored points.

    Each view has its own function. All fit the scored points, and the pursuit also lowers
    `nu` times the squared disagreement of every two of them on the pairs of unscored points.

    Parameters
    ----------
    n_basis : int or float, default 0.5
        Number of basis functions of each view, or a share in (0, 1] of its dictionary.
    nu : float, default 1
        Weight of the agreement; above 1e30 it counts as that.
    n_views : int, default 2
        Number of views: at most one for each point or feature that is dealt out, and no more
        than 2 GB of kernel values and differences of every two views.
    views : {"points", "loss", "features"} or list of kernels, default "points"
        What sets the views apart. "points": the points are dealt out, and each view is an
        expansion over its own scored and unscored points. "loss": the same, and the loss of each
        view is over its own scored points only. "features": the features are dealt out. A list
        of `n_views` kernels (names or callables): one for each view, in place of `kernel`.
    shared_basis : bool, default False
        Choose the same point for all views at every step; time is then linear in the number of
        unscored points. Only with views that share their points: features or kernels.
    fitting : {"basic", "backfit"}, default "basic"
        Whether a step refits all coefficients of all views jointly.
    {agreement}
    ridge : float, default 0
        Weight of a penalty ``a' K a`` of each view; the paper has none. It needs a symmetric
        kernel.
    {group_weight}
    n_candidates : int or None, default None
        Number of training points, drawn at random, that are dealt out to the dictionaries.
        Memory grows as samples times candidates. None: all points.
    {kernel_parameters, dealing_state}

    Attributes
    ----------
    {functions_of_views}
    staged_coef_ : list of ndarray of shape (n_basis, n_basis)
        For each view, row p holds the coefficients after p + 1 steps.
    cost_ : ndarray of shape (n_basis + 1,)
        Joint training cost after 0, 1, 2, ... steps.
    view_features_ : list of ndarray
        For each view the features that it sees.
    X_basis_ : list of ndarray of shape (n_basis, n_features), or None
        For each view the features of its basis points; None with a precomputed kernel.
    gamma_ : list of float or None
        For each view the gamma in use, from the features that it sees; None for a kernel
        without one.
    {n_groups_, n_features_in_, feature_names_in_}

    See Also
    --------
    RankingPursuit : The same with one function, which the scored points alone determine.

    Notes
    -----
    The functions of the dictionaries are columns of a least-squares problem, so the kernels need
    not be positive definite.

    Kernel values of all samples with the dictionaries are in memory: learning from blocks, by
    `fit_blocks`, `partial_fit` or `fit_on_cluster`, is for the pursuits with one function.

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

    n_basis: int | float = field(default=0.5, kw_only=False)
    nu: float = 1.0
    ridge: float = 0.0
    shared_basis: bool = False
    fitting: JointFitting = "basic"
    agreement: Agreement = "cumulative"
    n_candidates: int | None = None
    random_state: RandomState = None

    _constraints: ClassVar[Constraints] = {
        **DICTIONARY_CONSTRAINTS,
        "nu": NOT_NEGATIVE,
        "ridge": NOT_NEGATIVE,
        "shared_basis": FLAG,
        "fitting": (Choice.of(JointFitting),),
        "agreement": (Choice.of(Agreement),),
    }

    @property
    def _deals_points(self) -> bool:
        return isinstance(self.views, str) and self.views in ("points", "loss")

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self._precomputed and not self._deals_points:
            raise ValueError(
                "views must be 'points' or 'loss' with kernel='precomputed': other views need "
                "the features"
            )
        if self.shared_basis and self._deals_points:
            raise ValueError(
                "shared_basis must be False with views that share no points; use views='features' "
                "or a list of kernels"
            )

    @documented
    def fit(self, X: ArrayLike, y: ArrayLike, groups: ArrayLike | None = None) -> Self:
        """Fit to the order of the scored points inside each group.

        Parameters
        ----------
        {X_train}
        y : array-like of shape (n,)
            Scores; NaN marks an unscored point. Without any, the views agree on the scored
            points.
        {groups}

        Returns
        -------
        self
        """
        X = self._check_points(X, min_samples=2)
        y, labels = checked_scores(X, y), self._group_labels(groups, len(X))
        scored = ~np.isnan(y)
        if np.count_nonzero(scored) < 2:
            raise ValueError("y must hold at least two scores; NaN marks an unscored point")
        where, agreeing = self._agreeing(scored, labels)
        points, losses = self._deal(X, scored, labels)
        forms = [weighted_groups(labels[loss], self.group_weight) for loss in losses]
        n_steps = count_basis(self.n_basis, min(len(own) for own in points))
        of_scores = exponent_of(y[scored])
        with overflow_found_later():
            kernels, of_kernels = self._dictionaries(X, points)
            target = shifted(y, -of_scores)
            ridges = [min(shifted(float(self.ridge), -e), LARGEST_RIDGE) for e in of_kernels]
            penalised = [
                ridge_rows(
                    form.root(kernel[None, loss]),
                    form.root(target[loss]),
                    kernel[None, own],
                    [ridge],
                )
                for form, kernel, loss, own, ridge in zip(
                    forms, kernels, losses, points, ridges, strict=True
                )
            ]
            path = coregularised_pursuit(
                [dictionary for dictionary, _ in penalised],
                [agreeing.root(kernel[None, where]) for kernel in kernels],
                [rows for _, rows in penalised],
                [min(float(self.nu), LARGEST_NU)],
                n_steps,
                fitting=self.fitting,
                agreement=self.agreement,
                shared=self.shared_basis,
            )
        warn_of_early_end(int(path.n_steps[0, 0]), n_steps)
        self._keep(X, path, points, [of_scores - of_kernel for of_kernel in of_kernels])
        self.cost_ = np.array(shifted(path.cost[0, 0, : path.n_steps[0, 0] + 1], 2 * of_scores))
        return self

    def _dictionaries(
        self, X: Array, points: list[NDArray[np.intp]]
    ) -> tuple[list[Array], list[int]]:
        """Kernel values of each view, of a size to compute with, and the powers of two left out."""
        kernels, exponents = [], []
        for view, own in enumerate(points):
            kernel = X[:, own] if self._precomputed else self._kernel_at(X, X[own], view)
            warn_of_flat_kernel(self._kernel_of(view), self.gamma_[view], kernel, own)
            exponents.append(exponent_of(kernel))
            kernels.append(shifted(kernel, -exponents[-1]))
        return kernels, exponents

    def _agreeing(
        self, scored: NDArray[np.bool_], labels: NDArray
    ) -> tuple[NDArray[np.intp], GroupPreferences]:
        """Points on which the views agree, and their form: the scored ones if there are no others.

        A ValueError if no pair is scored.
        """
        common, unscored = group_preferences(labels[scored], self.group_weight), ~scored
        agreeing = weighted_groups(labels[unscored], self.group_weight)
        if agreeing.n_pairs == 0:
            return np.flatnonzero(scored), common
        return np.flatnonzero(unscored), agreeing

    def _deal(
        self, X: Array, scored: NDArray[np.bool_], labels: NDArray
    ) -> tuple[list[NDArray[np.intp]], list[NDArray[np.intp]]]:
        """Set up the views; return of each its dictionary points and the points of its loss."""
        generator = random_generator(self.random_state)
        candidates = draw_candidates(len(X), self.n_candidates, generator)
        check_number_of_views(
            self.n_views,
            len(candidates) if self._deals_points else None,
            X.shape[1] if self.views == "features" else None,
        )
        check_size_of_views(self.n_views, len(X), len(candidates), dealt=self._deals_points)
        points = [candidates] * self.n_views
        losses = [np.flatnonzero(scored)] * self.n_views
        self.view_features_ = [np.arange(X.shape[1])] * self.n_views
        if self._deals_points:
            parts = split_points(scored[candidates], self.n_views, generator)
            points = [candidates[part] for part in parts]
        if self.views == "loss":
            losses = deal_losses(scored, labels, points, generator)
        if self.views == "features":
            self.view_features_ = split_features(X.shape[1], self.n_views, generator)
        self.gamma_ = self._gammas(X)
        return points, losses
