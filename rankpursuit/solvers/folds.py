"""Splits of points into training and held-out parts, as the solvers of whole grids take them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankpursuit.preferences import Preferences

Indices = NDArray[np.intp]
Array = NDArray[np.float64]

FormOf = Callable[[Indices], Preferences]
"""The quadratic form of a method over some of the points."""

KernelOf = Callable[[Indices, Indices], Array]
"""A stack of w kernels of some points (m,) with others (N,), shape (w, m, N)."""


class Split(NamedTuple):
    """Points to learn from and points to judge by, as indices in rising order."""

    train: Indices
    test: Indices


def blocks_of(splits: Sequence[Split], n_points: int) -> list[Indices]:
    """Points that are in the training parts of the same splits, block by block.

    Parameters
    ----------
    splits : sequence of Split
    n_points : int

    Returns
    -------
    list of ndarray
        As many blocks as folds, where each point is held out once.
    """
    inside = np.zeros((n_points, len(splits)), dtype=bool)
    for number, split in enumerate(splits):
        inside[split.train, number] = True
    _, codes = np.unique(inside, axis=0, return_inverse=True)
    codes = codes.reshape(-1)
    return [np.flatnonzero(codes == code) for code in range(codes.max(initial=-1) + 1)]
