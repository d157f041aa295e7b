"""Sizes of kernel values and scores that the solvers can square and multiply without overflow.

The solvers form products of squared kernel values, squared scores and weights. Kernel values and
scores far from 1 are therefore brought near it before, by a power of two, which loses no digit,
and the coefficients are brought back after.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

LARGE = 1e30
"""Values from one over this to this are left as they are.

A fourth power of it times its square, with room for sums over many points, is a finite number.
"""
LARGEST_SCORE = 1e100
"""Scores may be as large as this: training costs are their squares."""


def exponent_of(values: Array) -> int:
    """Power of two by which values must be divided to bring the largest near 1.

    Parameters
    ----------
    values : ndarray
        Finite.

    Returns
    -------
    int
        0 where nothing needs to be done, and for zeros.
    """
    largest = max(values.max(initial=0.0), -values.min(initial=0.0))
    if largest == 0.0 or 1.0 / LARGE <= largest <= LARGE:
        return 0
    return int(np.frexp(largest)[1])


def shifted(values: Any, exponent: int) -> Any:
    """Values times two to the power of `exponent`; as they are if that is 0."""
    if exponent == 0:
        return values
    with np.errstate(over="ignore", under="ignore"):
        return np.ldexp(values, exponent)


def overflow_found_later() -> np.errstate:
    """Compute without warnings: what overflow or underflow spoils is found in what comes out."""
    return np.errstate(over="ignore", under="ignore", invalid="ignore", divide="ignore")


def check_scores(y: Array) -> Array:
    """Return scores whose squares are finite; a ValueError otherwise. NaN is passed over."""
    if np.isinf(y).any():
        raise ValueError("y contains infinity; a score is a finite number")
    largest = np.fmax.reduce(np.abs(y), initial=0.0)
    if largest > LARGEST_SCORE:
        raise ValueError(
            f"y holds scores of up to {largest:.3g}, whose squares overflow; scale them to at most "
            f"{LARGEST_SCORE:g}"
        )
    return y


def check_coefficients(*coefficients: Array) -> None:
    """Raise a ValueError if coefficients of a fitted model are not finite."""
    if not all(np.isfinite(part).all() for part in coefficients):
        raise ValueError(
            "X leads to coefficients that are not finite, for kernel values that are too small or "
            "too close to singular; scale the features, or raise alpha or ridge"
        )


def check_predictions(values: Array) -> Array:
    """Return finite predictions; a ValueError otherwise."""
    if not np.isfinite(values).all():
        raise ValueError(
            "X holds points where the predictions are not finite: kernel values times coefficients "
            "overflow; scale the features as those of the training points"
        )
    return values
