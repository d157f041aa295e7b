"""RankSVM: a hinge loss on every pair."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning

from rankpursuit.errors import warn_caller
from rankpursuit.estimators._base import (
    PENALTIES,
    FoldPath,
    Grid,
    KernelEstimator,
    Split,
    TrainingData,
)
from rankpursuit.estimators._checks import Array, GroupWeights, Kernel, check_pairs
from rankpursuit.preferences import Preferences
from rankpursuit.solvers import (
    GroupedPairs,
    Loss,
    OrderedPairs,
    add_up_ordered,
    linear_kernel,
    rank_svm_grid,
)

_FEWEST_POINTS, _FEW_POINTS = 200, 1000
"""Maximum numbers of points for which a linear model is solved by its kernel matrix: in general,
and with at least as many features."""


class RankSVM(KernelEstimator):
    """Ranking support vector machine: a hinge loss on every pair within a group.

    Minimises ``a' K a / 2 + C sum w_ij max(0, 1 - (f_i - f_j))`` over the pairs in which i has a
    higher score than j.

    Parameters
    ----------
    C : float, default 1
        Weight of the loss; positive.
    loss : {"hinge", "squared_hinge"}, default "hinge"
        Loss of a pair: its slack, or the square of that, which is solved faster.
    tol : float, default 1e-3
        Relative duality gap to reach. If it is not reached, a ConvergenceWarning reports the gap.
    group_weight, kernel, gamma, degree, coef0, kernel_params : optional
        The weights of groups and the kernel, as in :class:`RankingPursuit`.

    Attributes
    ----------
    basis_ : ndarray of shape (n_basis,)
        Indices of the training points with a nonzero coefficient; with a linear kernel, indices of
        all features.
    coef_ : ndarray of shape (n_basis,)
        Their coefficients; with a linear kernel, the weights of the features.
    duality_gap_ : float
        Relative duality gap of the solution.
    X_basis_, gamma_, n_groups_, n_features_in_, feature_names_in_
    categories_, missing_, group_column_
        As in :class:`RankingPursuit`.

    See Also
    --------
    RankRLS : The squared loss on the same pairs.

    Notes
    -----
    Time and memory grow with the number of pairs, but no kernel of pairs is ever formed. With a
    linear kernel the pairs are counted by sorting, time and memory grow with the number of points,
    and X may be sparse. With a kernel that is not positive semi-definite the problem is not convex:
    the solution is where the solver stopped, and a warning reports its gap.

    Examples
    --------
    >>> import numpy as np
    >>> from rankpursuit import RankSVM
    >>> rng = np.random.default_rng(0)
    >>> X, groups = rng.normal(size=(40, 2)), np.repeat(np.arange(4), 10)
    >>> y = X[:, 0] + 10 * groups
    >>> model = RankSVM(kernel="linear").fit(X, y, groups)
    >>> round(model.score(X, y, groups), 2), bool(model.duality_gap_ <= model.tol)
    (1.0, True)

    Judgements instead of scores, the first of them twice.

    >>> model = RankSVM(kernel="linear").fit(X, pairs=[(3, 1), (0, 2), (3, 1)])
    >>> first, second, third, fourth = model.predict(X[:4])
    >>> bool(fourth > second and first > third)
    True
    """

    _has_linear_form = True
    _path_axes = ("C",)
    _search_values: ClassVar = {"C": PENALTIES}
    _not_taken = ("sample_weight",)

    def __init__(
        self,
        C: float = 1.0,
        *,
        loss: Loss = "hinge",
        tol: float = 1e-3,
        group_weight: GroupWeights = "equal",
        kernel: Kernel = "rbf",
        gamma: float | str | None = "scale",
        degree: int = 3,
        coef0: float = 1.0,
        kernel_params: Mapping[str, Any] | None = None,
    ) -> None:
        self._set_parameters(locals())

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        *,
        qid: ArrayLike | None = None,
        group: ArrayLike | None = None,
        pairs: ArrayLike | None = None,
        weights: ArrayLike | None = None,
        **unsupported: Any,
    ) -> Self:
        """Fit to the order of scores within each group, or of explicit pairs.

        Parameters
        ----------
        X : array-like of shape (n, n_features), or (n, n) kernel values if precomputed
        y : array-like of shape (n,), optional
            Scores; ties produce no pair. Not allowed with `pairs`.
        groups : array-like of shape (n,), optional
            Label or query id of each point; only points of one group are compared. Default: all.
        qid : array-like of shape (n,), optional
            Another name for `groups`.
        group : array-like of shape (n_groups,), optional
            Sizes of consecutive groups, as in LightGBM, instead of `groups`.
        pairs : array-like of shape (p, 2), optional
            Instead of scores, the order of some pairs: a row (i, j) says that sample i is
            preferred to sample j. The weights of a row that occurs more than once add up, and
            (i, j) and (j, i) are two pairs, each with its loss. Indices refer to the rows of
            X, so that cross-validation, which selects rows, cannot pass pairs on.
        weights : array-like of shape (p,), optional
            Positive weights of the pairs' losses. Default: all 1.
        **unsupported : dict
            Not supported; `sample_weight` raises a ValueError.

        Returns
        -------
        self
        """
        self._refuse(**unsupported)
        if pairs is None and weights is None:
            return super().fit(X, y, groups, qid=qid, group=group)
        X, self.n_groups_ = self._check_points(X), None
        checked = check_pairs(pairs, weights, [groups, qid, group], X.shape[0])
        listed = add_up_ordered(*checked)
        if y is not None:
            raise ValueError("y and pairs both define the preferences; pass one of them")
        return self._fit_pairs(X, OrderedPairs(X.shape[0], *listed))

    def _fit(self, X: Any, scores: Array, preferences: Preferences) -> Self:
        return self._fit_pairs(X, self._order_pairs(X, scores, preferences))

    def _order_pairs(
        self, X: Any, scores: Array, preferences: Preferences
    ) -> OrderedPairs | GroupedPairs:
        """Return the pairs of different scores within groups, as the solver needs them."""
        groups = preferences.groups
        assert groups is not None
        if self._in_weights(X):
            return GroupedPairs(scores, groups.codes, groups.point_weights)
        return OrderedPairs.of_scores(scores, groups.pairs(), groups.pair_weights())

    def _iter_paths(
        self, data: TrainingData, splits: list[Split], gammas: list[Any], grid: Grid
    ) -> Iterator[FoldPath]:
        X = self._check_for_kernel(data.X)
        for train, test in splits:
            if self._in_weights(X[train]):
                columns, new = X[train], X[test]
            else:
                columns, new = (self._stack(X, rows, train, gammas) for rows in (train, test))
            pairs = self._order_pairs(X[train], data.y[train], data.preferences(self, train))
            options = {"loss": self.loss, "tol": self.tol}
            yield partial(rank_svm_grid, columns, pairs, grid, **options), new

    def _in_weights(self, X: Any) -> bool:
        """Return whether a linear model is solved for its weights, without a kernel matrix."""
        n_points, n_features = X.shape
        few = n_points <= (_FEW_POINTS if n_points <= n_features else _FEWEST_POINTS)
        return self._in_features and not few

    def _fit_pairs(self, X: Any, pairs: Any) -> Self:
        if self._in_weights(X):
            columns = X
        elif self._in_features:
            columns = linear_kernel(X, X)[None]
        else:
            columns = self._training_kernel(X, np.arange(len(X)))[None]
        path = rank_svm_grid(columns, pairs, {"C": [self.C]}, loss=self.loss, tol=self.tol)
        self.duality_gap_ = float(path.gap[0, 0])
        if columns is X:
            self._store_weights(path.coef[0, 0])
        elif self._in_features:
            self._store_weights(X.T @ path.coef[0, 0])
        else:
            self._store_expansion(X, *path.coefficients((0, 0)))
        if not abs(self.duality_gap_) <= self.tol:
            warn_caller(
                f"RankSVM stopped at a relative duality gap of {self.duality_gap_:.1e}, above "
                f"tol={self.tol:g}; scale the features, lower C or use a positive definite kernel",
                ConvergenceWarning,
            )
        return self
