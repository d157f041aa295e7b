"""Dense linear algebra over stacks of small problems, shared by the solvers.

Deterministic choice among tied gains, an orthonormal basis that grows by one column at a time,
shifted systems for many lambdas, and the inverse Cholesky factor of nested subsets.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import lapack

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

EPS = float(np.finfo(np.float64).eps)

INDEPENDENT = 1e-6
"""A column is linearly independent of a basis if more than this fraction of its norm is orthogonal
to it.

Squared norms are computed by subtraction, so that fractions below about 1e-8 are noise."""
VANISHING = EPS
"""A column is zero if its norm is at most this fraction of the largest of its dictionary.

Such a function is centred far from all points; its coefficient would be huge."""
TIED = 1e-9
"""Gains with at most this relative difference are tied, so that rounding does not decide."""

_NEGLIGIBLE = 1e-3
"""Negative eigenvalues of at most this fraction of lambda count as zero."""
_TRIDIAGONAL_BLOCK = 8
"""Block size of the LAPACK reductions, set through the size of the workspace: for up to a thousand
rows LAPACK's default of 32 is slower."""
_TRIANGLE = 65 * 64
"""Workspace of LAPACK's `dormqr` for triangular factors, in addition to that of the blocks."""
_TINY = EPS * EPS
"""Entries below this fraction of a solution's first entry are set to zero: most would be subnormal
numbers, which slow down what follows by an order of magnitude."""
_CHOLESKY_BLOCK = 32
"""Rows of a factor that are computed one by one between two matrix products."""


def nonzero_columns(squared_norms: Array) -> NDArray[np.bool_]:
    """Return which columns of each dictionary, given their squared norms (..., N), are not zero."""
    return squared_norms > VANISHING**2 * squared_norms.max(axis=-1, keepdims=True, initial=0.0)


def least_tied(best: Array) -> Array:
    """Return the lowest gain that ties with the best one."""
    return best - TIED * np.abs(best)


def first_best(gain: Array) -> Indices:
    """Return the index, along the last axis, of the first candidate with the highest gain.

    Gains are often equal in exact arithmetic; the choice must not depend on the machine.
    """
    rows = gain.reshape(-1, gain.shape[-1])
    # argmax is faster than a max over many short rows.
    highest = rows.argmax(axis=1)
    highest += np.arange(0, rows.size, rows.shape[1])
    least = least_tied(rows.take(highest))
    return (rows >= least[:, None]).argmax(axis=1).reshape(gain.shape[:-1])


class GrowingBasis:
    """QR factorisation of the columns chosen so far, updated by one column at a time.

    With the chosen columns X it keeps Q with orthonormal columns and the upper triangular
    ``T = R^-1`` with ``Q = X T``. The least-squares fit of the first p columns to y then has the
    coefficients ``sum_{i<p} T[:, i] (q_i' y)``: all prefixes are partial sums of one product.
    """

    def __init__(self, batch: tuple[int, ...], n_rows: int, capacity: int) -> None:
        self._rows = np.zeros((*batch, capacity, n_rows))
        self.directions = np.zeros((*batch, capacity, capacity))  # T
        self.size = 0

    def append(self, columns: Array, squared_norms: Array | None = None) -> Array:
        """Append columns, (*batch, n_rows); return unit vectors, zero for dependent columns."""
        p = self.size
        basis = self._rows[..., :p, :]
        left = columns
        along = np.zeros((*columns.shape[:-1], p))
        # One Gram-Schmidt pass is not orthogonal to working precision; two are.
        for _ in range(2 if p else 0):
            products = np.matmul(basis, left[..., None])[..., 0]
            left = left - np.matmul(products[..., None, :], basis)[..., 0, :]
            along += products
        if squared_norms is None:
            squared_norms = np.einsum("...i,...i->...", columns, columns)
        norm_left = np.sqrt(np.einsum("...i,...i->...", left, left))
        independent = norm_left > INDEPENDENT * np.sqrt(squared_norms)
        scale = independent / np.where(independent, norm_left, 1.0)
        q = left * scale[..., None]
        self._rows[..., p, :] = q
        if p:
            triangle = self.directions[..., :p, :p]
            earlier = np.matmul(triangle, along[..., None])[..., 0]
            self.directions[..., :p, p] = earlier * -scale[..., None]
        self.directions[..., p, p] = scale
        self.size += 1
        return q

    def keep(self, kept: Indices) -> None:
        """Continue with some problems of a batch with one axis."""
        self._rows, self.directions = self._rows[kept], self.directions[kept]


