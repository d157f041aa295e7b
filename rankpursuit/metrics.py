"""Ranking metrics, vectorised over stacks of predictions.

Scores of shape (m,) are compared with predictions of shape (..., m), and b rows of scores, (b, m),
with predictions of shape (b, ..., m). Only points of the same group (a user, a query) are compared
with each other. The value of a prediction that contains NaN is NaN.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any, Literal, get_args

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import ArrayLike, NDArray

from rankpursuit.preferences import check_labels

__all__ = [
    "Gain",
    "Ties",
    "disagreement_error",
    "kendall_tau",
    "mean_average_precision",
    "mean_reciprocal_rank",
    "ndcg_error",
    "pairwise_accuracy",
    "sparsity",
    "squared_error",
]

Array = NDArray[np.float64]
Places = NDArray[np.intp]
Flags = NDArray[np.bool_]

Ties = Literal["half", "all", "untied"]
Gain = Literal["linear", "exponential", "shifted"]

NEAR = 2.0**-33
"""Predictions of a run are tied if their difference is below this fraction, 1e-10, of their size
and of the range of all. Rounding makes relative differences of 1e-16 to 1e-12."""

_NEAR_FLOATS = 1 << 19
"""Number of floats in the interval from x to (1 + `NEAR`) x, for the smallest x of its exponent."""
_LONG = 1200
"""Number of points above which pairs are counted by sorting, in O(m log m)."""
_FEW = 1024
"""Number of values up to which all pairs are compared at once, faster than a pass per point."""
_BLOCK = 1 << 14
"""Values per block of predictions: few enough to stay in the cache."""
_TOGETHER = 1 << 11
"""Predictions whose inversions are counted together."""
_EPS = float(np.finfo(np.float64).eps)
_MOST = np.iinfo(np.uint8).max
_LARGEST = np.iinfo(np.int64).max


def disagreement_error(
    scores: ArrayLike,
    predictions: ArrayLike,
    groups: ArrayLike | None = None,
    *,
    ties: Ties = "half",
    near_ties: bool = False,
) -> Array | float:
    """Disagreement error, formula (1) of the paper: the fraction of pairs in the wrong order.

    The sum ``1/2 sum_ij W_ij |sign(s_i - s_j) - sign(f_i - f_j)|`` counts 2 for a pair in the wrong
    order and 1 for a pair tied on one side only. It is divided by twice the number of pairs:
    without ties, 0 is perfect and 1 is reversed.

    Parameters
    ----------
    scores : array-like of shape (m,) or (b, m)
        With b rows, row i holds the scores for ``predictions[i]``.
    predictions : array-like of shape (..., m) or (b, ..., m)
    groups : array-like of shape (m,), optional
        Only pairs inside a group count. Default: all pairs.
    ties : {"half", "all", "untied"}, default "half"
        "half" counts a pair tied on either side as half wrong: the error is ``(1 - tau_a) / 2``
        with Kendall's tau_a, and 1/2 for a constant prediction. "all" counts every pair as the
        formula does: a pair tied on both sides costs nothing, so that a constant prediction is
        right about all tied scores, and wins if most are tied. "untied" counts only the pairs
        whose scores differ.
    near_ties : bool, default False
        Whether predictions that differ by rounding only are tied: by less than 1e-10 of their size
        and of the range of all.

    Returns
    -------
    float or ndarray of shape (...)
        NaN if no pair counts.
    """
    _check_option("ties", ties, Ties)
    rows, stack, shape = _rows_and_stack(scores, predictions)
    if near_ties and (groups is not None or ties == "all"):
        stack, near_ties = merge_near_ties(stack), False
    wrong, n_pairs = np.zeros(stack.shape[:2]), np.zeros((len(rows), 1))
    for members in _groups(groups, rows.shape[1]):
        group_scores, predicted = rows[:, members], stack[..., members]
        n_counted = float(_pairs(group_scores))
        if ties == "untied":
            n_counted = _untied_pairs(group_scores)[:, None]
        wrong += n_counted - _concordance(group_scores, predicted, near_ties)
        n_pairs += n_counted
        if ties == "all":
            wrong -= _tied_pairs(group_scores[:, None], predicted)
    error = np.divide(wrong, 2.0 * n_pairs, out=np.full_like(wrong, np.nan), where=n_pairs > 0)
    return _result(error, stack, shape)


def pairwise_accuracy(
    scores: ArrayLike, predictions: ArrayLike, groups: ArrayLike | None = None
) -> Array | float:
    """Fraction of the pairs with different scores that are predicted in the right order.

    A pair that is tied in the prediction counts half. NaN if no pair has different scores. Shapes
    are those of :func:`disagreement_error`.
    """
    return 1.0 - disagreement_error(scores, predictions, groups, ties="untied")


def kendall_tau(
    scores: ArrayLike,
    predictions: ArrayLike,
    groups: ArrayLike | None = None,
    *,
    empty: float | None = None,
) -> Array | float:
    """Kendall's tau_b, averaged over groups: from -1 (reversed) to 1 (perfect).

    The value of a group is the number of pairs in the right order minus the number in the wrong
    order, divided by the geometric mean of the numbers of pairs that are untied in the scores and
    untied in the prediction. A pair tied on either side is neither right nor wrong: a constant
    prediction has the value 0, and a prediction with the same ties as the scores can reach 1.

    Parameters
    ----------
    scores, predictions, groups
        See :func:`disagreement_error`, which pools the pairs of all groups instead.
    empty : float or None, default None
        Value of a group whose scores are all equal; None skips it. Groups of one point are always
        skipped.

    Returns
    -------
    float or ndarray of shape (...)
        NaN if all groups are skipped.
    """

    def taus(group_scores: Array, stack: Array) -> tuple[Array, Flags]:
        untied = _untied_pairs(group_scores)
        possible = np.sqrt(untied[:, None] * _untied_pairs(stack))
        tau, surplus = np.zeros_like(possible), _concordance(group_scores, stack)
        np.divide(surplus, possible, out=tau, where=possible > 0.0)
        return tau, untied > 0

    return _mean_over_groups(taus, scores, predictions, groups, empty)


def ndcg_error(
    scores: ArrayLike,
    predictions: ArrayLike,
    groups: ArrayLike | None = None,
    *,
    k: int | None = None,
    gain: Gain = "linear",
    empty: float | None = 0.0,
) -> Array | float:
    """One minus the normalised discounted cumulative gain, ``NDCG@k``: 0 is the best order.

    The point at rank i = 1, 2, ... of the prediction counts its gain over ``log2(i + 1)``, up to
    rank k; the sum is divided by that of the best order. Tied predictions count the mean over all
    orders of the tied points.

    Parameters
    ----------
    scores, predictions, groups
        Grades, not negative unless the gain is "shifted", and predictions; shapes as in
        :func:`disagreement_error`. The result is the mean over groups of at least two points.
    k : int, optional
        Number of ranks that count. Default: all.
    gain : {"linear", "exponential", "shifted"}, default "linear"
        Gain of a point: its grade, as in scikit-learn; ``2^grade - 1``, as in LightGBM and LETOR;
        or its score minus the lowest of its group, for scores of any scale.
    empty : float or None, default 0
        Error of a group without any gain, in which no order is wrong; None skips it. LightGBM
        also counts 0, figures published for LETOR count 1.

    Returns
    -------
    float or ndarray of shape (...)
        NaN if all groups are skipped.
    """
    _check_places(k)
    _check_option("gain", gain, Gain)
    lowest = np.min(np.asarray(scores, dtype=np.float64), initial=0.0)
    if gain != "shifted" and lowest < 0:
        raise ValueError(
            f"scores: the gain {gain!r} needs grades of at least 0, got {lowest:g}; use "
            "gain='shifted' for negative scores, as in ndcg_scorer(gain='shifted')"
        )

    def errors(gains: Array, stack: Array) -> tuple[Array, Flags]:
        if gain == "exponential":
            # Divided by a power of two, which cancels, where the gains would overflow.
            shift = np.maximum(gains.max(axis=1, initial=0.0, keepdims=True) - 1000.0, 0.0)
            gains = np.exp2(gains - shift) - np.exp2(-shift)
        elif gain == "shifted":
            gains = gains - gains.min(axis=1, initial=np.inf, keepdims=True)
        discounts = 1.0 / np.log2(np.arange(2, gains.shape[1] + 2))
        discounts[len(discounts) if k is None else k :] = 0.0
        ideal = (-np.sort(-gains, axis=1)) @ discounts
        begin, size, _, in_tie = _ranked(gains, stack)
        weights = _running(discounts)
        # Each tied point counts the mean gain of the tie times its mean discount.
        tie_products = in_tie * (weights[begin + size] - weights[begin])
        reached = (tie_products / np.square(size)).sum(axis=2)
        positive = ideal > 0.0
        ratio = np.ones_like(reached)
        np.divide(reached, ideal[:, None], out=ratio, where=positive[:, None])
        return np.maximum(1.0 - ratio, 0.0), positive

    return _mean_over_groups(errors, scores, predictions, groups, empty)


def mean_average_precision(
    scores: ArrayLike,
    predictions: ArrayLike,
    groups: ArrayLike | None = None,
    *,
    k: int | None = None,
    threshold: float = 0.0,
    empty: float | None = None,
) -> Array | float:
    """Mean average precision, MAP or ``MAP@k``: from 0 to 1 (perfect).

    The precision at rank i is the fraction of relevant points among the first i. The average
    precision of a group is the mean of the precisions at the ranks of its relevant points. Tied
    predictions count the mean over all orders of the tied points.

    Parameters
    ----------
    scores, predictions, groups
        See :func:`disagreement_error`. The result is the mean over groups.
    k : int, optional
        Number of ranks that count. With more than `k` relevant points the sum of precisions is
        divided by `k`, so that the best order has the value 1. Default: all.
    threshold : float, default 0
        A point is relevant if its score is above this.
    empty : float or None, default None
        Value of a group without a relevant point; None skips it. Figures published for LETOR
        count 0, LightGBM counts 1.

    Returns
    -------
    float or ndarray of shape (...)
        NaN if all groups are skipped.

    Examples
    --------
    Two queries. The first one has its relevant points at ranks 1 and 3, the second one at 2.

    >>> scores, prediction = [1, 0, 1, 0, 2], [0.9, 0.5, 0.1, 0.8, 0.7]
    >>> round(mean_average_precision(scores, prediction, groups=[7, 7, 7, 8, 8]), 4)
    0.6667
    """
    _check_places(k)
    function = partial(_average_precision, threshold=threshold, k=np.inf if k is None else k)
    return _mean_over_groups(function, scores, predictions, groups, empty, smallest=1)


def mean_reciprocal_rank(
    scores: ArrayLike,
    predictions: ArrayLike,
    groups: ArrayLike | None = None,
    *,
    k: int | None = None,
    threshold: float = 0.0,
    empty: float | None = None,
) -> Array | float:
    """Mean reciprocal rank, MRR or ``MRR@k``: from 0 to 1 (perfect).

    The value of a group is 1 / i if its first relevant point is at rank i, and 0 if i is above k.
    Tied predictions count the mean over all orders of the tied points. Parameters are those of
    :func:`mean_average_precision`.

    Examples
    --------
    >>> scores, prediction = [1, 0, 1, 0, 2], [0.9, 0.5, 0.1, 0.8, 0.7]
    >>> mean_reciprocal_rank(scores, prediction, groups=[7, 7, 7, 8, 8])
    0.75
    """
    _check_places(k)
    function = partial(_reciprocal_rank, threshold=threshold, k=np.inf if k is None else k)
    return _mean_over_groups(function, scores, predictions, groups, empty, smallest=1)


def squared_error(scores: ArrayLike, predictions: ArrayLike) -> Array | float:
    """Mean squared error of predictions of the shapes of :func:`disagreement_error`."""
    rows, stack, shape = _rows_and_stack(scores, predictions)
    return _result(np.mean(np.square(stack - rows[:, None]), axis=2), stack, shape)


def sparsity(coefficients: ArrayLike) -> Array | float:
    """Fraction of the coefficients, along the last axis, that are exactly zero."""
    result = np.mean(np.asarray(coefficients) == 0.0, axis=-1)
    return result if result.ndim else float(result)


def merge_near_ties(predictions: Array) -> Array:
    """Return predictions (..., m) in which neighbours that are nearly equal are equal.

    Points may be tied in exact arithmetic; rounding must not order them. Neighbours in the order of
    the predictions are tied if they differ by at most the fraction `NEAR` of their size and of the
    range of all m; all points of a tie get its lowest value.
    """
    merged = np.array(predictions, dtype=np.float64, order="C")
    rows = merged.reshape(-1, merged.shape[-1])
    is_near = np.zeros(len(rows), dtype=np.bool_)
    for start in range(0, len(rows), step := max(1, _BLOCK // max(1, rows.shape[1]))):
        block = slice(start, start + step)
        integers = _as_integers(rows[block])
        integers.sort(axis=1)
        gaps = _float_gaps(integers)
        # Gaps of zero wrap around: rows whose only ties are exact stay as they are.
        gaps -= np.uint64(1)
        (gaps < _NEAR_FLOATS).any(axis=1, out=is_near[block])
    if len(near := np.flatnonzero(is_near)):
        values = rows[near]
        order, is_new = _near_ties(values)
        first = np.zeros(order.shape, dtype=np.intp)
        places = np.arange(1, order.shape[1])
        np.maximum.accumulate(np.where(is_new, places, 0), axis=1, out=first[:, 1:])
        lowest = np.take_along_axis(np.take_along_axis(values, order, axis=1), first, axis=1)
        np.put_along_axis(values, order, lowest, axis=1)
        rows[near] = values
    return merged


def _near_ties(values: Array) -> tuple[Places, Flags]:
    """Return the order of values (r, m), and which of the next ones, (r, m - 1), are not tied."""
    order = np.argsort(values, axis=1)
    ordered = np.take_along_axis(values, order, axis=1)
    is_new = _float_gaps(_as_integers(ordered)) > _NEAR_FLOATS
    is_new |= np.diff(ordered) > NEAR * (ordered[:, -1:] - ordered[:, :1])
    return order, is_new


def _as_integers(
    values: Array, out: NDArray[np.int64] | None = None, spare: NDArray[np.int64] | None = None
) -> NDArray[np.int64]:
    """Return integers in the order of the values, with as many between two as there are floats.

    `out` and `spare`, of the shape of the values, save two allocations.
    """
    out = np.empty(values.shape, dtype=np.int64) if out is None else out
    np.add(values, 0.0, out=out.view(np.float64))  # without negative zeros
    negative = np.right_shift(out, 63, out=spare)
    negative &= _LARGEST
    out ^= negative
    return out


def _float_gaps(ordered: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Return how many floats lie between neighbours along the last axis; may exceed an int64."""
    return (ordered[:, 1:] - ordered[:, :-1]).view(np.uint64)


