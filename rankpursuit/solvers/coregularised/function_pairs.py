"""The best pair of functions of two views: all pairs of all problems are compared.

With both functions scaled so that the diagonal of their system A is 1, with rho off the diagonal
and with x and y for their products with the residue, a pair lowers the cost by
``x^2 + (y - rho x)^2 / (1 - rho^2)``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from rankpursuit.solvers.coregularised.function_tuples import SINGULAR, BestTuple
from rankpursuit.solvers.coregularised.gram_form import Gram
from rankpursuit.solvers.coregularised.joint_problem import Array, Flags, Indices
from rankpursuit.solvers.orthogonal import nonzero_columns
from rankpursuit.solvers.ties import least_tied

_CACHED = 1 << 16
"""Pairs of functions compared at a time: few enough for the cache, many for one call."""


class PairSearch:
    """Two views: compare all pairs of functions.

    The b k problems are the last axis of all arrays here, which makes it long. NaN marks what
    cannot be chosen: it is the scale of a function without length, and the factor
    ``1 / (1 - rho^2)`` of a pair whose functions depend on each other. The last function that is
    left takes the place of one that is used up, so that only pairs that are left are compared.

    Parameters
    ----------
    gram : Gram
    nu : ndarray of shape (k,)
    """

    def __init__(self, gram: Gram, nu: Array) -> None:
        self._batch = (len(gram.products), len(nu))
        self._problems = np.arange(math.prod(self._batch))
        self._sizes, self._n_left = gram.sizes, list(gram.sizes)
        self._scales, self._places = [], []
        squares = np.einsum("bnpn->pbn", gram.products)[:, :, None]
        for size, view in zip(gram.sizes, gram.views, strict=True):
            own, apart = squares[..., view]
            diagonal = (own + 2.0 * nu[:, None] * apart).reshape(-1, size)
            diagonal[~nonzero_columns(diagonal)] = np.nan
            self._scales.append(np.ascontiguousarray(1.0 / np.sqrt(diagonal.T)))
            self._places.append(np.arange(size)[:, None] + size * self._problems)
        cross = gram.products[:, gram.views[0], 1, gram.views[1]]
        self._rho = np.repeat(cross.transpose(1, 2, 0), len(nu), axis=2)
        self._rho *= (np.tile(2.0 * nu, len(cross)) * self._scales[0])[:, None]
        self._rho *= self._scales[1]
        self._factor = np.square(self._rho)
        np.subtract(1.0, self._factor, out=self._factor)
        self._factor[self._factor <= SINGULAR] = np.nan
        np.divide(1.0, self._factor, out=self._factor)
        # What leads, in these flat arrays, from one pair to those of its row and its column.
        n_problems, n_pairs = len(self._problems), self._rho[0].size
        self._along_row = n_problems * np.arange(self._sizes[1])[:, None]
        self._along_column = n_pairs * np.arange(self._sizes[0])[:, None]

    def best(self, correlation: Sequence[Array]) -> BestTuple:
        """Compare all pairs."""
        first, second = (
            c.reshape(-1).take(places[:n]) * scale[:n]
            for c, places, scale, n in zip(
                correlation, self._places, self._scales, self._n_left, strict=True
            )
        )
        self._find_pairs(first, second)
        at, pair = self._found, self._row + self._found[1] - self._problems
        rho, factor = self._rho.take(pair), self._factor.take(pair)
        x, y = first.take(at[0]), second.take(at[1])
        left = y - rho * x
        lengths = np.empty((2, *x.shape))
        lengths[1] = left * factor
        lengths[0] = x - rho * lengths[1]
        gain = x * x + left * lengths[1]
        chosen = np.empty(lengths.shape, dtype=np.intp)
        for v in range(2):
            lengths[v] *= self._scales[v].take(at[v])
            chosen[v] = self._places[v].take(at[v]) - self._sizes[v] * self._problems
        return BestTuple(
            chosen.T.reshape(*self._batch, 2),
            gain.reshape(self._batch),
            lengths.T.reshape(*self._batch, 2),
        )

    def forbid(self, chosen: Indices, active: Flags) -> None:
        """Take the pairs found out of all problems: those at their end are past caring."""
        last_row, last_column = self._n_left = [n - 1 for n in self._n_left]
        row = self._row + self._along_row[: last_column + 1]
        column = self._found[1] + self._along_column[:last_row]
        for pairs in (self._rho, self._factor):
            flat = pairs.reshape(-1)
            flat[row] = pairs[last_row, : last_column + 1]
            flat[column] = pairs[:last_row, last_column]
        for v, last in enumerate(self._n_left):
            for of_functions in (self._scales[v], self._places[v]):
                of_functions.reshape(-1)[self._found[v]] = of_functions[last]

    def _find_pairs(self, first: Array, second: Array) -> None:
        """Find the best pairs; of tied ones, the first row of the dictionary, then column."""
        (n_rows, n_columns), n_problems = self._n_left, len(self._problems)
        gain = np.empty_like(first)
        step = max(1, _CACHED // second.size)
        work = np.empty((step, *second.shape))
        for start in range(0, n_rows, step):
            rows = slice(start, min(start + step, n_rows))
            part = _second_part(
                self._rho[rows, :n_columns],
                self._factor[rows, :n_columns],
                first[rows, None],
                second,
                out=work[: n_rows - start],
            )
            np.fmax.reduce(part, axis=1, out=gain[rows])
        squares = np.square(first)
        gain += squares
        least = least_tied(np.fmax.reduce(gain, axis=0))
        i = _first_place(gain >= least, self._places[0])
        in_first = i * n_problems + self._problems
        self._row = i * self._rho[0].size + self._problems
        row = self._row + self._along_row[:n_columns]
        part = _second_part(
            self._rho.take(row),
            self._factor.take(row),
            first.take(in_first),
            second,
            out=np.empty_like(second),
        )
        j = _first_place(part >= least - squares.take(in_first), self._places[1])
        self._found = [in_first, j * n_problems + self._problems]


def _first_place(good: Flags, places: Indices) -> Indices:
    """For each problem, where the one of its good functions stands that is first by its place."""
    last = np.iinfo(places.dtype).max
    return np.where(good, places[: len(good)], last).argmin(axis=0)


def _second_part(rho: Array, factor: Array, x: Array, y: Array, out: Array) -> Array:
    """``(y - rho x)^2 / (1 - rho^2)``: what the second function of a pair adds to the gain."""
    # A product in place, and a copy, take less than one that is written elsewhere.
    np.copyto(out, x)
    np.multiply(out, rho, out=out)
    np.subtract(y, out, out=out)
    np.square(out, out=out)
    return np.multiply(out, factor, out=out)
