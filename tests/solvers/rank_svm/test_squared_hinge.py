import numpy as np
import pytest
from problems import generic_problem
from rank_svm_references import Cs, best_squared_hinge, differences_by_loops, ordered
from sklearn.svm import LinearSVC

from rankpursuit.solvers import rank_svm as squared_hinge
from rankpursuit.solvers import rank_svm_path


@pytest.mark.parametrize("n_groups", [1, 3])
def test_squared_hinge_objective_is_the_minimum_of_the_primal(n_groups):
    problem = generic_problem(4, n_points=14, n_groups=n_groups)
    rows = differences_by_loops(problem.scores, problem.groups)
    path = rank_svm_path(problem.kernel, ordered(problem), Cs, loss="squared_hinge", tol=1e-9)
    for c, C in enumerate(Cs):
        for i, kernel in enumerate(problem.kernel):
            theirs = best_squared_hinge(kernel, rows, C)
            assert path.objective[i, c] == pytest.approx(theirs, rel=1e-7)


def test_squared_hinge_with_a_linear_kernel_is_linear_svc():
    problem = generic_problem(5, n_points=10)
    rows = differences_by_loops(problem.scores, problem.groups)
    kernel = problem.points @ problem.points.T
    path = rank_svm_path(kernel[None], ordered(problem), Cs, loss="squared_hinge", tol=1e-9)
    X = rows @ problem.points
    for c, C in enumerate(Cs):
        # Half of the pairs turned round, for LinearSVC wants two classes.
        signs = np.where(np.arange(len(X)) % 2, 1.0, -1.0)
        svc = LinearSVC(C=C, fit_intercept=False, tol=1e-10, max_iter=1_000_000)
        svc.fit(signs[:, None] * X, signs)
        ours = problem.points.T @ path.coefficients[0, c]
        np.testing.assert_allclose(ours, svc.coef_[0], rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("seed", [118, 125, 179])
def test_squared_hinge_halves_the_steps_that_would_raise_the_objective(seed, monkeypatch):
    problem = generic_problem(seed, n_points=10)
    pairs = [ordered(problem)] * 2

    def rises():
        paths = [
            squared_hinge.squared_hinge_path(problem.kernel, pairs, np.array([1e4]), 1e-3, steps)
            for steps in range(9)
        ]
        return np.diff([path.objective[:, 0] for path in paths], axis=0) > 0.0

    assert not rises().any()
    monkeypatch.setattr(squared_hinge, "_HALVINGS", 0)
    assert rises().any()
