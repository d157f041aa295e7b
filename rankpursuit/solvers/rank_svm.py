"""RankSVM: a hinge loss on every pair, solved in the n points and never in the pairs' kernel.

With ``f = K a`` and the slack ``t_ij = 1 - (f_i - f_j)`` of each pair in which i is preferred to
j, the objective is ``a' K a / 2 + C sum max(0, t_ij)``, or the same with squared slacks. The dual
has one variable ``alpha_ij >= 0`` for each pair, and ``a = B' alpha = sum alpha_ij (e_i - e_j)``.
Both solvers work with n x n systems ``(I + L_w K) v = B' r`` only, where L_w is the Laplacian of
the pairs under some weights; the pairs' own kernel ``B K B'`` is never formed. Both stop at a
stated duality gap.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankpursuit.solvers.ordered_pairs import OrderedPairs
from rankpursuit.solvers.squared_hinge import squared_hinge_path

Array = NDArray[np.float64]
Loss = Literal["hinge", "squared_hinge"]

_TO_BOUNDARY = 0.99


@dataclass(frozen=True)
class RankSVMPath:
    """Solutions for k values of C and b kernels of n points.

    Attributes
    ----------
    coefficients : ndarray of shape (k, b, n)
    objective : ndarray of shape (k, b)
        Primal objective.
    gap : ndarray of shape (k, b)
        Duality gap, relative to the objective: the minimum lies between
        ``objective * (1 - gap)`` and ``objective``.
    """

    coefficients: Array
    objective: Array
    gap: Array


def rank_svm_path(
    kernel: Array,
    pairs: OrderedPairs,
    Cs: ArrayLike,
    *,
    loss: Loss = "hinge",
    tol: float = 1e-3,
    max_iter: int = 100,
) -> RankSVMPath:
    """Solve RankSVM for many values of C and a stack of kernels.

    Parameters
    ----------
    kernel : ndarray of shape (b, n, n)
    pairs : OrderedPairs
        Of the n points.
    Cs : array-like of shape (k,)
        Positive.
    loss : {"hinge", "squared_hinge"}
    tol : float
        Relative duality gap at which a problem is solved.
    max_iter : int
        Largest number of steps for each problem.

    Returns
    -------
    RankSVMPath
    """
    Cs = np.asarray(Cs, dtype=np.float64)
    shape = (len(Cs), len(kernel))
    if pairs.n_pairs == 0:
        return RankSVMPath(np.zeros((*shape, pairs.n_points)), np.zeros(shape), np.zeros(shape))
    if loss == "hinge":
        # An interior-point method gains little from a start: all C are one batch.
        which = np.tile(np.arange(len(kernel)), len(Cs))
        solved = _hinge(kernel, which, pairs, np.repeat(Cs, len(kernel)), tol, max_iter)
        return RankSVMPath(*(part.reshape(*shape, *part.shape[1:]) for part in solved))
    return RankSVMPath(*squared_hinge_path(kernel, pairs.bias[None], Cs, tol, max_iter))


def _hinge(
    kernel: Array,
    which: NDArray[np.intp],
    pairs: OrderedPairs,
    Cs: Array,
    tol: float,
    max_iter: int,
) -> tuple[Array, Array, Array]:
    """Feasible primal-dual interior-point method; problem i has the kernel ``which[i]``.

    The dual is ``min alpha' G alpha / 2 - sum alpha`` in the box ``0 <= alpha <= C`` with
    ``G = B K B'``; z and w are the multipliers of the two bounds, and w is also the slack of the
    primal. A Newton step solves ``(G + D) d = r`` with a diagonal D, through the identity
    ``d = (r - B K v) / D`` with ``(I + B' D^-1 B K) v = B' D^-1 r``.
    """
    K, C = kernel[which], Cs[:, None]
    # For small C every pair is at its upper bound: that is tried first.
    coefficients, objective, gap = _judge(pairs, K, C, np.repeat(C, pairs.n_pairs, axis=1))
    live = np.flatnonzero(gap > tol)
    K, C = K[live], C[live]
    alpha = np.repeat(0.5 * C, pairs.n_pairs, axis=1)
    surplus = pairs.margins(_apply(K, pairs.gather(alpha))) - 1.0
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
    values = _apply(kernel, a)
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
    d_alpha = weights * (pull - pairs.margins(_apply(kernel, v)))
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


def _apply(kernel: Array, vectors: NDArray[np.floating]) -> Array:
    return np.matmul(kernel, vectors[..., None])[..., 0]
