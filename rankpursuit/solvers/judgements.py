"""Judgements "i over j", one by one, repeated or contradicting each other, as one graph and scores.

A judgement of the weight w that the utility of point i is t above that of point j costs
``w (t - (f_i - f_j))^2``. The judgements of one pair of points add up to one edge with the sum of
their weights and the weighted mean of their differences, and a constant that no function changes.
With the weighted incidence matrix B of the edges and their differences d, both scaled by the roots
of the weights, the cost is ``|d - B f|^2``; the scores s that lie nearest, ``B'B s = B' d``, make
it ``|B s - B f|^2`` and another constant. So every solver for scores is one for judgements.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import cg, spsolve

Array = NDArray[np.float64]


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
    scores[free] = _solve(laplacian[free][:, free].tocsc(), right[free])
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


def _solve(matrix: sp.csc_array, right: Array) -> Array:
    """Solve a positive definite sparse system.

    A graph that conjugate gradients take long for is a long thin one, and its factor is sparse.
    """
    scale = sp.diags_array(1.0 / matrix.diagonal())
    solution, missed = cg(matrix, right, rtol=1e-14, atol=0.0, maxiter=1000, M=scale)
    return spsolve(matrix, right) if missed else solution
