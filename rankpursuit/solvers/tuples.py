"""Which tuple of functions, one from each view, lowers the co-regularised cost most.

A step along the functions ``gamma = (gamma_1 .. gamma_M)`` solves the paper's M x M system
``A a = c``, where ``A_vv = k' L k + 2 nu (M - 1) kbar' Lbar kbar`` of view v's function,
``A_vu = -2 nu kbar_v' Lbar kbar_u``, and c holds the products of the functions with the residue.
It lowers the cost by ``c' A^-1 c``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rankpursuit.solvers.orthogonal import nonzero_columns
from rankpursuit.solvers.ties import first_best

Array = NDArray[np.float64]
Indices = NDArray[np.intp]
Flags = NDArray[np.bool_]

_SINGULAR = 1e-12
_SWEEPS = 20
_CACHED = 1 << 15
"""Pairs of functions compared at a time: three arrays of them fit into a core's cache."""
_SPARSE = 0.5
"""Pairs are packed anew when no more than this share of them is left."""


class TupleSearch:
    """The systems of all tuples, and which functions may still be chosen.

    Parameters
    ----------
    scored : sequence of M ndarrays of shape (b, N_v, m_v)
    unscored : sequence of M ndarrays of shape (b, N_v, l)
    nu : ndarray of shape (k,)
    """

    def __init__(self, scored: Sequence[Array], unscored: Sequence[Array], nu: Array) -> None:
        self.n_views = len(scored)
        self.coupling = -2.0 * nu
        self.unscored = unscored
        self.diagonal = [
            _squares(own) - (self.n_views - 1) * self.coupling[:, None] * _squares(bar)
            for own, bar in zip(scored, unscored, strict=True)
        ]
        self.usable = [nonzero_columns(diagonal) for diagonal in self.diagonal]

    def best(self, correlation: Sequence[Array]) -> list[Indices]:
        """Return the best tuple of each problem: for each view, indices of shape (b, k).

        `correlation` holds, for each view, the products c of all its functions with the
        residue, shape (b, k, N_v).
        """
        raise NotImplementedError

    def forbid(self, chosen: Sequence[Indices], active: Flags) -> None:
        """Take the chosen functions out of the dictionaries of the active problems."""
        problems = np.nonzero(active)
        for usable, index in zip(self.usable, chosen, strict=True):
            usable[*problems, index[problems]] = False

    def gain_and_steps(
        self, correlation: Sequence[Array], chosen: Sequence[Indices]
    ) -> tuple[Array, Array]:
        """Solve the system of one tuple in each problem.

        Returns
        -------
        gain : ndarray of shape (b, k)
            How much the step lowers the cost; zero where the tuple cannot be used.
        steps : ndarray of shape (b, k, M)
        """
        system, right, _ = self._system(correlation, chosen, range(self.n_views))
        usable = np.logical_and.reduce(
            [_at(flags, index) for flags, index in zip(self.usable, chosen, strict=True)]
        )
        steps = _solve(system, right)
        return np.einsum("bkv,bkv->bk", right, steps) * usable, steps

    def _system(
        self, correlation: Sequence[Array], chosen: Sequence[Indices], views: Sequence[int]
    ) -> tuple[Array, Array, list[Array]]:
        """System, right-hand side and unscored values of the chosen functions of some views."""
        problems = np.arange(len(chosen[0]))[:, None]
        values = [self.unscored[v][problems, chosen[v]] for v in views]
        system = np.empty((*chosen[0].shape, len(views), len(views)))
        for i, v in enumerate(views):
            for j in range(i):
                cross = np.einsum("bkl,bkl->bk", values[i], values[j])
                system[..., i, j] = system[..., j, i] = self.coupling * cross
            system[..., i, i] = _at(self.diagonal[v], chosen[v])
        right = np.stack([_at(correlation[v], chosen[v]) for v in views], axis=-1)
        return system, right, values


