"""Places of a ranking: sums over the first of them, and runs of equals."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

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
