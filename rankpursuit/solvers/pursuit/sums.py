"""All that a pursuit needs of its rows, as sums over blocks of whole groups.

The products of rooted kernel columns, ``K' L K``, ``K' L s`` and ``s' L s``, are sums over the
groups, since no pair crosses from one to another: rows are seen once, in blocks of any size, in any
order and on any machine, and the sums of some groups can be taken off again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from rankpursuit.preferences import Preferences

Array = NDArray[np.float64]


@dataclass
class GramSums:
    """Sums for a stack of w kernels over N candidates.

    Attributes
    ----------
    gram : ndarray of shape (w, N, N)
        ``K' L K``.
    products : ndarray of shape (w, N)
        ``K' L s``.
    square : float
        ``s' L s``.
    n_rows : int
        Number of rows that were added.
    """

    gram: Array
    products: Array
    square: float = 0.0
    n_rows: int = 0

    @classmethod
    def empty(cls, n_kernels: int, n_candidates: int) -> Self:
        """Begin with sums of no rows."""
        return cls(
            np.zeros((n_kernels, n_candidates, n_candidates)),
            np.zeros((n_kernels, n_candidates)),
        )

    def add(self, number: int, columns: Array, scores: Array, form: Preferences) -> None:
        """Add a block to the sums of one kernel of the stack.

        Parameters
        ----------
        number : int
            Which kernel; the scores are counted with the first one.
        columns : ndarray of shape (m, N)
            Kernel values of the rows of the block with the candidates.
        scores : ndarray of shape (m,)
        form : Preferences
            Of the m rows: all of each group that they have a part in.
        """
        self.add_rooted(number, form.root(columns), form.root(scores))
        if number == 0:
            self.n_rows += len(scores)

    def add_rooted(self, number: int, rows: Array, target: Array, weight: float = 1.0) -> None:
        """Add rows of the least-squares problem, that is, with the root applied.

        Parameters
        ----------
        number : int
            Which kernel; the target is counted with the first one.
        rows : ndarray of shape (r, N)
        target : ndarray of shape (r,)
        weight : float
            What the squares of these rows count.
        """
        gram = rows.T @ rows
        if weight != 1.0:
            gram *= weight
        self.gram[number] += gram
        self.products[number] += weight * (target @ rows)
        if number == 0:
            self.square += weight * float(target @ target)

    def __add__(self, other: GramSums) -> GramSums:
        return GramSums(
            self.gram + other.gram,
            self.products + other.products,
            self.square + other.square,
            self.n_rows + other.n_rows,
        )

    def __sub__(self, other: GramSums) -> GramSums:
        return GramSums(
            self.gram - other.gram,
            self.products - other.products,
            max(self.square - other.square, 0.0),
            self.n_rows - other.n_rows,
        )
