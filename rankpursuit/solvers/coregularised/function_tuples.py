"""Which tuple of functions, one from each view, lowers the co-regularised cost most.

A step along the functions ``gamma = (gamma_1 .. gamma_M)`` solves the paper's M x M system
``A a = c``, where ``A_vv = k' L k + 2 nu (M - 1) kbar' Lbar kbar`` of view v's function,
``A_vu = -2 nu kbar_v' Lbar kbar_u``, and c holds the products of the functions with the residue.
It lowers the cost by ``c' A^-1 c``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from rankpursuit.solvers.coregularised.joint_problem import Array, Flags, Indices, JointProblem
from rankpursuit.solvers.orthogonal import nonzero_columns
from rankpursuit.solvers.ties import first_best

SINGULAR = 1e-12
"""A system, scaled to 1 on its diagonal, is singular if no more than this is left of it."""
_SWEEPS = 20


class BestTuple(NamedTuple):
    """The best tuple of each problem, and the step along it.

    Attributes
    ----------
    chosen : ndarray of shape (b, k, M)
        The function of each view.
    gain : ndarray of shape (b, k)
        How much the step lowers the cost; zero or NaN where no tuple can be used.
    steps : ndarray of shape (b, k, M)
        The solution of the system of the tuple.
    """

    chosen: Indices
    gain: Array
    steps: Array


class TupleSearch(Protocol):
    """What a pursuit asks of a search."""

    def best(self, correlation: Sequence[Array]) -> BestTuple:
        """Return the best tuple of each problem.

        `correlation` holds, for each view, the products c of all its functions with the
        residue, shape (b, k, N_v).
        """

    def forbid(self, chosen: Indices, active: Flags) -> None:
        """Take the chosen functions out of the dictionaries of the active problems."""


class SystemSearch:
    """The systems of all tuples, and which functions may still be chosen.

    Parameters
    ----------
    problem : JointProblem
    """

    def __init__(self, problem: JointProblem) -> None:
        self.n_views = problem.n_views
        self.coupling = -2.0 * problem.nu
        self.unscored = problem.unscored
        self.diagonal = [
            _squares(own) - (self.n_views - 1) * self.coupling[:, None] * _squares(bar)
            for own, bar in zip(problem.scored, problem.unscored, strict=True)
        ]
        self.usable = [nonzero_columns(diagonal) for diagonal in self.diagonal]

    def best(self, correlation: Sequence[Array]) -> BestTuple:
        """Choose tuples, and solve their systems."""
        chosen = self._choose(correlation)
        system, right, _ = self._system(correlation, chosen, range(self.n_views))
        steps = _solve(system, right)
        usable = np.logical_and.reduce(
            [_at(flags, index) for flags, index in zip(self.usable, chosen, strict=True)]
        )
        gain = np.einsum("bkv,bkv->bk", right, steps) * usable
        return BestTuple(np.stack(chosen, axis=-1), gain, steps)

    def forbid(self, chosen: Indices, active: Flags) -> None:
        """Mark the chosen functions as used up."""
        problems = np.nonzero(active)
        for v, usable in enumerate(self.usable):
            usable[*problems, chosen[*problems, v]] = False

    def _choose(self, correlation: Sequence[Array]) -> list[Indices]:
        """For each view, the index in its dictionary, shape (b, k)."""
        raise NotImplementedError

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


class SharedSearch(SystemSearch):
    """All views take the same index: one system for each index."""

    def __init__(self, problem: JointProblem) -> None:
        super().__init__(problem)
        system = np.empty((*self.diagonal[0].shape, self.n_views, self.n_views))
        for v in range(self.n_views):
            for u in range(v):
                cross = np.einsum("bnl,bnl->bn", self.unscored[v], self.unscored[u])[:, None]
                system[..., v, u] = system[..., u, v] = self.coupling[:, None] * cross
            system[..., v, v] = self.diagonal[v]
        self._systems = system

    def _choose(self, correlation: Sequence[Array]) -> list[Indices]:
        """Compare all indices."""
        right = np.stack(correlation, axis=-1)
        gain = np.einsum("bknv,bknv->bkn", right, _solve(self._systems, right))
        gain[~np.logical_and.reduce(self.usable)] = -np.inf
        return [first_best(gain)] * self.n_views


class AlternatingSearch(SystemSearch):
    """Any number of views: search the tuples by turns.

    Starts with the function of each view that is best on its own. Then each view in turn takes
    the function that is best together with those of the other views, until no view changes its
    choice: every turn lowers the cost, so this ends, though not always at the best of all
    tuples. For one view it is exact.
    """

    def _choose(self, correlation: Sequence[Array]) -> list[Indices]:
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
        allowed = self.usable[view] & (curvature > SINGULAR * self.diagonal[view])
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
    regular = np.linalg.eigvalsh(scaled)[..., 0] > SINGULAR
    scaled = np.where(regular[..., None, None], scaled, np.eye(system.shape[-1]))
    solution = np.linalg.solve(scaled, (right * scale)[..., None])[..., 0] * scale
    return np.where(regular[..., None], solution, 0.0)


def _solve_two(rho: Array, right: Array) -> Array:
    """Solve 2 x 2 systems with 1 on the diagonal and `rho` off it; zero where one is singular."""
    regular = 1.0 - np.abs(rho) > SINGULAR
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
