"""Errors of the top of a ranking, from graded scores."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankpursuit.metrics._shapes import groups_of, rows_and_stack

Array = NDArray[np.float64]
Gain = Literal["linear", "exponential"]


def ndcg_error(
    scores: ArrayLike,
    predictions: ArrayLike,
    groups: ArrayLike | None = None,
    *,
    k: int | None = None,
    gain: Gain = "linear",
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

    Returns
    -------
    float or ndarray of shape (...)
        From 0, the best order, to 1. Where all points of a group are worth the same, no order is
        wrong: the group counts 0. NaN where a prediction has a NaN.

    Examples
    --------
    >>> ndcg_error([2, 1, 0], [0.9, 0.5, 0.1])
    0.0
    >>> round(ndcg_error([2, 1, 0], [0.1, 0.5, 0.9], k=1), 3)
    1.0
    """
    if k is not None and k < 1:
        raise ValueError(f"k: expected a whole number of at least 1, got {k!r}")
    if gain not in get_args(Gain):
        raise ValueError(f"gain: expected {' or '.join(map(repr, get_args(Gain)))}, got {gain!r}")
    scores = np.asarray(scores, dtype=np.float64)
    predictions = np.asarray(predictions, dtype=np.float64)
    rows, stack = rows_and_stack(scores, predictions)
    if gain == "exponential" and rows.size and rows.min() < 0:
        raise ValueError("scores: grades of at least 0 are needed for an exponential gain")
    error, n_groups = np.zeros(stack.shape[:2]), 0
    for members in groups_of(groups, rows.shape[1]):
        own = rows[:, members]
        gains = (
            np.exp2(own) - 1.0
            if gain == "exponential"
            else own - own.min(axis=1, initial=np.inf, keepdims=True)
        )
        error += _error(gains, stack[..., members], _discounts(gains.shape[1], k))
        n_groups += 1
    error /= max(n_groups, 1)
    error[np.isnan(stack.min(axis=2, initial=np.inf))] = np.nan
    result = error.reshape(predictions.shape[:-1])
    return result if result.ndim else float(result)


def _discounts(n_points: int, k: int | None) -> Array:
    """Weight of each place."""
    discounts = 1.0 / np.log2(np.arange(2, n_points + 2))
    discounts[n_points if k is None else k :] = 0.0
    return discounts


def _error(gains: Array, stack: Array, discounts: Array) -> Array:
    """Errors (b, g) of predictions (b, g, m) of one group with gains (b, m)."""
    ideal = (-np.sort(-gains, axis=1)) @ discounts
    order = np.argsort(-stack, axis=2, kind="stable")
    falling = np.take_along_axis(stack, order, axis=2)
    sums = _running(np.take_along_axis(gains[:, None, :], order, axis=2))
    weights = _running(discounts)
    begin, end = _runs(falling)
    size = end - begin
    # Each of the points of a tie counts the mean gain of the tie times its mean discount.
    of_tie = np.take_along_axis(sums, end, axis=2) - np.take_along_axis(sums, begin, axis=2)
    reached = (of_tie * (weights[end] - weights[begin]) / np.square(size)).sum(axis=2)
    positive = ideal > 0.0
    share = np.divide(reached, ideal[:, None], out=np.ones_like(reached), where=positive[:, None])
    return np.maximum(1.0 - share, 0.0)


def _running(values: Array) -> Array:
    """Return the sums of the first 0, 1, 2, ... values along the last axis."""
    return np.concatenate([np.zeros((*values.shape[:-1], 1)), np.cumsum(values, axis=-1)], axis=-1)


def _runs(falling: Array) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """For each of the values along the last axis, where its run of equals begins and ends."""
    n_points = falling.shape[-1]
    places = np.arange(n_points)
    new = np.ones(falling.shape, dtype=bool)
    new[..., 1:] = falling[..., 1:] != falling[..., :-1]
    begin = np.maximum.accumulate(np.where(new, places, 0), axis=-1)
    last = np.ones(falling.shape, dtype=bool)
    last[..., :-1] = new[..., 1:]
    end = np.where(last, places + 1, n_points)[..., ::-1]
    return begin, np.minimum.accumulate(end, axis=-1)[..., ::-1]
