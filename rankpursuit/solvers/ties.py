"""The best of many candidates, where several may be equally good but for rounding."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

TIED = 1e-9
"""Gains that differ by no more than this share are equal: rounding must not choose."""


def least_tied(best: Array) -> Array:
    """Return the least gain that counts as equal to the best one."""
    return best - TIED * np.abs(best)


def first_best(gain: Array) -> NDArray[np.intp]:
    """Index, along the last axis, of the first candidate whose gain is the highest.

    Ratings on a few levels make gains that are equal in exact arithmetic, often and for different
    functions. Which one is chosen then must not depend on the machine.
    """
    rows = gain.reshape(-1, gain.shape[-1])
    # The place of a maximum is found faster than the maxima of many short rows are reduced.
    highest = rows.argmax(axis=1)
    highest += np.arange(0, rows.size, rows.shape[1])
    least = least_tied(rows.take(highest))
    return (rows >= least[:, None]).argmax(axis=1).reshape(gain.shape[:-1])
