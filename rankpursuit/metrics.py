"""The errors of the paper: disagreement, squared error, and how sparse a solution is."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

Ties = Literal["half", "all", "untied"]

_COUNTER_LIMIT = np.iinfo(np.uint8).max
_BLOCK_BYTES = 1 << 22
"""Predictions are compared in blocks that stay in the cache of a core."""


def disagreement_error(
    scores: ArrayLike,
    predictions: ArrayLike,
    groups: ArrayLike | None = None,
    *,
    normalized: bool = True,
    ties: Ties = "all",
) -> NDArray[np.float64] | float:
    """Disagreement error of formula (1), for one prediction or for a whole stack of them.

    Raw, it is ``1/2 sum_ij W_ij |sign(s_i - s_j) - sign(f_i - f_j)|``: 2 for each pair in the
    wrong order, 1 for a pair that is tied on one side only.

    Parameters
    ----------
    scores : array-like of shape (m,)
    predictions : array-like of shape (..., m)
    groups : array-like of shape (m,), optional
        Only pairs inside a group count. Default: all pairs.
    normalized : bool, default True
        Divide by twice the number of pairs, so that 0 is perfect, 1 is reversed and a constant
        prediction of scores without ties has 1/2.
    ties : {"all", "half", "untied"}, default "all"
        "all" counts every pair as the formula does: one that is tied on both sides costs nothing,
        so that a constant prediction is right about all tied scores. "half": a pair that is tied
        on either side is half wrong; normalised, this is ``(1 - tau_a) / 2`` with Kendall's tau_a.
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
    if scores.ndim != 1 or predictions.shape[-1:] != scores.shape:
        raise ValueError(
            f"predictions: expected a last axis of {scores.size} values, one for each score; "
            f"got the shape {predictions.shape}"
        )
    if n_missing := np.count_nonzero(np.isnan(scores)):
        raise ValueError(f"scores: {n_missing} of {scores.size} are NaN; leave those points out")
    # Points lead, so that one comparison serves the whole stack in a contiguous sweep.
    flat = np.moveaxis(predictions, -1, 0).reshape(len(scores), -1)
    wrong = np.zeros(flat.shape[1])
    n_pairs = 0
    for members in _groups(groups, len(scores)):
        group_wrong, group_pairs = _group_disagreement(scores[members], flat[members], ties)
        wrong += group_wrong
        n_pairs += group_pairs
    wrong[np.isnan(flat).any(axis=0)] = np.nan  # all comparisons with NaN are false
    if normalized:
        wrong = wrong / (2.0 * n_pairs) if n_pairs else np.full_like(wrong, np.nan)
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


def squared_error(scores: ArrayLike, predictions: ArrayLike) -> NDArray[np.float64] | float:
    """Mean squared error of predictions of shape (..., m) for scores of shape (m,)."""
    difference = np.asarray(predictions, dtype=np.float64) - np.asarray(scores, dtype=np.float64)
    result = np.mean(np.square(difference), axis=-1)
    return result if result.ndim else float(result)


def sparsity(coefficients: ArrayLike) -> NDArray[np.float64] | float:
    """Share of the coefficients, along the last axis, that are exactly zero."""
    result = np.mean(np.asarray(coefficients) == 0.0, axis=-1)
    return result if result.ndim else float(result)


def _groups(groups: ArrayLike | None, n_points: int) -> list[NDArray[np.intp] | slice]:
    """Points of each group that has at least one pair."""
    if groups is None:
        return [slice(None)]
    labels = np.asarray(groups)
    if labels.shape != (n_points,):
        raise ValueError(f"groups: expected {n_points} labels, got the shape {labels.shape}")
    _, codes, sizes = np.unique(labels, return_inverse=True, return_counts=True)
    members = np.split(np.argsort(codes, kind="stable"), np.cumsum(sizes)[:-1])
    return [group for group in members if len(group) > 1]


def _group_disagreement(
    scores: NDArray[np.float64], flat: NDArray[np.float64], ties: Ties
) -> tuple[NDArray[np.float64], int]:
    """Raw disagreement of each column of `flat`, shape (m, g), and the number of pairs."""
    order = np.argsort(-scores, kind="stable")
    scores, flat = scores[order], flat[order]
    n_points, n_predictions = flat.shape
    # Scores now fall: behind point i come first the points tied with it, then the worse ones.
    worse = np.searchsorted(-scores, -scores, side="right")
    n_pairs, n_untied = n_points * (n_points - 1) // 2, int(np.sum(n_points - worse))
    wrong = np.full(n_predictions, n_pairs - n_untied if ties == "half" else 0.0)
    step = max(1, _BLOCK_BYTES // (8 * max(1, n_points)))
    for start in range(0, n_predictions, step):
        block = np.ascontiguousarray(flat[:, start : start + step])
        total = wrong[start : start + step]
        for i in range(n_points - 1):
            below, tied = block[worse[i] :], block[i + 1 : worse[i]]
            # 2 for f_i < f_j, 1 for f_i = f_j.
            total += _count(block[i] < below)
            total += _count(block[i] <= below)
            if ties == "all" and len(tied):
                total += _count(block[i] != tied)
    return wrong, n_untied if ties == "untied" else n_pairs


def _count(flags: NDArray[np.bool_]) -> NDArray[np.unsignedinteger]:
    """Count along the first axis, in bytes where no count can overflow one."""
    counter = np.uint8 if len(flags) <= _COUNTER_LIMIT else np.uint32
    return np.add.reduce(flags.view(np.uint8), axis=0, dtype=counter)
