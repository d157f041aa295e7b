"""Comparisons of many numbers at once, and their counts."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

COUNTER_LIMIT = np.iinfo(np.uint8).max
"""So many flags are summed in one byte each."""
_LINE = 64
"""Bytes of a line of the cache: rows that begin with one take a third less time to compare."""


def aligned(shape: tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
    """Return an empty array whose first axis steps over whole lines of the cache."""
    size = np.dtype(dtype).itemsize
    n_lines = -(-math.prod(shape[1:]) * size // _LINE)
    memory = np.empty((shape[0] * n_lines + 1) * _LINE, dtype=np.uint8)
    begin = -memory.ctypes.data % _LINE
    rows = memory[begin : begin + shape[0] * n_lines * _LINE].view(dtype)
    rows = rows.reshape(shape[0], n_lines * _LINE // size)
    return rows[:, : math.prod(shape[1:])].reshape(shape)


def count(flags: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Count along the first axis, in bytes where no count can overflow one."""
    counter = np.uint8 if len(flags) <= COUNTER_LIMIT else np.uint32
    return np.add.reduce(flags.view(np.uint8), axis=0, dtype=counter).astype(np.float64)


class Counter:
    """Counts of comparisons, many of them summed at a time.

    Parameters
    ----------
    capacity : int
        How many rows of flags are kept before they are summed.
    n_columns : int
        Length of a row.
    """

    def __init__(self, capacity: int, n_columns: int) -> None:
        self._flags = aligned((capacity, n_columns), bool)
        self._capacity, self._size = capacity, 0
        self._total = np.zeros(n_columns)

    def add(
        self, compare: np.ufunc, some: NDArray[np.float64], others: NDArray[np.float64]
    ) -> None:
        """Count which of the others compare so with each of some."""
        n_some, n_others = len(some), len(others)
        end = self._size + n_some * n_others
        if end > self._capacity:
            self.total()
            end = n_some * n_others
        flags = self._flags[self._size : end]
        if n_some == 1:
            compare(some, others, out=flags)
        else:
            compare(some[:, None], others, out=flags.reshape(n_some, n_others, -1))
        self._size = end

    def total(self) -> NDArray[np.float64]:
        """Return the counts so far."""
        self._total += count(self._flags[: self._size])
        self._size = 0
        return self._total
