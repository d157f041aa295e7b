"""The joint problem as a pursuit sees it, and by its residue: what a step along a tuple does."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Protocol

import numpy as np

from rankpursuit.solvers.coregularised.function_tuples import BestTuple
from rankpursuit.solvers.coregularised.joint_problem import Array, Flags, Indices, JointProblem
from rankpursuit.solvers.orthogonal import GrowingBasis


class JointForm(Protocol):
    """What a pursuit asks of the joint problem."""

    @property
    def cost(self) -> Array:
        """Cost of the functions so far, shape (b, k)."""

    def correlations(self) -> list[Array]:
        """For each view, the products of its functions with the residue, shape (b, k, N_v).

        Of the whole residue for cumulative agreement, of its rows on the scored points for
        incremental agreement.
        """

    def take(self, best: BestTuple, active: Flags) -> Array:
        """Append the best tuples of the active problems.

        Returns
        -------
        ndarray of shape (b, k, M)
            The lengths of the steps, zero in the other problems.
        """


class ResidueForm:
    """The joint problem by its residue, for any number of views.

    The k values of nu are rows of the residue, shape (b, k, rows), so that the correlations of
    all of them are one product.

    Parameters
    ----------
    problem : JointProblem
    """

    def __init__(self, problem: JointProblem) -> None:
        self._scored, self._unscored = problem.scored, problem.unscored
        self._root = np.sqrt(2.0 * problem.nu)[:, None]
        self._problems = np.arange(problem.batch[0])[:, None]
        self._blocks, self._pairs = [], {}
        n_rows, n_agreeing = 0, problem.unscored[0].shape[2]
        for functions in problem.scored:
            self._blocks.append(slice(n_rows, n_rows + functions.shape[2]))
            n_rows += functions.shape[2]
        for pair in combinations(range(problem.n_views), 2):
            self._pairs[pair] = slice(n_rows, n_rows + n_agreeing)
            n_rows += n_agreeing
        self._agree = problem.agreement == "cumulative" and bool(self._pairs)
        self.residue = np.zeros((*problem.batch, n_rows))
        for block, target in zip(self._blocks, problem.targets, strict=True):
            self.residue[..., block] = target[..., None, :]

    @property
    def cost(self) -> Array:
        """Cost of the functions so far."""
        return np.einsum("bkr,bkr->bk", self.residue, self.residue)

    def correlations(self) -> list[Array]:
        """Multiply the functions with the residue."""
        result = []
        for v, functions in enumerate(self._scored):
            product = np.matmul(self.residue[..., self._blocks[v]], functions.swapaxes(1, 2))
            if self._agree:
                apart = np.zeros((*self.residue.shape[:2], self._unscored[v].shape[2]))
                for sign, block in self._agreements(v):
                    apart += sign * self.residue[..., block]
                apart *= self._root
                product += np.matmul(apart, self._unscored[v].swapaxes(1, 2))
            result.append(product)
        return result

    def take(self, best: BestTuple, active: Flags) -> Array:
        """Take the steps off the residue."""
        lengths = np.where(active[..., None], best.steps, 0.0)
        for view in range(len(self._scored)):
            own, values = self._functions(view, best.chosen)
            length = lengths[..., view, None]
            self.residue[..., self._blocks[view]] -= length * own
            values *= length
            for sign, block in self._agreements(view):
                self.residue[..., block] -= sign * values
        return lengths

    def _functions(self, view: int, chosen: Indices) -> tuple[Array, Array]:
        """Entries of the chosen functions in their view's rows, and in those of agreement."""
        own, values = (
            functions[view][self._problems, chosen[..., view]]
            for functions in (self._scored, self._unscored)
        )
        return own, self._root * values

    def _agreements(self, view: int) -> Iterator[tuple[float, slice]]:
        """Sign of this view's function, and block, in each pair of views with this one."""
        for pair, block in self._pairs.items():
            if view in pair:
                yield 1.0 if view == pair[0] else -1.0, block


class RefittedForm(ResidueForm):
    """The joint problem whose coefficients are all refitted after each step.

    Parameters
    ----------
    problem : JointProblem
    n_steps : int
        Largest number of steps.
    """

    def __init__(self, problem: JointProblem, n_steps: int) -> None:
        super().__init__(problem)
        n_rows = self.residue.shape[2]
        self._basis = GrowingBasis(problem.batch, n_rows, n_steps * problem.n_views)

    @property
    def directions(self) -> Array:
        """Coefficients of each direction over the chosen functions."""
        return self._basis.directions

    def take(self, best: BestTuple, active: Flags) -> Array:
        """Take what is new in the chosen functions off the residue, view by view."""
        lengths = np.empty_like(best.steps)
        for view in range(len(self._scored)):
            column = np.zeros_like(self.residue)
            column[..., self._blocks[view]], values = self._functions(view, best.chosen)
            for sign, block in self._agreements(view):
                column[..., block] = sign * values
            unit = self._basis.append(column)
            length = np.einsum("bkr,bkr->bk", unit, self.residue) * active
            self.residue -= length[..., None] * unit
            lengths[..., view] = length
        return lengths
