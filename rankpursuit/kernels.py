"""Squared distances and Gaussian kernels, many widths at once."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

REGULAR, IDENTITY, ONES = "regular", "identity", "ones"
"""What :func:`classify_widths` calls a width."""

_EPS = np.finfo(np.float64).eps


def squared_distances(X: ArrayLike, Y: ArrayLike | None = None) -> NDArray[np.float64]:
    """Squared Euclidean distance of every row of `X` to every row of `Y`.

    Parameters
    ----------
    X : array-like of shape (m, d)
    Y : array-like of shape (n, d), optional
        Default: `X` itself; the diagonal is then exactly zero and the result exactly symmetric.

    Returns
    -------
    ndarray of shape (m, n)
        Never negative; zero where the points are equal to working precision.
    """
    left = np.asarray(X, dtype=np.float64)
    right = left if Y is None else np.asarray(Y, dtype=np.float64)
    # The expansion |x|^2 - 2xy + |y|^2 loses digits when the points lie far from the origin.
    # A whole centre keeps it exact for whole numbers, so that rounding does not tell distances
    # apart that are equal.
    centre = np.round(right.mean(axis=0))
    left, right = left - centre, right - centre
    squared: NDArray[np.float64] = left @ right.T
    squared *= -2.0
    norms = np.einsum("ij,ij->i", left, left)[:, None] + np.einsum("ij,ij->i", right, right)
    squared += norms
    # What is below the rounding error of the sum is noise: equal points have distance zero.
    squared[squared <= (left.shape[1] + 2) * _EPS * norms] = 0.0
    if Y is None:
        squared = 0.5 * (squared + squared.T)
        np.fill_diagonal(squared, 0.0)
    return squared


def gamma_from_width(width: ArrayLike) -> NDArray[np.float64]:
    """``gamma`` of ``exp(-gamma d^2)`` for the width ``sigma`` of ``exp(-d^2 / (2 sigma^2))``."""
    return 0.5 / np.square(np.asarray(width, dtype=np.float64))


def gaussian_stack(squared: NDArray[np.float64], gammas: ArrayLike) -> NDArray[np.float64]:
    """Gaussian kernels ``exp(-gamma d^2)`` for many values of gamma.

    Parameters
    ----------
    squared : ndarray of shape (m, n)
        Squared distances.
    gammas : array-like of shape (w,)

    Returns
    -------
    ndarray of shape (w, m, n)
    """
    gammas = np.asarray(gammas, dtype=np.float64)
    stack = np.multiply(-gammas[:, None, None], squared)
    return np.exp(stack, out=stack)


def function_values(
    kernel: NDArray[np.float64], coefficients: NDArray[np.floating]
) -> NDArray[np.float64]:
    """Values ``K a`` of kernel expansions, all functions of a grid beside each kernel.

    Parameters
    ----------
    kernel : ndarray of shape (b, m, n)
        Kernel values of m points with the n points of the expansions.
    coefficients : ndarray of shape (b, ..., n)
        Any number of axes of a grid, or none.

    Returns
    -------
    ndarray of shape (b, ..., m)
    """
    if coefficients.ndim == 2:
        return np.matmul(kernel, coefficients[..., None])[..., 0]
    b, *grid, n = coefficients.shape
    columns = coefficients.reshape(b, math.prod(grid), n).swapaxes(1, 2)
    return np.matmul(kernel, columns).swapaxes(1, 2).reshape(b, *grid, kernel.shape[1])


def classify_widths(squared: NDArray[np.float64], gammas: ArrayLike) -> NDArray[np.str_]:
    """Say which widths leave nothing to learn on these points.

    Parameters
    ----------
    squared : ndarray of shape (m, n)
        Squared distances of the points to the dictionary; zeros (a point and itself) are
        passed over.
    gammas : array-like of shape (w,)

    Returns
    -------
    ndarray of shape (w,)
        ``"identity"`` where every pair of distinct points has a kernel value below the working
        precision, ``"ones"`` where every value is 1 to working precision, else ``"regular"``.
    """
    gammas = np.asarray(gammas, dtype=np.float64)
    apart = squared[squared > 0.0]
    if apart.size == 0:
        return np.full(gammas.shape, ONES)
    kinds = np.full(gammas.shape, REGULAR, dtype=f"<U{len(IDENTITY)}")
    kinds[np.exp(-gammas * apart.min()) < _EPS] = IDENTITY
    kinds[gammas * apart.max() < _EPS] = ONES
    return kinds