class PairSearch(TupleSearch):
    """Two views: compare all pairs of functions.

    With both functions scaled so that the diagonal of A is 1, and rho off the diagonal, a pair
    lowers the cost by ``(c1^2 + c2^2 - 2 rho c1 c2) / (1 - rho^2)``.
    """

    def __init__(self, scored: Sequence[Array], unscored: Sequence[Array], nu: Array) -> None:
        super().__init__(scored, unscored, nu)
        self._scales = [
            np.where(usable, 1.0 / np.sqrt(np.where(usable, diagonal, 1.0)), 0.0)
            for usable, diagonal in zip(self.usable, self.diagonal, strict=True)
        ]
        cross = np.matmul(unscored[0], unscored[1].swapaxes(1, 2))[:, None]
        rho = self.coupling[:, None, None] * cross
        rho *= self._scales[0][..., :, None]
        rho *= self._scales[1][..., None, :]
        left = 1.0 - rho * rho
        regular = left > _SINGULAR
        regular &= self.usable[0][..., :, None] & self.usable[1][..., None, :]
        self._factor = np.divide(1.0, left, out=np.zeros_like(left), where=regular)
        self._mixed = 2.0 * rho
        # Where the functions stand that are left in these arrays, and how many may be chosen.
        self._kept = [np.broadcast_to(np.arange(d.shape[2]), d.shape) for d in self.diagonal]
        self._n_left = [d.shape[2] for d in self.diagonal]

    def best(self, correlation: Sequence[Array]) -> list[Indices]:
        """Compare all pairs, as many problems at a time as stay in the cache."""
        if math.prod(self._n_left) <= _SPARSE * math.prod(self._factor.shape[2:]):
            self._pack()
        first, second = (
            np.take_along_axis(c * scale, kept, axis=2)
            for c, scale, kept in zip(correlation, self._scales, self._kept, strict=True)
        )
        shape = self._factor.shape
        first, second = first.reshape(-1, shape[2], 1), second.reshape(-1, 1, shape[3])
        factor, mixed = self._factor.reshape(-1, *shape[2:]), self._mixed.reshape(-1, *shape[2:])
        flat = np.empty(len(factor), dtype=np.intp)
        step = max(1, _CACHED // (shape[2] * shape[3]))
        for start in range(0, len(factor), step):
            block = slice(start, start + step)
            product = first[block] * second[block]
            product *= mixed[block]
            gain = np.square(first[block]) + np.square(second[block])
            gain -= product
            gain *= factor[block]
            flat[block] = first_best(gain.reshape(len(gain), -1))
        self._found = [index.reshape(shape[:2]) for index in np.divmod(flat, shape[3])]
        return [_at(kept, index) for kept, index in zip(self._kept, self._found, strict=True)]

    def forbid(self, chosen: Sequence[Indices], active: Flags) -> None:
        """Take the functions that were found best out: pairs with them gain nothing any more."""
        super().forbid(chosen, active)
        problems = np.nonzero(active)
        self._factor[*problems, self._found[0][problems], :] = 0.0
        self._factor[*problems, :, self._found[1][problems]] = 0.0
        self._n_left = [n - 1 for n in self._n_left]

    def _pack(self) -> None:
        """Drop functions that are used up; those that are left keep their order."""
        used = [
            ~np.take_along_axis(usable, kept, axis=2)
            for usable, kept in zip(self.usable, self._kept, strict=True)
        ]
        first, second = (
            np.argsort(flags, axis=2, kind="stable")[..., :n]
            for flags, n in zip(used, self._n_left, strict=True)
        )
        b, k = np.ix_(*map(np.arange, first.shape[:2]))
        pairs = (b[..., None, None], k[..., None, None], first[..., None], second[..., None, :])
        self._factor, self._mixed = self._factor[pairs], self._mixed[pairs]
        self._kept = [
            np.take_along_axis(kept, index, axis=2)
            for kept, index in zip(self._kept, (first, second), strict=True)
        ]


class SharedSearch(TupleSearch):
    """All views take the same index: one system for each index."""

    def __init__(self, scored: Sequence[Array], unscored: Sequence[Array], nu: Array) -> None:
        super().__init__(scored, unscored, nu)
        system = np.empty((*self.diagonal[0].shape, self.n_views, self.n_views))
        for v in range(self.n_views):
            for u in range(v):
                cross = np.einsum("bnl,bnl->bn", unscored[v], unscored[u])[:, None]
                system[..., v, u] = system[..., u, v] = self.coupling[:, None] * cross
            system[..., v, v] = self.diagonal[v]
        self._systems = system

    def best(self, correlation: Sequence[Array]) -> list[Indices]:
        """Compare all indices."""
        right = np.stack(correlation, axis=-1)
        gain = np.einsum("bknv,bknv->bkn", right, _solve(self._systems, right))
        gain[~np.logical_and.reduce(self.usable)] = -np.inf
        return [first_best(gain)] * self.n_views


class AlternatingSearch(TupleSearch):
    """Any number of views: search the tuples by turns.

    Starts with the function of each view that is best on its own. Then each view in turn takes
    the function that is best together with those of the other views, until no view changes its
    choice: every turn lowers the cost, so this ends, though not always at the best of all
    tuples. For one view it is exact.
    """

    def best(self, correlation: Sequence[Array]) -> list[Indices]:
        """Take turns until no view changes its choice."""
        chosen = [
            first_best(_masked(np.square(c), diagonal, usable))
            for c, diagonal, usable in zip(correlation, self.diagonal, self.usable, strict=True)
        ]
        for _ in range(_SWEEPS if self.n_views > 1 else 0):
            before = list(chosen)
            for view in range(self.n_views):
                chosen[view] = self._best_given_others(correlation, chosen, view)
            if all(np.array_equal(old, new) for old, new in zip(before, chosen, strict=True)):
                break
        return chosen

    def _best_given_others(
        self, correlation: Sequence[Array], chosen: list[Indices], view: int
    ) -> Indices:
        """Best function of one view beside those of the others, by a Schur complement."""
        others = [u for u in range(self.n_views) if u != view]
        system, right, values = self._system(correlation, chosen, others)
        functions = self.unscored[view].swapaxes(1, 2)[:, None]
        coupled = np.matmul(np.stack(values, axis=-2), functions)
        coupled *= self.coupling[:, None, None]  # (b, k, M - 1, N_v)
        solved = _solve(system[..., None, :, :], coupled.swapaxes(2, 3)).swapaxes(2, 3)
        gradient = correlation[view] - np.matmul(right[..., None, :], solved)[..., 0, :]
        curvature = self.diagonal[view] - np.einsum("bkun,bkun->bkn", coupled, solved)
        allowed = self.usable[view] & (curvature > _SINGULAR * self.diagonal[view])
        gain = _masked(np.square(gradient), curvature, allowed)
        best = first_best(gain)
        # Keep the old choice unless the new one is better, lest ties make the search circle.
        better = _at(gain, best) > np.maximum(_at(gain, chosen[view]), 0.0) * (1.0 + 1e-12)
        return np.where(better, best, chosen[view])


def _solve(system: Array, right: Array) -> Array:
    """Solve symmetric positive semi-definite M x M systems; zero where one is singular."""
    diagonal = np.einsum("...vv->...v", system)
    scale = 1.0 / np.sqrt(np.where(diagonal > 0.0, diagonal, 1.0))
    scaled = system * scale[..., :, None] * scale[..., None, :]
    if system.shape[-1] == 2:
        return _solve_two(scaled[..., 0, 1], right * scale) * scale
    regular = np.linalg.eigvalsh(scaled)[..., 0] > _SINGULAR
    scaled = np.where(regular[..., None, None], scaled, np.eye(system.shape[-1]))
    solution = np.linalg.solve(scaled, (right * scale)[..., None])[..., 0] * scale
    return np.where(regular[..., None], solution, 0.0)


def _solve_two(rho: Array, right: Array) -> Array:
    """Solve 2 x 2 systems with 1 on the diagonal and `rho` off it; zero where one is singular."""
    regular = 1.0 - np.abs(rho) > _SINGULAR
    factor = np.divide(1.0, 1.0 - rho * rho, out=np.zeros_like(rho), where=regular)
    return (right - rho[..., None] * right[..., ::-1]) * factor[..., None]


def _masked(numerator: Array, denominator: Array, allowed: Flags) -> Array:
    return np.divide(numerator, denominator, out=np.full_like(numerator, -np.inf), where=allowed)


def _at(values: NDArray, index: Indices) -> NDArray:
    """Entry of each problem's values, shape (b, k, N), at its index, shape (b, k)."""
    flat = index.ravel()
    return values.reshape(flat.size, -1)[np.arange(flat.size), flat].reshape(index.shape)


def _squares(functions: Array) -> Array:
    """Squared norms of functions of shape (b, N, m), with an axis for nu: shape (b, 1, N)."""
    return np.einsum("bnm,bnm->bn", functions, functions)[:, None]