def solve_shifted(matrix: Array, right: Array, lambdas: ArrayLike) -> Array:
    """Solve ``(A + lambda I) x = y`` for many lambdas and symmetric, usually semi-definite A.

    Bordered by its right-hand side, the matrix is reduced to tridiagonal form: ``A = Q T Q'`` with
    ``Q' y`` along the first axis. Each lambda then takes O(r), and Q is applied but never formed.
    This is a fifth of the work of an eigendecomposition, which is used only for matrices with
    negative eigenvalues and for lambdas below the rounding error of the largest eigenvalue; the
    solution then leaves out directions whose eigenvalues are below that error too.

    `matrix` has the shape (b, r, r), `right` (r,) or (b, r), `lambdas` (k,), the result (b, k, r).
    """
    lambdas = np.asarray(lambdas, dtype=np.float64)
    right = np.broadcast_to(right, matrix.shape[:2])
    if not matrix.size or not lambdas.size:
        return np.zeros((len(matrix), len(lambdas), matrix.shape[2]))
    # The trace bounds the largest eigenvalue if none is negative.
    noise = np.einsum("bii->b", matrix) * (EPS * matrix.shape[1])
    solved, is_solved = _by_tridiagonals(matrix, right, lambdas)
    lost = np.flatnonzero(~(is_solved & (lambdas.min() > noise)))
    if len(lost):
        solved[lost] = _by_eigenvectors(matrix[lost], right[lost], lambdas)
    return solved


def _by_tridiagonals(
    matrix: Array, right: Array, lambdas: Array
) -> tuple[Array, NDArray[np.bool_]]:
    """Solve systems without significant negative eigenvalues; also return which were solved."""
    b, n = right.shape
    bordered = np.empty((b, n + 1, n + 1))
    bordered[:, 0, 0], bordered[:, 0, 1:], bordered[:, 1:, 1:] = 0.0, right, matrix
    diagonal, off_diagonal, scales = np.empty((b, n + 1)), np.empty((b, n)), np.empty((b, n))
    forms = bordered.swapaxes(1, 2)  # Fortran order: LAPACK overwrites them in place
    for i, form in enumerate(forms):
        _, diagonal[i], off_diagonal[i], scales[i], _ = lapack.dsytrd(
            form, lower=1, lwork=_TRIDIAGONAL_BLOCK * (n + 1), overwrite_a=1
        )
    solved, is_solved = _solve_tridiagonals(diagonal[:, 1:], off_diagonal, lambdas)
    # Trailing zeros of a solution need no reflection.
    lengths = n - np.argmax(solved[:, :, ::-1] != 0.0, axis=2)
    lwork = _TRIDIAGONAL_BLOCK * len(lambdas) + _TRIANGLE
    for i, length in enumerate(lengths.max(axis=1).tolist()):
        reflectors, reflector_scales = forms[i, 1:, :length], scales[i, :length]
        lapack.dormqr("L", "N", reflectors, reflector_scales, solved[i].T, lwork, overwrite_c=1)
    return solved, is_solved


