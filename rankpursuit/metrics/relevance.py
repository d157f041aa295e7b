"""Scores of a ranking from binary relevance: mean average precision and mean reciprocal rank.

A point is relevant, or it is not. Points that tie in the prediction may come in any order, and each
score is its mean over all of these orders, computed in closed form.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankpursuit.metrics._places import Array, Places, check_places, running, runs
from rankpursuit.metrics._shapes import groups_of, mean_of_groups, rows_and_stack


def mean_average_precision(
    scores: ArrayLike,
    predictions: ArrayLike,
    groups: ArrayLike | None = None,
    *,
    k: int | None = None,
    threshold: float = 0.0,
    empty: float | None = None,
) -> Array | float:
    """Mean average precision, MAP or MAP@k: a score, higher is better.

    The precision at place i is the share of relevant points among the first i. The average
    precision of a group is the sum of the precisions at the places of its relevant points, over
    the number of them. Points that tie in the prediction count the mean over all orders of them.

    Parameters
    ----------
    scores : array-like of shape (m,) or (b, m)
        With b rows, the first axis of `predictions` has a row of scores each.
    predictions : array-like of shape (..., m) or (b, ..., m)
    groups : array-like of shape (m,), optional
        Each group (a user, a query) is a ranking of its own, and the mean over the groups counts.
        Default: one ranking of all points.
    k : int, optional
        Places that count; the sum is then divided by `k` if there are more relevant points, so
        that the best order has 1. Default: all.
    threshold : float, default 0
        A point is relevant if its score is above it.
    empty : float or None, default None
        What a group without a relevant point counts; None leaves it out. Figures published for
        LETOR count it as 0, LightGBM as 1.

    Returns
    -------
    float or ndarray of shape (...)
        From 0 to 1, the best order. NaN where a prediction has a NaN, and where all groups are
        left out.

    See Also
    --------
    mean_reciprocal_rank : Only the first relevant point counts.
    ndcg_error : For graded relevance.

    Examples
    --------
    Two queries. The first one has its relevant points at places 1 and 3, the second one at 2.

    >>> scores, prediction = [1, 0, 1, 0, 2], [0.9, 0.5, 0.1, 0.8, 0.7]
    >>> round(mean_average_precision(scores, prediction, groups=[7, 7, 7, 8, 8]), 4)
    0.6667

    If the points of the second query tie, either may come first.

    >>> prediction = [0.9, 0.5, 0.1, 0.8, 0.8]
    >>> round(mean_average_precision(scores, prediction, groups=[7, 7, 7, 8, 8]), 4)
    0.7917
    """
    return _mean_over_groups(_average_precision, scores, predictions, groups, k, threshold, empty)


def mean_reciprocal_rank(
    scores: ArrayLike,
    predictions: ArrayLike,
    groups: ArrayLike | None = None,
    *,
    k: int | None = None,
    threshold: float = 0.0,
    empty: float | None = None,
) -> Array | float:
    """Mean reciprocal rank, MRR or MRR@k: a score, higher is better.

    A group counts 1 / i if its first relevant point is at place i. Points that tie in the
    prediction count the mean over all orders of them.

    Parameters
    ----------
    scores : array-like of shape (m,) or (b, m)
        With b rows, the first axis of `predictions` has a row of scores each.
    predictions : array-like of shape (..., m) or (b, ..., m)
    groups : array-like of shape (m,), optional
        Each group (a user, a query) is a ranking of its own, and the mean over the groups counts.
        Default: one ranking of all points.
    k : int, optional
        A group whose first relevant point is below place k counts 0. Default: all places count.
    threshold : float, default 0
        A point is relevant if its score is above it.
    empty : float or None, default None
        What a group without a relevant point counts; None leaves it out.

    Returns
    -------
    float or ndarray of shape (...)
        From 0 to 1. NaN where a prediction has a NaN, and where all groups are left out.

    See Also
    --------
    mean_average_precision : All relevant points count.

    Examples
    --------
    Two queries, with their first relevant points at places 1 and 2.

    >>> scores, prediction = [1, 0, 1, 0, 2], [0.9, 0.5, 0.1, 0.8, 0.7]
    >>> mean_reciprocal_rank(scores, prediction, groups=[7, 7, 7, 8, 8])
    0.75
    >>> mean_reciprocal_rank(scores, prediction, groups=[7, 7, 7, 8, 8], k=1)
    0.5
    """
    return _mean_over_groups(_reciprocal_rank, scores, predictions, groups, k, threshold, empty)


@dataclass(frozen=True)
class _Rankings:
    """Groups of points side by side, each in the predicted order; arrays have the shape (b, g, m).

    Attributes
    ----------
    place : ndarray of shape (m,)
        Place in the group, from 0.
    inside : ndarray
        Place in the tie that the point is part of, from 0.
    size : ndarray
        Points in the tie.
    relevant : ndarray
        Relevant points in the tie.
    before : ndarray
        Relevant points of the group before the tie.
    total : ndarray of shape (b, 1, m)
        Relevant points of the group.
    """

    place: Places
    inside: Places
    size: Places
    relevant: Places
    before: Places
    total: Places

    @classmethod
    def of(cls, relevant: NDArray[np.bool_], stack: Array, starts: Places) -> _Rankings:
        """Rank points whose groups begin at `starts`; `relevant` has the shape (b, m)."""
        places = np.arange(relevant.shape[1])
        sizes = np.diff(starts, append=len(places))
        numbers = np.broadcast_to(np.repeat(np.arange(len(starts)), sizes), stack.shape)
        order = np.lexsort((-stack, numbers), axis=-1)
        begin, end = runs(np.take_along_axis(stack, order, axis=2), starts)
        ordered = np.take_along_axis(relevant[:, None, :], order, axis=2)
        sums = running(ordered.astype(np.intp))
        own_start = np.repeat(starts, sizes)
        n_relevant = np.add.reduceat(relevant, starts, axis=1, dtype=np.intp)
        before, with_tie = (np.take_along_axis(sums, at, axis=2) for at in (begin, end))
        return cls(
            place=places - own_start,
            inside=places - begin,
            size=end - begin,
            relevant=with_tie - before,
            before=before - sums[..., own_start],
            total=np.repeat(n_relevant, sizes, axis=1)[:, None, :],
        )


def _average_precision(ranked: _Rankings, k: float) -> Array:
    """Contribution of each place: the chance of a relevant point times the precision there."""
    # Among the others of a tie, the relevant ones are spread evenly over the places before.
    others = ranked.inside * (ranked.relevant - 1) / np.maximum(ranked.size - 1, 1)
    precision = (ranked.before + 1 + others) / (ranked.place + 1)
    return ranked.relevant / ranked.size * precision / np.clip(ranked.total, 1, k)


def _reciprocal_rank(ranked: _Rankings, k: float) -> Array:
    """Contribution of each place: the chance that the first relevant point is there, over it."""
    irrelevant = ranked.size - ranked.relevant
    possible = (ranked.before == 0) & (ranked.relevant > 0) & (ranked.inside <= irrelevant)
    # All places before, in the tie, are irrelevant: C(irrelevant, inside) / C(size, inside).
    log_factorials = running(np.log(np.arange(1, ranked.place.size + 1)))
    none_before = np.exp(
        log_factorials[irrelevant]
        - log_factorials[np.maximum(irrelevant - ranked.inside, 0)]
        - log_factorials[ranked.size]
        + log_factorials[ranked.size - ranked.inside]
    )
    first = none_before * ranked.relevant / (ranked.size - ranked.inside)
    return np.where(possible, first, 0.0) / (ranked.place + 1)


def _mean_over_groups(
    contribution: Callable[[_Rankings, float], Array],
    scores: ArrayLike,
    predictions: ArrayLike,
    groups: ArrayLike | None,
    k: int | None,
    threshold: float,
    empty: float | None,
) -> Array | float:
    check_places(k)
    predictions = np.asarray(predictions, dtype=np.float64)
    rows, stack = rows_and_stack(np.asarray(scores, dtype=np.float64), predictions)
    order, starts = _side_by_side(groups, rows.shape[1])
    relevant = rows[:, order] > threshold
    ranked = _Rankings.of(relevant, stack[..., order], starts)
    last = np.inf if k is None else k
    counted = np.where(ranked.place < last, contribution(ranked, last), 0.0)
    values = np.add.reduceat(counted, starts, axis=2)
    mean = mean_of_groups(values, np.logical_or.reduceat(relevant, starts, axis=1), empty)
    mean[np.isnan(stack.min(axis=2, initial=np.inf))] = np.nan
    result = mean.reshape(predictions.shape[:-1])
    return result if result.ndim else float(result)


def _side_by_side(groups: ArrayLike | None, n_points: int) -> tuple[Places, Places]:
    """Points group by group, shape (m,), and where each group begins, shape (n_groups,)."""
    if groups is None:
        return np.arange(n_points), np.zeros(min(n_points, 1), dtype=np.intp)
    members = [np.asarray(group) for group in groups_of(groups, n_points, smallest=1)]
    sizes = np.array([len(group) for group in members], dtype=np.intp)
    return np.concatenate(members), np.cumsum(sizes) - sizes
