import numpy as np
import pytest
from problems import generic_problem
from rank_svm_references import differences_by_loops, ordered

from rankpursuit.preferences import GroupPreferences
from rankpursuit.solvers import OrderedPairs


def test_ties_make_no_pair():
    scores = np.array([1.0, 2.0, 2.0, 3.0])
    pairs = OrderedPairs.of_scores(scores, GroupPreferences.single(4).pairs())
    assert pairs.n_pairs == 5
    margins = pairs.margins(scores[None])
    assert sorted(margins[0].tolist()) == [1.0, 1.0, 1.0, 1.0, 2.0]
    assert np.array_equal(pairs.bias, np.where(scores[:, None] > scores, 1.0, -np.inf))


def assert_applies(pairs, rows):
    """The operators of the pairs are those of the matrix with these rows ``e_i - e_j``."""
    rng = np.random.default_rng(1)
    values, amounts = rng.normal(size=(3, pairs.n_points)), rng.random(size=(3, pairs.n_pairs))
    np.testing.assert_allclose(pairs.margins(values), values @ rows.T)
    np.testing.assert_allclose(pairs.gather(amounts), amounts @ rows)
    for b in range(3):
        expected = rows.T @ np.diag(amounts[b]) @ rows
        np.testing.assert_allclose(pairs.laplacian(amounts)[b], expected, atol=1e-14)


def test_pairs_of_scores_apply_the_matrix_of_the_pairs():
    problem = generic_problem(13, n_points=6, n_groups=2)
    pairs = ordered(problem)
    rows = pairs.margins(np.eye(6)).T
    expected = differences_by_loops(problem.scores, problem.groups)
    assert sorted(rows.tolist()) == sorted(expected.tolist())
    assert_applies(pairs, rows)


def test_explicit_pairs_apply_the_matrix_of_the_pairs_contradictions_too():
    listed = [[0, 2], [3, 1], [2, 0], [1, 2]]
    rows = np.zeros((4, 5))
    for row, (i, j) in zip(rows, listed, strict=True):
        row[i], row[j] = 1.0, -1.0
    assert_applies(OrderedPairs(5, listed), rows)


def test_weights_are_those_of_the_pairs_and_ones_by_default():
    listed, weights = [[0, 2], [2, 0], [1, 2]], np.array([0.5, 3.0, 2.0])
    weighted, plain = OrderedPairs(3, listed, weights), OrderedPairs(3, listed)
    expected = np.zeros((3, 3))
    expected[0, 2], expected[2, 0], expected[1, 2] = weights
    assert np.array_equal(weighted.weight_matrix, expected)
    assert np.array_equal(plain.weight_matrix, expected > 0.0)
    assert np.array_equal(weighted.bias == 1.0, expected > 0.0)
    assert np.array_equal(weighted.weighted(np.full((1, 3), 2.0)), [2.0 * weights])
    assert np.array_equal(plain.weighted(np.full((1, 3), 2.0)), np.full((1, 3), 2.0))


def test_no_pair_at_all_is_allowed():
    pairs = OrderedPairs(3, [], [])
    assert pairs.n_pairs == 0
    assert pairs.margins(np.ones((2, 3))).shape == (2, 0)


@pytest.mark.parametrize(
    ("listed", "message"),
    [
        ([[0, 1], [2, 3], [0, 1]], r"the pair \(0, 1\) occurs twice; give it once"),
        ([[0, 1], [2, 2]], "point 2 cannot be preferred to itself"),
        ([[0, 1], [2, 4]], "expected point indices from 0 to 3"),
        ([[0, -1]], "expected point indices from 0 to 3"),
    ],
)
def test_pairs_that_make_no_sense_are_refused(listed, message):
    with pytest.raises(ValueError, match=f"ordered: {message}"):
        OrderedPairs(4, listed)


@pytest.mark.parametrize("weight", [0.0, -1.0, np.nan, np.inf])
def test_weights_that_are_not_positive_are_refused(weight):
    with pytest.raises(ValueError, match=f"weights: expected positive .* got {weight} for pair 1"):
        OrderedPairs(3, [[0, 1], [1, 2]], [1.0, weight])


def test_wrong_number_of_weights_is_refused():
    with pytest.raises(ValueError, match=r"weights: expected 2, one for each pair; got \(3,\)"):
        OrderedPairs(3, [[0, 1], [1, 2]], np.ones(3))


def test_pair_of_scores_given_twice_is_refused():
    with pytest.raises(ValueError, match=r"the pair \(1, 0\) occurs twice"):
        OrderedPairs.of_scores(np.array([1.0, 2.0]), np.array([[0, 1], [1, 0]]))
