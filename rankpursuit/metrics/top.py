"""Errors of the top of a ranking, from graded scores."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankpursuit.metrics._places import check_places, running, runs
from rankpursuit.metrics._shapes import groups_of, mean_of_groups, rows_and_stack

Array = NDArray[np.float64]
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
