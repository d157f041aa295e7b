"""RankSVM: a hinge loss on every pair, solved in the n points and never in the pairs' kernel.

With ``f = K a`` and the slack ``t_ij = 1 - (f_i - f_j)`` of each pair in which i is preferred to
j, the objective is ``a' K a / 2 + C sum max(0, t_ij)``, or the same with squared slacks. The dual
has one variable ``alpha_ij >= 0`` for each pair, and ``a = B' alpha = sum alpha_ij (e_i - e_j)``.
Both solvers work with n x n systems ``(I + L_w K) v = B' r`` only, where L_w is the Laplacian of
the pairs under some weights; the pairs' own kernel ``B K B'`` is never formed. Both stop at a
stated duality gap.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankpursuit.solvers.hinge import hinge_path
from rankpursuit.solvers.ordered_pairs import OrderedPairs
from rankpursuit.solvers.squared_hinge import squared_hinge_path

Array = NDArray[np.float64]
Loss = Literal["hinge", "squared_hinge"]


@dataclass(frozen=True)
class RankSVMPath:
    """Solutions for b kernels of n points and k values of C.

    Attributes
    ----------
    coefficients : ndarray of shape (b, k, n)
    objective : ndarray of shape (b, k)
        Primal objective.
    gap : ndarray of shape (b, k)
        Duality gap, relative to the objective: the minimum lies between
        ``objective * (1 - gap)`` and ``objective``.
    """

    coefficients: Array
    objective: Array
    gap: Array


def rank_svm_path(
    kernel: Array,
    pairs: OrderedPairs | Sequence[OrderedPairs],
    Cs: ArrayLike,
    *,
    loss: Loss = "hinge",
    tol: float = 1e-3,
    max_iter: int = 100,
) -> RankSVMPath:
    """Solve RankSVM for a stack of kernels and many values of C.

    Parameters
    ----------
    kernel : ndarray of shape (b, n, n)
    pairs : OrderedPairs or sequence of b OrderedPairs
        Of the n points: the same for all kernels, or one for each kernel. Kernels may share an
        object, which saves time with the hinge loss. A kernel without any pair gets zeros.
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
    each = [pairs] * len(kernel) if isinstance(pairs, OrderedPairs) else list(pairs)
    if len(each) != len(kernel):
        raise ValueError(f"pairs: expected one for each of {len(kernel)} kernels, got {len(each)}")
    shape = (len(kernel), len(Cs))
    path = RankSVMPath(np.zeros((*shape, kernel.shape[1])), np.zeros(shape), np.zeros(shape))
    for members in _batches(each, loss):
        part = kernel if len(members) == len(kernel) else kernel[members]
        if loss == "hinge":
            solved = hinge_path(part, each[members[0]], Cs, tol, max_iter)
        else:
            solved = squared_hinge_path(part, _biases(each, members), Cs, tol, max_iter)
        path.coefficients[members], path.objective[members], path.gap[members] = solved
    return path


def _batches(each: list[OrderedPairs], loss: Loss) -> list[list[int]]:
    """Kernels that are solved together: those with the same pairs, or all with squared slacks."""
    batches: dict[int, list[int]] = {}
    for index, pairs in enumerate(each):
        if pairs.n_pairs:
            batches.setdefault(id(pairs) if loss == "hinge" else 0, []).append(index)
    return list(batches.values())


def _biases(each: list[OrderedPairs], members: list[int]) -> Array:
    """Biases of some kernels, or only one if all have the same pairs."""
    if len({id(each[index]) for index in members}) == 1:
        members = members[:1]
    return np.stack([each[index].bias for index in members])