# Shapes, groups and options


def _check_option(name: str, value: str, options: Any) -> None:
    if value not in get_args(options):
        expected = " or ".join(map(repr, get_args(options)))
        raise ValueError(f"{name}: expected {expected}, got {value!r}")


def _check_places(k: int | None) -> None:
    if k is not None and (not isinstance(k, int | np.integer) or isinstance(k, bool) or k < 1):
        raise ValueError(f"k: expected an integer of at least 1, got {k!r}")


def _rows_and_stack(
    scores: ArrayLike, predictions: ArrayLike
) -> tuple[Array, Array, tuple[int, ...]]:
    """Return scores as (b, m), predictions as (b, g, m), and the shape of the result."""
    scores = np.asarray(scores, dtype=np.float64)
    predictions = np.asarray(predictions, dtype=np.float64)
    n_rows = scores.shape[:-1]  # (b,), or () if all predictions share the scores
    first, last = predictions.shape[: len(n_rows)], predictions.shape[-1:]
    fits = (first, last) == (n_rows, scores.shape[-1:]) and predictions.ndim > len(n_rows)
    if not fits or scores.ndim not in (1, 2):
        shape = (
            f"({n_rows[0]}, ..., {scores.shape[1]})"
            if len(n_rows) == 1
            else f"(..., {scores.size})"
        )
        raise ValueError(
            f"predictions: expected shape {shape}, one value per score; got shape "
            f"{predictions.shape}"
        )
    if n_bad := np.count_nonzero(~np.isfinite(scores)):
        raise ValueError(f"scores: {n_bad} of {scores.size} are NaN or infinite; drop those points")
    n_predictions = math.prod(predictions.shape[len(n_rows) : -1])
    rows = np.atleast_2d(scores)
    stack = predictions.reshape(len(rows), n_predictions, rows.shape[1])
    return rows, stack, predictions.shape[:-1]


