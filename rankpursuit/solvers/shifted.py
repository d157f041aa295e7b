"""Symmetric systems ``(A + lambda I) x = y`` for many lambdas at once.

Bordered by its right-hand side, a matrix is brought to tridiagonal form: ``A = Q T Q'`` with
``Q' y`` along the first axis. A tridiagonal system takes as long as its number of rows, for each
lambda, and Q is applied and never formed: a fifth of the work of an eigendecomposition, which is
left for matrices that are not positive semi-definite and for lambdas within the rounding errors.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import lapack

from rankpursuit.solvers.fallbacks import eigh

Array = NDArray[np.float64]

EPS = float(np.finfo(np.float64).eps)

_NEGLIGIBLE = 1e-3
"""Eigenvalues that are negative by no more than this share of a lambda may as well be zero."""
_BLOCK = 8
"""Reflections that LAPACK takes together, by the memory that it gets: of up to a thousand rows its
own choice of 32 is slower."""
_TINY = EPS * EPS
"""What is smaller beside the first entry of a solution is zero: far below the rounding errors.

Most solutions fall off so fast that their last entries would not be normal numbers any more, which
slow down what follows by an order of magnitude."""
_TRIANGLE = 65 * 64
"""Memory that LAPACK's `dormqr` takes for itself besides that of the blocks."""


def solve_shifted(
    matrix: Array, right: Array, lambdas: ArrayLike, rounding: Array | None = None
) -> Array:
    """Solve ``(A + lambda I) x = y`` for all lambdas, with A positive semi-definite.

    Parameters
    ----------
    matrix : ndarray of shape (b, r, r)
    right : ndarray of shape (r,) or (b, r)
    lambdas : array-like of shape (k,)
        Positive. For one that is below the rounding error of the largest eigenvalue, directions
        whose eigenvalues are below that too get no part in the solution.
    rounding : ndarray of shape (b,), optional
        Negative eigenvalues of at most this size count as zero, and larger ones get no part in
        the solution. Default: all count as zero.

    Returns
    -------
    ndarray of shape (b, k, r)
    """
    lambdas = np.asarray(lambdas, dtype=np.float64)
    right = np.broadcast_to(right, matrix.shape[:2])
    if not matrix.size or not lambdas.size:
        return np.zeros((len(matrix), len(lambdas), matrix.shape[2]))
    # The sum of all eigenvalues bounds the largest, if none is negative.
    noise = np.einsum("bii->b", matrix) * (EPS * matrix.shape[1])
    negligible = np.full(len(matrix), _NEGLIGIBLE * lambdas.min())
    if rounding is not None:
        np.minimum(negligible, rounding, out=negligible)
    solved, found = _by_tridiagonals(matrix, right, lambdas, negligible)
    lost = np.flatnonzero(~(found & (lambdas.min() > noise)))
    if len(lost):
        allowed = None if rounding is None else rounding[lost]
        solved[lost] = _by_eigenvectors(matrix[lost], right[lost], lambdas, allowed)
    return solved


def _by_tridiagonals(
    matrix: Array, right: Array, lambdas: Array, negligible: Array
) -> tuple[Array, NDArray[np.bool_]]:
    """Solve the systems, and say which: not those with a negative eigenvalue that counts."""
    b, n = right.shape
    bordered = np.empty((b, n + 1, n + 1))
    bordered[:, 0, 0], bordered[:, 0, 1:], bordered[:, 1:, 1:] = 0.0, right, matrix
    diagonal, beside, scales = np.empty((b, n + 1)), np.empty((b, n)), np.empty((b, n))
    forms = bordered.swapaxes(1, 2)  # LAPACK works in place, on what is stored by columns
    for i, form in enumerate(forms):
        _, diagonal[i], beside[i], scales[i], _ = lapack.dsytrd(
            form, lower=1, lwork=_BLOCK * (n + 1), overwrite_a=1
        )
    solved, found = _solve_tridiagonals(diagonal[:, 1:], beside, lambdas, negligible)
    # Reflections of the zeros at the end of a solution leave it as it is.
    lengths = n - np.argmax(solved[:, :, ::-1] != 0.0, axis=2)
    lwork = _BLOCK * len(lambdas) + _TRIANGLE
    for i, length in enumerate(lengths.max(axis=1).tolist()):
        mirrors, own = forms[i, 1:, :length], scales[i, :length]
        lapack.dormqr("L", "N", mirrors, own, solved[i].T, lwork, overwrite_c=1)
    return solved, found


def _solve_tridiagonals(
    diagonal: Array, beside: Array, lambdas: Array, negligible: Array
) -> tuple[Array, NDArray[np.bool_]]:
    """Solve for the first axis times the first of the numbers beside the diagonal.

    Elimination from the last row up leaves a product of ratios, without any difference. Its
    pivots at the shift `negligible` tell whether an eigenvalue is further below zero than that.

    Parameters
    ----------
    diagonal, beside : ndarray of shape (b, r)
        Entry i of `beside` is on the left of entry i of the diagonal.
    lambdas : ndarray of shape (k,)
    negligible : ndarray of shape (b,)

    Returns
    -------
    solved : ndarray of shape (b, k, r)
    found : ndarray of bool of shape (b,)
        Whether no eigenvalue is, and all is finite. Other systems have zeros.
    """
    b, n = diagonal.shape
    shifts = np.empty((b, len(lambdas) + 1))
    shifts[:, :-1], shifts[:, -1] = lambdas, negligible
    pivots = np.add(diagonal.T[:, :, None], shifts)
    squares = np.square(beside).T[:, :, None]
    taken = np.empty(shifts.shape)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        for i in range(n - 1, 0, -1):
            np.divide(squares[i], pivots[i], out=taken)
            pivots[i - 1] -= taken
        signed = -beside.T[:, :, None]
        signed[0] = beside[:, :1]
        solved = np.divide(signed, pivots[:, :, :-1], order="C")
        for i in range(1, n):
            solved[i] *= solved[i - 1]
        np.copyto(solved, 0.0, where=np.abs(solved) < _TINY * np.abs(solved[0]))
    solved = np.ascontiguousarray(solved.transpose(1, 2, 0))
    positive, finite = pivots[:, :, -1] > 0.0, np.isfinite(solved).reshape(b, -1)
    found = np.logical_and(positive.all(axis=0), finite.all(axis=1))
    solved[~found] = 0.0
    return solved, found


def _by_eigenvectors(matrix: Array, right: Array, lambdas: Array, rounding: Array | None) -> Array:
    values, vectors = eigh(matrix)
    along = np.matmul(right[:, None, :], vectors)[:, 0, :]
    if rounding is not None:
        along[values < -rounding[:, None]] = 0.0
    shifted = np.maximum(values, 0.0)[:, :, None] + lambdas
    noise = values.max(axis=1, initial=0.0, keepdims=True) * (EPS * values.shape[1])
    kept = (values > noise)[:, :, None] | (lambdas > noise)[:, None, :]
    shrunk = np.divide(along[:, :, None], shifted, out=np.zeros_like(shifted), where=kept)
    return np.matmul(vectors, shrunk).swapaxes(1, 2)
