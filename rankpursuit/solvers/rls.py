"""Regularised least squares on points (RLS) and on pairs (RankRLS): all lambdas at once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from rankpursuit.kernels import function_values
from rankpursuit.preferences import Preferences
from rankpursuit.solvers.pursuit.ridge import positive_part
from rankpursuit.solvers.shifted import EPS, solve_shifted
from rankpursuit.solvers.whitening import whitening

Array = NDArray[np.float64]


def rls_path(kernel: Array, scores: Array, lambdas: ArrayLike, preferences: Preferences) -> Array:
    """Solve ``(L K + lambda I) a = L s`` for many lambdas and a stack of kernels.

    With ``L = B'B`` the solution is ``a = B' u`` with ``(B K B' + lambda I) u = B s``: one
    tridiagonal form for each kernel serves all lambdas. `Pointwise` preferences make L the
    identity, which is RLS; a preference graph makes it RankRLS. Directions in which a kernel is
    truly negative get no weight.

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
    rooted = preferences.root(preferences.root(kernel).swapaxes(1, 2)).swapaxes(1, 2)
    target = preferences.root_vectors(np.atleast_2d(scores))
    rounding = _rounding(kernel, preferences)
    solved = solve_shifted(rooted, target, lambdas, rounding)
    return preferences.root_transpose(solved.swapaxes(1, 2)).swapaxes(1, 2)


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
    columns: Array,
    subset: Array,
    scores: Array,
    lambdas: ArrayLike,
    preferences: Preferences,
    *,
    positive: bool = True,
) -> Array:
    """Solve ``(K_R' L K_R + lambda K_RR) a = K_R' L s``: RankRLS on a subset of regressors.

    One subset R, see :func:`nested_rls_path`.

    Parameters
    ----------
    columns : ndarray of shape (b, n, r)
    subset : ndarray of shape (b, r, r)
    scores, lambdas, preferences
        See :func:`rls_path`.
    positive : bool, default True
        See :func:`nested_rls_path`.

    Returns
    -------
    ndarray of shape (b, k, r)
        Coefficients of the subset.
    """
    sizes = [subset.shape[2]]
    return nested_rls_path(columns, subset, sizes, scores, lambdas, preferences, positive=positive)[
        :, 0
    ]


def nested_rls_path(
    columns: Array,
    subset: Array,
    sizes: Sequence[int],
    scores: Array,
    lambdas: ArrayLike,
    preferences: Preferences,
    *,
    positive: bool = True,
) -> Array:
    """Solve ``(K_R' L K_R + lambda K_RR) a = K_R' L s`` for many subsets R of regressors.

    The subsets are the leading points of one order, and share one Cholesky factor of K_RR. A
    point whose kernel function depends, to working precision, on those of the points before it
    gets no weight: where K_RR is singular the solution is one of many with the same function.

    Parameters
    ----------
    columns : ndarray of shape (b, n, r)
        Kernel K_R of all points with the points of the largest subset.
    subset : ndarray of shape (b, r, r)
        Kernel K_RR of the largest subset.
    sizes : sequence of s ints
        Sizes of the subsets, from 1 to r.
    scores, lambdas, preferences
        See :func:`rls_path`.
    positive : bool, default True
        Whether the kernels are known to be positive semi-definite. Where not, negative
        eigenvalues of each K_RR count as 0, and the subsets share nothing.

    Returns
    -------
    ndarray of shape (b, s, k, r)
        Coefficients, zero behind those of a subset.
    """
    lambdas = np.asarray(lambdas, dtype=np.float64)
    solved = np.zeros((len(columns), len(sizes), len(lambdas), subset.shape[2]))
    if not positive:
        for index, size in enumerate(sizes):
            own, kernel = columns[:, :, :size], positive_part(subset[:, :size, :size])
            path = nested_rls_path(own, kernel, [size], scores, lambdas, preferences)
            solved[:, index, :, :size] = path[:, 0]
        return solved
    orthonormal = whitening(subset)
    features = preferences.root(np.matmul(columns, orthonormal))
    moment = np.matmul(features.swapaxes(1, 2), features)
    target = preferences.root_vectors(np.atleast_2d(scores))
    right = np.matmul(target[:, None, :], features)[:, 0]
    for index, size in enumerate(sizes):
        solved[:, index, :, :size] = solve_shifted(
            moment[:, :size, :size], right[:, :size], lambdas
        )
    return function_values(orthonormal, solved)


def _rounding(kernel: Array, preferences: Preferences) -> Array:
    """Size of an eigenvalue of ``B K B'`` that may come from rounding in K, shape (b,).

    That is a bound of its norm times the root of the working precision: the entries of a wide
    kernel are nearly equal, and their differences keep few digits.
    """
    gain = np.abs(preferences.laplacian(np.eye(preferences.n_points))).sum(axis=0).max()
    size = np.maximum(kernel.max(axis=(1, 2)), -kernel.min(axis=(1, 2)))
    return np.sqrt(EPS) * gain * size
