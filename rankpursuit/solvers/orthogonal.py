"""An orthonormal basis that grows by one column at a time, for a whole batch of problems."""

from __future__ import annotations

import math
from types import EllipsisType

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

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


_BLOCK = 8
"""Rows of triangular matrices that are inverted at a time."""


class GrowingBasis:
    """QR factorisation of the columns chosen so far, updated and never computed from scratch.

    With the chosen columns X (one for each step) it keeps Q with orthonormal columns and the
    upper triangular R with ``X = Q R``. With ``T = R^-1``, the least-squares fit of the first p
    columns to y has the coefficients ``sum_{i<p} T[:, i] (q_i' y)``: the fits of all prefixes are
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
        n_padded = -(-capacity // _BLOCK) * _BLOCK
        self._rows = np.zeros((*batch, capacity, n_rows))
        self._factor = np.zeros((*batch, n_padded, n_padded))  # R', a row for each column
        self._running: EllipsisType | NDArray[np.intp] = ...
        self._capacity = capacity
        self.size = 0

    @property
    def directions(self) -> Array:
        """The matrices T, shape (*batch, capacity, capacity); zero in columns that add nothing."""
        n = self._capacity
        return _inverse_triangular(self._factor)[..., :n, :n].swapaxes(-1, -2)

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
        # One Gram-Schmidt sweep is not orthogonal to working precision; two are.
        for sweep in range(2 if p else 0):
            part = np.matmul(basis, left[..., None])[..., 0]
            left = left - np.matmul(part[..., None, :], basis)[..., 0, :]
            along = part if sweep == 0 else along + part
        if squared_norms is None:
            squared_norms = np.einsum("...i,...i->...", columns, columns)
        norm_left = np.sqrt(np.einsum("...i,...i->...", left, left))
        independent = norm_left > INDEPENDENT * np.sqrt(squared_norms)
        scale = independent / np.where(independent, norm_left, 1.0)
        q = left * scale[..., None]
        self._rows[..., p, :] = q
        if p:
            self._factor[self._running, p, :p] = along
        self._factor[self._running, p, p] = np.where(independent, norm_left, 0.0)
        self.size += 1
        return q

    def keep(self, kept: NDArray[np.intp]) -> None:
        """Go on with some problems of a batch of one axis; `directions` stays that of all."""
        rows = np.empty((len(kept), *self._rows.shape[1:]))
        rows[:, : self.size] = self._rows[kept, : self.size]
        self._rows = rows
        self._running = kept if self._running is ... else self._running[kept]


def _inverse_triangular(lower: Array) -> Array:
    """Inverses of lower triangular matrices (*batch, n, n), n a multiple of `_BLOCK`.

    A row with 0 on the diagonal counts for nothing, and is a row of zeros in the inverse.

    Rows of blocks follow from the rows above, ``T_i = -L_ii^-1 L_i T``: products of matrices for
    the whole batch, where a row at a time would be products with a vector.
    """
    *_, n, _ = lower.shape
    n_blocks = n // _BLOCK
    inverse = np.zeros_like(lower)
    blocks = (-1, n_blocks, _BLOCK, n_blocks, _BLOCK)
    which = np.arange(n_blocks)
    diagonal = lower.reshape(blocks)[:, which, :, which]
    inverted = np.zeros_like(diagonal)
    for row in range(_BLOCK):
        entry = diagonal[..., row, row]
        scale = (entry != 0.0) / np.where(entry != 0.0, entry, 1.0)
        earlier = np.matmul(diagonal[..., row, None, :row], inverted[..., :row, :row])[..., 0, :]
        inverted[..., row, :row] = -earlier * scale[..., None]
        inverted[..., row, row] = scale
    inverse.reshape(blocks)[:, which, :, which] = inverted
    lower, found = lower.reshape(-1, n, n), inverse.reshape(-1, n, n)
    for block in range(1, n_blocks):
        start, stop = block * _BLOCK, (block + 1) * _BLOCK
        above = np.matmul(lower[:, start:stop, :start], found[:, :start, :start])
        np.matmul(-inverted[block], above, out=found[:, start:stop, :start])
    return inverse
