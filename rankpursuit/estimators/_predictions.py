"""Values of functions at new points, block by block, in bounded memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from rankpursuit.estimators._kernels import Array
from rankpursuit.estimators._scaling import check_predictions

_BLOCK = 1 << 22
"""Kernel values of a prediction that are in memory at a time: 32 MB of them."""
SINGLE_OR_DOUBLE = (np.float64, np.float32)
"""Types of points to predict that stay as they are."""


def in_blocks(X: Any, n_columns: int, function: Callable[[Any], Array], *shape: int) -> Array:
    """Values of a function at points, computed block by block, in double precision.

    Parameters
    ----------
    X : ndarray or sparse array of shape (m, n_features)
    n_columns : int
        Numbers that the function keeps for each point.
    function : callable
        Returns values of the shape (rows, *shape) for some rows of X.

    Returns
    -------
    ndarray of shape (m, *shape)
        Of the type of X.
    """
    n_points = X.shape[0]
    values = np.empty((n_points, *shape), dtype=X.dtype)
    together = max(1, _BLOCK // max(1, n_columns))
    for start in range(0, n_points, together):
        rows = slice(start, start + together)
        with np.errstate(over="ignore", under="ignore"):
            values[rows] = function(X[rows].astype(np.float64, copy=False))
    return check_predictions(values)


def function_of(kernel: Array, coefficients: Array) -> Array:
    """Values of an expansion, of shape (m,), from its kernel values of shape (m, n).

    Raises
    ------
    ValueError
        If a value is not finite.
    """
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        values = kernel @ coefficients
    return check_predictions(values)
