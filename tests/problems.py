"""Small problems for the tests, from random numbers and from hypothesis, and dense references."""

from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from rankpursuit.kernels import gaussian_stack, squared_distances
from rankpursuit.preferences import GroupPreferences

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Problem:
    """Points with scores and groups, and a stack of Gaussian kernels over them."""

    points: Array
    scores: Array
    groups: NDArray[np.intp]
    kernel: Array

    @property
    def preferences(self) -> GroupPreferences:
        return GroupPreferences(self.groups)

    @property
    def laplacian(self) -> Array:
        return dense_laplacian(group_graph(self.groups))


def generic_problem(
    seed: int, n_points: int = 12, n_groups: int = 1, gammas: tuple[float, ...] = (0.3, 2.0)
) -> Problem:
    """A problem without ties or duplicates, whose greedy choices are unique."""
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(n_points, 3))
    groups = rng.permutation(np.arange(n_points) % n_groups)
    kernel = gaussian_stack(squared_distances(points), gammas)
    return Problem(points, rng.normal(size=n_points), groups, kernel)


@st.composite
def ranking_problems(draw: st.DrawFn, max_points: int = 7) -> Problem:
    """Draw a problem that may have two points, duplicates, ties, equal scores, lone points."""
    n_points = draw(st.integers(2, max_points))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    points = draw(
        st.sampled_from(
            [
                rng.normal(size=(n_points, 2)),
                rng.integers(-1, 2, size=(n_points, 2)).astype(float),  # duplicates
                np.ones((n_points, 2)),  # all kernel columns are constant
            ]
        )
    )
    scores = draw(
        st.sampled_from(
            [
                rng.normal(size=n_points),
                rng.integers(1, 4, size=n_points).astype(float),  # ties
                np.full(n_points, 0.1),
            ]
        )
    )
    groups = draw(
        st.sampled_from(
            [
                np.zeros(n_points, dtype=np.intp),
                np.minimum(np.arange(n_points), 1),  # the first point is alone
                rng.integers(0, 3, size=n_points),
            ]
        )
    )
    return Problem(points, scores, groups, gaussian_stack(squared_distances(points), [0.1, 1.0]))


@st.composite
def dictionaries(draw: st.DrawFn) -> tuple[Array, Array]:
    """Draw a stack of two dictionaries of small integers, and a target.

    Zero columns, duplicate and dependent columns, and targets of zero are frequent.
    """
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_rows, n_columns = draw(st.integers(1, 5)), draw(st.integers(1, 7))
    largest = draw(st.integers(0, 2))
    columns = rng.integers(-largest, largest + 1, size=(2, n_rows, n_columns)).astype(float)
    return columns, rng.integers(-2, 3, size=n_rows).astype(float)


def group_graph(groups: NDArray) -> Array:
    """Adjacency matrix W of all pairs inside the groups."""
    n = len(groups)
    graph = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            if i != j and groups[i] == groups[j]:
                graph[i, j] = 1.0
    return graph


def pair_graph(n_points: int, pairs: NDArray, weights: NDArray) -> Array:
    """Adjacency matrix W of explicit weighted pairs."""
    graph = np.zeros((n_points, n_points))
    for (i, j), weight in zip(pairs, weights, strict=True):
        graph[i, j] = graph[j, i] = weight
    return graph


def dense_laplacian(graph: Array) -> Array:
    """Laplacian ``D - W`` of an adjacency matrix."""
    n = len(graph)
    result = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            result[i, j] -= graph[i, j]
            result[i, i] += graph[i, j]
    return result


def ranking_cost(graph: Array, difference: Array) -> float:
    """The paper's cost, one half of the sum of ``W_ij (r_i - r_j)^2`` over all i and j."""
    return float(0.5 * np.sum(graph * np.subtract.outer(difference, difference) ** 2))


def least_squares(columns: Array, target: Array) -> Array:
    """Coefficients of the least-squares fit."""
    return np.linalg.lstsq(columns, target, rcond=None)[0]
