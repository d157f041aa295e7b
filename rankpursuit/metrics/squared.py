"""Squared error, and how sparse a solution is."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray


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
