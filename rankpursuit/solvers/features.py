"""Products with the features of points, in dense or sparse matrices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

Array = NDArray[np.float64]
Features = Any
"""A dense or a sparse array of shape (n, d)."""

_AT_ONCE = 16
"""Columns whose products are in memory at a time."""


def moment(X: Features, form: Callable[[Array], Array]) -> Array:
    """``X' L X`` of a symmetric form L that is given by its products.

    Parameters
    ----------
    X : ndarray or sparse array of shape (n, d)
    form : callable
        Returns ``L x`` for x of shape (n, k).

    Returns
    -------
    ndarray of shape (d, d)
    """
    columns, n_features = X.tocsc() if sp.issparse(X) else X, X.shape[1]
    result = np.empty((n_features, n_features))
    for start in range(0, n_features, _AT_ONCE):
        some = columns[:, start : start + _AT_ONCE]
        dense = some.toarray() if sp.issparse(some) else np.ascontiguousarray(some)
        result[:, start : start + _AT_ONCE] = X.T @ form(dense)
    return 0.5 * (result + result.T)


def squares(X: Features) -> Features:
    """Every entry squared."""
    return X.power(2) if sp.issparse(X) else np.square(X)


def linear_kernel(X: Features, Y: Features) -> Array:
    """``X Y'``, dense."""
    products = X @ Y.T
    return products.toarray() if sp.issparse(products) else products
