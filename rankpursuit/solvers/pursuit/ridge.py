"""A ridge term in the least-squares problem of a pursuit, as rows of it: a path of ridges."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from rankpursuit.solvers.fallbacks import eigh
from rankpursuit.solvers.pursuit.forms import Array


def ridge_rows(
    dictionary: Array, target: Array, kernel: Array, ridges: ArrayLike
) -> tuple[Array, Array]:
    """Rows that add the penalties ``ridge * a' K a`` on the coefficients to the cost.

    Parameters
    ----------
    dictionary : ndarray of shape (b, m, N)
    target : ndarray of shape (m,) or (b, m)
    kernel : ndarray of shape (b, N, N)
        Kernel K of the dictionary points among themselves.
    ridges : array-like of shape (r,)
        Not negative.

    Returns
    -------
    dictionary : ndarray of shape (b * r, m + N, N)
        For each dictionary, one after the other, that of each ridge. Without any penalty, the
        dictionaries as they were, of m rows.
    target : ndarray of shape (b * r, m + N)
    """
    ridges = np.asarray(ridges, dtype=np.float64)
    n_stack, n_rows, n_columns = dictionary.shape
    rows = np.broadcast_to(target, (n_stack, n_rows))
    if not ridges.any():
        return _repeated(dictionary, len(ridges)), _repeated(rows, len(ridges))
    longer = np.empty((n_stack, len(ridges), n_rows + n_columns, n_columns))
    longer[:, :, :n_rows] = dictionary[:, None]
    longer[:, :, n_rows:] = np.sqrt(ridges)[:, None, None] * _root(kernel)[:, None]
    padded = np.zeros((n_stack, len(ridges), n_rows + n_columns))
    padded[:, :, :n_rows] = rows[:, None]
    return longer.reshape(-1, *longer.shape[2:]), padded.reshape(-1, padded.shape[2])


def _root(kernel: Array) -> Array:
    """Matrices R with ``R'R = K``, of shape (b, N, N); negative eigenvalues of K count as 0.

    Only kernels that are positive definite to working precision have a Cholesky factor, which takes
    a tenth of the time of the eigenvectors.
    """
    try:
        return np.asarray(np.linalg.cholesky(kernel), dtype=np.float64).swapaxes(1, 2)
    except np.linalg.LinAlgError:
        values, vectors = eigh(kernel)
        return np.sqrt(np.maximum(values, 0.0))[..., None] * vectors.swapaxes(1, 2)


def ridge_gram(
    gram: Array, products: Array, square: Array, kernel: Array, ridges: ArrayLike
) -> tuple[Array, Array, Array]:
    """Add the same penalties to the products of the columns.

    Parameters
    ----------
    gram, kernel : ndarray of shape (b, N, N)
        The kernels without negative eigenvalues; see :func:`positive_part`.
    products : ndarray of shape (b, N)
    square : ndarray of shape (b,)
    ridges : array-like of shape (r,)

    Returns
    -------
    gram : ndarray of shape (b * r, N, N)
    products : ndarray of shape (b * r, N)
    square : ndarray of shape (b * r,)
    """
    ridges = np.asarray(ridges, dtype=np.float64)
    penalised = gram[:, None] + ridges[:, None, None] * kernel[:, None]
    n_ridges = len(ridges)
    return (
        penalised.reshape(-1, *gram.shape[1:]),
        _repeated(products, n_ridges),
        _repeated(square, n_ridges),
    )


def positive_part(kernel: Array) -> Array:
    """Return what :func:`ridge_rows` makes of a kernel: its negative eigenvalues count as 0.

    Parameters
    ----------
    kernel : ndarray of shape (..., N, N)

    Returns
    -------
    ndarray of shape (..., N, N)

    Examples
    --------
    >>> positive_part(np.diag([2.0, -1.0]))
    array([[2., 0.],
           [0., 0.]])
    """
    values, vectors = np.linalg.eigh(kernel)
    return np.matmul(vectors * np.maximum(values, 0.0)[..., None, :], vectors.swapaxes(-1, -2))


def _repeated(stack: Array, times: int) -> Array:
    return stack if times == 1 else np.repeat(stack, times, axis=0)
