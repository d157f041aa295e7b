"""RankSVM with the hinge loss: a feasible primal-dual interior-point method.

The dual is ``min alpha' G alpha / 2 - sum alpha`` in the box ``0 <= alpha_ij <= C w_ij`` with
``G = B K B'`` and the weights w_ij of the pairs; z and s are the multipliers of the two bounds,
and s is also the slack of the primal. A Newton step solves ``(G + D) d = r`` with a diagonal D,
through the identity ``d = (r - B K v) / D`` with ``(I + B' D^-1 B K) v = B' D^-1 r``.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rankpursuit.kernels import function_values
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
        solved = _solve(repeated, C, pairs[members[0]], tol, max_iter)
        path.put(members, RankSVMPath(*(part.reshape(*grid, *part.shape[1:]) for part in solved)))
    return path


def _sharing(pairs: Sequence[OrderedPairs]) -> list[list[int]]:
    """Kernels with the same object of pairs."""
    batches: dict[int, list[int]] = {}
    for index, own in enumerate(pairs):
        batches.setdefault(id(own), []).append(index)
    return list(batches.values())


def _solve(
    K: Array, C: Array, pairs: OrderedPairs, tol: float, max_iter: int
) -> tuple[Array, Array, Array]:
    """Coefficients, objective and gap for kernels of shape (b, n, n) and C of shape (b, 1)."""
    # For small C every pair is at its upper bound: that is tried first.
    bound = pairs.weighted(np.repeat(C, pairs.n_pairs, axis=1))
    coefficients, objective, gap = _judge(pairs, K, C, bound)
    live = np.flatnonzero(gap > tol)
    K, C = K[live], C[live]
    alpha = 0.5 * bound[live]
    surplus = pairs.margins(function_values(K, pairs.gather(alpha))) - 1.0
    z, s = np.maximum(surplus, 0.0) + 0.5, np.maximum(-surplus, 0.0) + 0.5
    centring = np.full(len(live), 0.1)
    for _ in range(max_iter):
        if not len(live):
            break
        alpha, z, s, centring = _interior_step(pairs, K, C, alpha, z, s, centring)
        coefficients[live], objective[live], gap[live] = _judge(pairs, K, C, alpha)
        unsolved = gap[live] > tol
        if not unsolved.all():
            live, K, C, centring = live[unsolved], K[unsolved], C[unsolved], centring[unsolved]
            alpha, z, s = alpha[unsolved], z[unsolved], s[unsolved]
    return coefficients, objective, gap


def _judge(
    pairs: OrderedPairs, kernel: Array, C: Array, alpha: Array
) -> tuple[Array, Array, Array]:
    """Coefficients, primal objective and relative duality gap of dual variables of shape (b, p)."""
    a = pairs.gather(alpha)
    values = function_values(kernel, a)
    norm = np.einsum("bn,bn->b", a, values)
    loss = pairs.weighted(np.maximum(1.0 - pairs.margins(values), 0.0))
    objective = 0.5 * norm + C[:, 0] * loss.sum(axis=1)
    return a, objective, (objective - alpha.sum(axis=1) + 0.5 * norm) / objective


def _interior_step(
    pairs: OrderedPairs,
    kernel: Array,
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
    system = np.matmul(pairs.laplacian(inverse), kernel)
    np.einsum("bii->bi", system)[...] += 1.0
    v = np.linalg.solve(system, pairs.gather(inverse * pull)[..., None])[..., 0]
    d_alpha = inverse * (pull - pairs.margins(function_values(kernel, v)))
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
