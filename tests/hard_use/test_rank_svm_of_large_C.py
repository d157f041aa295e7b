"""RankSVM converges or says so, whatever C and tol are, and is never NaN."""

import warnings

import numpy as np
import pytest
from problems import generic_problem
from rank_svm_references import ANY_LOSS, differences_by_loops, objective, ordered
from sklearn.exceptions import ConvergenceWarning

from rankpursuit import RankSVM
from rankpursuit.solvers import OrderedPairs, rank_svm_path
from rankpursuit.solvers import _linalg as fallbacks
from rankpursuit.solvers import rank_svm as kernel_forms
from rankpursuit.solvers import rank_svm as large_C


def noisy_points(seed, n_points=30):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_points, 3))
    return X, X[:, 0] + rng.normal(size=n_points)


@ANY_LOSS
@pytest.mark.parametrize("C", [1e6, 1e10, 1e100, 1e300])
def test_pairs_that_can_be_separated_are_solved_for_any_C(loss, C):
    for seed in range(3):
        X, y = noisy_points(seed)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            model = RankSVM(C=C, loss=loss).fit(X, y)
        assert 0.0 <= model.duality_gap_ + 1e-9 <= model.tol + 1e-9
        assert model.score(X, y) == 1.0


@ANY_LOSS
def test_solutions_for_large_C_approach_that_of_hard_margins(loss):
    problem = generic_problem(5, n_points=12)
    path = rank_svm_path(problem.kernel, ordered(problem), [1e9, 1e30, 1e300], loss=loss, tol=1e-4)
    assert np.all(path.gap <= 1e-4)
    np.testing.assert_allclose(path.objective, path.objective[:, :1] * np.ones(3), rtol=1e-3)
    rows = differences_by_loops(problem.scores, problem.groups)
    for i, kernel in enumerate(problem.kernel):
        margins = rows @ kernel @ path.coefficients[i].T
        assert margins.min() > 1.0 - 1e-3


@pytest.mark.parametrize("C", [1e6, 1e10])
def test_hinge_on_pairs_that_cannot_be_separated_is_solved_in_the_factors_of_the_kernel(C):
    for seed in range(3):
        X, y = noisy_points(seed)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            model = RankSVM(C=C, kernel="linear").fit(X, y)
        assert model.duality_gap_ <= model.tol


@ANY_LOSS
def test_what_cannot_be_solved_is_finite_and_warned_of_with_its_gap(loss):
    X, y = noisy_points(0)
    with pytest.warns(ConvergenceWarning, match=r"relative duality gap of \d"):
        model = RankSVM(C=1e300, kernel="linear", loss=loss).fit(X, y)
    assert model.tol < model.duality_gap_ <= 1.0
    assert np.isfinite(model.predict(X)).all()
    assert model.score(X, y) > 0.6


@ANY_LOSS
def test_a_gap_below_all_rounding_errors_is_warned_of(loss):
    X, y = noisy_points(1)
    with pytest.warns(ConvergenceWarning, match="relative duality gap"):
        model = RankSVM(tol=1e-300, loss=loss, group_weight="pairs").fit(X, y)
    assert model.duality_gap_ < 1e-6
    assert np.isfinite(model.predict(X)).all()


def test_hinge_to_a_small_gap_never_fails_and_keeps_the_best_iterate():
    for seed in range(30):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(20, 3))
        y = np.round(X[:, 0] + rng.normal(size=20), 1)
        kernel = np.exp(-np.square(X[:, None] - X).sum(axis=2) / 3.0)
        pairs = OrderedPairs.of_scores(y, np.column_stack(np.triu_indices(20, 1)))
        path = rank_svm_path(kernel[None], pairs, [1e-2, 1.0, 1e3], tol=1e-8)
        assert np.isfinite(path.coefficients).all()
        assert np.all(path.gap < 1e-6)


