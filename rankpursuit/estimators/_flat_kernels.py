"""A warning where a kernel tells no two points apart, or every two alike."""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import NDArray

from rankpursuit.estimators._kernels import Array, Kernel

BETWEEN_0_AND_1 = frozenset({"rbf", "laplacian", "chi2"})
"""Kernels that are 1 for equal points and fall to 0 with their distance."""

_LOOKED_AT = 64
"""So many points and as many basis points are looked at, from the first to the last."""
_FLAT = 1e-6
"""Values this close to 0 or 1 say nothing beside others."""
_NEARLY_ALL = 0.99


def warn_of_flat_kernel(
    kernel: Kernel, gamma: float | None, values: Array, columns: NDArray[np.intp]
) -> None:
    """Warn if nearly all kernel values of different points are 0, 1, or either.

    Parameters
    ----------
    kernel : str or callable
    gamma : float or None
    values : ndarray of shape (n, r)
        Of the training points with some of them.
    columns : ndarray of shape (r,)
        Numbers of these.
    """
    if not (isinstance(kernel, str) and kernel in BETWEEN_0_AND_1):
        return
    rows, some = (spread_out(size) for size in values.shape)
    seen = values if max(values.shape) <= _LOOKED_AT else values[rows][:, some]
    if np.count_nonzero((seen >= _FLAT) & (seen <= 1.0 - _FLAT)) > (1.0 - _NEARLY_ALL) * seen.size:
        return
    seen = seen[rows[:, None] != columns[some]]
    if not seen.size:
        return
    zeros, ones = np.mean(seen < _FLAT), np.mean(seen > 1.0 - _FLAT)
    if zeros + ones >= _NEARLY_ALL:
        what = "0" if zeros >= _NEARLY_ALL else "1" if ones >= _NEARLY_ALL else "0 or 1"
        warnings.warn(
            f"nearly all values of the kernel {kernel!r} between different training points are "
            f"{what} with gamma={gamma:.3g}, so that little can be learned; scale the features, "
            "for instance by sklearn.preprocessing.StandardScaler or, with a few huge values, by "
            "QuantileTransformer in a pipeline, or choose another gamma",
            UserWarning,
            stacklevel=2,
        )


def spread_out(size: int) -> NDArray[np.intp]:
    """Up to 64 of the numbers 0, ..., size - 1, evenly spread."""
    if size <= _LOOKED_AT:
        return np.arange(size)
    return np.linspace(0, size - 1, _LOOKED_AT).astype(np.intp)
