"""Sums of a pursuit whose kernel values and scores are of any size."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from rankpursuit.estimators._scaling import Array, exponent_of, shifted
from rankpursuit.preferences import Preferences
from rankpursuit.solvers.pursuit import Columns, GramSums, sum_rows

OF_ZEROS = -10_000
"""The exponent of zeros, which any other may take the place of: below that of all numbers."""


def exponent_in_sums(values: Array) -> int:
    """Return the power of two by which values are divided, of which zeros have none."""
    return exponent_of(values) if np.any(values) else OF_ZEROS


@dataclass(frozen=True)
class ScaledSums:
    """Sums of kernel values and scores that were divided by powers of two, to be of a usual size.

    Attributes
    ----------
    sums : GramSums
    of_kernel, of_scores : int
        The exponents. Those of blocks may differ, and the larger one is that of their sum: what
        the other loses by that is below the rounding error.
    """

    sums: GramSums
    of_kernel: int = OF_ZEROS
    of_scores: int = OF_ZEROS

    @classmethod
    def of_rows(
        cls,
        columns: Columns,
        n_candidates: int,
        X: NDArray[np.floating],
        scores: Array,
        preferences: Preferences,
        check: Callable[[Array], None],
    ) -> Self:
        """Add up rows; see :func:`rankpursuit.solvers.pursuit.sum_rows`.

        Only if their kernel values turn out to be of an unusual size, they are computed again.
        `check` gets the largest one, NaN if there is one, and may raise.
        """
        of_scores = exponent_in_sums(scores)
        scores = shifted(scores, -of_scores) if of_scores > OF_ZEROS else scores
        measured = _Measured(columns)
        sums = sum_rows(measured, n_candidates, X, scores, preferences)
        check(measured.largest)
        of_kernel = exponent_in_sums(measured.largest)
        if of_kernel not in (0, OF_ZEROS):
            divided = _divided(columns, of_kernel)
            sums = sum_rows(divided, n_candidates, X, scores, preferences)
        return cls(sums, of_kernel, of_scores)

    def at(self, of_kernel: int, of_scores: int) -> GramSums:
        """Return the sums with other exponents."""
        kernel, scores = self.of_kernel - of_kernel, self.of_scores - of_scores
        return GramSums(
            shifted(self.sums.gram, 2 * kernel),
            shifted(self.sums.products, kernel + scores),
            float(shifted(self.sums.square, 2 * scores)),
            self.sums.n_rows,
        )

    def __add__(self, other: Self) -> Self:
        exponents = (
            max(self.of_kernel, other.of_kernel),
            max(self.of_scores, other.of_scores),
        )
        return type(self)(self.at(*exponents) + other.at(*exponents), *exponents)


class _Measured:
    """Columns whose largest kernel value is kept."""

    def __init__(self, columns: Columns) -> None:
        self._columns = columns
        self.largest = np.zeros(())

    def __call__(self, X: NDArray[np.floating], out: Array) -> None:
        self._columns(X, out)
        self.largest = np.maximum.reduce([self.largest, out.max(), -out.min()])


def _divided(columns: Columns, exponent: int) -> Callable[[NDArray[np.floating], Array], None]:
    def divided(X: NDArray[np.floating], out: Array) -> None:
        columns(X, out)
        out[:] = shifted(out, -exponent)

    return divided
