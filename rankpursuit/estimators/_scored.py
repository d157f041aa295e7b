"""Scores of which some may be missing, which NaN marks."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_consistent_length, column_or_1d

from rankpursuit.estimators._comparisons import group_labels
from rankpursuit.estimators._kernels import Array
from rankpursuit.estimators._scaling import check_scores


def scored_part(
    y: ArrayLike, predictions: ArrayLike, groups: ArrayLike | None
) -> tuple[Array, Array, NDArray | None]:
    """Leave out the points without a score, which NaN marks.

    Parameters
    ----------
    y : array-like of shape (m,)
        Scores.
    predictions : array-like of shape (..., m)
    groups : array-like of shape (m,) or None

    Returns
    -------
    y : ndarray of shape (m_scored,)
    predictions : ndarray of shape (..., m_scored)
    groups : ndarray of shape (m_scored,) or None
    """
    scores = column_or_1d(y, dtype=np.float64, warn=True)
    values = np.asarray(predictions, dtype=np.float64)
    if values.shape[-1] != len(scores):
        raise ValueError(f"y has {len(scores)} scores for {values.shape[-1]} samples of X")
    scored = ~np.isnan(scores)
    labels = None if groups is None else group_labels(groups, len(scores))[scored]
    return scores[scored], values[..., scored], labels


def checked_scores(X: Array, y: ArrayLike) -> Array:
    """Check scores of which some may be NaN."""
    if y is None:
        raise ValueError("fit requires y to be passed, but the target y is None")
    scores = column_or_1d(y, dtype=np.float64, warn=True)
    check_consistent_length(X, scores)
    return check_scores(scores)
