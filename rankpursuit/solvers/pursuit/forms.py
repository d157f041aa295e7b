"""The least-squares problem of a pursuit, and what a step along a column does to it."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from rankpursuit.solvers.orthogonal import INDEPENDENT, GrowingBasis, nonzero_columns

Array = NDArray[np.float64]
Indices = NDArray[np.intp]
Flags = NDArray[np.bool_]

NOTHING_LEFT = 1e-12
"""A path ends when its best step gains no more than the square of this share of the first cost."""


class Form(Protocol):
    """What the engine asks of a stack of b problems with N columns.

    Attributes
    ----------
    norms : ndarray of shape (b, N)
        Squared norms of the columns.
    left : ndarray of shape (b, N)
        Squared norms of what the chosen columns leave of them; only a refit keeps it up to date.
    correlation : ndarray of shape (b, N)
        Products of the columns with the residue.
    cost : ndarray of shape (b,)
        Squared norm of the residue; a little less than 0, where it is zero but for rounding.
    directions : ndarray of shape (b, P, P) or None
        See :class:`rankpursuit.solvers.pursuit.path.PursuitPath`; None without a refit.
    independent : float
        A column of which no larger share of the squared norm is left depends on the chosen ones.
    nothing_left : float
        A gain of no larger share of the first cost is none.
    """

    norms: Array
    left: Array
    correlation: Array
    independent: float
    nothing_left: float

    @property
    def cost(self) -> Array:
        """Squared norm of the residue."""

    @property
    def directions(self) -> Array | None:
        """Coefficients of the directions of the steps."""

    def take(self, best: Indices, active: Flags) -> Array:
        """Append the best column of each active problem; return the lengths of the steps, (b,)."""

    def keep(self, kept: Indices) -> None:
        """Go on with some of the problems; `directions` stays that of all."""


class ResidueForm:
    """The problem by its rows and their residue: exact, for problems of moderate size.

    Parameters
    ----------
    dictionary : ndarray of shape (b, m, N)
    target : ndarray of shape (m,) or (b, m)
    n_steps : int
        Largest number of steps.
    refit : bool
        Whether all coefficients are refitted after each step.
    """

    independent = INDEPENDENT**2
    nothing_left = NOTHING_LEFT**2

    def __init__(self, dictionary: Array, target: Array, n_steps: int, refit: bool) -> None:
        n_problems, n_rows, _ = dictionary.shape
        self._dictionary, self._transposed = dictionary, dictionary.swapaxes(1, 2)
        self._problems = np.arange(n_problems)
        self._residue = np.array(np.broadcast_to(target, (n_problems, n_rows)), dtype=np.float64)
        self._basis = GrowingBasis((n_problems,), n_rows, n_steps) if refit else None
        self._pair = np.empty((n_problems, n_rows, 2 if refit else 0))  # residue and new direction
        self.norms = np.einsum("bmn,bmn->bn", dictionary, dictionary)
        self.left = self.norms.copy()
        self.correlation = np.matmul(self._transposed, self._residue[:, :, None])[:, :, 0]

    @property
    def cost(self) -> Array:
        """Squared norm of the residue."""
        return np.matmul(self._residue[:, None, :], self._residue[:, :, None])[:, 0, 0]

    @property
    def directions(self) -> Array | None:
        """Coefficients of the directions of the steps."""
        return None if self._basis is None else self._basis.directions

    def take(self, best: Indices, active: Flags) -> Array:
        """Take the steps off the residue."""
        column = self._dictionary[self._problems, :, best]
        if self._basis is None:
            norm = np.sqrt(np.where(active, self.norms[self._problems, best], 1.0))
            length = self._step(column / norm[:, None], active)
            self.correlation = np.matmul(self._transposed, self._residue[:, :, None])[:, :, 0]
            return length / norm
        unit = self._basis.append(column, self.norms[self._problems, best])
        length = self._step(unit, active)
        self._pair[:, :, 0], self._pair[:, :, 1] = self._residue, unit
        products = np.matmul(self._transposed, self._pair)
        self.correlation = products[:, :, 0]
        self.left -= np.square(products[:, :, 1])
        return length

    def keep(self, kept: Indices) -> None:
        """Go on with some of the problems; `directions` stays that of all."""
        self._dictionary = self._dictionary[kept]
        self._transposed = self._dictionary.swapaxes(1, 2)
        self._problems = self._problems[: len(kept)]
        self._residue, self._pair = self._residue[kept], self._pair[: len(kept)]
        self.norms, self.left = self.norms[kept], self.left[kept]
        self.correlation = self.correlation[kept]
        if self._basis is not None:
            self._basis.keep(kept)

    def _step(self, unit: Array, active: Flags) -> Array:
        length = np.einsum("bm,bm->b", unit, self._residue) * active
        self._residue -= length[:, None] * unit
        return length


class GramForm:
    """The problem by the products of its columns: the rows are not needed any more.

    Parameters
    ----------
    gram : ndarray of shape (b, N, N)
        Products of the columns with each other.
    products : ndarray of shape (b, N)
        Products of the columns with the target.
    square : ndarray of shape (b,)
        Squared norm of the target.
    n_steps : int
        Largest number of steps.
    refit : bool
        Whether all coefficients are refitted after each step.

    Notes
    -----
    Sums over many rows are known to about 1e-14 of themselves, and what is left of a squared norm
    is a difference of them: shares of less than 1e-10 keep no four digits, and count as zero.
    Without a refit there are no such differences: products with the residue are right to the same
    digits as those of rows, and a path ends where that of the rows does.
    """

    independent = 1e-10

    def __init__(
        self, gram: Array, products: Array, square: Array, n_steps: int, refit: bool
    ) -> None:
        n_problems, n_columns = products.shape
        self._gram, self._problems = gram.reshape(-1, n_columns), np.arange(n_problems)
        self._first = self._problems * n_columns  # row of the Gram matrices with each one's first
        self.nothing_left = 1e-14 if refit else NOTHING_LEFT**2
        self.norms = np.ascontiguousarray(np.einsum("bnn->bn", gram))
        self.left = self.norms.copy()
        self._divisors = np.where(nonzero_columns(self.norms), self.norms, 1.0)
        self.correlation = np.array(products, dtype=np.float64)
        self.cost = np.array(square, dtype=np.float64)
        self._running: slice | Indices = slice(None)
        self._size = 0
        self._chosen = np.zeros((n_problems, n_steps), dtype=np.intp)
        self._units = np.zeros((n_problems, n_steps if refit else 0, n_columns))
        self.directions = np.zeros((n_problems, n_steps, n_steps)) if refit else None

    def take(self, best: Indices, active: Flags) -> Array:
        """Take the rows of the chosen columns, in the Gram matrices, off the products."""
        row = self._gram.take(self._first + best, axis=0)
        at = self.correlation[self._problems, best]
        if self.directions is None:
            length = at / self._divisors[self._problems, best] * active
            row *= length[:, None]
            self.correlation -= row
            self.cost = self.cost - length * at
            return length
        unit, norm = self._append(best, row)
        length = at / norm * active
        self.correlation -= length[:, None] * unit
        self.left -= np.square(unit)
        self.cost = self.cost - np.square(length)
        return length

    def keep(self, kept: Indices) -> None:
        """Go on with some of the problems; `directions` stays that of all."""
        self._first, self._problems = self._first[kept], self._problems[: len(kept)]
        self._running = kept if isinstance(self._running, slice) else self._running[kept]
        self._chosen, self._units = self._chosen[kept], self._units[kept]
        self.norms, self.left = self.norms[kept], self.left[kept]
        self._divisors = self._divisors[kept]
        self.correlation, self.cost = self.correlation[kept], self.cost[kept]

    def _append(self, best: Indices, row: Array) -> tuple[Array, Array]:
        """Orthogonalise the chosen columns by their products; return those of the unit vectors.

        One sweep of Gram and Schmidt is not orthogonal to working precision; the second takes the
        products from the coefficients found so far.
        """
        assert self.directions is not None
        p = self._size
        self._chosen[:, p] = best
        units, earlier = self._units[:, :p], self.directions[self._running, :p, :p]
        along = units[self._problems, :, best]
        coefficients = np.zeros((len(best), p + 1))
        coefficients[:, p] = 1.0
        values = row
        for sweep in range(2 if p else 0):
            if sweep:
                here = np.take_along_axis(values, self._chosen[:, :p], axis=1)
                along = np.matmul(here[:, None, :], earlier)[:, 0]
            values = values - np.matmul(along[:, None, :], units)[:, 0]
            coefficients[:, :p] -= np.matmul(earlier, along[:, :, None])[:, :, 0]
        here = np.take_along_axis(values, self._chosen[:, : p + 1], axis=1)
        squared = np.einsum("bp,bp->b", coefficients, here)
        norm = np.sqrt(np.where(squared > 0.0, squared, np.inf))
        unit = values / norm[:, None]
        self._units[:, p] = unit
        self.directions[self._running, : p + 1, p] = coefficients / norm[:, None]
        self._size += 1
        return unit, norm
