"""RankSVM for a stack of kernels and a grid of C, with either loss."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankpursuit.solvers.rank_svm.hinge import hinge_path
from rankpursuit.solvers.rank_svm.large_C import LARGEST, improve, magnitude, zero_functions
from rankpursuit.solvers.rank_svm.point_pairs import OrderedPairs
from rankpursuit.solvers.rank_svm.solutions import RankSVMPath
from rankpursuit.solvers.rank_svm.squared_hinge import squared_hinge_path

Array = NDArray[np.float64]
Loss = Literal["hinge", "squared_hinge"]

_SOLVERS = {"hinge": hinge_path, "squared_hinge": squared_hinge_path}
_POWERS = {"hinge": 1, "squared_hinge": 2}


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
        Largest number of steps for each problem, at each attempt.

    Returns
    -------
    RankSVMPath
        Finite, whatever C is. A problem that could not be solved has the solution with the
        smallest gap that was met, and a gap above `tol`.
    """
    if loss not in _SOLVERS:
        raise ValueError(f"loss: expected one of {', '.join(_SOLVERS)}; got {loss!r}")
    Cs = np.asarray(Cs, dtype=np.float64)
    each = [pairs] * len(kernel) if isinstance(pairs, OrderedPairs) else list(pairs)
    if len(each) != len(kernel):
        raise ValueError(f"pairs: expected one for each of {len(kernel)} kernels, got {len(each)}")
    paired = [index for index, own in enumerate(each) if own.n_pairs]
    if len(paired) == len(kernel):
        return _solve(kernel, each, Cs, loss, tol, max_iter)
    path = RankSVMPath.zeros(len(kernel), len(Cs), kernel.shape[1])
    if paired:
        some = [each[index] for index in paired]
        path.put(paired, _solve(kernel[paired], some, Cs, loss, tol, max_iter))
    return path


def _solve(
    kernel: Array, pairs: Sequence[OrderedPairs], Cs: Array, loss: Loss, tol: float, max_iter: int
) -> RankSVMPath:
    """Solve problems that have pairs, at second attempt if need be."""
    solver = _SOLVERS[loss]
    # What overflows is found by its gap.
    with np.errstate(over="ignore", invalid="ignore", divide="ignore", under="ignore"):
        moderate = Cs <= LARGEST / max(magnitude(kernel, pairs), 1.0)
        if moderate.all():
            path = solver(kernel, pairs, Cs, tol, max_iter)
        else:
            path = zero_functions(pairs, Cs)
            path.put_Cs(moderate, solver(kernel, pairs, Cs[moderate], tol, max_iter))
        if not (path.gap <= tol).all():
            improve(path, solver, _POWERS[loss], kernel, pairs, Cs, tol, max_iter)
    return path
