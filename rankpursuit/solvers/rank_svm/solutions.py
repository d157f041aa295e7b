"""What both solvers of RankSVM return."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True)
class RankSVMPath:
    """Solutions for b kernels of n points and k values of C.

    Attributes
    ----------
    coefficients : ndarray of shape (b, k, n)
    objective : ndarray of shape (b, k)
        Primal objective.
    gap : ndarray of shape (b, k)
        Duality gap, relative to the objective: the minimum lies between
        ``objective * (1 - gap)`` and ``objective``.
    """

    coefficients: Array
    objective: Array
    gap: Array

    @classmethod
    def zeros(cls, n_kernels: int, n_Cs: int, n_points: int) -> RankSVMPath:
        """Zero functions, which solve problems without any pair."""
        grid = (n_kernels, n_Cs)
        return cls(np.zeros((*grid, n_points)), np.zeros(grid), np.zeros(grid))

    def put(self, kernels: Sequence[int], path: RankSVMPath) -> None:
        """Set the solutions of some kernels."""
        self.coefficients[kernels] = path.coefficients
        self.objective[kernels] = path.objective
        self.gap[kernels] = path.gap

    def put_Cs(self, Cs: NDArray[np.bool_], path: RankSVMPath) -> None:
        """Set the solutions of some values of C, for all kernels."""
        self.coefficients[:, Cs] = path.coefficients
        self.objective[:, Cs] = path.objective
        self.gap[:, Cs] = path.gap
