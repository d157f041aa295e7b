"""RankSVM with squared slacks: Newton's method on stacks of small problems, warm along C.

The n x n systems are dense, and so the pairs are too: a slack is kept for every two points, with
a start of minus infinity where they make no pair. All that does not depend on C is computed once
for each point that the method reaches, and serves the next C as well.
"""

from __future__ import annotations

from dataclasses import astuple, dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Index = NDArray[np.intp] | NDArray[np.bool_]

_HALVINGS = 30


@dataclass(frozen=True)
class Reached:
    """The coefficients that b problems have reached, and what follows from them for any C.

    Attributes
    ----------
    coefficients : ndarray of shape (b, n)
    pull : ndarray of shape (b, n)
        ``sum t_ij (e_i - e_j)`` over the pairs with positive slack t_ij.
    active : ndarray of bool of shape (b, n, n)
        Where i is preferred to j and their slack is positive.
    norm, loss, total, energy : ndarray of shape (b,)
        With f the values and g the pull: ``a' f``, ``sum t_ij^2``, ``sum t_ij`` and ``g' K g``.
    """

    coefficients: Array
    pull: Array
    active: NDArray[np.bool_]
    norm: Array
    loss: Array
    total: Array
    energy: Array

    def take(self, which: Index) -> Self:
        """Return some of the problems."""
        return type(self)(*(part[which] for part in vars(self).values()))

    def put(self, which: Index, other: Reached) -> None:
        """Replace some of the problems."""
        for part, new in zip(vars(self).values(), vars(other).values(), strict=True):
            part[which] = new

    def objective(self, C: float) -> Array:
        """Primal objective, shape (b,)."""
        return 0.5 * self.norm + C * self.loss

    def gap(self, C: float) -> Array:
        """Duality gap of the dual variables ``2 C t_ij`` relative to the objective, shape (b,)."""
        below = 2.0 * C * (self.total - C * self.energy) - C * self.loss
        return 1.0 - below / self.objective(C)


class Problems:
    """A stack of b problems.

    Parameters
    ----------
    kernel : ndarray of shape (b, n, n)
    bias : ndarray of shape (b, n, n)
        1 where i is preferred to j, minus infinity elsewhere.
    work : ndarray of shape (2, b, n, n), optional
        Memory to work in.
    """

    def __init__(self, kernel: Array, bias: Array, work: Array | None = None) -> None:
        self._kernel, self._bias = kernel, bias
        self._work = np.empty((2, *kernel.shape)) if work is None else work
        self._ones = np.ones(kernel.shape[2])

    def __len__(self) -> int:
        return len(self._kernel)

    def take(self, which: NDArray[np.intp]) -> Problems:
        """Return some of the problems; they work in the same memory."""
        if len(which) == len(self):
            return self
        return Problems(self._kernel[which], self._bias[which], self._work[:, : len(which)])

    def reach(self, coefficients: Array) -> Reached:
        """Evaluate coefficients of shape (b, n)."""
        values, slack = self._apply(coefficients), self._work[0]
        np.subtract(values[:, None, :], values[:, :, None], out=slack)
        slack += self._bias
        np.maximum(slack, 0.0, out=slack)
        of_preferred = slack @ self._ones
        pull = of_preferred - self._ones @ slack
        total = of_preferred @ self._ones
        return Reached(
            coefficients=coefficients,
            pull=pull,
            active=slack > 0.0,
            norm=_dot(coefficients, values),
            # t^2 = t (1 - f_i + f_j) where the slack is positive
            loss=total - _dot(pull, values),
            total=total,
            energy=_dot(pull, self._apply(pull)),
        )

    def direction(self, at: Reached, C: float) -> Array:
        """Direction to the minimum of the objective as if no pair ceased or began to be active.

        With the Laplacian L of the active pairs that minimum is at
        ``(I + 2C L K)^-1 2C sum (e_i - e_j)``.
        """
        scaled, laplacian = self._work
        np.multiply(at.active, -2.0 * C, out=scaled)
        of_preferred, of_other = scaled @ self._ones, self._ones @ scaled
        np.add(scaled, scaled.swapaxes(1, 2), out=laplacian)
        _diagonal(laplacian)[...] = -(of_preferred + of_other)
        system = np.matmul(laplacian, self._kernel, out=scaled)
        _diagonal(system)[...] += 1.0
        right = of_other - of_preferred
        return np.linalg.solve(system, right[..., None])[..., 0] - at.coefficients

    def _apply(self, vectors: Array) -> Array:
        return np.matmul(self._kernel, vectors[..., None])[..., 0]


def newton_step(problems: Problems, at: Reached, C: float) -> Reached:
    """Go towards the minimum on the active pairs, by steps halved until the objective falls."""
    direction, before = problems.direction(at, C), at.objective(C)
    reached = problems.reach(at.coefficients + direction)
    for _ in range(_HALVINGS):
        worse = np.flatnonzero(reached.objective(C) > before)
        if not len(worse):
            break
        direction[worse] *= 0.5
        nearer = at.coefficients[worse] + direction[worse]
        reached.put(worse, problems.take(worse).reach(nearer))
    return reached


def descend(problems: Problems, at: Reached, C: float, tol: float, max_iter: int) -> None:
    """Bring all problems to a gap of at most tol; those that are there leave the batch."""
    live = np.flatnonzero(at.gap(C) > tol)
    problems, now = problems.take(live), at.take(live)
    for _ in range(max_iter):
        if not len(live):
            break
        now = newton_step(problems, now, C)
        at.put(live, now)
        unsolved = np.flatnonzero(now.gap(C) > tol)
        if len(unsolved) < len(live):
            live, problems, now = live[unsolved], problems.take(unsolved), now.take(unsolved)


def squared_hinge_path(
    kernel: Array, bias: Array, Cs: Array, tol: float, max_iter: int
) -> tuple[Array, Array, Array]:
    """Solve for rising C, each from the solution of the one before.

    Parameters
    ----------
    kernel : ndarray of shape (b, n, n)
    bias : ndarray of shape (b, n, n)
        1 where i is preferred to j, minus infinity elsewhere; a pair at least for each kernel.
    Cs : ndarray of shape (k,)
    tol : float
    max_iter : int

    Returns
    -------
    coefficients : ndarray of shape (k, b, n)
    objective, gap : ndarray of shape (k, b)
    """
    shape = (len(Cs), len(kernel))
    coefficients = np.empty((*shape, kernel.shape[1]))
    objective, gap = np.empty(shape), np.empty(shape)
    problems = Problems(kernel, bias)
    at = problems.reach(np.zeros(kernel.shape[:2]))
    for c in np.argsort(Cs, kind="stable"):
        descend(problems, at, Cs[c], tol, max_iter)
        coefficients[c], objective[c], gap[c] = at.coefficients, at.objective(Cs[c]), at.gap(Cs[c])
    return coefficients, objective, gap


def _dot(left: Array, right: Array) -> Array:
    return np.einsum("bn,bn->b", left, right)


def _diagonal(matrices: Array) -> Array:
    """View of the diagonals of matrices of shape (b, n, n)."""
    return np.einsum("bii->bi", matrices)