@ANY_LOSS
@pytest.mark.parametrize("C", [1e8, 1e40, 1e200])
def test_stated_objective_and_gap_are_honest_for_large_C(loss, C):
    problem = generic_problem(9, n_points=10, n_groups=2)
    rows = differences_by_loops(problem.scores, problem.groups)
    path = rank_svm_path(problem.kernel, ordered(problem), [C], loss=loss, tol=1e-5)
    bound = rank_svm_path(problem.kernel, ordered(problem), [1e5], loss=loss, tol=1e-9)
    for i, kernel in enumerate(problem.kernel):
        a = path.coefficients[i, 0]
        norm = objective(kernel, rows, a, 0.0, loss)
        assert path.objective[i, 0] >= norm * (1.0 - 1e-12)
        # What is best for a smaller C is a lower bound.
        assert path.objective[i, 0] >= bound.objective[i, 0] * (1.0 - 1e-6)
    assert np.all(path.gap <= 1e-5)


def test_no_second_attempt_is_made_for_problems_that_are_solved(monkeypatch):
    def refuse(*_):
        raise AssertionError("a second attempt")

    monkeypatch.setattr(kernel_forms, "eigh", refuse)
    monkeypatch.setattr(large_C, "_take_best", refuse)
    problem = generic_problem(3)
    for loss in ("hinge", "squared_hinge"):
        assert np.all(rank_svm_path(problem.kernel, ordered(problem), [1.0], loss=loss).gap <= 1e-3)


@ANY_LOSS
def test_indefinite_kernels_are_not_taken_for_their_definite_part(loss):
    problem = generic_problem(4)
    kernel = problem.kernel - 0.3 * np.eye(12)
    _, definite = kernel_forms.factored(np.concatenate([problem.kernel, kernel]))
    assert definite.tolist() == [True, True, False, False]
    path = rank_svm_path(kernel, ordered(problem), [10.0, 1e200], loss=loss)
    assert np.isfinite(path.coefficients).all()
    assert np.isfinite(path.gap).all()
    assert not np.any(path.coefficients[:, 1])
    assert np.all(path.gap[:, 1] == 1.0)


def test_factors_compute_what_the_kernel_computes():
    problem = generic_problem(4)
    rng = np.random.default_rng(0)
    weights = rng.random((2, ordered(problem).n_pairs))
    laplacian = ordered(problem).laplacian(weights)
    right = rng.normal(size=(2, 12))
    plain, (factors, _) = (
        kernel_forms.PlainForm(problem.kernel),
        kernel_forms.factored(problem.kernel),
    )
    np.testing.assert_allclose(factors.values(right), plain.values(right), atol=1e-12)
    np.testing.assert_allclose(
        factors.newton_values(laplacian, right), plain.newton_values(laplacian, right), atol=1e-10
    )
    some = factors.take(np.array([1])).values(right[1:])
    np.testing.assert_allclose(some, plain.values(right)[1:], atol=1e-12)


def test_singular_systems_have_a_least_squares_solution():
    regular, singular = np.array([[2.0, 1.0], [0.5, 3.0]]), np.ones((2, 2))
    right = np.array([[1.0, 2.0], [1.0, 1.0], [1.0, 1.0]])
    broken = np.full((2, 2), np.nan)
    solution = fallbacks.solve(np.stack([regular, singular, broken]), right)
    np.testing.assert_allclose(solution[0], np.linalg.solve(regular, right[0]))
    np.testing.assert_allclose(solution[1], [0.5, 0.5])
    assert np.isnan(solution[2]).all()
    np.testing.assert_array_equal(
        fallbacks.solve(regular[None], right[:1])[0], np.linalg.solve(regular, right[0])
    )
    systems = np.stack([broken, regular.T, singular.T])
    again = fallbacks.solve_transposed(systems, np.array([1, 2, 0]), right)
    np.testing.assert_allclose(again, solution, rtol=1e-12)


def test_eigenvalues_come_from_another_driver_where_the_usual_one_fails(monkeypatch):
    matrices = generic_problem(4).kernel
    values, _ = np.linalg.eigh(matrices)

    def fails(_):
        raise np.linalg.LinAlgError("Eigenvalues did not converge")

    monkeypatch.setattr(np.linalg, "eigh", fails)
    others, vectors = fallbacks.eigh(matrices)
    np.testing.assert_allclose(others, values, atol=1e-12)
    rebuilt = np.matmul(vectors * others[:, None, :], vectors.swapaxes(1, 2))
    np.testing.assert_allclose(rebuilt, matrices, atol=1e-12)
