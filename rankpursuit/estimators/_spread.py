"""The variance of all entries of points that come block by block."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

_COPIED_ENTRIES = 2**20
"""Entries of which a variance may hold a copy: 8 MB."""


@dataclass(frozen=True)
class Spread:
    """What a variance needs of some entries.

    Attributes
    ----------
    n_entries : int
    mean : float
    squares : float
        Sum of the squared deviations from the mean.
    least, largest : float

    Examples
    --------
    >>> found = Spread.of(np.array([[1.0], [2.0]])) + Spread.of(np.array([[6.0]]))
    >>> found.mean, round(found.variance, 6)
    (3.0, 4.666667)
    """

    n_entries: int = 0
    mean: float = 0.0
    squares: float = 0.0
    least: float = np.inf
    largest: float = -np.inf

    @classmethod
    def of(cls, X: NDArray[np.floating]) -> Self:
        """Look at points of shape (n, d), with no copy of a large `X`, which may be a memory map.

        What overflows makes the variance infinite or NaN.
        """
        found = cls()
        step = max(1, _COPIED_ENTRIES // max(1, X.shape[1]))
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            for start in range(0, len(X), step):
                part = np.asarray(X[start : start + step], dtype=np.float64)
                squares = float(part.var()) * part.size
                found += cls(
                    part.size, float(part.mean()), squares, float(part.min()), float(part.max())
                )
        return found

    def __add__(self, other: Self) -> Self:
        if not self.n_entries or not other.n_entries:
            return self if self.n_entries else other
        n_entries = self.n_entries + other.n_entries
        share, apart = other.n_entries / n_entries, other.mean - self.mean
        between = apart * apart * share * self.n_entries
        return type(self)(
            n_entries,
            self.mean + share * apart,
            self.squares + other.squares + between,
            min(self.least, other.least),
            max(self.largest, other.largest),
        )

    @property
    def variance(self) -> float:
        """Variance; 1 where all entries are equal."""
        return self.squares / self.n_entries if self.least < self.largest else 1.0