def _result(values: Array, stack: Array, shape: tuple[int, ...]) -> Array | float:
    """Return values (b, g) in the shape of the result, NaN for predictions with a NaN."""
    if np.isnan(stack.min(initial=np.inf)):
        values[np.isnan(stack.min(axis=2, initial=np.inf))] = np.nan
    result = values.reshape(shape)
    return result if result.ndim else float(result)


def _groups(groups: ArrayLike | None, n_points: int, *, smallest: int = 2) -> list[Places | slice]:
    """Return the points of each group with at least `smallest` points."""
    if groups is None:
        return [slice(None)]
    labels = check_labels(groups)
    if labels.shape != (n_points,):
        raise ValueError(f"groups: expected {n_points} labels, got shape {labels.shape}")
    _, codes, sizes = np.unique(labels, return_inverse=True, return_counts=True)
    members = np.split(np.argsort(codes, kind="stable"), np.cumsum(sizes)[:-1])
    return [group for group in members if len(group) >= smallest]


def _mean_over_groups(
    function: Callable[[Array, Array], tuple[Array, Flags]],
    scores: ArrayLike,
    predictions: ArrayLike,
    groups: ArrayLike | None,
    empty: float | None,
    *,
    smallest: int = 2,
) -> Array | float:
    """Return the mean of a metric over the groups; NaN if no group counts.

    The function takes scores (b, m) and predictions (b, g, m) of one group, and returns values
    (b, g) and flags (b,) of the rows in which there is anything to rank. Other rows have the value
    `empty`, or are skipped if that is None.
    """
    rows, stack, shape = _rows_and_stack(scores, predictions)
    sums, n_groups = np.zeros(stack.shape[:2]), np.zeros((len(rows), 1))
    for members in _groups(groups, rows.shape[1], smallest=smallest):
        values, rankable = function(rows[:, members], stack[..., members])
        sums += np.where(rankable[:, None], values, 0.0 if empty is None else float(empty))
        n_groups += rankable[:, None] if empty is None else 1
    mean = np.divide(sums, n_groups, out=np.full_like(sums, np.nan), where=n_groups > 0)
    return _result(mean, stack, shape)


