"""Dense linear algebra over stacks of small problems."""

from __future__ import annotations

import numpy as np
import scipy.linalg
from numpy.typing import ArrayLike, NDArray
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


INDEPENDENT = 1e-6
"""A column counts as linearly independent of the basis if at least this share of its norm is left.

Squared norms of the remainders are found by subtraction, so shares below the square root of the
working precision, about 1e-8, are noise; this keeps two digits of distance from that.
"""

VANISHING = float(np.finfo(np.float64).eps)
"""A column counts as zero if its norm is at most this share of the largest of its dictionary.

Such a function lives far from all the points; its coefficient, and with it its values where it
does live, would be huge.
"""


def nonzero_columns(squared_norms: Array) -> NDArray[np.bool_]:
    """Say which columns of each dictionary, by their squared norms (..., N), are not zero."""
    return squared_norms > VANISHING**2 * squared_norms.max(axis=-1, keepdims=True, initial=0.0)


class GrowingBasis:
    """QR factorisation of the columns chosen so far, updated and never computed from scratch.

    With the chosen columns X (one for each step) it keeps Q with orthonormal columns and the
    upper triangular ``T = R^-1`` with ``Q = X T``. The least-squares fit of the first p columns
    to y then has the coefficients ``sum_{i<p} T[:, i] (q_i' y)``: the fits of all prefixes are
    the partial sums of one product.

    Parameters
    ----------
    batch : tuple of int
        Leading shape of the batch.
    n_rows : int
    capacity : int
        Largest number of columns.
    """

    def __init__(self, batch: tuple[int, ...], n_rows: int, capacity: int) -> None:
        self._rows = np.zeros((*batch, capacity, n_rows))
        self._whole = self._directions = np.zeros((*batch, capacity, capacity))
        self._running: NDArray[np.intp] | None = None  # None: all
        self.size = 0

    @property
    def directions(self) -> Array:
        """The matrices T of all problems, shape (*batch, capacity, capacity)."""
        if self._running is not None:
            self._whole[self._running] = self._directions
        return self._whole

    def append(self, columns: Array, squared_norms: Array | None = None) -> Array:
        """Append one column to each problem of the batch.

        Parameters
        ----------
        columns : ndarray of shape (*batch, n_rows)
        squared_norms : ndarray of shape (*batch,), optional
            Those of the columns, where they are known.

        Returns
        -------
        ndarray of shape (*batch, n_rows)
            The new unit vectors q; zero where the column depends on the earlier ones.
        """
        p = self.size
        basis = self._rows[..., :p, :]
        left = columns
        along = np.zeros((*columns.shape[:-1], p))
        # One Gram-Schmidt sweep is not orthogonal to working precision; two are.
        for _ in range(2 if p else 0):
            part = np.matmul(basis, left[..., None])[..., 0]
            left = left - np.matmul(part[..., None, :], basis)[..., 0, :]
            along += part
        if squared_norms is None:
            squared_norms = np.einsum("...i,...i->...", columns, columns)
        norm_left = np.sqrt(np.einsum("...i,...i->...", left, left))
        independent = norm_left > INDEPENDENT * np.sqrt(squared_norms)
        scale = independent / np.where(independent, norm_left, 1.0)
        q = left * scale[..., None]
        self._rows[..., p, :] = q
        if p:
            earlier = np.matmul(self._directions[..., :p, :p], along[..., None])[..., 0]
            self._directions[..., :p, p] = earlier * -scale[..., None]
        self._directions[..., p, p] = scale
        self.size += 1
        return q

    def keep(self, kept: NDArray[np.intp]) -> None:
        """Go on with some problems of a batch of one axis; `directions` stays that of all."""
        rows = np.empty((len(kept), *self._rows.shape[1:]))
        rows[:, : self.size] = self._rows[kept, : self.size]
        self._rows = rows
        if self._running is not None:
            self._whole[self._running] = self._directions
        self._running = kept if self._running is None else self._running[kept]
        self._directions = self._directions[kept]


TIED = 1e-9
"""Gains that differ by no more than this share are equal: rounding must not choose."""


def least_tied(best: Array) -> Array:
    """Return the least gain that counts as equal to the best one."""
    return best - TIED * np.abs(best)


def first_best(gain: Array) -> NDArray[np.intp]:
    """Index, along the last axis, of the first candidate whose gain is the highest.

    Ratings on a few levels make gains that are equal in exact arithmetic, often and for different
    functions. Which one is chosen then must not depend on the machine.
    """
    rows = gain.reshape(-1, gain.shape[-1])
    # The place of a maximum is found faster than the maxima of many short rows are reduced.
    highest = rows.argmax(axis=1)
    highest += np.arange(0, rows.size, rows.shape[1])
    least = least_tied(rows.take(highest))
    return (rows >= least[:, None]).argmax(axis=1).reshape(gain.shape[:-1])


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
