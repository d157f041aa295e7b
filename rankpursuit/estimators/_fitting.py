"""What a least-squares method is fitted to: scores, scores inside groups, or pairs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankpursuit.estimators._base import KernelEstimator
from rankpursuit.estimators._comparisons import (
    checked_pairs,
    checked_target,
    group_labels,
    group_preferences,
    warn_of_lost_groups,
    weighted_groups,
)
from rankpursuit.estimators._constraints import GROUP_WEIGHT, Constraints
from rankpursuit.estimators._docs import documented
from rankpursuit.estimators._expansion_estimator import LeastSquaresEstimator
from rankpursuit.estimators._lost_groups import warn_of_groups_of_a_search
from rankpursuit.estimators._parameters import parameters
from rankpursuit.estimators._scored import scored_part
from rankpursuit.metrics import pairwise_accuracy
from rankpursuit.preferences import (
    GroupPreferences,
    GroupWeight,
    PairPreferences,
    Pointwise,
    Preferences,
)
from rankpursuit.solvers.least_squares import add_up, grounded, nearest_scores


class FitsScores(LeastSquaresEstimator):
    """A regression method: it fits the scores of single points."""

    __metadata_request__fit: ClassVar = {"groups": True}
    _compares: ClassVar[bool] = False

    def _block_form(self, labels: NDArray) -> Preferences:
        """Return the form of points with these labels, which it ignores."""
        return Pointwise(len(labels))

    @documented
    def fit(self, X: ArrayLike, y: ArrayLike, groups: ArrayLike | None = None) -> Self:
        """Fit to scores.

        Parameters
        ----------
        {X_train, scores}
        groups : array-like of shape (n,), optional
            Ignored: a regression method does not compare points.

        Returns
        -------
        self
        """
        X, y = self._check_scored(X, y)
        group_labels(groups, len(y))
        return self._learn(X, y, Pointwise(len(y)))


@parameters
class ComparesGroups(KernelEstimator):
    """A method that compares the points of a group.

    It asks scikit-learn for the groups wherever these can be passed on.
    """

    group_weight: GroupWeight | Mapping[Any, float] = "equal"

    _constraints: ClassVar[Constraints] = {"group_weight": GROUP_WEIGHT}
    _compares: ClassVar[bool] = True
    __metadata_request__fit: ClassVar = {"groups": True}

    def __sklearn_clone__(self) -> Self:
        warn_of_groups_of_a_search(self)
        return super().__sklearn_clone__()

    def _group_labels(self, groups: ArrayLike | None, n_points: int) -> NDArray:
        """Check the label of each training point, and keep the number of groups."""
        labels = group_labels(groups, n_points)
        self.n_groups_: int | None = len(np.unique(labels))
        return labels

    def _block_form(self, labels: NDArray) -> Preferences:
        """Return the form of points with these labels; there may be no pair."""
        return weighted_groups(labels, self.group_weight)

    def _compared(self, groups: ArrayLike | None, n_points: int) -> GroupPreferences:
        """All pairs inside each group, as the parameter weighs them; keep the number of groups."""
        compared = group_preferences(group_labels(groups, n_points), self.group_weight)
        self.n_groups_ = compared.n_groups
        return compared


class Ranker(ComparesGroups):
    """A ranker is scored by the pairs that it puts in the right order."""

    # A pipeline always offers sample weights, and fails if its last step has never heard of them.
    __metadata_request__score: ClassVar = {"groups": True, "sample_weight": None}

    @documented
    def score(self, X: ArrayLike, y: ArrayLike, groups: ArrayLike | None = None) -> float:
        """Pairwise accuracy: the share of pairs with different scores in the right order.

        Parameters
        ----------
        {X_new}
        y : array-like of shape (m,)
            True scores; points with NaN are passed over.
        groups : array-like of shape (m,), optional
            Only pairs inside a group count. Default: all pairs.

        Returns
        -------
        float
            Between 0 and 1; a pair tied in the prediction counts half.

        Warns
        -----
        UserWarning
            If there were several groups in `fit` and there are none here, or the other way round:
            it is likely that groups were lost on their way.
        """
        y, prediction, labels = scored_part(y, self.predict(X), groups)
        warn_of_lost_groups(self, self.n_groups_, labels)
        return float(pairwise_accuracy(y, prediction, labels))


class FitsOrder(Ranker, LeastSquaresEstimator):
    """A ranking method with the squared loss: it fits differences of points."""

    @documented
    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        *,
        pairs: ArrayLike | None = None,
        weights: ArrayLike | None = None,
    ) -> Self:
        """Fit to the differences of scores inside each group, or of explicit pairs.

        Parameters
        ----------
        {X_train}
        y : array-like of shape (n,), optional
            Scores. May be left out with `pairs`.
        {groups}
        pairs : array-like of shape (p, 2), optional
            Instead of groups, the pairs to compare: a row (i, j) says that sample i is preferred
            to sample j. A pair may occur more than once and in both directions. The indices are
            those of the rows of X, so a cross-validation that draws rows cannot pass pairs on.
        weights : array-like of shape (p,), optional
            Positive weights of the pairs. Default: all 1.

        Returns
        -------
        self

        Notes
        -----
        With pairs the cost is ``sum_k w_k (d_k - (f_i - f_j))^2`` over the rows (i, j). The
        difference ``d_k`` to be matched is ``y_i - y_j`` if there are scores, even one that
        contradicts the pair, and otherwise 1. Rows about the same two samples are one comparison
        with the weight ``sum w_k`` and the difference ``sum +-w_k / sum w_k``, with a plus for
        each row that prefers the first of the two; the cost leaves out what no function changes.
        """
        if pairs is None and weights is None:
            X, y = self._check_scored(X, checked_target(self, y), min_samples=2)
            return self._learn(X, y, self._compared(groups, len(y)))
        if y is None:
            X = self._check_points(X, min_samples=2)
        else:
            X, y = self._check_scored(X, y, min_samples=2)
        self.n_groups_ = None
        n_points = X.shape[0]
        edges = add_up(*checked_pairs(pairs, weights, groups, n_points))
        scores = nearest_scores(n_points, edges) if y is None else grounded(y, edges)
        return self._learn(X, scores, PairPreferences(n_points, edges.pairs, edges.weights))