# Pairs in the wrong order


def _concordance(scores: Array, stack: Array, near_ties: bool = False) -> Array:
    """Return the number of concordant minus discordant pairs, (b, g)."""
    is_long = stack.shape[2] > _LONG
    if near_ties and (is_long or stack.size <= _FEW):
        stack = merge_near_ties(stack)
    if stack.size <= _FEW:
        return (_signs(scores)[:, None] * _signs(stack)).sum(axis=(2, 3)) / 2
    if is_long:
        return _count_by_sorting(scores, stack)
    ranks, n_untied = _dense_ranks(scores)
    return n_untied[:, None] - _count_discordant(ranks, stack, near_ties)


def _signs(values: Array) -> NDArray[np.int8]:
    """Return the signs of the differences of all values along the last axis, (..., m, m)."""
    first, second = values[..., :, None], values[..., None, :]
    return (first > second).view(np.int8) - (first < second).view(np.int8)


def _count_by_sorting(scores: Array, stack: Array) -> Array:
    """Derive the same from Kendall's tau_b, which SciPy computes by sorting."""
    from scipy.stats import kendalltau  # slow to import, and needed for long rankings only

    tau = np.zeros(stack.shape[:2])
    for row, column in np.ndindex(*tau.shape):
        pair = scores[row], stack[row, column]
        tau[row, column] = kendalltau(*pair, method="asymptotic").statistic
    # Tau is NaN if one of the two is constant.
    scale = np.sqrt(_untied_pairs(scores))[:, None] * np.sqrt(_untied_pairs(stack))
    return np.rint(np.nan_to_num(tau) * scale)


