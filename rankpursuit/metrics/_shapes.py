"""Rows of scores beside stacks of predictions, the points of each group, and means over groups."""

from __future__ import annotations

import math
import numbers

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankpursuit.labels import checked_labels


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
