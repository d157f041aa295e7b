"""Two ways to compute with the kernels of a stack of problems, for the interior-point method.

By the kernels themselves a step is fastest. By their factors its system is symmetric and has no
more rows than the kernel has directions, so that it keeps its digits where weights of the size of
a large C make the other one nearly singular.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from rankpursuit.kernels import function_values
from rankpursuit.solvers.fallbacks import eigh, solve

Array = NDArray[np.float64]
Index = NDArray[np.intp]

_EPS = np.finfo(np.float64).eps


class KernelForm(Protocol):
    """What the interior-point method asks of b kernels K of n points."""

    def take(self, which: Index) -> KernelForm:
        """Return some of the kernels."""

    def values(self, coefficients: Array) -> Array:
        """``K a`` of coefficients of shape (b, n), of the same shape."""

    def newton_values(self, laplacian: Array, right: Array) -> Array:
        """``K v`` with ``(I + L K) v = r``, for L of shape (b, n, n) and r of shape (b, n)."""


class PlainForm:
    """The kernels themselves, of shape (b, n, n)."""

    def __init__(self, kernel: Array) -> None:
        self._kernel = kernel

    def take(self, which: Index) -> PlainForm:
        """Return some of the kernels."""
        return PlainForm(self._kernel[which])

    def values(self, coefficients: Array) -> Array:
        """``K a``."""
        return function_values(self._kernel, coefficients)

    def newton_values(self, laplacian: Array, right: Array) -> Array:
        """Solve the system of n rows as it stands."""
        system = np.matmul(laplacian, self._kernel)
        np.einsum("bii->bi", system)[...] += 1.0
        return function_values(self._kernel, solve(system, right))


def factored(kernel: Array) -> tuple[FactorForm, NDArray[np.bool_]]:
    """Factor kernels, without directions that are negative or rounding errors.

    Parameters
    ----------
    kernel : ndarray of shape (b, n, n)

    Returns
    -------
    FactorForm
    definite : ndarray of bool of shape (b,)
        Whether what was left out is no more than the rounding errors of a kernel without negative
        directions: to the root of the working precision, as nearly equal points leave them.
    """
    values, vectors = eigh(kernel)
    kept = values > values[:, -1:] * (_EPS * kernel.shape[1])
    factors = vectors * np.sqrt(np.where(kept, values, 0.0))[:, None, :]
    return FactorForm(factors), values[:, 0] >= -np.sqrt(_EPS) * values[:, -1]


class FactorForm:
    """Factors F of shape (b, n, n), with ``K = F F'``."""

    def __init__(self, factors: Array) -> None:
        self._factors = factors

    def take(self, which: Index) -> FactorForm:
        """Return some of the kernels."""
        return FactorForm(self._factors[which])

    def values(self, coefficients: Array) -> Array:
        """``F (F' a)``."""
        along = np.matmul(coefficients[:, None, :], self._factors)
        return np.matmul(along, self._factors.swapaxes(1, 2))[:, 0]

    def newton_values(self, laplacian: Array, right: Array) -> Array:
        """``F u`` with ``(I + F' L F) u = F' r``."""
        transposed = self._factors.swapaxes(1, 2)
        system = np.matmul(transposed, np.matmul(laplacian, self._factors))
        np.einsum("bii->bi", system)[...] += 1.0
        along = solve(system, np.matmul(transposed, right[..., None])[..., 0])
        return np.matmul(self._factors, along[..., None])[..., 0]