def _pairs(values: Array) -> int:
    """Return the number of pairs of points along the last axis."""
    return values.shape[-1] * (values.shape[-1] - 1) // 2


def _untied_pairs(values: Array) -> Array:
    """Return the number of pairs along the last axis whose values differ."""
    return _pairs(values) - _tied_pairs(values)


def _tied_pairs(*values: Array) -> Array:
    """Return the number of pairs along the last axis that are equal in each of these arrays."""
    several = np.broadcast_arrays(*values)
    order = np.lexsort(several, axis=-1)
    begin, end = _runs(*(np.take_along_axis(one, order, axis=-1) for one in several))
    # Each of t tied points counts half of its t - 1 pairs.
    return (end - begin - 1).sum(axis=-1) / 2.0


def _dense_ranks(scores: Array) -> tuple[NDArray[np.int64], Array]:
    """Return the ranks of scores (b, m) among the distinct ones of their row, from 0 upwards.

    Also return the number of pairs of each row, (b,), whose scores differ.
    """
    order = np.argsort(scores, axis=1)
    ordered = np.take_along_axis(scores, order, axis=1)
    is_tied = np.zeros(scores.shape, dtype=np.bool_)
    np.equal(ordered[:, 1:], ordered[:, :-1], out=is_tied[:, 1:])
    ranks = np.empty(scores.shape, dtype=np.int64)
    np.put_along_axis(ranks, order, np.cumsum(~is_tied, axis=1) - 1, axis=1)
    return ranks, _pairs(scores) - _sum_runs(is_tied)


