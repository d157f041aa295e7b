"""The greedy engine: matching pursuit over a stack of dictionaries, all prefixes at once.

A method is nothing but the rows that it passes. With the kernel columns K and the scores s:
kernel matching pursuit passes K and s, ranking pursuit ``B K`` and ``B s`` with the root B of its
preference graph, combined ranking and regression pursuit the rows of their blend.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from rankpursuit.solvers.fallbacks import eigh
from rankpursuit.solvers.orthogonal import INDEPENDENT, GrowingBasis, nonzero_columns
from rankpursuit.solvers.ties import first_best

Array = NDArray[np.float64]
Fitting = Literal["basic", "backfit", "prefit"]

NOTHING_LEFT = 1e-12
"""A path ends when its best step gains no more than the square of this share of the first cost."""


@dataclass(frozen=True)
class PursuitPath:
    """Every prefix of the paths of a batch of b pursuits with up to P steps.

    Attributes
    ----------
    selected : ndarray of shape (b, P)
        The dictionary function chosen at each step; -1 behind the end of a path.
    weights : ndarray of shape (b, P)
        The length of each step, zero behind the end of a path.
    directions : ndarray of shape (b, P, P) or None
        Column p holds the coefficients, over the chosen functions, of the direction of step p.
        None stands for the identity: each step moves along the function that it chose.
    cost : ndarray of shape (b, P + 1)
        Training cost of every prefix, from the empty one on.
    n_steps : ndarray of shape (b,)
        Number of steps before the path ended.
    """

    selected: NDArray[np.intp]
    weights: Array
    directions: Array | None
    cost: Array
    n_steps: NDArray[np.intp]

    def coefficients(self) -> Array:
        """Coefficients over the chosen functions, of every prefix.

        Returns
        -------
        ndarray of shape (b, P, P)
            Entry ``[i, p]`` belongs to the prefix of p + 1 steps, in the order of `selected`.
        """
        n_steps = self.selected.shape[1]
        directions = np.eye(n_steps) if self.directions is None else self.directions
        return np.cumsum(directions * self.weights[:, None, :], axis=2).swapaxes(1, 2)

    def expansion(self, problem: int) -> tuple[NDArray[np.intp], Array]:
        """Coefficients of every prefix of one path, over each chosen function once.

        Returns
        -------
        functions : ndarray of shape (f,)
            In the order in which they were first chosen.
        coefficients : ndarray of shape (n_steps, f)
        """
        n_steps = int(self.n_steps[problem])
        chosen, lengths = self.selected[problem, :n_steps], self.weights[problem, :n_steps]
        if self.directions is not None:  # with a refit no function is chosen twice
            steps = self.directions[problem, :n_steps, :n_steps] * lengths
            return chosen, np.cumsum(steps, axis=1).T
        functions, first, which = np.unique(chosen, return_index=True, return_inverse=True)
        order = np.argsort(first)
        place = np.empty_like(order)
        place[order] = np.arange(len(order))
        coefficients = np.zeros((n_steps, len(functions)))
        coefficients[np.arange(n_steps), place[which]] = lengths
        return functions[order], np.cumsum(coefficients, axis=0, out=coefficients)

    def predict(self, kernel: Array, steps: NDArray[np.intp] | None = None) -> Array:
        """Predictions of every prefix, or of some.

        Parameters
        ----------
        kernel : ndarray of shape (b, m, N)
            Values of the N dictionary functions at m points.
        steps : ndarray of shape (s,), optional
            Numbers of steps of the prefixes, from 1 to P. Default: all.

        Returns
        -------
        ndarray of shape (b, P, m) or (b, s, m)
        """
        chosen = np.take_along_axis(kernel, np.maximum(self.selected, 0)[:, None, :], axis=2)
        if self.directions is not None:
            chosen = np.matmul(chosen, self.directions)
        chosen *= self.weights[:, None, :]
        values = np.cumsum(chosen, axis=2, out=chosen)
        return (values if steps is None else values[:, :, steps - 1]).swapaxes(1, 2)


def pursue(
    dictionary: Array,
    target: Array,
    n_steps: int,
    *,
    fitting: Fitting = "basic",
    repeat: bool = False,
) -> PursuitPath:
    """Approximate the target by a growing sum of dictionary columns.

    Parameters
    ----------
    dictionary : ndarray of shape (b, m, N)
        A stack of b dictionaries of N columns.
    target : ndarray of shape (m,) or (b, m)
    n_steps : int
        Largest number of steps P; no more than N are made unless `repeat`.
    fitting : {"basic", "backfit", "prefit"}
        "basic" adds the column that lowers the cost ``|target - fit|^2`` most, with its best
        coefficient, and leaves the earlier coefficients alone. "backfit" chooses in the same way
        and then refits all coefficients by least squares. "prefit" chooses the column whose cost
        is lowest after the refit.
    repeat : bool
        Whether "basic" may choose a column again. A refit leaves nothing to gain from that.

    Returns
    -------
    PursuitPath
        A path ends early when no column is left that is linearly independent of the chosen ones
        to working precision, or when nothing is left of the residue.
    """
    n_problems, n_rows, n_columns = dictionary.shape
    if not (repeat and fitting == "basic"):
        n_steps = min(n_steps, n_columns)
    transposed = dictionary.swapaxes(1, 2)
    residue = np.array(np.broadcast_to(target, (n_problems, n_rows)), dtype=np.float64)
    norms = np.einsum("bmn,bmn->bn", dictionary, dictionary)
    usable = nonzero_columns(norms)
    left = norms.copy()  # squared norms of the parts orthogonal to the chosen columns
    # One array, so that with pre-fitting the gain follows the norms as they shrink.
    compared = left if fitting == "prefit" else norms
    basis = None if fitting == "basic" else GrowingBasis((n_problems,), n_rows, n_steps)

    problems = np.arange(n_problems)
    selected = np.full((n_problems, n_steps), -1, dtype=np.intp)
    weights = np.zeros((n_problems, n_steps))
    cost = np.empty((n_problems, n_steps + 1))
    cost[:, 0] = np.einsum("bm,bm->b", residue, residue)
    floor = NOTHING_LEFT**2 * cost[:, 0]
    active = np.ones(n_problems, dtype=bool)
    correlation = np.matmul(transposed, residue[:, :, None])[:, :, 0]
    step = 0
    while step < n_steps:
        gain = np.divide(np.square(correlation), compared, out=-np.ones_like(norms), where=usable)
        best = first_best(gain)
        active &= gain[problems, best] > floor
        if not active.any():
            break
        column = dictionary[problems, :, best]
        norm = np.sqrt(np.where(active, norms[problems, best], 1.0))
        unit = column / norm[:, None] if basis is None else basis.append(column)
        length = np.einsum("bm,bm->b", unit, residue) * active
        residue -= length[:, None] * unit
        if basis is None:
            weights[:, step] = length / norm
            correlation = np.matmul(transposed, residue[:, :, None])[:, :, 0]
        else:
            weights[:, step] = length
            products = np.matmul(transposed, np.stack([residue, unit], axis=2))
            correlation = products[:, :, 0]
            left -= np.square(products[:, :, 1])
            usable &= left > INDEPENDENT**2 * norms
        if not repeat:
            usable[problems[active], best[active]] = False
        selected[:, step] = np.where(active, best, -1)
        step += 1
        cost[:, step] = np.einsum("bm,bm->b", residue, residue)
    cost[:, step + 1 :] = cost[:, step, None]
    return PursuitPath(
        selected=selected,
        weights=weights,
        directions=None if basis is None else basis.directions,
        cost=cost,
        n_steps=np.count_nonzero(selected >= 0, axis=1),
    )


def ridge_rows(
    dictionary: Array, target: Array, kernel: Array, ridge: float
) -> tuple[Array, Array]:
    """Rows that add the penalty ``ridge * a' K a`` on the coefficients to the cost.

    Parameters
    ----------
    dictionary : ndarray of shape (b, m, N)
    target : ndarray of shape (m,) or (b, m)
    kernel : ndarray of shape (b, N, N)
        Kernel K of the dictionary points among themselves.
    ridge : float

    Returns
    -------
    dictionary : ndarray of shape (b, m + N, N)
    target : ndarray of shape (m + N,) or (b, m + N)
    """
    values, vectors = eigh(kernel)
    root = np.sqrt(ridge * np.maximum(values, 0.0))[:, :, None] * vectors.swapaxes(1, 2)
    padded = np.concatenate([target, np.zeros((*target.shape[:-1], kernel.shape[-1]))], axis=-1)
    return np.concatenate([dictionary, root], axis=1), padded


def count_basis(n_basis: int | float, n_points: int) -> int:
    """Turn a number of basis functions, or a share of the points, into a number.

    Parameters
    ----------
    n_basis : int or float
        A whole number of at least 1, or a float in (0, 1] as a share of `n_points`.
    n_points : int

    Returns
    -------
    int
        At least 1. A share is rounded to the nearest number.
    """
    whole = isinstance(n_basis, int | np.integer) and not isinstance(n_basis, bool)
    if whole and n_basis >= 1:
        return int(n_basis)
    if isinstance(n_basis, float | np.floating) and 0.0 < n_basis <= 1.0:
        return max(1, round(float(n_basis) * n_points))
    raise ValueError(
        "n_basis must be a whole number of at least 1, or a float in (0, 1] as a share of the "
        f"training points; got {n_basis!r}"
    )
