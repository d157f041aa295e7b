"""Paths of all kernels and ridges from one set of sums."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from rankpursuit.solvers.pursuit.engine import Fitting, pursue_gram
from rankpursuit.solvers.pursuit.forms import Array
from rankpursuit.solvers.pursuit.path import PursuitPath
from rankpursuit.solvers.pursuit.ridge import ridge_gram
from rankpursuit.solvers.pursuit.sums import GramSums


def ridge_paths(
    sums: GramSums,
    kernel: Array | None,
    ridges: ArrayLike,
    n_steps: int,
    *,
    fitting: Fitting = "basic",
    repeat: bool = False,
) -> PursuitPath:
    """Pursue the target of some sums with penalties ``ridge * a' K a``.

    Parameters
    ----------
    sums : GramSums
        Of w kernels over N candidates.
    kernel : ndarray of shape (w, N, N) or None
        Kernels K of the candidates among themselves, without negative eigenvalues; see
        :func:`rankpursuit.solvers.pursuit.positive_part`. None for the one ridge 0.
    ridges : array-like of shape (r,)
    n_steps, fitting, repeat
        See :func:`rankpursuit.solvers.pursuit.pursue`.

    Returns
    -------
    PursuitPath
        Of w * r problems: for each kernel, one after the other, that of each ridge.

    Examples
    --------
    >>> from rankpursuit.preferences import Pointwise
    >>> sums = GramSums.empty(1, 2)
    >>> sums.add(0, np.eye(2), np.array([1.0, 3.0]), Pointwise(2))
    >>> ridge_paths(sums, np.eye(2)[None], [0.0, 1.0], 2).coefficients()[:, -1]
    array([[3. , 1. ],
           [1.5, 0.5]])
    """
    gram, products = sums.gram, sums.products
    square = np.full(len(gram), sums.square)
    if kernel is not None:
        gram, products, square = ridge_gram(gram, products, square, kernel, ridges)
    elif np.shape(ridges) != (1,) or np.any(ridges):
        raise ValueError(f"without a kernel the one ridge must be 0; got {ridges!r}")
    return pursue_gram(gram, products, square, n_steps, fitting=fitting, repeat=repeat)
