"""Squared distances and Gaussian kernels, many widths at once."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

REGULAR, IDENTITY, ONES = "regular", "identity", "ones"
"""Kinds of widths, see :func:`classify_widths`."""

CACHED_ENTRIES = 2**16
"""Values processed at a time (512 KB), so that two passes over them stay in the cache."""

_UNDERFLOW = -746.0
"""Exponents below this underflow to exactly 0, which slows ``np.exp`` down many times."""

_EPS = np.finfo(np.float64).eps


@np.errstate(over="ignore", invalid="ignore")
def squared_distances(X: ArrayLike, Y: ArrayLike | None = None) -> NDArray[np.float64]:
    """Return the squared Euclidean distance of every row of `X` to every row of `Y`, (m, n).

    `Y` defaults to `X`; the diagonal is then exactly zero and the result exactly symmetric.
    Distances are never negative, and zero for points that are equal to working precision. Those of
    points whose squares overflow are infinite or NaN, which the estimators refuse.
    """
    left = np.asarray(X, dtype=np.float64)
    right = left if Y is None else np.asarray(Y, dtype=np.float64)
    # The expansion |x|^2 - 2xy + |y|^2 loses digits when the points lie far from the origin.
    # A rounded centre keeps it exact for integers, so that equal distances stay equal.
    centre = np.round(right.mean(axis=0))
    right = right - centre
    # BLAS rounds the product of an array with itself differently from that of two arrays.
    left = right.copy() if Y is None else left - centre
    squared: NDArray[np.float64] = left @ right.T
    squared *= -2.0
    right_norms = np.einsum("ij,ij->i", right, right)
    left_norms = right_norms if Y is None else np.einsum("ij,ij->i", left, left)
    norms = left_norms[:, None] + right_norms
    squared += norms
    # Values below the rounding error of the sum are noise: equal points have distance zero.
    norms *= (left.shape[1] + 2) * _EPS
    np.copyto(squared, 0.0, where=squared <= norms)
    if Y is None:
        squared = 0.5 * (squared + squared.T)
        np.fill_diagonal(squared, 0.0)
    return squared


def gamma_from_width(width: ArrayLike) -> NDArray[np.float64]:
    """Return gamma of ``exp(-gamma d^2)`` for the width sigma of ``exp(-d^2 / (2 sigma^2))``."""
    return 0.5 / np.square(np.asarray(width, dtype=np.float64))


def gaussian_stack(squared: NDArray[np.float64], gammas: ArrayLike) -> NDArray[np.float64]:
    """Return Gaussian kernels ``exp(-gamma d^2)``, (w, m, n), of squared distances (m, n)."""
    gammas = np.asarray(gammas, dtype=np.float64)
    stack = np.multiply(-gammas[:, None, None], squared)
    zero = stack < _UNDERFLOW
    if not zero.any():
        return np.exp(stack, out=stack)
    np.copyto(stack, 0.0, where=zero)
    np.exp(stack, out=stack)
    np.copyto(stack, 0.0, where=zero)
    return stack


class GaussianColumns:
    """Gaussian functions centred at points (n, d), evaluated by one matrix product per block."""

    def __init__(self, points: ArrayLike, gamma: float) -> None:
        points = np.asarray(points, dtype=np.float64)
        self._centre, self._gamma = np.round(points.mean(axis=0)), gamma
        centred = points - self._centre
        squares = np.einsum("ij,ij->i", centred, centred)
        # The row (x, |x|^2, 1) times this factor is the exponent gamma (2xy - |x|^2 - |y|^2).
        self._factor = gamma * np.column_stack([2.0 * centred, -np.ones(len(points)), -squares]).T

    def __call__(
        self, X: NDArray[np.floating], out: NDArray[np.float64] | None = None
    ) -> NDArray[np.float64]:
        """Return the values (m, n) of all functions at the rows of `X`, (m, d)."""
        n_rows, n_features = X.shape
        extended = np.empty((n_rows, n_features + 2))
        centred = np.subtract(X, self._centre, out=extended[:, :n_features])
        squares = np.einsum("ij,ij->i", centred, centred, out=extended[:, n_features])
        extended[:, n_features + 1] = 1.0
        values = np.matmul(extended, self._factor, out=out)
        # Values below the rounding error of the sum are noise: equal points have distance zero.
        # Equal points have equal squares, so that one bound per row is enough.
        noise = -2.0 * (n_features + 2) * _EPS * self._gamma * squares
        step = max(1, CACHED_ENTRIES // max(1, values.shape[1]))
        for start in range(0, n_rows, step):
            exponents, bound = values[start : start + step], noise[start : start + step]
            for row in np.flatnonzero(exponents.max(axis=1, initial=-np.inf) >= bound):
                exponents[row][exponents[row] >= bound[row]] = 0.0
            np.exp(exponents, out=exponents)
        return values


def function_values(
    kernel: NDArray[np.float64], coefficients: NDArray[np.floating]
) -> NDArray[np.float64]:
    """Return the values ``K a``, (b, ..., m), of kernel expansions.

    `kernel`, (b, m, n), has the kernel values of m points with the n points of the expansions;
    `coefficients`, (b, ..., n), may have any number of grid axes.
    """
    if coefficients.ndim == 2:
        return np.matmul(kernel, coefficients[..., None])[..., 0]
    b, *grid, n = coefficients.shape
    functions = coefficients.reshape(b, math.prod(grid), n)
    return np.matmul(functions, kernel.swapaxes(1, 2)).reshape(b, *grid, kernel.shape[1])


def classify_widths(squared: NDArray[np.float64], gammas: ArrayLike) -> NDArray[np.str_]:
    """Return the kind of each of w widths on points with these squared distances.

    ``"identity"`` if the kernel values of all distinct points are below the working precision,
    ``"ones"`` if all values are 1 to working precision, else ``"regular"``. Only a regular width
    can be learned from. Zero distances are skipped.
    """
    gammas = np.asarray(gammas, dtype=np.float64)
    apart = squared[squared > 0.0]
    if apart.size == 0:
        return np.full(gammas.shape, ONES)
    kinds = np.full(gammas.shape, REGULAR, dtype=f"<U{len(IDENTITY)}")
    kinds[np.exp(-gammas * apart.min()) < _EPS] = IDENTITY
    kinds[gammas * apart.max() < _EPS] = ONES
    return kinds
