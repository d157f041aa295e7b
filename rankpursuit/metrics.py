"""Errors and scores of predictions."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from rankpursuit.labels import checked_labels

COUNTER_LIMIT = np.iinfo(np.uint8).max
"""So many flags are summed in one byte each."""
_LINE = 64
"""Bytes of a line of the cache: rows that begin with one take a third less time to compare."""


def aligned(shape: tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
    """Return an empty array whose first axis steps over whole lines of the cache."""
    size = np.dtype(dtype).itemsize
    n_lines = -(-math.prod(shape[1:]) * size // _LINE)
    memory = np.empty((shape[0] * n_lines + 1) * _LINE, dtype=np.uint8)
    begin = -memory.ctypes.data % _LINE
    rows = memory[begin : begin + shape[0] * n_lines * _LINE].view(dtype)
    rows = rows.reshape(shape[0], n_lines * _LINE // size)
    return rows[:, : math.prod(shape[1:])].reshape(shape)


def count(flags: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Count along the first axis, in bytes where no count can overflow one."""
    counter = np.uint8 if len(flags) <= COUNTER_LIMIT else np.uint32
    return np.add.reduce(flags.view(np.uint8), axis=0, dtype=counter).astype(np.float64)


class Counter:
    """Counts of comparisons, many of them summed at a time.

    Parameters
    ----------
    capacity : int
        How many rows of flags are kept before they are summed.
    n_columns : int
        Length of a row.
    """

    def __init__(self, capacity: int, n_columns: int) -> None:
        self._flags = aligned((capacity, n_columns), bool)
        self._capacity, self._size = capacity, 0
        self._total = np.zeros(n_columns)

    def add(
        self, compare: np.ufunc, some: NDArray[np.float64], others: NDArray[np.float64]
    ) -> None:
        """Count which of the others compare so with each of some."""
        n_some, n_others = len(some), len(others)
        end = self._size + n_some * n_others
        if end > self._capacity:
            self.total()
            end = n_some * n_others
        flags = self._flags[self._size : end]
        if n_some == 1:
            compare(some, others, out=flags)
        else:
            compare(some[:, None], others, out=flags.reshape(n_some, n_others, -1))
        self._size = end

    def total(self) -> NDArray[np.float64]:
        """Return the counts so far."""
        self._total += count(self._flags[: self._size])
        self._size = 0
        return self._total


Array = NDArray[np.float64]
Places = NDArray[np.intp]


def check_places(k: int | None) -> None:
    """Raise a ValueError unless `k` is a number of places."""
    if k is not None and k < 1:
        raise ValueError(f"k: expected a whole number of at least 1, got {k!r}")


def running(values: NDArray[Any]) -> NDArray[Any]:
    """Return the sums of the first 0, 1, 2, ... values along the last axis."""
    sums = np.zeros((*values.shape[:-1], values.shape[-1] + 1), dtype=values.dtype)
    np.cumsum(values, axis=-1, out=sums[..., 1:])
    return sums


def runs(falling: Array, starts: Places | None = None) -> tuple[Places, Places]:
    """For each of the values along the last axis, where its run of equals begins and ends.

    Parameters
    ----------
    falling : ndarray of shape (..., m)
    starts : ndarray of shape (n_rankings,), optional
        Where rankings begin, if there are several side by side: no run reaches across.
    """
    n_points = falling.shape[-1]
    places = np.arange(n_points)
    new = np.ones(falling.shape, dtype=bool)
    new[..., 1:] = falling[..., 1:] != falling[..., :-1]
    if starts is not None:
        new[..., starts] = True
    begin = np.maximum.accumulate(np.where(new, places, 0), axis=-1)
    last = np.ones(falling.shape, dtype=bool)
    last[..., :-1] = new[..., 1:]
    end = np.where(last, places + 1, n_points)[..., ::-1]
    return begin, np.minimum.accumulate(end, axis=-1)[..., ::-1]


