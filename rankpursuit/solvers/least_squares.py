"""Regularised least squares on points (RLS) and on pairs (RankRLS), for many lambdas at once.

With `Pointwise` preferences the form L is the identity, which is RLS; a preference graph gives
RankRLS. Kernel functions are solved for their coefficients, linear ones for the weights of the
features. The last part converts judgements "i over j" to scores, by least squares on the graph of
the judgements, so that every solver for scores can be used for judgements too.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import LinAlgError, LinAlgWarning, cho_factor, cho_solve, lstsq, orth, solve
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import LinearOperator, cg, lsqr, spsolve

from rankpursuit.kernels import function_values
from rankpursuit.preferences import Preferences
from rankpursuit.solvers._linalg import EPS, solve_shifted, whitening

Array = NDArray[np.float64]
Features = Any
"""A dense or a sparse array of shape (n, d)."""

_MAX_DENSE = 4096
"""Sparse problems with more features and more rows than this are solved by LSQR."""
_MOMENT_COLUMNS = 16
"""Columns processed at a time."""


# Kernel functions


def rls_path(kernel: Array, scores: Array, lambdas: ArrayLike, preferences: Preferences) -> Array:
    """Solve ``(L K + lambda I) a = L s`` for k lambdas and b kernels: coefficients (b, k, n).

    With ``L = B'B`` the solution is ``a = B' u`` with ``(B K B' + lambda I) u = B s``: one
    tridiagonal form for each kernel serves all lambdas.

    Parameters
    ----------
    kernel : ndarray of shape (b, n, n)
        Symmetric; an indefinite kernel is solved as it is, as by `KernelRidge`.
    scores : ndarray of shape (n,) or (b, n)
    lambdas : array-like of shape (k,)
        Positive. If one is below the rounding error of the largest eigenvalue, directions whose
        eigenvalues are below that too get no weight.
    preferences : Preferences
        Preferences over the n points.
    """
    preferences = preferences.square_root()
    rooted = preferences.root(preferences.root(kernel).swapaxes(1, 2)).swapaxes(1, 2)
    target = preferences.root_vectors(np.atleast_2d(scores))
    solved = solve_shifted(rooted, target, lambdas)
    return preferences.root_transpose(solved.swapaxes(1, 2)).swapaxes(1, 2)


def rls_solution(kernel: Array, scores: Array, lam: float, preferences: Preferences) -> Array:
    """Solve the system of :func:`rls_path` for one kernel (n, n) and one lambda: (n,).

    Uses a Cholesky factor, or :func:`rls_path` if the matrix is not positive definite.
    """
    form = preferences.square_root()
    half = form.root(kernel)
    system = form.root(np.array(half.T, order="C"))  # a copy, which is overwritten
    system.flat[:: len(system) + 1] += lam
    try:
        factor = cho_factor(system, overwrite_a=True, check_finite=False)
    except LinAlgError:
        return rls_path(kernel[None], scores, [lam], preferences)[0, 0]
    return form.root_transpose(cho_solve(factor, form.root(scores), check_finite=False))


def nested_rls_path(
    columns: Array,
    subset: Array,
    sizes: Sequence[int],
    scores: Array,
    lambdas: ArrayLike,
    preferences: Preferences,
) -> Array:
    """Solve ``(K_R' L K_R + lambda K_RR) a = K_R' L s`` for nested subsets R of regressors.

    The subsets are the leading points of one order, and share one Cholesky factor of K_RR. A
    point whose kernel function depends, to working precision, on those of the points before it
    gets no weight: if K_RR is singular the solution is one of many with the same function.

    `columns`, (b, n, r), is the kernel K_R of all points with those of the largest subset, and
    `subset`, (b, r, r), that of the largest subset, positive semi-definite. The coefficients for s
    sizes, from 1 to r, and k lambdas have the shape (b, s, k, r), zero beyond each size.
    """
    lambdas = np.asarray(lambdas, dtype=np.float64)
    solved = np.zeros((len(columns), len(sizes), len(lambdas), subset.shape[2]))
    target = preferences.root_vectors(np.atleast_2d(scores))
    # A nonzero function without a positive norm: the kernel is not positive semi-definite.
    if np.any((np.einsum("bii->bi", subset) <= 0.0) & columns.any(axis=1)):
        rooted = preferences.root(columns)
        gram = np.matmul(rooted.swapaxes(1, 2), rooted)
        right = np.matmul(target[:, None, :], rooted).swapaxes(1, 2)[:, None]
        systems = gram[:, None] + lambdas[:, None, None] * subset[:, None]
        for index, size in enumerate(sizes):
            inverse = np.linalg.pinv(systems[..., :size, :size], hermitian=True)
            solved[:, index, :, :size] = np.matmul(inverse, right[:, :, :size])[..., 0]
        return solved
    orthonormal = whitening(subset)
    features = preferences.root(np.matmul(columns, orthonormal))
    moments = np.matmul(features.swapaxes(1, 2), features)
    right = np.matmul(target[:, None, :], features)[:, 0]
    for index, size in enumerate(sizes):
        solved[:, index, :, :size] = solve_shifted(
            moments[:, :size, :size], right[:, :size], lambdas
        )
    return function_values(orthonormal, solved)


# Linear functions


def linear_kernel(X: Features, Y: Features) -> Array:
    """Return ``X Y'`` as a dense array."""
    products = X @ Y.T
    return products.toarray() if sp.issparse(products) else products


def moment(X: Features, form: Callable[[Array], Array]) -> Array:
    """Return ``X' L X``, (d, d), of a symmetric form L; `form` returns ``L x`` of x (n, k)."""
    columns, n_features = X.tocsc() if sp.issparse(X) else X, X.shape[1]
    result = np.empty((n_features, n_features))
    for start in range(0, n_features, _MOMENT_COLUMNS):
        some = columns[:, start : start + _MOMENT_COLUMNS]
        dense = some.toarray() if sp.issparse(some) else np.ascontiguousarray(some)
        result[:, start : start + _MOMENT_COLUMNS] = X.T @ form(dense)
    return 0.5 * (result + result.T)


def rls_weights(X: Features, scores: Array, lam: float, preferences: Preferences) -> Array:
    """Minimise ``|B s - B X w|^2 + lambda |w|^2``: ``(X' L X + lambda I) w = X' L s``.

    `X`, (n, d), may be sparse; the weights have the shape (d,).
    """
    if sp.issparse(X) and min(X.shape) > _MAX_DENSE:
        return _by_lsqr(X, scores, lam, preferences)
    if X.shape[1] >= X.shape[0]:
        return X.T @ rls_solution(linear_kernel(X, X), scores, lam, preferences)
    if sp.issparse(X):
        system, right = moment(X, preferences.laplacian), X.T @ preferences.laplacian(scores)
    else:
        form = preferences.smallest_root(X.shape[1])
        rooted = form.root(X)
        system, right = rooted.T @ rooted, rooted.T @ form.root(scores)
    system.flat[:: len(system) + 1] += lam
    # With a unit diagonal, features in small units are not mistaken for rounding errors.
    scale = np.sqrt(np.diagonal(system))
    system, right = system / scale / scale[:, None], right / scale
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", LinAlgWarning)
            return solve(system, right, assume_a="pos") / scale
    except (LinAlgError, LinAlgWarning):  # singular to working precision
        return lstsq(system, right, cond=EPS * len(system))[0] / scale


def sparse_rls_weights(
    X: Features, subset: NDArray[np.intp], scores: Array, lam: float, preferences: Preferences
) -> Array:
    """Minimise the cost of :func:`rls_weights` over ``w = X_R' a`` for a subset R of points."""
    points = X[subset]
    if points.shape[0] < points.shape[1]:
        values, vectors = np.linalg.eigh(linear_kernel(points, points))
        kept = values > values[-1] * EPS * len(values)
        basis = points.T @ (vectors[:, kept] / np.sqrt(values[kept]))
    else:
        basis = orth((points.toarray() if sp.issparse(points) else points).T)
    if basis.shape[0] == basis.shape[1]:
        return rls_weights(X, scores, lam, preferences)
    return basis @ rls_weights(X @ basis, scores, lam, preferences)


def _by_lsqr(X: Features, scores: Array, lam: float, preferences: Preferences) -> Array:
    """Solve by LSQR, which needs only products with `X` and the root."""
    target = preferences.root(scores)
    operator = LinearOperator(
        (len(target), X.shape[1]),
        matvec=lambda w: preferences.root(X @ w.ravel()),
        rmatvec=lambda r: X.T @ preferences.root_transpose(r.ravel()),
        dtype=np.float64,
    )
    return lsqr(operator, target, np.sqrt(lam), atol=1e-12, btol=1e-12, iter_lim=10_000)[0]


# Judgements


@dataclass(frozen=True)
class Edges:
    """Edges of a preference graph: the judgements about each pair, added up.

    A judgement of weight w that point i is t above point j costs ``w (t - (f_i - f_j))^2``. Those
    of one pair add up to one edge with the sum of their weights, the weighted mean of their
    differences, and a constant. With the weighted incidence matrix B of the edges the cost is
    ``|d - B f|^2``; the nearest scores s, ``B'B s = B' d``, make it ``|B s - B f|^2``.

    `pairs`, (e, 2), has the smaller index first. In `differences`, (e,), a judgement that prefers
    the first point counts +1, and the opposite one -1.
    """

    pairs: NDArray[np.intp]
    weights: Array
    differences: Array


def add_up(pairs: NDArray[np.intp], weights: Array) -> Edges:
    """Add up the judgements, rows (i, j) with i preferred to j, of each pair of points."""
    unordered, rising = np.sort(pairs, axis=1), pairs[:, 0] < pairs[:, 1]
    edges, sums = add_up_ordered(unordered, weights)
    _, signed = add_up_ordered(unordered, np.where(rising, weights, -weights))
    return Edges(edges, sums, signed / sums)


def add_up_ordered(pairs: NDArray[np.intp], weights: Array) -> tuple[NDArray[np.intp], Array]:
    """Return the distinct rows of `pairs`, (p, 2), and the total weight of each."""
    distinct, which = np.unique(pairs, axis=0, return_inverse=True)
    sums = np.bincount(which.reshape(-1), weights, len(distinct))
    return distinct, sums.astype(np.float64)


def nearest_scores(n_points: int, edges: Edges) -> Array:
    """Return the scores whose differences along the edges are nearest to those of the judgements.

    They minimise ``sum w_ij (d_ij - (s_i - s_j))^2``, and are 0 at the first point of each
    connected component.
    """
    (first, second), graph = edges.pairs.T, _graph(n_points, edges)
    laplacian = sp.diags_array(graph.sum(axis=1)).tocsr() - graph
    flow = edges.weights * edges.differences
    right = np.bincount(first, flow, n_points) - np.bincount(second, flow, n_points)
    free = _first_connected(graph) != np.arange(n_points)
    matrix, right = laplacian[free][:, free].tocsc(), right[free]
    # Graphs on which conjugate gradients converge slowly are long and thin: a factor is sparse.
    diagonal = sp.diags_array(1.0 / matrix.diagonal())
    solution, missed = cg(matrix, right, rtol=1e-14, atol=0.0, maxiter=1000, M=diagonal)
    scores = np.zeros(n_points)
    scores[free] = spsolve(matrix, right) if missed else solution
    return scores


def grounded(scores: Array, edges: Edges) -> Array:
    """Shift the scores (n,) of each connected component so that its first point has 0."""
    return scores - scores[_first_connected(_graph(len(scores), edges))]


def _graph(n_points: int, edges: Edges) -> sp.csr_array:
    half = sp.coo_array((edges.weights, tuple(edges.pairs.T)), shape=(n_points, n_points)).tocsr()
    return half + half.T


def _first_connected(graph: sp.csr_array) -> NDArray[np.intp]:
    """Return the first point of each point's connected component."""
    _, component = connected_components(graph, directed=False)
    return np.unique(component, return_index=True)[1][component]
