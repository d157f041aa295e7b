import numpy as np
import pytest
from problems import generic_problem
from rank_svm_references import Cs, best_hinge, differences_by_loops, objective, ordered

from rankpursuit.solvers import OrderedPairs, rank_svm_path


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("n_groups", [1, 3])
def test_hinge_objective_is_within_a_thousandth_of_svc_on_the_pairs(seed, n_groups):
    problem = generic_problem(seed, n_points=14, n_groups=n_groups)
    rows = differences_by_loops(problem.scores, problem.groups)
    path = rank_svm_path(problem.kernel, ordered(problem), Cs)
    assert path.coefficients.shape == (2, 3, 14)
    for c, C in enumerate(Cs):
        for i, kernel in enumerate(problem.kernel):
            theirs = objective(kernel, rows, best_hinge(kernel, rows, C), C, "hinge")
            assert path.objective[i, c] == pytest.approx(theirs, rel=1e-3)


def test_hinge_solved_to_a_small_gap_is_the_solution_of_svc():
    problem = generic_problem(3, n_points=14)
    rows = differences_by_loops(problem.scores, problem.groups)
    path = rank_svm_path(problem.kernel, ordered(problem), Cs, tol=1e-9)
    assert np.all(path.gap <= 1e-9)
    for c, C in enumerate(Cs):
        for i, kernel in enumerate(problem.kernel):
            fit = kernel @ best_hinge(kernel, rows, C)
            np.testing.assert_allclose(kernel @ path.coefficients[i, c], fit, atol=1e-3)


def test_hinge_with_every_pair_at_its_bound_is_solved_without_a_step():
    problem = generic_problem(7, n_points=10, n_groups=2)
    pairs = ordered(problem)
    path = rank_svm_path(problem.kernel, pairs, [1e-3], max_iter=0)
    assert np.all(path.gap <= 1e-12)
    expected = pairs.gather(np.full((1, pairs.n_pairs), 1e-3))[0]
    np.testing.assert_allclose(
        path.coefficients[:, 0], [expected] * len(problem.kernel), atol=1e-15
    )


def test_hinge_with_every_weighted_pair_at_its_bound_is_solved_without_a_step():
    problem = generic_problem(7, n_points=10)
    listed = problem.preferences.pairs()
    weights = np.random.default_rng(0).uniform(0.5, 2.0, size=len(listed))
    pairs = OrderedPairs(10, listed, weights)
    path = rank_svm_path(problem.kernel, pairs, [1e-3], max_iter=0)
    assert np.all(path.gap <= 1e-12)
    expected = pairs.gather(1e-3 * weights[None])[0]
    np.testing.assert_allclose(path.coefficients[:, 0], [expected] * 2, atol=1e-15)
