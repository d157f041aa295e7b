"""Kernels by name or as functions: those of scikit-learn, the Gaussian one computed here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.metrics.pairwise import pairwise_kernels

from rankpursuit.estimators._constraints import (
    NONE,
    POSITIVE,
    Choice,
    Constraints,
    Function,
    Instance,
    Number,
    Whole,
)
from rankpursuit.kernels import gaussian_stack, squared_distances

Array = NDArray[np.float64]

KernelName = Literal[
    "additive_chi2",
    "chi2",
    "cosine",
    "laplacian",
    "linear",
    "poly",
    "polynomial",
    "rbf",
    "sigmoid",
]
Precomputed = Literal["precomputed"]
Scale = Literal["scale"]
KernelFunction = Callable[..., ArrayLike]
Kernel = KernelName | Precomputed | KernelFunction
Gamma = float | Scale | None

WITH_GAMMA = frozenset({"chi2", "laplacian", "poly", "polynomial", "rbf", "sigmoid"})
POSITIVE_DEFINITE = frozenset({"chi2", "cosine", "laplacian", "linear", "rbf"})
"""Kernels without negative eigenvalues, whatever their parameters are."""
NOT_NEGATIVE_ONLY = frozenset({"additive_chi2", "chi2"})
"""Kernels of histograms, whose features must not be negative."""

_COPIED_ENTRIES = 2**20
"""Features of which a variance may hold a copy: 8 MB."""

VIEW_KERNEL = (Choice.of(KernelName), Function())
KERNEL_CONSTRAINTS: Constraints = {
    "kernel": (Choice.of(KernelName, Precomputed), Function()),
    "gamma": (*POSITIVE, Choice.of(Scale), NONE),
    "degree": (Whole(1),),
    "coef0": (Number(),),
    "kernel_params": (Instance((Mapping,), "a mapping"), NONE),
}


def gamma_in_use(kernel: Kernel, gamma: Gamma, X: Array) -> float | None:
    """Return the number that stands for `gamma` on the training points `X`.

    Parameters
    ----------
    kernel : str or callable
    gamma : float, "scale" or None
    X : ndarray of shape (n, n_features)

    Returns
    -------
    float or None
        ``1 / n_features`` for None and ``1 / (n_features * X.var())`` for "scale" (where
        constant features count as having the variance 1); None if the kernel has no gamma.
    """
    if not (isinstance(kernel, str) and kernel in WITH_GAMMA):
        return None
    if gamma is None:
        return 1.0 / X.shape[1]
    if isinstance(gamma, str):
        variance = _variance(X)
        return 1.0 / (X.shape[1] * (variance if variance > 0.0 else 1.0))
    return float(gamma)


def _variance(X: NDArray[np.floating]) -> float:
    """Variance of all entries, with no copy of a large `X`, which may be a memory map."""
    step = max(1, _COPIED_ENTRIES // max(1, X.shape[1]))
    if len(X) <= step:
        return float(X.var())
    parts = [slice(start, start + step) for start in range(0, len(X), step)]
    mean = sum(float(X[rows].sum(dtype=np.float64)) for rows in parts) / X.size
    return sum(float(np.square(X[rows] - mean).sum(dtype=np.float64)) for rows in parts) / X.size


def kernel_values(
    kernel: Kernel,
    X: Array,
    Y: Array,
    *,
    gamma: float | None,
    degree: int,
    coef0: float,
    kernel_params: Mapping[str, Any] | None,
) -> Array:
    """Kernel values of the points `X` with the points `Y`.

    Parameters
    ----------
    kernel : str or callable
    X : ndarray of shape (m, n_features)
    Y : ndarray of shape (n, n_features)
    gamma, degree, coef0
        For the named kernels that have them.
    kernel_params : mapping, optional
        Keyword arguments of a callable.

    Returns
    -------
    ndarray of shape (m, n)
    """
    if len(Y) == 0:  # a model without a basis function
        return np.empty((len(X), 0))
    if not isinstance(kernel, str):
        values = np.asarray(kernel(X, Y, **(kernel_params or {})), dtype=np.float64)
        if values.shape != (len(X), len(Y)):
            raise ValueError(
                "kernel must return one value for each pair of points, of the shape "
                f"{(len(X), len(Y))}; got {values.shape}"
            )
        return values
    if kernel == "rbf" and gamma is not None:
        return gaussian_stack(squared_distances(X, Y), [gamma])[0]
    X, Y = (np.require(points, requirements="W") for points in (X, Y))  # "chi2" asks for it
    return pairwise_kernels(
        X, Y, metric=kernel, filter_params=True, gamma=gamma, degree=degree, coef0=coef0
    )
