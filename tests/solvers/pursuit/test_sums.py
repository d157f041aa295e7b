import numpy as np
import pytest
from problems import generic_problem

from rankpursuit.preferences import GroupPreferences
from rankpursuit.solvers.pursuit import GramSums


def sums_of(problem, rows, candidates, weight="pairs"):
    found = GramSums.empty(len(problem.kernel), len(candidates))
    form = GroupPreferences(problem.groups[rows], weight)
    for number, kernel in enumerate(problem.kernel):
        found.add(number, kernel[np.ix_(rows, candidates)], problem.scores[rows], form)
    return found


@pytest.mark.parametrize("weight", ["pairs", "equal"])
def test_sums_over_blocks_of_groups_are_those_of_all_rows(weight):
    problem = generic_problem(0, n_points=20, n_groups=4)
    candidates = np.array([0, 3, 5, 11])
    every = np.arange(20)
    whole = sums_of(problem, every, candidates, weight)
    blocks = [np.flatnonzero(np.isin(problem.groups, part)) for part in ([2], [0, 3], [1])]
    parts = [sums_of(problem, rows, candidates, weight) for rows in blocks]
    added = parts[0] + parts[1] + parts[2]
    without = whole - parts[1]
    for found, expected in ((added, whole), (without, parts[0] + parts[2])):
        np.testing.assert_allclose(found.gram, expected.gram, atol=1e-12)
        np.testing.assert_allclose(found.products, expected.products, atol=1e-12)
        assert found.square == pytest.approx(expected.square)
        assert found.n_rows == expected.n_rows


def test_sums_are_the_quadratic_forms_of_the_laplacian():
    problem = generic_problem(1, n_points=9, n_groups=2, gammas=(0.7,))
    found = sums_of(problem, np.arange(9), np.arange(9))
    K, L, s = problem.kernel[0], problem.laplacian, problem.scores
    np.testing.assert_allclose(found.gram[0], K.T @ L @ K, atol=1e-12)
    np.testing.assert_allclose(found.products[0], K.T @ L @ s, atol=1e-12)
    assert found.square == pytest.approx(s @ L @ s)
