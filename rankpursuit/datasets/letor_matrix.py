"""Features of rows as a matrix that is filled piece by piece, dense or sparse."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rankpursuit.datasets.letor_lines import Rows
from rankpursuit.errors import DataError

if TYPE_CHECKING:
    import scipy.sparse as sp


class DenseMatrix:
    """A dense matrix, allocated once if its size is known.

    Parameters
    ----------
    n_rows : int
        How many rows there may be.
    n_features : int or None
        Width; None is what the rows need, at the cost of a copy where later ones need more.
    dtype : dtype
    """

    def __init__(self, n_rows: int, n_features: int | None, dtype: np.dtype[Any]) -> None:
        self._size, self._dtype, self._n_filled = n_rows, dtype, 0
        self._values = self._allocated(n_features or 0)

    def add(self, rows: Rows) -> None:
        """Fill the next rows."""
        width = max(self._values.shape[1], rows.width)
        if width > self._values.shape[1]:
            narrow, self._values = self._values[: self._n_filled], self._allocated(width)
            self._values[: self._n_filled, : narrow.shape[1]] = narrow
        target = self._values[self._n_filled : self._n_filled + len(rows)]
        if (rows.counts == width).all():
            target[:] = rows.values.reshape(len(rows), width)
        else:
            target[np.repeat(np.arange(len(rows)), rows.counts), rows.features] = rows.values
        self._n_filled += len(rows)

    def filled(self) -> NDArray[Any]:
        """Return the rows that were filled, shape (n_filled, n_features)."""
        self._values.resize((self._n_filled, self._values.shape[1]), refcheck=False)
        return self._values

    def _allocated(self, width: int) -> NDArray[Any]:
        try:
            return np.zeros((self._size, width), dtype=self._dtype)
        except (MemoryError, ValueError) as error:
            raise DataError(
                f"a dense matrix of {self._size:,} rows and {width:,} features does not fit into "
                "memory; ask for sparse=True, or for blocks"
            ) from error


class SparseMatrix:
    """A matrix in rows of the features that are not zero.

    Parameters
    ----------
    n_rows, n_entries : int
        How many rows, and features named by them, there may be.
    n_features : int or None
        Width; None is what the rows need.
    dtype : dtype
    """

    def __init__(
        self, n_rows: int, n_entries: int, n_features: int | None, dtype: np.dtype[Any]
    ) -> None:
        self._values = np.empty(n_entries, dtype=dtype)
        self._features = np.empty(n_entries, dtype=np.int32)
        self._ends = np.zeros(n_rows + 1, dtype=np.int64)
        self._n_filled = self._n_entries = 0
        self._n_features, self._width = n_features, 0

    def add(self, rows: Rows) -> None:
        """Fill the next rows."""
        kept = rows.values != 0.0
        ends = np.concatenate([[0], np.cumsum(kept)])[np.cumsum(rows.counts)]
        begin, end = self._n_entries, self._n_entries + int(np.count_nonzero(kept))
        self._values[begin:end] = rows.values[kept]
        self._features[begin:end] = rows.features[kept]
        self._ends[self._n_filled + 1 : self._n_filled + len(rows) + 1] = begin + ends
        self._n_filled, self._n_entries = self._n_filled + len(rows), end
        self._width = max(self._width, rows.width)

    def filled(self) -> sp.csr_array:
        """Return the rows that were filled, shape (n_filled, n_features)."""
        import scipy.sparse as sp

        self._values.resize(self._n_entries, refcheck=False)
        self._features.resize(self._n_entries, refcheck=False)
        self._ends.resize(self._n_filled + 1, refcheck=False)
        width = self._width if self._n_features is None else self._n_features
        shape = (self._n_filled, width)
        return sp.csr_array((self._values, self._features, self._ends), shape=shape)