def rows_and_stack(
    scores: NDArray[np.float64], predictions: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Scores as b rows, shape (b, m), and the predictions of each, shape (b, g, m)."""
    own = scores.shape[:-1]  # the axis of predictions that has rows of scores, if any
    first, last = predictions.shape[: len(own)], predictions.shape[-1:]
    fits = (first, last) == (own, scores.shape[-1:]) and predictions.ndim > len(own)
    if not fits or scores.ndim not in (1, 2):
        shape = f"({own[0]}, ..., {scores.shape[1]})" if len(own) == 1 else f"(..., {scores.size})"
        raise ValueError(
            f"predictions: expected the shape {shape}, a value for each of the scores; "
            f"got the shape {predictions.shape}"
        )
    if n_missing := np.count_nonzero(np.isnan(scores)):
        raise ValueError(f"scores: {n_missing} of {scores.size} are NaN; leave those points out")
    n_predictions = math.prod(predictions.shape[len(own) : -1])
    rows = np.atleast_2d(scores)
    return rows, predictions.reshape(len(rows), n_predictions, rows.shape[1])


def groups_of(
    groups: ArrayLike | None, n_points: int, *, smallest: int = 2
) -> list[NDArray[np.intp] | slice]:
    """Points of each group that has at least one pair, or at least `smallest` points."""
    if groups is None:
        return [slice(None)]
    labels = checked_labels(groups)
    if labels.shape != (n_points,):
        raise ValueError(f"groups: expected {n_points} labels, got the shape {labels.shape}")
    _, codes, sizes = np.unique(labels, return_inverse=True, return_counts=True)
    members = np.split(np.argsort(codes, kind="stable"), np.cumsum(sizes)[:-1])
    return [group for group in members if len(group) >= smallest]


def mean_of_groups(
    values: NDArray[np.float64], counts: NDArray[np.bool_], empty: float | None
) -> NDArray[np.float64]:
    """Mean over the groups, NaN if none counts.

    Parameters
    ----------
    values : ndarray of shape (b, g, n_groups)
        Of each prediction, in each group.
    counts : ndarray of shape (b, n_groups)
        Which groups have anything to rank.
    empty : float or None
        What the other groups count; None leaves them out.

    Returns
    -------
    ndarray of shape (b, g)
    """
    if empty is not None and not isinstance(empty, numbers.Real):
        raise ValueError(f"empty: expected a number, or None to leave groups out, got {empty!r}")
    values = np.where(counts[:, None, :], values, 0.0 if empty is None else float(empty))
    n_groups = counts.sum(axis=1) if empty is None else np.full(len(counts), counts.shape[1])
    sums, n_groups = values.sum(axis=2), n_groups[:, None]
    return np.divide(sums, n_groups, out=np.full_like(sums, np.nan), where=n_groups > 0)


Ties = Literal["half", "all", "untied"]

_BLOCK = 1 << 17
"""Predictions are compared in blocks of so many values, which stay in the cache of a core."""
_BUFFER = 1024
"""Size of numpy's buffer: rows shorter than half of it are copied as often as they are compared."""
_FEW = 1024
"""So many values are compared all with all at once: a sweep for each point would take longer."""


def disagreement_error(
    scores: ArrayLike,
    predictions: ArrayLike,
    groups: ArrayLike | None = None,
    *,
    normalized: bool = True,
    ties: Ties = "half",
) -> NDArray[np.float64] | float:
    """Disagreement error of formula (1), for one prediction or for a whole stack of them.

    Raw, it is ``1/2 sum_ij W_ij |sign(s_i - s_j) - sign(f_i - f_j)|``: 2 for each pair in the
    wrong order, 1 for a pair that is tied on one side only.

    Parameters
    ----------
    scores : array-like of shape (m,) or (b, m)
        With b rows, the first axis of `predictions` has a row of scores each.
    predictions : array-like of shape (..., m) or (b, ..., m)
    groups : array-like of shape (m,), optional
        Only pairs inside a group count. Default: all pairs.
    normalized : bool, default True
        Divide by twice the number of pairs, so that without ties 0 is perfect, 1 is reversed and
        a constant prediction has 1/2.
    ties : {"half", "all", "untied"}, default "half"
        "half": a pair that is tied on either side is half wrong; normalised, this is
        ``(1 - tau_a) / 2`` with Kendall's tau_a, and a constant prediction has 1/2. "all" counts
        every pair as the formula does: one that is tied on both sides costs nothing, so that a
        constant prediction is right about all tied scores, and among scores with many ties wins.
        "untied" counts only the pairs whose scores differ.

    Returns
    -------
    float or ndarray of shape (...)
        NaN where normalised and no pair counts, and where a prediction has a NaN.
    """
    if ties not in get_args(Ties):
        known = " or ".join(map(repr, get_args(Ties)))
        raise ValueError(f"ties: expected {known}, got {ties!r}")
    scores = np.asarray(scores, dtype=np.float64)
    predictions = np.asarray(predictions, dtype=np.float64)
    rows, stack = rows_and_stack(scores, predictions)
    wrong, n_pairs = np.zeros(stack.shape[:2]), np.zeros((len(rows), 1))
    for members in groups_of(groups, rows.shape[1]):
        group_wrong, group_pairs = _group_disagreement(rows[:, members], stack[..., members], ties)
        wrong += group_wrong
        n_pairs += group_pairs
    # All comparisons with NaN are false, and the minimum is NaN if one value is.
    if np.isnan(stack.min(initial=np.inf)):
        wrong[np.isnan(stack.min(axis=2))] = np.nan
    if normalized:
        wrong = np.divide(wrong, 2.0 * n_pairs, out=np.full_like(wrong, np.nan), where=n_pairs > 0)
    result = wrong.reshape(predictions.shape[:-1])
    return result if result.ndim else float(result)


def pairwise_accuracy(
    scores: ArrayLike, predictions: ArrayLike, groups: ArrayLike | None = None
) -> NDArray[np.float64] | float:
    """Share of the pairs with different scores that are predicted in the right order.

    A pair that is tied in the prediction counts half. NaN if no pair has different scores.

    Parameters
    ----------
    scores : array-like of shape (m,)
    predictions : array-like of shape (..., m)
    groups : array-like of shape (m,), optional

    Returns
    -------
    float or ndarray of shape (...)
    """
    return 1.0 - disagreement_error(scores, predictions, groups, ties="untied")


def _group_disagreement(
    scores: NDArray[np.float64], stack: NDArray[np.float64], ties: Ties
) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """Raw disagreement of predictions of shape (b, g, m), and each row's number of pairs, (b, 1).

    `scores` has the shape (b, m).
    """
    n_rows, n_predictions, n_points = stack.shape
    if stack.size <= _FEW:
        return _compare_all(scores, stack, ties)
    order = np.argsort(-scores, axis=1, kind="stable")
    worse = _first_worse(np.take_along_axis(scores, order, axis=1))
    n_pairs = np.full((n_rows, 1), n_points * (n_points - 1) // 2)
    n_untied = np.sum(n_points - worse, axis=1, keepdims=True)
    wrong = np.empty((n_rows, n_predictions))
    # Points lead, so that one comparison serves many predictions in a contiguous sweep.
    by_point = np.moveaxis(stack, 2, 0)
    per_row = max(1, _BLOCK // max(1, n_points))
    for rows in _parts(worse, n_predictions):
        for start in range(0, n_predictions, per_row):
            columns = slice(start, start + per_row)
            values = by_point[order[rows].T, rows, columns]
            block = aligned(values.shape, np.float64)
            block[...] = values
            wrong[rows, columns] = _wrong_pairs(block, worse[rows], ties)
    if ties == "half":
        wrong += n_pairs - n_untied
    return wrong, n_untied if ties == "untied" else n_pairs


def _compare_all(
    scores: NDArray[np.float64], stack: NDArray[np.float64], ties: Ties
) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """Return what `_group_disagreement` does, from the signs of all differences."""
    n_points = scores.shape[1]
    true, predicted = _signs(scores)[:, None], _signs(stack)
    n_pairs = np.full((len(scores), 1), n_points * (n_points - 1) // 2)
    n_untied = np.count_nonzero(true, axis=(2, 3)) // 2
    if ties == "all":
        wrong = np.abs(true - predicted).sum(axis=(2, 3)) / 2
        return wrong, n_pairs
    right_less_wrong = (true * predicted).sum(axis=(2, 3)) / 2
    counted = n_pairs if ties == "half" else n_untied
    return counted - right_less_wrong, counted


def _signs(values: NDArray[np.float64]) -> NDArray[np.int8]:
    """Signs of the differences of all values along the last axis, shape (..., m, m)."""
    one, other = values[..., :, None], values[..., None, :]
    return (one > other).view(np.int8) - (one < other).view(np.int8)


def _first_worse(falling: NDArray[np.float64]) -> NDArray[np.intp]:
    """For each of a row of falling scores, shape (b, m), where the worse ones begin."""
    n_points = falling.shape[1]
    ends = np.full(falling.shape, n_points)
    ends[:, :-1] = np.where(falling[:, :-1] > falling[:, 1:], np.arange(1, n_points), n_points)
    return np.minimum.accumulate(ends[:, ::-1], axis=1)[:, ::-1]


def _parts(worse: NDArray[np.intp], n_predictions: int) -> Iterator[NDArray[np.intp]]:
    """Rows to compare together: a block full, or less where their scores have different ties."""
    n_rows, n_points = worse.shape
    n_parts = min(n_rows, -(-n_rows * n_points * n_predictions // _BLOCK))
    for rows in np.array_split(np.arange(n_rows), max(1, n_parts)):
        unlike = worse[rows] - worse[rows].min(axis=0)
        if unlike.sum() * n_predictions <= _BLOCK // 2:
            yield rows
        else:
            changes = np.flatnonzero((unlike[1:] != unlike[:-1]).any(axis=1)) + 1
            yield from np.split(rows, changes)


def _wrong_pairs(
    block: NDArray[np.float64], worse: NDArray[np.intp], ties: Ties
) -> NDArray[np.float64]:
    """Count 2 for every untied pair in the wrong order and 1 for a tied prediction.

    Parameters
    ----------
    block : ndarray of shape (m, b, g)
        Predictions of points in the order of falling scores, which differ between the rows b.
    worse : ndarray of shape (b, m)
        Behind point i come first the points tied with it, then, from here on, the worse ones.
    ties : {"all", "half", "untied"}
        With "all", also count 1 for every tied pair whose predictions differ.
    """
    n_points = len(block)
    begin = worse.min(axis=0, initial=n_points)
    values = block.reshape(n_points, -1)
    counter = Counter(max(COUNTER_LIMIT, n_points), values.shape[1])
    with np.errstate():  # also ends the scope of the buffer's size
        np.setbufsize(_BUFFER)
        for start, end, first_worse in _swept_together(begin):
            counter.add(np.less, values[start:end], values[first_worse:])
            counter.add(np.less_equal, values[start:end], values[first_worse:])
    wrong = counter.total().reshape(block.shape[1:])
    _subtract_tied(wrong, block, worse, begin)
    for i in range(n_points - 1 if ties == "all" else 0):
        behind = np.arange(i + 1, worse[:, i].max(initial=i + 1))
        tied = behind[:, None, None] < worse[:, i, None]
        wrong += count((block[i] != block[behind]) & tied)
    return wrong


def _swept_together(begin: NDArray[np.intp]) -> Iterator[tuple[int, int, int]]:
    """Ranges of points with the same worse points, as many as are counted at once.

    Yields the first point, the one behind the last, and where the worse ones begin.
    """
    n_points, start = len(begin), 0
    last = np.flatnonzero(np.diff(begin, append=n_points + 1))
    for end, first_worse in zip((last + 1).tolist(), begin[last].tolist(), strict=True):
        if first_worse == n_points:
            return
        together = max(1, COUNTER_LIMIT // (n_points - first_worse))
        for i in range(start, end, together):
            yield i, min(i + together, end), first_worse
        start = end


def _subtract_tied(
    wrong: NDArray[np.float64],
    block: NDArray[np.float64],
    worse: NDArray[np.intp],
    begin: NDArray[np.intp],
) -> None:
    """Take back, in rows with more ties than others, the pairs i, j with begin <= j < worse."""
    n_tied = worse - begin
    n_of_row = n_tied.sum(axis=1)
    found = np.flatnonzero(n_of_row)
    if not len(found):
        return
    n_tied = n_tied.ravel()
    which = np.repeat(np.arange(n_tied.size), n_tied)
    rows, i = np.divmod(which, len(block))
    j = begin[i] + np.arange(len(which)) - np.repeat(np.cumsum(n_tied) - n_tied, n_tied)
    one, other = block[i, rows], block[j, rows]
    counts = (one < other).view(np.uint8) + (one <= other).view(np.uint8)
    starts = (np.cumsum(n_of_row) - n_of_row)[found]
    wrong[found] -= np.add.reduceat(counts, starts, axis=0, dtype=np.uint32)


Variant = Literal["a", "b"]


def kendall_tau(
    scores: ArrayLike,
    predictions: ArrayLike,
    groups: ArrayLike | None = None,
    *,
    variant: Variant = "b",
    empty: float | None = None,
) -> Array | float:
    """Kendall's tau, the mean over groups: a score, higher is better.

    In a group it is the number of pairs in the right order less the number of those in the wrong
    one, over the number of all pairs (tau_a), or over the geometric mean of the numbers of pairs
    that are not tied in the scores and not tied in the prediction (tau_b). A pair that is tied on
    either side is neither right nor wrong.

    Parameters
    ----------
    scores : array-like of shape (m,) or (b, m)
        With b rows, the first axis of `predictions` has a row of scores each.
    predictions : array-like of shape (..., m) or (b, ..., m)
    groups : array-like of shape (m,), optional
        Only pairs inside a group (a user, a query) are compared, and the mean over the groups
        counts. Default: all pairs.
    variant : {"a", "b"}, default "b"
        With "b", ties in the scores do not keep a prediction from reaching 1, if it has the same
        ties. With "a", ``(1 - tau_a) / 2`` is the disagreement error with half wrong ties.
    empty : float or None, default None
        What a group counts in which no two scores differ, so that there is nothing to order; None
        leaves it out.

    Returns
    -------
    float or ndarray of shape (...)
        From -1, reversed, to 1; a constant prediction of a group counts 0. NaN where a prediction
        has a NaN, and where all groups are left out.

    See Also
    --------
    disagreement_error : Counts the pairs of all groups together.

    Examples
    --------
    >>> kendall_tau([3, 2, 1], [0.9, 0.1, 0.5], variant="a") == 1 / 3
    True
    >>> kendall_tau([3, 2, 1, 7, 6], [0.9, 0.5, 0.1, 0.2, 0.8], groups=[0, 0, 0, 1, 1])
    0.0
    """
    if variant not in get_args(Variant):
        known = " or ".join(map(repr, get_args(Variant)))
        raise ValueError(f"variant: expected {known}, got {variant!r}")
    predictions = np.asarray(predictions, dtype=np.float64)
    rows, stack = rows_and_stack(np.asarray(scores, dtype=np.float64), predictions)
    members = groups_of(groups, rows.shape[1])
    taus = np.zeros((*stack.shape[:2], len(members)))
    ordered = np.zeros((len(rows), len(members)), dtype=bool)
    for number, own in enumerate(members):
        n_pairs, untied = _pairs(rows[:, own]), _untied_pairs(rows[:, own])
        wrong = disagreement_error(rows[:, own], stack[..., own], normalized=False, ties="half")
        ordered[:, number] = untied > 0
        if variant == "a":
            possible = np.full_like(taus[..., number], n_pairs)
        else:
            possible = np.sqrt(untied[:, None] * _untied_pairs(stack[..., own]))
        taus[..., number] = np.divide(
            n_pairs - wrong, possible, out=np.zeros_like(possible), where=possible > 0.0
        )
    mean = mean_of_groups(taus, ordered, empty)
    mean[np.isnan(stack.min(axis=2, initial=np.inf))] = np.nan
    result = mean.reshape(predictions.shape[:-1])
    return result if result.ndim else float(result)


def _pairs(values: Array) -> int:
    """Count the pairs of points along the last axis."""
    return values.shape[-1] * (values.shape[-1] - 1) // 2


def _untied_pairs(values: Array) -> Array:
    """Count the pairs along the last axis whose values differ."""
    begin, end = runs(np.sort(values, axis=-1))
    # Each point of a tie of t points stands for half of its t - 1 pairs.
    return _pairs(values) - (end - begin - 1).sum(axis=-1) / 2.0


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


def squared_error(scores: ArrayLike, predictions: ArrayLike) -> NDArray[np.float64] | float:
    """Mean squared error, for one prediction or for a whole stack of them.

    Parameters
    ----------
    scores : array-like of shape (m,) or (b, m)
        With b rows, the first axis of `predictions` has a row of scores each.
    predictions : array-like of shape (..., m) or (b, ..., m)

    Returns
    -------
    float or ndarray of shape (...)
    """
    scores = np.asarray(scores, dtype=np.float64)
    predictions = np.asarray(predictions, dtype=np.float64)
    own = scores.shape[:-1]  # the axis of predictions that has rows of scores, if any
    beside = scores.reshape(*own, *[1] * (predictions.ndim - scores.ndim), scores.shape[-1])
    result = np.mean(np.square(predictions - beside), axis=-1)
    return result if result.ndim else float(result)


def sparsity(coefficients: ArrayLike) -> NDArray[np.float64] | float:
    """Share of the coefficients, along the last axis, that are exactly zero."""
    result = np.mean(np.asarray(coefficients) == 0.0, axis=-1)
    return result if result.ndim else float(result)


Gain = Literal["linear", "exponential"]
Discount = Literal["standard", "letor"]


def ndcg_error(
    scores: ArrayLike,
    predictions: ArrayLike,
    groups: ArrayLike | None = None,
    *,
    k: int | None = None,
    gain: Gain = "linear",
    discount: Discount = "standard",
    empty: float | None = 0.0,
) -> Array | float:
    """One minus the normalised discounted cumulative gain, NDCG@k.

    The point that is predicted to come at place i = 1, 2, ... counts its gain over
    ``log2(i + 1)``, up to place k; the sum is divided by that of the best order. Points that tie in
    the prediction share their places: each counts the mean over all orders of them.

    Parameters
    ----------
    scores : array-like of shape (m,) or (b, m)
        Graded. With b rows, the first axis of `predictions` has a row of scores each.
    predictions : array-like of shape (..., m) or (b, ..., m)
    groups : array-like of shape (m,), optional
        Each group (a user, a query) is a ranking of its own, and the mean over the groups of
        more than one point counts.
        Default: one ranking of all points.
    k : int, optional
        Places that count. Default: all.
    gain : {"linear", "exponential"}
        What a point is worth: its score above the lowest of its group, so that any scale will do;
        or ``2^score - 1``, for grades from 0 on.
    discount : {"standard", "letor"}
        What a gain at place i is divided by: ``log2(i + 1)``; or ``max(1, log2(i))``, as in the
        program that LETOR 4.0 is evaluated with.
    empty : float or None, default 0
        What a group counts whose points are all worth nothing, so that no order of them is wrong;
        None leaves it out. LightGBM counts it as right too, figures published for LETOR as wrong:
        1.

    Returns
    -------
    float or ndarray of shape (...)
        From 0, the best order, to 1. NaN where a prediction has a NaN, and where all groups are
        left out.

    Examples
    --------
    >>> ndcg_error([2, 1, 0], [0.9, 0.5, 0.1])
    0.0
    >>> round(ndcg_error([2, 1, 0], [0.1, 0.5, 0.9], k=1), 3)
    1.0
    """
    check_places(k)
    for name, value, known in (("gain", gain, Gain), ("discount", discount, Discount)):
        if value not in get_args(known):
            expected = " or ".join(map(repr, get_args(known)))
            raise ValueError(f"{name}: expected {expected}, got {value!r}")
    scores = np.asarray(scores, dtype=np.float64)
    predictions = np.asarray(predictions, dtype=np.float64)
    rows, stack = rows_and_stack(scores, predictions)
    if gain == "exponential" and rows.size and rows.min() < 0:
        raise ValueError("scores: grades of at least 0 are needed for an exponential gain")
    members = groups_of(groups, rows.shape[1])
    errors = np.zeros((*stack.shape[:2], len(members)))
    worth = np.zeros((len(rows), len(members)), dtype=bool)
    for number, own in enumerate(members):
        gains = _gains(rows[:, own], gain)
        discounts = _discounts(gains.shape[1], k, discount)
        errors[..., number], worth[:, number] = _error(gains, stack[..., own], discounts)
    error = mean_of_groups(errors, worth, empty)
    error[np.isnan(stack.min(axis=2, initial=np.inf))] = np.nan
    result = error.reshape(predictions.shape[:-1])
    return result if result.ndim else float(result)


def _gains(scores: Array, gain: Gain) -> Array:
    """Tell what each point of a group is worth."""
    if gain == "exponential":
        return np.exp2(scores) - 1.0
    return scores - scores.min(axis=1, initial=np.inf, keepdims=True)


def _discounts(n_points: int, k: int | None, discount: Discount) -> Array:
    """Weight of each place."""
    places = np.arange(1, n_points + 1)
    divisors = np.log2(places + 1) if discount == "standard" else np.log2(np.maximum(places, 2))
    discounts = 1.0 / divisors
    discounts[n_points if k is None else k :] = 0.0
    return discounts


def _error(gains: Array, stack: Array, discounts: Array) -> tuple[Array, NDArray[np.bool_]]:
    """Errors (b, g) of predictions (b, g, m) of one group with gains (b, m), and where it has any.

    The second result, of the shape (b,), says in which rows any point is worth something.
    """
    ideal = (-np.sort(-gains, axis=1)) @ discounts
    order = np.argsort(-stack, axis=2, kind="stable")
    falling = np.take_along_axis(stack, order, axis=2)
    sums = running(np.take_along_axis(gains[:, None, :], order, axis=2))
    weights = running(discounts)
    begin, end = runs(falling)
    size = end - begin
    # Each of the points of a tie counts the mean gain of the tie times its mean discount.
    of_tie = np.take_along_axis(sums, end, axis=2) - np.take_along_axis(sums, begin, axis=2)
    reached = (of_tie * (weights[end] - weights[begin]) / np.square(size)).sum(axis=2)
    positive = ideal > 0.0
    share = np.divide(reached, ideal[:, None], out=np.ones_like(reached), where=positive[:, None])
    return np.maximum(1.0 - share, 0.0), positive
