"""Dense linear algebra that answers where the usual routine gives up.

Each function calls numpy's routine on the whole stack first, so that a stack of well-behaved
matrices is solved by that alone. Only if numpy refuses it is the stack taken apart.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg
from numpy.typing import NDArray
from scipy.linalg import lapack

Array = NDArray[np.float64]

_DRIVERS = ("evr", "ev")
"""LAPACK's other ways to eigenvalues: relatively robust representations, and QR iteration."""


def eigh(matrices: Array) -> tuple[Array, Array]:
    """Eigenvalues, rising, and eigenvectors of symmetric matrices.

    Numpy's driver (divide and conquer) fails on some matrices whose entries differ by hundreds of
    orders of magnitude; LAPACK's other drivers do not.

    Parameters
    ----------
    matrices : ndarray of shape (b, n, n)
        Finite. Only their lower triangles count.

    Returns
    -------
    values : ndarray of shape (b, n)
    vectors : ndarray of shape (b, n, n)
        In columns.
    """
    try:
        return np.linalg.eigh(matrices)
    except np.linalg.LinAlgError:
        parts = [_eigh_of_one(matrix) for matrix in matrices]
        return np.stack([values for values, _ in parts]), np.stack([own for _, own in parts])


def _eigh_of_one(matrix: Array) -> tuple[Array, Array]:
    try:
        return np.linalg.eigh(matrix)
    except np.linalg.LinAlgError:
        for driver in _DRIVERS[:-1]:
            try:
                return scipy.linalg.eigh(matrix, driver=driver)
            except np.linalg.LinAlgError:
                continue
        return scipy.linalg.eigh(matrix, driver=_DRIVERS[-1])


def solve(systems: Array, right: Array) -> Array:
    """Solve ``A x = y``; of a singular A, the least-squares solution of least norm.

    Parameters
    ----------
    systems : ndarray of shape (b, n, n)
    right : ndarray of shape (b, n)

    Returns
    -------
    ndarray of shape (b, n)
        NaN where a system is not finite.
    """
    try:
        return np.asarray(np.linalg.solve(systems, right[..., None])[..., 0], dtype=np.float64)
    except np.linalg.LinAlgError:
        return np.stack([_solve_one(A, y) for A, y in zip(systems, right, strict=True)])


def _solve_one(system: Array, right: Array) -> Array:
    try:
        return np.asarray(np.linalg.solve(system, right), dtype=np.float64)
    except np.linalg.LinAlgError:
        if not (np.isfinite(system).all() and np.isfinite(right).all()):
            return np.full(len(right), np.nan)
        return scipy.linalg.lstsq(system, right, lapack_driver="gelsy")[0]


def solve_transposed(systems: Array, which: NDArray[np.intp], right: Array) -> Array:
    """Solve ``A' x = y`` for some of a stack of systems, otherwise as :func:`solve`.

    To LAPACK a system that is stored by rows is its transpose: one copy is all that it needs.

    Parameters
    ----------
    systems : ndarray of shape (b, n, n)
    which : ndarray of shape (c,)
        Indices of the systems to solve.
    right : ndarray of shape (c, n)

    Returns
    -------
    ndarray of shape (c, n)
    """
    factors, solved = systems.take(which, axis=0).swapaxes(1, 2), right.copy()
    for i, (factor, own) in enumerate(zip(factors, solved, strict=True)):
        singular = lapack.dgesv(factor, own, overwrite_a=1, overwrite_b=1)[3]
        if singular:
            solved[i] = _solve_one(systems[which[i]].T, right[i])
    return solved