def _solve_tridiagonals(
    diagonal: Array, off_diagonal: Array, lambdas: Array
) -> tuple[Array, NDArray[np.bool_]]:
    """Solve tridiagonal systems for the first unit vector times ``off_diagonal[:, 0]``.

    Elimination from the last row upwards gives a product of ratios, without cancellation. Negative
    pivots at a small fraction of the smallest lambda reveal negative eigenvalues. Entry i of
    `off_diagonal`, (b, r), is to the left of entry i of `diagonal`. Returns solutions (b, k, r),
    zero for unsolved systems, and flags (b,) of the solved ones.
    """
    b, n = diagonal.shape
    shifts = np.append(lambdas, _NEGLIGIBLE * lambdas.min())
    pivots = np.add(diagonal.T[:, :, None], shifts)
    squares = np.square(off_diagonal).T[:, :, None]
    taken = np.empty(pivots.shape[1:])
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        for i in range(n - 1, 0, -1):
            np.divide(squares[i], pivots[i], out=taken)
            pivots[i - 1] -= taken
        signed = -off_diagonal.T[:, :, None]
        signed[0] = off_diagonal[:, :1]
        solved = np.divide(signed, pivots[:, :, :-1], order="C")
        for i in range(1, n):
            solved[i] *= solved[i - 1]
        np.copyto(solved, 0.0, where=np.abs(solved) < _TINY * np.abs(solved[0]))
    solved = np.ascontiguousarray(solved.transpose(1, 2, 0))
    positive, finite = pivots[:, :, -1] > 0.0, np.isfinite(solved).reshape(b, -1)
    is_solved = np.logical_and(positive.all(axis=0), finite.all(axis=1))
    solved[~is_solved] = 0.0
    return solved, is_solved


def _by_eigenvectors(matrix: Array, right: Array, lambdas: Array) -> Array:
    """Solve the systems by eigendecomposition."""
    values, vectors = np.linalg.eigh(matrix)
    along = np.matmul(right[:, None, :], vectors)[:, 0, :]
    noise = values.max(axis=1, initial=0.0, keepdims=True) * (EPS * values.shape[1])
    kept = (values > noise)[:, :, None] | (lambdas > noise)[:, None, :]
    # Eigenvalues that are negative by rounding count as zero; others stay negative.
    rounding = np.sqrt(EPS) * np.abs(values).max(axis=1, keepdims=True)
    values = np.where(values < -rounding, values, np.maximum(values, 0.0))
    shifted = values[:, :, None] + lambdas
    kept &= shifted != 0.0
    shrunk = np.divide(along[:, :, None], shifted, out=np.zeros_like(shifted), where=kept)
    return np.matmul(vectors, shrunk).swapaxes(1, 2)


def whitening(kernel: Array) -> Array:
    """Return upper triangular coefficients W with ``W' K W = I``.

    W is the inverse of the Cholesky factor of K. Its leading block belongs to the leading points,
    so one factor serves all nested subsets of r points, given their positive semi-definite kernels
    (b, r, r). If the function of a point depends, to working precision, on those of the points
    before it, its row and column of W are zero.
    """
    n_points = kernel.shape[1]
    factor = np.zeros(kernel.shape)
    diagonal = np.einsum("bii->bi", kernel)
    least = diagonal.max(axis=1, initial=0.0) * (EPS * n_points)
    independent = np.empty(diagonal.shape, dtype=bool)
    for start in range(0, n_points, _CHOLESKY_BLOCK):
        block, done = slice(start, start + _CHOLESKY_BLOCK), factor[:, :start, start:]
        products = np.matmul(done[:, :, :_CHOLESKY_BLOCK].swapaxes(1, 2), done)
        left = kernel[:, block, start:] - products
        for j in range(left.shape[1]):
            earlier = factor[:, start : start + j, start + j :]
            row = left[:, j, j:] - np.matmul(earlier[:, None, :, 0], earlier)[:, 0]
            positive = row[:, 0] > least
            root = np.sqrt(np.where(positive, row[:, 0], np.inf))
            np.divide(row, root[:, None], out=factor[:, start + j, start + j :])
            independent[:, start + j] = positive
    np.einsum("bii->bi", factor)[~independent] = 1.0
    for triangle in factor:  # an upper triangle in C order is a lower one in Fortran order
        lapack.dtrtri(triangle.T, lower=1, overwrite_c=1)
    factor *= independent[:, :, None]
    factor *= independent[:, None, :]
    return factor
