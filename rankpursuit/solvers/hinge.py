"""RankSVM with the hinge loss: a feasible primal-dual interior-point method.

The dual is ``min alpha' G alpha / 2 - sum alpha`` in the box ``0 <= alpha <= C`` with
``G = B K B'``; z and w are the multipliers of the two bounds, and w is also the slack of the
primal. A Newton step solves ``(G + D) d = r`` with a diagonal D, through the identity
``d = (r - B K v) / D`` with ``(I + B' D^-1 B K) v = B' D^-1 r``.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rankpursuit.kernels import function_values
from rankpursuit.solvers.ordered_pairs import OrderedPairs

Array = NDArray[np.float64]

_TO_BOUNDARY = 0.99


def hinge_path(
    kernel: Array, pairs: OrderedPairs, Cs: Array, tol: float, max_iter: int
) -> tuple[Array, Array, Array]:
    """Solve for all C in one batch: an interior-point method gains little from a start.

    Parameters
    ----------
    kernel : ndarray of shape (b, n, n)
    pairs : OrderedPairs
        At least one.
    Cs : ndarray of shape (k,)
    tol : float
    max_iter : int

    Returns
    -------
    coefficients : ndarray of shape (b, k, n)
    objective, gap : ndarray of shape (b, k)
    """
    shape = (len(kernel), len(Cs))
    repeated = kernel[np.repeat(np.arange(len(kernel)), len(Cs))]
    solved = _solve(repeated, np.tile(Cs, len(kernel))[:, None], pairs, tol, max_iter)
    coefficients, objective, gap = (part.reshape(*shape, *part.shape[1:]) for part in solved)
    return coefficients, objective, gap


def _solve(
    K: Array, C: Array, pairs: OrderedPairs, tol: float, max_iter: int
) -> tuple[Array, Array, Array]:
    """Coefficients, objective and gap for kernels of shape (b, n, n) and C of shape (b, 1)."""
    # For small C every pair is at its upper bound: that is tried first.
    coefficients, objective, gap = _judge(pairs, K, C, np.repeat(C, pairs.n_pairs, axis=1))
    live = np.flatnonzero(gap > tol)
    K, C = K[live], C[live]
    alpha = np.repeat(0.5 * C, pairs.n_pairs, axis=1)
    surplus = pairs.margins(function_values(K, pairs.gather(alpha))) - 1.0
    z, w = np.maximum(surplus, 0.0) + 0.5, np.maximum(-surplus, 0.0) + 0.5
    centring = np.full(len(live), 0.1)
    for _ in range(max_iter):
        if not len(live):
            break
        alpha, z, w, centring = _interior_step(pairs, K, C, alpha, z, w, centring)
        coefficients[live], objective[live], gap[live] = _judge(pairs, K, C, alpha)
        unsolved = gap[live] > tol
        if not unsolved.all():
            live, K, C, centring = live[unsolved], K[unsolved], C[unsolved], centring[unsolved]
            alpha, z, w = alpha[unsolved], z[unsolved], w[unsolved]
    return coefficients, objective, gap


def _judge(
    pairs: OrderedPairs, kernel: Array, C: Array, alpha: Array
) -> tuple[Array, Array, Array]:
    """Coefficients, primal objective and relative duality gap of dual variables of shape (b, p)."""
    a = pairs.gather(alpha)
    values = function_values(kernel, a)
    norm = np.einsum("bn,bn->b", a, values)
    slack = np.maximum(1.0 - pairs.margins(values), 0.0)
    objective = 0.5 * norm + C[:, 0] * slack.sum(axis=1)
    return a, objective, (objective - alpha.sum(axis=1) + 0.5 * norm) / objective


def _interior_step(
    pairs: OrderedPairs,
    kernel: Array,
    C: Array,
    alpha: Array,
    z: Array,
    w: Array,
    centring: Array,
) -> tuple[Array, Array, Array, Array]:
    """One step towards the solution, and how much the next one should keep to the centre."""
    room = C - alpha
    products = np.einsum("bp,bp->b", alpha, z) + np.einsum("bp,bp->b", room, w)
    aim = (centring * products / (2 * pairs.n_pairs))[:, None]
    weights = alpha * room / (z * room + w * alpha)  # the inverse of D
    pull = aim / alpha - z - aim / room + w
    system = np.matmul(pairs.laplacian(weights), kernel)
    np.einsum("bii->bi", system)[...] += 1.0
    v = np.linalg.solve(system, pairs.gather(weights * pull)[..., None])[..., 0]
    d_alpha = weights * (pull - pairs.margins(function_values(kernel, v)))
    d_z = (aim - z * d_alpha) / alpha - z
    d_w = (aim + w * d_alpha) / room - w
    blocked = np.maximum.reduce(
        [
            (-d_alpha / alpha).max(axis=1),
            (d_alpha / room).max(axis=1),
            (-d_z / z).max(axis=1),
            (-d_w / w).max(axis=1),
        ]
    )
    step = np.minimum(1.0, _TO_BOUNDARY / np.maximum(blocked, 1e-300))
    alpha, z, w = (x + step[:, None] * d for x, d in ((alpha, d_alpha), (z, d_z), (w, d_w)))
    return alpha, z, w, np.where(step > 0.8, 0.05, 0.3)
