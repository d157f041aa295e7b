"""How the functions of several views become one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

Array = NDArray[np.float64]

Aggregation = Literal["mean", "median", "borda", "weighted"]
"""The mean of the functions, their median, the mean of their ranks, or a weighted mean."""


def median(values: Sequence[Array]) -> Array:
    """Median over the views of predictions of shape (..., m)."""
    return np.median(values, axis=0)


def borda(values: Sequence[Array]) -> Array:
    """Borda's count: the mean over the views of the ranks among m points, from 1, ties shared."""
    return np.mean([rankdata(part, axis=-1) for part in values], axis=0)


def weighted_mean(values: Sequence[Array], skills: Array) -> Array:
    """Mean over the views weighted by their skills.

    Parameters
    ----------
    values : sequence of M ndarrays of shape (..., m)
        Predictions of each view.
    skills : ndarray of shape (M, ...)
        A view without skill, zero or less, has no weight. If none has any, all weigh the same.
    """
    weights = np.maximum(skills, 0.0)
    weights = np.where(weights.sum(axis=0) > 0, weights, 1.0)
    weights /= weights.sum(axis=0)
    return sum(w[..., None] * part for w, part in zip(weights, values, strict=True))


AGGREGATIONS: dict[str, Callable[[Sequence[Array]], Array]] = {"median": median, "borda": borda}
"""The aggregations of predictions that need nothing else."""
