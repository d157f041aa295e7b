"""The best of many candidates, where several may be equally good but for rounding."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

TIED = 1e-9
"""Gains that differ by no more than this share are equal: rounding must not choose."""


def first_best(gain: NDArray[np.float64]) -> NDArray[np.intp]:
    """Index, along the last axis, of the first candidate whose gain is the highest.

    Ratings on a few levels make gains that are equal in exact arithmetic, often and for different
    functions. Which one is chosen then must not depend on the machine.
    """
    least = gain.max(axis=-1, keepdims=True)
    least = least - TIED * np.abs(least)
    return (gain >= least).argmax(axis=-1)
