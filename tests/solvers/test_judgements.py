import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from problems import SMALL

from rankpursuit.solvers.least_squares import Edges, add_up, grounded, nearest_scores


@st.composite
def judgements(draw):
    """Draw judgements about few points: repeated, both ways, not connected."""
    n_points = draw(st.integers(2, 7))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_pairs = draw(st.integers(1, 12))
    first = rng.integers(0, n_points, size=n_pairs)
    pairs = np.column_stack([first, (first + rng.integers(1, n_points, size=n_pairs)) % n_points])
    return n_points, pairs, rng.uniform(0.1, 3.0, size=n_pairs)


def dense_rows(n_points, pairs, weights):
    """One row ``sqrt(w) (e_i - e_j)`` for each judgement."""
    rows = np.zeros((len(pairs), n_points))
    for row, (i, j), weight in zip(rows, pairs, weights, strict=True):
        row[i], row[j] = np.sqrt(weight), -np.sqrt(weight)
    return rows


@SMALL
@given(judgements(), st.integers(0, 9))
def test_added_up_judgements_cost_the_same_but_for_a_constant(problem, seed):
    n_points, pairs, weights = problem
    edges = add_up(pairs, weights)
    assert (edges.pairs[:, 0] < edges.pairs[:, 1]).all()
    assert len(np.unique(edges.pairs, axis=0)) == len(edges.pairs)

    def cost(pairs, weights, differences, f):
        return np.sum(weights * (differences - (f[pairs[:, 0]] - f[pairs[:, 1]])) ** 2)

    f, g = np.random.default_rng(seed).normal(size=(2, n_points))
    apart = [
        cost(pairs, weights, 1.0, values)
        - cost(edges.pairs, edges.weights, edges.differences, values)
        for values in (f, g)
    ]
    assert apart[0] == pytest.approx(apart[1], abs=1e-10)


@SMALL
@given(judgements())
def test_nearest_scores_are_the_least_squares_solution(problem):
    n_points, pairs, weights = problem
    rows = dense_rows(n_points, pairs, weights)
    expected = np.linalg.lstsq(rows, np.sqrt(weights), rcond=None)[0]
    scores = nearest_scores(n_points, add_up(pairs, weights))
    np.testing.assert_allclose(rows @ scores, rows @ expected, atol=1e-10)


def test_judges_who_disagree_meet_at_the_weighted_mean():
    edges = add_up(np.array([(2, 0), (0, 2), (2, 0)]), np.array([1.0, 0.5, 2.5]))
    assert edges.pairs.tolist() == [[0, 2]]
    assert edges.weights.tolist() == [4.0]
    assert edges.differences.tolist() == [-0.75]
    assert nearest_scores(3, edges).tolist() == [0.0, 0.0, 0.75]


@pytest.mark.parametrize("n_points", [50, 3000])
def test_scores_along_a_chain_rise_by_one(n_points):
    """The long one is too much for conjugate gradients and is solved directly."""
    pairs = np.column_stack([np.arange(1, n_points), np.arange(n_points - 1)])
    scores = nearest_scores(n_points, add_up(pairs, np.ones(n_points - 1)))
    np.testing.assert_allclose(scores, np.arange(n_points), rtol=1e-8)


def test_grounded_scores_start_from_zero_in_each_connected_part():
    edges = Edges(np.array([(0, 3), (1, 2)]), np.ones(2), np.ones(2))
    scores = grounded(np.array([5.0, 100.0, 103.0, 7.0, 9.0]), edges)
    assert scores.tolist() == [0.0, 0.0, 3.0, 2.0, 0.0]
