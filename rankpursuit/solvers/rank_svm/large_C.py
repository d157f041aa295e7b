"""A second try for problems that a solver of RankSVM leaves unsolved, as some of a large C are.

As C rises, the solution of pairs that a function can separate stays the same from some C on, but
the solvers lose their digits: dual variables of the size of C meet those of the solution. Two
facts make a bound of both sides from solutions for smaller C, which are found without trouble:

- the least objective for a smaller C is a lower bound of that for a larger one;
- a function whose smallest margin is m > 0 has, divided by m, no loss at all: its objective is
  half of its squared norm for any C.

Neither holds for kernels that are not positive semi-definite, which are left alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from rankpursuit.kernels import function_values
from rankpursuit.solvers.rank_svm.kernel_forms import factored
from rankpursuit.solvers.rank_svm.point_pairs import OrderedPairs
from rankpursuit.solvers.rank_svm.solutions import RankSVMPath

Array = NDArray[np.float64]
Solver = Callable[[Array, Sequence[OrderedPairs], Array, float, int], RankSVMPath]

LARGEST = 1e100
"""Up to this product of C, a weight and a kernel value the solvers are called at all.

They square it, and multiply that with the numbers of pairs and points; the largest float is 1e308.
"""
_DECADES = np.arange(-3.0, 12.0)
"""Smaller C, as powers of ten over the largest kernel value: behind the last, digits are lost."""
_SHARPER = 0.25
"""The smaller C are solved to this share of the gap asked for, which their scaling uses up."""


def magnitude(kernel: Array, pairs: Sequence[OrderedPairs]) -> float:
    """Return a bound of the products of a weight and a kernel value in a stack (b, n, n)."""
    weights = [own.weights.max() for own in pairs if own.weights is not None]
    return max(kernel.max(), -kernel.min()) * max(weights, default=1.0)


def zero_functions(pairs: Sequence[OrderedPairs], Cs: Array) -> RankSVMPath:
    """Zero functions for problems that have pairs, with their objective: a gap of 1 is certain."""
    path = RankSVMPath.zeros(len(pairs), len(Cs), pairs[0].n_points)
    losses = [own.n_pairs if own.weights is None else own.weights.sum() for own in pairs]
    path.objective[...] = np.array(losses)[:, None] * Cs
    path.gap[...] = 1.0
    return path


def improve(
    path: RankSVMPath,
    solver: Solver,
    power: int,
    kernel: Array,
    pairs: Sequence[OrderedPairs],
    Cs: Array,
    tol: float,
    max_iter: int,
) -> None:
    """Replace solutions above the gap asked for where smaller C lead to better ones.

    Parameters
    ----------
    path : RankSVMPath
        Of b kernels and k values of C; changed in place.
    solver : callable
        The solver of the path.
    power : int
        1 for the hinge loss, 2 for its square.
    kernel, pairs, Cs, tol, max_iter
        As for the solver.
    """
    some = np.flatnonzero((~(path.gap <= tol)).any(axis=1))
    _, definite = factored(kernel[some])
    for b in map(int, some[definite]):
        unsolved = np.flatnonzero(~(path.gap[b] <= tol))
        smaller = 10.0**_DECADES / (magnitude(kernel[b : b + 1], [pairs[b]]) or 1.0)
        smaller = smaller[(smaller < Cs[unsolved].max()) & (smaller > 0.0)]
        if len(smaller):
            own, one = kernel[b : b + 1], [pairs[b]]
            easier = solver(own, one, smaller, _SHARPER * tol, max_iter)
            for c in map(int, unsolved):
                below = smaller < Cs[c]
                _take_best(path, easier, (b, c), below, own, pairs[b], float(Cs[c]), power)


def _take_best(
    path: RankSVMPath,
    easier: RankSVMPath,
    place: tuple[int, int],
    below: NDArray[np.bool_],
    kernel: Array,
    pairs: OrderedPairs,
    C: float,
    power: int,
) -> None:
    """Put the best of the functions for smaller C, of any scale, in one place of the path."""
    gap, objective = easier.gap[0, below], easier.objective[0, below]
    coefficients = easier.coefficients[:, below]
    bounds = (objective * (1.0 - gap))[np.isfinite(gap)]
    if not len(bounds):
        return
    values = function_values(kernel, coefficients)[0]
    margins = pairs.margins(values).min(axis=1)
    scales = np.concatenate([np.ones(len(margins)), 1.0 / np.where(margins > 0.0, margins, 1.0)])
    functions = np.tile(coefficients[0], (2, 1)) * scales[:, None]
    values = np.tile(values, (2, 1)) * scales[:, None]
    # Margins of exactly 1 may come out a rounding error below it, which a large C would count.
    slack = 1.0 - pairs.margins(values)
    slack[slack <= 8.0 * np.finfo(np.float64).eps] = 0.0
    norms = np.einsum("bn,bn->b", functions, values)
    objectives = 0.5 * norms + C * pairs.weighted(slack**power).sum(axis=1)
    objectives[~(objectives > 0.0)] = np.inf
    best = int(np.argmin(objectives))
    before = path.objective[place]
    if objectives[best] < before or (np.isnan(before) and np.isfinite(objectives[best])):
        lowest = np.fmax(before * (1.0 - path.gap[place]), bounds.max())
        path.coefficients[place] = functions[best]
        path.objective[place] = objectives[best]
        path.gap[place] = 1.0 - lowest / objectives[best]
