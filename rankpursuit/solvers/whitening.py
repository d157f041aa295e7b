"""Orthonormal functions of a subset of points, and of every subset that it begins with."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

Array = NDArray[np.float64]

_EPS = float(np.finfo(np.float64).eps)
_BLOCK = 32
"""Rows of a factor that are found one by one before a product of matrices takes them off."""


def whitening(kernel: Array) -> Array:
    """Coefficients W of functions with ``W' K W = I``, each over the points up to its own.

    W is the inverse of the Cholesky factor of K, so that its leading rows and columns are those
    of the leading points: one factor serves all subsets that begin alike. A point whose function
    depends, to working precision, on those of the points before it adds nothing to what they
    span: its column of W is zero, and so is its row.

    Parameters
    ----------
    kernel : ndarray of shape (b, r, r)
        Positive semi-definite kernels of r points.

    Returns
    -------
    ndarray of shape (b, r, r)
        Upper triangular.
    """
    n_points = kernel.shape[1]
    factor = np.zeros(kernel.shape)
    diagonal = np.einsum("bii->bi", kernel)
    least = diagonal.max(axis=1, initial=0.0) * (_EPS * n_points)
    independent = np.empty(diagonal.shape, dtype=bool)
    for start in range(0, n_points, _BLOCK):
        block, done = slice(start, start + _BLOCK), factor[:, :start, start:]
        left = kernel[:, block, start:] - np.matmul(done[:, :, :_BLOCK].swapaxes(1, 2), done)
        for j in range(left.shape[1]):
            earlier = factor[:, start : start + j, start + j :]
            row = left[:, j, j:] - np.matmul(earlier[:, None, :, 0], earlier)[:, 0]
            positive = row[:, 0] > least
            root = np.sqrt(np.where(positive, row[:, 0], np.inf))
            np.divide(row, root[:, None], out=factor[:, start + j, start + j :])
            independent[:, start + j] = positive
    np.einsum("bii->bi", factor)[~independent] = 1.0
    for own in factor:  # by rows an upper triangle is, to LAPACK, a lower one
        lapack.dtrtri(own.T, lower=1, overwrite_c=1)
    factor *= independent[:, :, None]
    factor *= independent[:, None, :]
    return factor
