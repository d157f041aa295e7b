"""Regularised least squares on points (RLS) and on pairs (RankRLS): all lambdas at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from rankpursuit.preferences import Preferences
from rankpursuit.solvers.fallbacks import eigh

Array = NDArray[np.float64]

_EPS = np.finfo(np.float64).eps


def rls_path(kernel: Array, scores: Array, lambdas: ArrayLike, preferences: Preferences) -> Array:
    """Solve ``(L K + lambda I) a = L s`` for many lambdas and a stack of kernels.

    With ``L = B'B`` the solution is ``a = B' u`` with ``(B K B' + lambda I) u = B s``: one
    symmetric eigendecomposition for each kernel serves all lambdas. `Pointwise` preferences
    make L the identity, which is RLS; a preference graph makes it RankRLS. Directions in which a
    kernel is truly negative get no weight.

    Parameters
    ----------
    kernel : ndarray of shape (b, n, n)
    scores : ndarray of shape (n,) or (b, n)
    lambdas : array-like of shape (k,)
        Positive. For one that is below the rounding error of the largest eigenvalue, directions
        whose eigenvalues are below that too get no weight.
    preferences : Preferences
        Of the n points.

    Returns
    -------
    ndarray of shape (b, k, n)
        Coefficients.
    """
    preferences = preferences.compact()
    half = preferences.root(kernel)
    rooted = preferences.root(np.ascontiguousarray(half.swapaxes(1, 2)))
    target = preferences.root_vectors(np.atleast_2d(scores))
    rounding = _rounding(kernel, preferences)
    solved = _solve_shifted(rooted, target[:, None, :], lambdas, rounding)
    return preferences.root_transpose(solved).swapaxes(1, 2)


def rls_solution(kernel: Array, scores: Array, lam: float, preferences: Preferences) -> Array:
    """Solve the same system for one positive definite kernel and one lambda, by Cholesky.

    Parameters
    ----------
    kernel : ndarray of shape (n, n)
        Positive semi-definite.
    scores : ndarray of shape (n,)
    lam : float
        Positive.
    preferences : Preferences
        Of the n points.

    Returns
    -------
    ndarray of shape (n,)
        Coefficients; where the matrix is singular to working precision, those of `rls_path`.
    """
    form = preferences.compact()
    half = form.root(kernel)
    system = form.root(np.ascontiguousarray(half.T))
    system.flat[:: len(system) + 1] += lam
    try:
        factor = cho_factor(system, overwrite_a=True, check_finite=False)
    except LinAlgError:
        return rls_path(kernel[None], scores, [lam], preferences)[0, 0]
    return form.root_transpose(cho_solve(factor, form.root(scores), check_finite=False))


def sparse_rls_path(
    columns: Array, subset: Array, scores: Array, lambdas: ArrayLike, preferences: Preferences
) -> Array:
    """Solve ``(K_R' L K_R + lambda K_RR) a = K_R' L s``: RankRLS on a subset of regressors.

    Directions in which K_RR vanishes to working precision get no weight.

    Parameters
    ----------
    columns : ndarray of shape (b, n, r)
        Kernel K_R of all points with the points of the subset R.
    subset : ndarray of shape (b, r, r)
        Kernel K_RR of the subset.
    scores, lambdas, preferences
        See :func:`rls_path`.

    Returns
    -------
    ndarray of shape (b, k, r)
        Coefficients of the subset.
    """
    values, vectors = eigh(subset)
    floor = values[:, -1:] * (_EPS * subset.shape[-1])
    kept = values > floor
    inverse_root = np.where(kept, 1.0 / np.sqrt(np.where(kept, values, 1.0)), 0.0)
    whitening = vectors * inverse_root[:, None, :]
    features = preferences.root(np.matmul(columns, whitening))
    moment = np.matmul(features.swapaxes(1, 2), features)
    target = preferences.root_vectors(np.atleast_2d(scores))
    solved = _solve_shifted(moment, np.matmul(target[:, None, :], features), lambdas)
    return np.matmul(whitening, solved).swapaxes(1, 2)


def _rounding(kernel: Array, preferences: Preferences) -> Array:
    """Size of an eigenvalue of ``B K B'`` that may come from rounding in K, shape (b,).

    That is a bound of its norm times the root of the working precision: the entries of a wide
    kernel are nearly equal, and their differences keep few digits.
    """
    gain = np.abs(preferences.laplacian(np.eye(preferences.n_points))).sum(axis=0).max()
    return np.sqrt(_EPS) * gain * np.abs(kernel).max(axis=(1, 2))


def _solve_shifted(
    matrix: Array, right: Array, lambdas: ArrayLike, rounding: Array | None = None
) -> Array:
    """Solve ``(A + lambda I) x = y`` for all lambdas, with A positive semi-definite.

    Parameters
    ----------
    matrix : ndarray of shape (b, r, r)
    right : ndarray of shape (1, 1, r) or (b, 1, r)
    lambdas : array-like of shape (k,)
    rounding : ndarray of shape (b,), optional
        Negative eigenvalues of at most this size count as zero, and larger ones get no part in
        the solution. Default: all count as zero.

    Returns
    -------
    ndarray of shape (b, r, k)
    """
    values, vectors = eigh(matrix)
    along = np.matmul(right, vectors)[:, 0, :]
    if rounding is not None:
        along[values < -rounding[:, None]] = 0.0
    lambdas = np.asarray(lambdas)
    shifted = np.maximum(values, 0.0)[:, :, None] + lambdas
    noise = values.max(axis=1, initial=0.0, keepdims=True) * (_EPS * values.shape[1])
    if np.all(lambdas > noise):
        return np.matmul(vectors, along[:, :, None] / shifted)
    kept = (values > noise)[:, :, None] | (lambdas > noise)[:, None, :]
    shrunk = np.divide(along[:, :, None], shifted, out=np.zeros_like(shifted), where=kept)
    return np.matmul(vectors, shrunk)