def _count_discordant(ranks: NDArray[np.int64], stack: Array, near_ties: bool) -> Array:
    """Count 2 for every untied pair in the wrong order and 1 for a tied prediction, (b, g).

    `ranks`, (b, m), are those of the scores. They replace the last bits of the predictions, so that
    sorting numbers, many times faster than an argsort, brings the ranks into the order of the
    predictions. Rows in which this may order or tie points wrongly are sorted as they are.
    """
    (n_rows, n_predictions, n_points), n_stack = stack.shape, math.prod(stack.shape[:2])
    n_bits = int(ranks.max(initial=1)).bit_length()
    mask = (1 << n_bits) - 1
    flat, row_of = stack.reshape(n_stack, n_points), np.repeat(np.arange(n_rows), n_predictions)
    ordered = np.empty((n_stack, n_points), dtype=np.uint8 if mask <= _MOST else np.uint16)
    is_tied = np.zeros((n_stack, n_points), dtype=np.bool_)  # with the point before
    in_doubt = np.zeros(n_stack, dtype=np.bool_)
    step = max(1, _BLOCK // n_points)
    work = np.empty((3, min(step, n_stack), n_points), dtype=np.int64)
    for start in range(0, n_stack, step):
        block = slice(start, start + step)
        exact, keys, spare = work[:, : n_stack - start]
        _as_integers(flat[block], exact, spare)
        np.bitwise_and(exact, ~mask, out=keys)
        keys |= ranks.take(row_of[block], axis=0, out=spare, mode="clip")
        keys.sort(axis=1)
        np.bitwise_and(keys, mask, out=ordered[block], casting="unsafe")
        keys >>= n_bits
        gaps, tied = np.subtract(keys[:, 1:], keys[:, :-1], out=spare[:, 1:]), is_tied[block, 1:]
        np.equal(gaps, 0, out=tied)
        if near_ties:
            gaps -= 1  # zero wraps around
            (gaps.view(np.uint64) <= _NEAR_FLOATS >> n_bits).any(axis=1, out=in_doubt[block])
            in_doubt[block] |= _has_small_range(keys[:, [0, -1]] << n_bits, n_bits)
        else:
            exact.sort(axis=1)
            np.not_equal(exact[:, 1:] == exact[:, :-1], tied).any(axis=1, out=in_doubt[block])
    if len(doubtful := np.flatnonzero(in_doubt)):
        values = flat[doubtful]
        if near_ties:
            order, is_new = _near_ties(values)
        else:
            order = np.argsort(values, axis=1)
            is_new = np.diff(np.take_along_axis(values, order, axis=1)) != 0.0
        keys = np.take_along_axis(ranks[row_of[doubtful]], order, axis=1)
        keys[:, 1:] += np.cumsum(is_new, axis=1) << n_bits
        keys.sort(axis=1)
        ordered[doubtful] = keys & mask
        is_tied[doubtful, 1:] = ~is_new
    wrong = _sum_runs(is_tied)
    is_tied[:, 1:] &= ordered[:, 1:] == ordered[:, :-1]
    wrong -= _sum_runs(is_tied)
    for start in range(0, n_stack, _TOGETHER):
        block = slice(start, start + _TOGETHER)
        wrong[block] += 2.0 * _inversions(ordered[block])
    return wrong.reshape(n_rows, n_predictions)


def _has_small_range(ends: NDArray[np.int64], n_bits: int) -> Flags:
    """Return in which rows values that differ in the last bits only may not be near ties.

    Those are a fraction of ``2**n_bits * _EPS`` of their size apart, and near ties one of `NEAR` of
    the range. `ends`, (r, 2), are the lowest and the highest value of each row as integers.
    """
    lowest, highest = (ends ^ ((ends >> 63) & _LARGEST)).view(np.float64).T
    size = np.maximum(np.abs(lowest), np.abs(highest))
    return ~(highest - lowest > 2.0 ** (n_bits + 2) * _EPS / NEAR * size)


def _sum_runs(flags: Flags) -> Array:
    """Return the number of pairs in the runs of each row, in which points follow tied ones.

    `flags`, (r, m), marks the points that are tied with the one before.
    """
    at = np.flatnonzero(flags)
    place = np.arange(len(at))
    new = np.ones(len(at), dtype=np.bool_)
    np.not_equal(at[1:], at[:-1] + 1, out=new[1:])
    before = place - np.maximum.accumulate(np.where(new, place, 0)) + 1  # points of the same run
    sums = np.bincount(at // flags.shape[1], before, minlength=len(flags))
    return sums.astype(np.float64, copy=False)  # integers if there are no rows


def _inversions(values: NDArray[np.unsignedinteger]) -> Array:
    """Return the number of pairs in descending order in each row of values, (r, m)."""
    n_columns, n_points = values.shape
    # Points first, so that one comparison covers many rows in contiguous memory; nothing is above
    # what follows the last point.
    padded = np.full((2 * n_points, n_columns), np.iinfo(values.dtype).max, dtype=values.dtype)
    padded[:n_points] = values.T
    total, descends = np.zeros(n_columns), np.empty((_MOST, n_columns), dtype=np.bool_)
    lag = 1
    while lag < n_points:
        n_first = n_points - lag  # points with another one at this lag, and also lags to come
        n_lags = max(1, min(_MOST // n_first, n_first))
        for start in range(0, n_first, _MOST):  # sums of more bytes would overflow
            first = padded[start : min(start + _MOST, n_first)]
            shape = n_lags, len(first), n_columns
            later = as_strided(padded[start + lag :], shape, first.strides[:1] + first.strides)
            flags = descends[: n_lags * len(first)]
            np.greater(first, later, out=flags.reshape(shape))
            total += np.add.reduce(flags.view(np.uint8), axis=0, dtype=np.uint8)
        lag += n_lags
    return total


# Ranks and ties


def _running(values: NDArray[Any]) -> NDArray[Any]:
    """Return the sums of the first 0, 1, 2, ... values along the last axis."""
    sums = np.zeros((*values.shape[:-1], values.shape[-1] + 1), dtype=values.dtype)
    np.cumsum(values, axis=-1, out=sums[..., 1:])
    return sums


def _runs(*ordered: Array) -> tuple[Places, Places]:
    """Return where the run of each value, equal in all arrays, begins and ends (last axis)."""
    n_points = ordered[0].shape[-1]
    places = np.arange(n_points)
    new = np.ones(ordered[0].shape, dtype=bool)
    new[..., 1:] = np.logical_or.reduce([one[..., 1:] != one[..., :-1] for one in ordered])
    begin = np.maximum.accumulate(np.where(new, places, 0), axis=-1)
    last = np.ones(new.shape, dtype=bool)
    last[..., :-1] = new[..., 1:]
    end = np.where(last, places + 1, n_points)[..., ::-1]
    return begin, np.minimum.accumulate(end, axis=-1)[..., ::-1]


def _ranked(values: NDArray[Any], stack: Array) -> tuple[Places, Places, NDArray, NDArray]:
    """Sort the values (b, m) of the points of a group by prediction.

    Return, for each rank, the start and the size of its tie, and the sums of the values before and
    inside the tie.
    """
    order = np.argsort(-stack, axis=2, kind="stable")
    begin, end = _runs(np.take_along_axis(stack, order, axis=2))
    sums = _running(np.take_along_axis(values[:, None, :], order, axis=2))
    before, with_tie = (np.take_along_axis(sums, at, axis=2) for at in (begin, end))
    return begin, end - begin, before, with_tie - before


def _average_precision(
    scores: Array, stack: Array, threshold: float, k: float
) -> tuple[Array, Flags]:
    """Sum the probability of a relevant point at each rank times the precision there."""
    relevant, place = (scores > threshold).astype(np.intp), np.arange(stack.shape[2])
    begin, size, before, in_tie = _ranked(relevant, stack)
    # Expected number of other relevant points of the tie that come before.
    others = (place - begin) * (in_tie - 1) / np.maximum(size - 1, 1)
    precision = (before + 1 + others) / (place + 1)
    counted, total = in_tie / size * precision * (place < k), relevant.sum(axis=1)
    return counted.sum(axis=2) / np.clip(total, 1, k)[:, None], total > 0


def _reciprocal_rank(
    scores: Array, stack: Array, threshold: float, k: float
) -> tuple[Array, Flags]:
    """Sum the probability that the first relevant point is at each rank, divided by the rank."""
    relevant, place = (scores > threshold).astype(np.intp), np.arange(stack.shape[2])
    begin, size, before, in_tie = _ranked(relevant, stack)
    inside, irrelevant = place - begin, size - in_tie
    possible = (before == 0) & (in_tie > 0) & (inside <= irrelevant) & (place < k)
    # Probability that no earlier point of the tie is relevant: C(irrelevant, inside) / C(size,
    # inside).
    log_factorials = _running(np.log(np.arange(1, place.size + 1)))
    none_before = log_factorials[irrelevant] - log_factorials[np.maximum(irrelevant - inside, 0)]
    none_before += log_factorials[size - inside] - log_factorials[size]
    first = np.exp(none_before) * in_tie / (size - inside)
    counted = np.where(possible, first, 0.0) / (place + 1)
    return counted.sum(axis=2), relevant.sum(axis=1) > 0
