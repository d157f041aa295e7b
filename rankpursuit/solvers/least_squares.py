"""Regularised least squares."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import LinAlgError, LinAlgWarning, cho_factor, cho_solve
from scipy.linalg import solve as solve_dense
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import LinearOperator, cg, lsqr, spsolve

from rankpursuit.kernels import function_values
from rankpursuit.preferences import Preferences
from rankpursuit.solvers._linalg import EPS, eigh, solve_shifted, whitening
from rankpursuit.solvers.pursuit import positive_part

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


@dataclass(frozen=True)
class Edges:
    """Judgements added up: the edges of a preference graph.

    Attributes
    ----------
    pairs : ndarray of shape (e, 2)
        The two points of each edge, the smaller index first, each pair once.
    weights : ndarray of shape (e,)
        Sum of the weights of the edge's judgements.
    differences : ndarray of shape (e,)
        Weighted mean of +1 for each judgement that prefers the first point, -1 for the others.
    """

    pairs: NDArray[np.intp]
    weights: Array
    differences: Array


def add_up(pairs: NDArray[np.intp], weights: Array) -> Edges:
    """Add up the judgements of each pair of points.

    Parameters
    ----------
    pairs : ndarray of shape (p, 2)
        A row (i, j) says that point i is preferred to point j.
    weights : ndarray of shape (p,)
        Positive.
    """
    unordered, rising = np.sort(pairs, axis=1), pairs[:, 0] < pairs[:, 1]
    edges, sums = add_up_ordered(unordered, weights)
    _, signed = add_up_ordered(unordered, np.where(rising, weights, -weights))
    return Edges(edges, sums, signed / sums)


def add_up_ordered(pairs: NDArray[np.intp], weights: Array) -> tuple[NDArray[np.intp], Array]:
    """Add up the weights of equal rows; (i, j) and (j, i) are not equal.

    Parameters
    ----------
    pairs : ndarray of shape (p, 2)
    weights : ndarray of shape (p,)

    Returns
    -------
    pairs : ndarray of shape (q, 2)
        Each row once.
    weights : ndarray of shape (q,)
    """
    distinct, which = np.unique(pairs, axis=0, return_inverse=True)
    sums = np.bincount(which.reshape(-1), weights, len(distinct))
    return distinct, sums.astype(np.float64)


def nearest_scores(n_points: int, edges: Edges) -> Array:
    """Scores whose differences along the edges come nearest to those of the judgements.

    Parameters
    ----------
    n_points : int
    edges : Edges

    Returns
    -------
    ndarray of shape (n_points,)
        Scores s that minimise ``sum w_ij (d_ij - (s_i - s_j))^2``; those of :func:`grounded`.
    """
    (first, second), graph = edges.pairs.T, _graph(n_points, edges)
    laplacian = sp.diags_array(graph.sum(axis=1)).tocsr() - graph
    flow = edges.weights * edges.differences
    right = np.bincount(first, flow, n_points) - np.bincount(second, flow, n_points)
    free = _first_connected(graph) != np.arange(n_points)
    scores = np.zeros(n_points)
    scores[free] = _solve_sparse(laplacian[free][:, free].tocsc(), right[free])
    return scores


def grounded(scores: Array, edges: Edges) -> Array:
    """Scores without the level that no comparison sees.

    Parameters
    ----------
    scores : ndarray of shape (n,)
    edges : Edges

    Returns
    -------
    ndarray of shape (n,)
        The same differences between points that a path of edges connects; the first point of
        each connected part has the score 0.
    """
    return scores - scores[_first_connected(_graph(len(scores), edges))]


def _graph(n_points: int, edges: Edges) -> sp.csr_array:
    half = sp.coo_array((edges.weights, tuple(edges.pairs.T)), shape=(n_points, n_points)).tocsr()
    return half + half.T


def _first_connected(graph: sp.csr_array) -> NDArray[np.intp]:
    """Return for each point the first of the points that it is connected with."""
    _, part = connected_components(graph, directed=False)
    return np.unique(part, return_index=True)[1][part]


def _solve_sparse(matrix: sp.csc_array, right: Array) -> Array:
    """Solve a positive definite sparse system.

    A graph that conjugate gradients take long for is a long thin one, and its factor is sparse.
    """
    scale = sp.diags_array(1.0 / matrix.diagonal())
    solution, missed = cg(matrix, right, rtol=1e-14, atol=0.0, maxiter=1000, M=scale)
    return spsolve(matrix, right) if missed else solution
