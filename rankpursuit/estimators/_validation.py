"""Points and scores as scikit-learn checks them."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

_FEW_ENTRIES = 2**16
"""Up to so many entries the checks of scikit-learn take longer than a look at each entry."""


def validated_scores(
    estimator: BaseEstimator,
    X: ArrayLike,
    y: ArrayLike,
    *,
    min_samples: int,
    reset: bool,
    dtype: Any,
    sparse: bool,
) -> tuple[Any, Any]:
    """Return training points and their scores as scikit-learn checks them.

    Parameters
    ----------
    X : array-like or sparse array of shape (n, n_features)
    y : array-like of shape (n,)
    min_samples : int
    reset : bool
        Whether the estimator forgets the features that it has seen; otherwise they must fit.
    estimator, dtype, sparse
        See :func:`validated`.
    """
    if reset and _are_plain(X, y, min_samples):
        estimator.n_features_in_ = np.shape(X)[1]
        vars(estimator).pop("feature_names_in_", None)
        return X, y
    options = {"y_numeric": True, "ensure_min_samples": min_samples, "reset": reset}
    return validated(estimator, X, y, dtype=dtype, sparse=sparse, **options)


def _are_plain(X: ArrayLike, y: ArrayLike, min_samples: int) -> bool:
    """Say whether small points and scores are arrays that all checks return as they are."""
    return (
        type(X) is np.ndarray
        and type(y) is np.ndarray
        and X.dtype == y.dtype == np.float64
        and X.ndim == 2
        and y.shape == X.shape[:1]
        and 0 < X.size <= _FEW_ENTRIES
        and len(X) >= min_samples
        and bool(np.isfinite(X).all() and np.isfinite(y).all())
    )


def validated(
    estimator: BaseEstimator, *data: ArrayLike, dtype: Any, sparse: bool, **options: Any
) -> Any:
    """Return points, and scores if there are any, as scikit-learn checks them.

    Parameters
    ----------
    estimator : estimator
        Gets `n_features_in_`, and `feature_names_in_` if the points have names.
    *data : array-like
        Points of shape (n, n_features), or points and their scores of shape (n,).
    dtype : type or list of types
        What the points may be; others become the first.
    sparse : bool
        Whether the points may be sparse.
    **options
        Those of :func:`sklearn.utils.validation.validate_data`.

    Notes
    -----
    scikit-learn's sum of all entries, a quick test for NaN, may overflow where every entry is
    finite.
    """
    if sp.issparse(data[0]) and not sparse:
        raise TypeError(
            "Sparse data was passed for X, which only RLS, RankRLS, SparseRankRLS and RankSVM "
            "take, with kernel='linear'; pass X.toarray()"
        )
    with np.errstate(over="ignore", invalid="ignore"):
        try:
            return validate_data(
                estimator,
                *data,
                dtype=dtype,
                accept_sparse="csr" if sparse else False,
                **options,
            )
        except OverflowError:
            raise ValueError("X or y contains a whole number too large for a float") from None
