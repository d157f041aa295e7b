"""Regularised least squares of linear functions, solved in their d weights where d is below n."""

from __future__ import annotations

import warnings

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.linalg import LinAlgWarning
from scipy.linalg import solve as solve_dense
from scipy.sparse.linalg import LinearOperator, lsqr

from rankpursuit.preferences import Preferences
from rankpursuit.solvers.fallbacks import eigh
from rankpursuit.solvers.features import Features, linear_kernel, moment
from rankpursuit.solvers.rls import rls_solution

Array = NDArray[np.float64]

_EPS = np.finfo(np.float64).eps

_MOST_DENSE = 4096
"""Sparse points with more features and more rows than this are solved by LSQR."""
_LSQR_TOLERANCE = 1e-12
_LSQR_STEPS = 10_000


def rls_weights(X: Features, scores: Array, lam: float, preferences: Preferences) -> Array:
    """Minimise ``|B s - B X w|^2 + lambda |w|^2``: ``(X' L X + lambda I) w = X' L s``.

    Parameters
    ----------
    X : ndarray or sparse array of shape (n, d)
    scores : ndarray of shape (n,)
    lam : float
        Positive.
    preferences : Preferences
        Of the n points.

    Returns
    -------
    ndarray of shape (d,)
        Directions that are rounding errors, where lambda is one too, get no weight.
    """
    if sp.issparse(X) and min(X.shape) > _MOST_DENSE:
        return _by_lsqr(X, scores, lam, preferences)
    if X.shape[1] >= X.shape[0]:
        return X.T @ rls_solution(linear_kernel(X, X), scores, lam, preferences)
    if sp.issparse(X):
        system, right = moment(X, preferences.laplacian), X.T @ preferences.laplacian(scores)
    else:
        form = preferences.slim(X.shape[1])
        rooted = form.root(X)
        system, right = rooted.T @ rooted, rooted.T @ form.root(scores)
    system.flat[:: len(system) + 1] += lam
    return _solve_definite(system, right)


def sparse_rls_weights(
    X: Features,
    subset: NDArray[np.intp],
    scores: Array,
    lam: float,
    preferences: Preferences,
) -> Array:
    """Minimise the same over the weights ``w = X_R' a`` that a subset R of the points spans.

    Parameters
    ----------
    X : ndarray or sparse array of shape (n, d)
    subset : ndarray of shape (r,)
        Indices of points.
    scores, lam, preferences
        See :func:`rls_weights`.

    Returns
    -------
    ndarray of shape (d,)
    """
    spanned = _spanned(X[subset])
    if spanned is None:
        return rls_weights(X, scores, lam, preferences)
    return spanned @ rls_weights(X @ spanned, scores, lam, preferences)


def _spanned(points: Features) -> Array | None:
    """Find what points span of the space of their features, to working precision.

    Returns
    -------
    ndarray of shape (d, rank) or None
        An orthonormal basis; None if they span all of it.
    """
    if points.shape[0] < points.shape[1]:
        (values,), (vectors,) = eigh(linear_kernel(points, points)[None])
        kept = values > values[-1] * _EPS * len(values)
        return points.T @ (vectors[:, kept] / np.sqrt(values[kept]))
    gram = linear_kernel(points.T, points.T)
    lengths = _lengths(gram)
    (values,), (vectors,) = eigh((gram / lengths / lengths[:, None])[None])
    missing = vectors[:, values <= values[-1] * _EPS * len(values)] / lengths[:, None]
    if not missing.shape[1]:
        return None
    return np.linalg.qr(missing, mode="complete")[0][:, missing.shape[1] :]


def _lengths(gram: Array) -> Array:
    """Lengths of the features from their products; 1 for one that is zero."""
    lengths = np.sqrt(np.diagonal(gram))
    return np.where(lengths > 0.0, lengths, 1.0)


def _solve_definite(system: Array, right: Array) -> Array:
    """Solve ``A x = y`` with a positive semi-definite A, whatever the sizes of its features are.

    Scaled to a diagonal of ones, features of different units do not pass for rounding errors.
    """
    scale = _lengths(system)
    scaled, aim = system / scale / scale[:, None], right / scale
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", LinAlgWarning)
            return solve_dense(scaled, aim, assume_a="pos") / scale
    except (np.linalg.LinAlgError, LinAlgWarning):  # singular to working precision
        (values,), (vectors,) = eigh(scaled[None])
        kept = values > values[-1] * _EPS * len(values)
        return vectors[:, kept] @ ((aim @ vectors[:, kept]) / values[kept]) / scale


def _by_lsqr(X: Features, scores: Array, lam: float, preferences: Preferences) -> Array:
    """Solve by products with the points and the root alone."""
    target = preferences.root(scores)
    operator = LinearOperator(
        (len(target), X.shape[1]),
        matvec=lambda w: preferences.root(X @ w.ravel()),
        rmatvec=lambda r: X.T @ preferences.root_transpose(r.ravel()),
        dtype=np.float64,
    )
    tight = {"atol": _LSQR_TOLERANCE, "btol": _LSQR_TOLERANCE, "iter_lim": _LSQR_STEPS}
    return lsqr(operator, target, damp=np.sqrt(lam), **tight)[0]
