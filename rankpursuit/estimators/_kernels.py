"""Kernels by name or as functions: those of scikit-learn, the Gaussian one computed here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, NoReturn

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
from rankpursuit.estimators._scaling import LARGE, overflow_found_later
from rankpursuit.estimators._spread import Spread
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
LARGEST_GAMMA = 1e300
"""Where "scale" would be more, the squares of the features have lost their digits."""
POSITIVE_DEFINITE = frozenset({"chi2", "cosine", "laplacian", "linear", "rbf"})
"""Kernels that are positive semi-definite whatever their parameters are."""
NOT_NEGATIVE_ONLY = frozenset({"additive_chi2", "chi2"})
"""Kernels of histograms, whose features must not be negative."""

ASYMMETRIC = 1e-5
"""Values of a pair of points in both orders may differ by this share of the largest value."""
HIGHEST_DEGREE = 1000
"""Of a higher degree even the powers of 2 would overflow."""

VIEW_KERNEL = (Choice.of(KernelName), Function())
GAMMA = (*POSITIVE, Choice.of(Scale), NONE)
KERNEL_CONSTRAINTS: Constraints = {
    "kernel": (Choice.of(KernelName, Precomputed), Function()),
    "degree": (Whole(1, HIGHEST_DEGREE),),
    "coef0": (Number(),),
    "kernel_params": (Instance((Mapping,), "a mapping"), NONE),
}


def gamma_in_use(kernel: Kernel, gamma: Gamma, X: NDArray[np.floating]) -> float | None:
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
        constant features count as having the variance 1), up to 1e300; None if the kernel has no
        gamma.
    """
    return gamma_of_spread(kernel, gamma, X.shape[1], Spread.of(X) if gamma == "scale" else None)


def gamma_of_spread(
    kernel: Kernel, gamma: Gamma, n_features: int, spread: Spread | None
) -> float | None:
    """Return the same for points of which only the spread is known, which "scale" needs."""
    if not (isinstance(kernel, str) and kernel in WITH_GAMMA):
        return None
    if gamma is None:
        return 1.0 / n_features
    if not isinstance(gamma, str):
        return float(gamma)
    assert spread is not None
    scaled = max(n_features * spread.variance, 1.0 / LARGEST_GAMMA)
    if not np.isfinite(scaled):
        raise ValueError(
            "gamma='scale' needs features whose variance is a finite number; scale the features"
        )
    return 1.0 / scaled


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

    Raises
    ------
    ValueError
        If a value is not finite.
    """
    if len(Y) == 0:  # a model without a basis function
        return np.empty((len(X), 0))
    with overflow_found_later():
        values = _values(kernel, X, Y, gamma, degree, coef0, kernel_params)
    check_kernel_values(kernel, values)
    return values


def check_kernel_values(kernel: Kernel, values: Array) -> None:
    """Raise a ValueError if kernel values are not finite."""
    if not np.isfinite(values).all():
        refuse_values(kernel)


def refuse_values(kernel: Kernel) -> NoReturn:
    """Raise a ValueError for kernel values that are not finite."""
    name = kernel if isinstance(kernel, str) else getattr(kernel, "__name__", type(kernel))
    raise ValueError(
        f"X leads to values of the kernel {name!r} that are not finite; scale the features, or "
        "lower gamma, degree or coef0"
    )


def _values(
    kernel: Kernel,
    X: Array,
    Y: Array,
    gamma: float | None,
    degree: int,
    coef0: float,
    kernel_params: Mapping[str, Any] | None,
) -> Array:
    """Kernel values, finite or not."""
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
    if kernel == "cosine":
        X, Y = _of_moderate_length(X), _of_moderate_length(Y)
    X, Y = (np.require(points, requirements="W") for points in (X, Y))  # "chi2" asks for it
    return pairwise_kernels(
        X, Y, metric=kernel, filter_params=True, gamma=gamma, degree=degree, coef0=coef0
    )


def _of_moderate_length(X: Array) -> Array:
    """Points of the same direction, none so long or short that its square is not a usual number."""
    largest = np.abs(X).max(axis=1)
    extreme = (largest > 0.0) & ((largest > LARGE) | (largest < 1.0 / LARGE))
    if not extreme.any():
        return X
    exponents = np.where(extreme, np.frexp(largest)[1], 0)
    return np.ldexp(X, -exponents[:, None])


def check_symmetric(kernel: Array) -> None:
    """Raise a ValueError unless a kernel of points with themselves is symmetric.

    To single precision, for kernels that were computed or kept in that.
    """
    apart = float(np.abs(kernel - kernel.T).max(initial=0.0))
    if apart > ASYMMETRIC * float(np.abs(kernel).max(initial=0.0)):
        raise ValueError(
            "kernel must be symmetric: its values of two training points, in one order and in the "
            f"other, differ by up to {apart:.3g}; a pursuit without ridge takes such a kernel"
        )
