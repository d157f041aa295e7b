"""RankSVM with the hinge loss: a feasible primal-dual interior-point method.

The dual is ``min alpha' G alpha / 2 - sum alpha`` in the box ``0 <= alpha_ij <= C w_ij`` with
``G = B K B'`` and the weights w_ij of the pairs; z and s are the multipliers of the two bounds,
and s is also the slack of the primal. A Newton step solves ``(G + D) d = r`` with a diagonal D,
through the identity ``d = (r - B K v) / D`` with ``(I + B' D^-1 B K) v = B' D^-1 r``.

Of all iterates the one with the smallest gap is kept. A problem whose iterates leave the finite
numbers, as they may for a large C, stops there. What is not solved is tried once more in the
factors of the kernel, see :mod:`rankpursuit.solvers.rank_svm.kernel_forms`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rankpursuit.solvers.rank_svm.kernel_forms import KernelForm, PlainForm, factored
from rankpursuit.solvers.rank_svm.point_pairs import OrderedPairs
from rankpursuit.solvers.rank_svm.solutions import RankSVMPath

Array = NDArray[np.float64]

_TO_BOUNDARY = 0.99


def hinge_path(
    kernel: Array, pairs: Sequence[OrderedPairs], Cs: Array, tol: float, max_iter: int
) -> RankSVMPath:
    """Solve for all C in one batch: an interior-point method gains little from a start.

    As :func:`rankpursuit.solvers.rank_svm.rank_svm_path`, with at least one pair for each kernel.
    Kernels that share an object of pairs are one batch.
    """
    path = RankSVMPath.zeros(len(kernel), len(Cs), kernel.shape[1])
    for members in _sharing(pairs):
        grid = (len(members), len(Cs))
        repeated = kernel[np.repeat(members, len(Cs))]
        C = np.tile(Cs, len(members))[:, None]
        solved = _solve(PlainForm(repeated), C, pairs[members[0]], tol, max_iter)
        if not (solved[2] <= tol).all():
            _solve_again(solved, repeated, C, pairs[members[0]], tol, max_iter)
        path.put(members, RankSVMPath(*(part.reshape(*grid, *part.shape[1:]) for part in solved)))
    return path


def _sharing(pairs: Sequence[OrderedPairs]) -> list[list[int]]:
    """Kernels with the same object of pairs."""
    batches: dict[int, list[int]] = {}
    for index, own in enumerate(pairs):
        batches.setdefault(id(own), []).append(index)
    return list(batches.values())


def _solve(
    form: KernelForm, C: Array, pairs: OrderedPairs, tol: float, max_iter: int
) -> tuple[Array, Array, Array]:
    """Coefficients, objective and gap for b kernels and C of shape (b, 1)."""
    # For small C every pair is at its upper bound: that is tried first.
    bound = pairs.weighted(np.repeat(C, pairs.n_pairs, axis=1))
    coefficients, objective, gap = _judge(pairs, form, C, bound)
    lost = ~np.isfinite(gap)
    coefficients[lost], objective[lost], gap[lost] = 0.0, bound[lost].sum(axis=1), 1.0
    live = np.flatnonzero(gap > tol)
    form, C = form.take(live), C[live]
    alpha = 0.5 * bound[live]
    surplus = pairs.margins(form.values(pairs.gather(alpha))) - 1.0
    z, s = np.maximum(surplus, 0.0) + 0.5, np.maximum(-surplus, 0.0) + 0.5
    centring = np.full(len(live), 0.1)
    for _ in range(max_iter):
        if not len(live):
            break
        alpha, z, s, centring = _interior_step(pairs, form, C, alpha, z, s, centring)
        reached = _judge(pairs, form, C, alpha)
        better = reached[2] < gap[live]
        for kept, new in zip((coefficients, objective, gap), reached, strict=True):
            kept[live[better]] = new[better]
        unsolved = (gap[live] > tol) & np.isfinite(reached[2])
        if not unsolved.all():
            live, C, centring = live[unsolved], C[unsolved], centring[unsolved]
            alpha, z, s = alpha[unsolved], z[unsolved], s[unsolved]
            form = form.take(np.flatnonzero(unsolved))
    return coefficients, objective, gap


def _solve_again(
    solved: tuple[Array, Array, Array],
    kernel: Array,
    C: Array,
    pairs: OrderedPairs,
    tol: float,
    max_iter: int,
) -> None:
    """Put in better solutions where a kernel without negative directions was not solved."""
    again = np.flatnonzero(~(solved[2] <= tol))
    form, definite = factored(kernel[again])
    again, form = again[definite], form.take(np.flatnonzero(definite))
    second = _solve(form, C[again], pairs, tol, max_iter)
    better = second[2] < solved[2][again]
    for kept, new in zip(solved, second, strict=True):
        kept[again[better]] = new[better]


def _judge(
    pairs: OrderedPairs, form: KernelForm, C: Array, alpha: Array
) -> tuple[Array, Array, Array]:
    """Coefficients, primal objective and relative duality gap of dual variables of shape (b, p)."""
    a = pairs.gather(alpha)
    values = form.values(a)
    norm = np.einsum("bn,bn->b", a, values)
    loss = pairs.weighted(np.maximum(1.0 - pairs.margins(values), 0.0))
    objective = 0.5 * norm + C[:, 0] * loss.sum(axis=1)
    return a, objective, (objective - alpha.sum(axis=1) + 0.5 * norm) / objective


def _interior_step(
    pairs: OrderedPairs,
    form: KernelForm,
    C: Array,
    alpha: Array,
    z: Array,
    s: Array,
    centring: Array,
) -> tuple[Array, Array, Array, Array]:
    """One step towards the solution, and how much the next one should keep to the centre."""
    room = pairs.weighted(C) - alpha
    products = np.einsum("bp,bp->b", alpha, z) + np.einsum("bp,bp->b", room, s)
    aim = (centring * products / (2 * pairs.n_pairs))[:, None]
    inverse = alpha * room / (z * room + s * alpha)  # of D
    pull = aim / alpha - z - aim / room + s
    moved = form.newton_values(pairs.laplacian(inverse), pairs.gather(inverse * pull))
    d_alpha = inverse * (pull - pairs.margins(moved))
    d_z = (aim - z * d_alpha) / alpha - z
    d_s = (aim + s * d_alpha) / room - s
    blocked = np.maximum.reduce(
        [
            (-d_alpha / alpha).max(axis=1),
            (d_alpha / room).max(axis=1),
            (-d_z / z).max(axis=1),
            (-d_s / s).max(axis=1),
        ]
    )
    step = np.minimum(1.0, _TO_BOUNDARY / np.maximum(blocked, 1e-300))
    alpha, z, s = (x + step[:, None] * d for x, d in ((alpha, d_alpha), (z, d_z), (s, d_s)))
    return alpha, z, s, np.where(step > 0.8, 0.05, 0.3)
