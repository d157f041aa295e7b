"""The disagreement error of the paper: how many pairs are in the wrong order."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankpursuit.metrics._counter import COUNTER_LIMIT, Counter, aligned, count
from rankpursuit.metrics._shapes import groups_of, rows_and_stack

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
