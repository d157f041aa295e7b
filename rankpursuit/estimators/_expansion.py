"""A function that was learned, apart from the estimator that learned it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rankpursuit.estimators._kernels import Array, Kernel


@dataclass(frozen=True)
class Expansion:
    """A function ``sum_j coef_j k(x_j, x)``.

    Attributes
    ----------
    kernel : str or callable
    points : ndarray of shape (n_basis, n_features) or None
        The points x_j; None with a precomputed kernel.
    coef : ndarray of shape (n_basis,)
    gamma : float or None
    degree : int
    coef0 : float
    features : ndarray or None
        The features that it sees; None: all.
    """

    kernel: Kernel
    points: Array | None
    coef: Array
    gamma: float | None
    degree: int
    coef0: float
    features: NDArray[np.intp] | None = None
