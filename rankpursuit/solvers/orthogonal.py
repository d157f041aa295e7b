"""An orthonormal basis that grows by one column at a time, for a whole batch of problems."""

from __future__ import annotations

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
