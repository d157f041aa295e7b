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
_SPARSE = 0.5
"""Pairs are packed anew when no more than this share of them is left."""


class PairSearch:
    """Two views: compare all pairs of functions.

    The b k problems are the last axis of all arrays here, which makes it long. NaN marks what
    cannot be chosen: it is the scale of a function that is used up, and the factor
    ``1 / (1 - rho^2)`` of a pair whose functions depend on each other.

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

    def best(self, correlation: Sequence[Array]) -> BestTuple:
        """Compare all pairs."""
        if math.prod(self._n_left) <= _SPARSE * math.prod(self._rho.shape[:2]):
            self._pack()
        first, second = (
            c.reshape(-1).take(places) * scale
            for c, places, scale in zip(correlation, self._places, self._scales, strict=True)
        )
        i, j = self._best_pair(first, second)
        self._found = [self._flat(i), self._flat(j)]
        pair = self._flat(i * len(second) + j)
        rho = self._rho.take(pair)
        x, y = first.take(self._found[0]), second.take(self._found[1])
        left = y - rho * x
        lengths = np.empty((2, *x.shape))
        lengths[1] = left * self._factor.take(pair)
        lengths[0] = x - rho * lengths[1]
        gain = x * x + left * lengths[1]
        chosen = np.empty(lengths.shape, dtype=np.intp)
        for v, found in enumerate(self._found):
            lengths[v] *= self._scales[v].take(found)
            chosen[v] = self._places[v].take(found) % self._sizes[v]
        return BestTuple(
            chosen.T.reshape(*self._batch, 2),
            gain.reshape(self._batch),
            lengths.T.reshape(*self._batch, 2),
        )

    def forbid(self, chosen: Indices, active: Flags) -> None:
        """Take the functions that were found best out of the active problems."""
        flags = active.reshape(-1)
        for v, found in enumerate(self._found):
            self._scales[v].reshape(-1)[found[flags]] = np.nan
            self._n_left[v] -= 1

    def _best_pair(self, first: Array, second: Array) -> tuple[Indices, Indices]:
        """Rows and columns of the best pairs; of tied ones, the first row, then column."""
        gain = np.empty_like(first)
        step = max(1, _CACHED // second.size)
        work = np.empty((step, *second.shape))
        for start in range(0, len(first), step):
            rows = slice(start, start + step)
            part = _second_part(
                self._rho[rows],
                self._factor[rows],
                first[rows, None],
                second,
                out=work[: len(first) - start],
            )
            np.fmax.reduce(part, axis=1, out=gain[rows])
        squares = np.square(first)
        gain += squares
        least = least_tied(np.fmax.reduce(gain, axis=0))
        i = (gain >= least).argmax(axis=0)
        found = self._flat(i)
        row = self._flat(i * len(second) + np.arange(len(second))[:, None])
        part = _second_part(
            self._rho.take(row),
            self._factor.take(row),
            first.take(found),
            second,
            out=np.empty_like(second),
        )
        return i, (part >= least - squares.take(found)).argmax(axis=0)

    def _flat(self, index: Indices) -> Indices:
        """Where entry ``[index, problem]`` stands, for each problem, in a flat array."""
        return index * len(self._problems) + self._problems

    def _pack(self) -> None:
        """Drop functions that are used up; those that are left keep their order."""
        first, second = (
            np.argsort(np.isnan(scale), axis=0, kind="stable")[:n]
            for scale, n in zip(self._scales, self._n_left, strict=True)
        )
        pairs = self._flat((first * self._rho.shape[1])[:, None] + second)
        self._rho, self._factor = self._rho.take(pairs), self._factor.take(pairs)
        for v, kept in enumerate((first, second)):
            flat = self._flat(kept)
            self._scales[v] = self._scales[v].take(flat)
            self._places[v] = self._places[v].take(flat)


def _second_part(rho: Array, factor: Array, x: Array, y: Array, out: Array) -> Array:
    """``(y - rho x)^2 / (1 - rho^2)``: what the second function of a pair adds to the gain."""
    np.copyto(
        out, x
    )  # a product in place, and a copy, take less than one that is written elsewhere
    np.multiply(out, rho, out=out)
    np.subtract(y, out, out=out)
    np.square(out, out=out)
    return np.multiply(out, factor, out=out)
