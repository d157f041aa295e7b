"""Least squares against the dense equations."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from problems import (
    dense_laplacian,
    generic_problem,
    group_graph,
    pair_graph,
    ranking_problems,
)

from rankpursuit.preferences import Blend, GroupPreferences, PairPreferences, Pointwise
from rankpursuit.solvers import (
    least_squares,
    nested_rls_path,
    rls_path,
    rls_solution,
    rls_weights,
)
from rankpursuit.solvers.least_squares import (
    Edges,
    add_up,
    grounded,
    nearest_scores,
    sparse_rls_weights,
)

LAMBDAS = np.array([1e-3, 0.1, 1.0, 50.0])


def sparse_rls_path(columns, subset, *others):
    """Solve for one subset of regressors."""
    return nested_rls_path(columns, subset, [subset.shape[2]], *others)[:, 0]


def forms(groups):
    """Preferences of all kinds with their dense forms."""
    n_points = len(groups)
    rng = np.random.default_rng(1)
    pairs = rng.permutation(GroupPreferences.single(n_points).pairs())[: 3 * n_points]
    weights = rng.random(len(pairs))
    graph = dense_laplacian(group_graph(groups))
    yield Pointwise(n_points), np.eye(n_points)
    yield GroupPreferences(groups), graph
    yield Blend(GroupPreferences(groups), 0.3), 0.3 * np.eye(n_points) + 0.7 * graph
    for n_pairs in (0, 5, len(pairs)):
        listed = pairs[:n_pairs], weights[:n_pairs]
        explicit = dense_laplacian(pair_graph(n_points, *listed))
        yield PairPreferences(n_points, *listed), explicit


def assert_solves(coefficients, problem, form):
    """The coefficients of all lambdas solve ``(L K + lambda I) a = L s``."""
    assert coefficients.shape == (len(problem.kernel), len(LAMBDAS), len(problem.scores))
    for (i, kernel), (c, lam) in itertools.product(enumerate(problem.kernel), enumerate(LAMBDAS)):
        system = form @ kernel + lam * np.eye(len(form))
        expected = np.linalg.solve(system, form @ problem.scores)
        scale = 1e-8 * max(np.abs(problem.scores).max(), np.abs(expected).max())
        np.testing.assert_allclose(coefficients[i, c], expected, atol=scale)


@pytest.mark.parametrize("n_groups", [1, 3])
def test_equations_are_solved_for_all_lambdas_and_preferences(n_groups):
    problem = generic_problem(0, n_groups=n_groups)
    for preferences, form in forms(problem.groups):
        solved = rls_path(problem.kernel, problem.scores, LAMBDAS, preferences)
        assert_solves(solved, problem, form)


@given(ranking_problems())
def test_equations_of_any_problem_are_solved(problem):
    solved = rls_path(problem.kernel, problem.scores, LAMBDAS, problem.preferences)
    assert_solves(solved, problem, problem.laplacian)


@pytest.mark.parametrize("n_groups", [1, 3])
@pytest.mark.parametrize(("size", "zero_diagonal"), [(1, False), (4, False), (9, False), (4, True)])
def test_sparse_rankrls_solves_its_normal_equations(size, n_groups, zero_diagonal):
    problem = generic_problem(9, n_groups=n_groups)
    kernel = np.log(problem.kernel) if zero_diagonal else problem.kernel  # squared distances
    subset = np.random.default_rng(2).permutation(12)[:size]
    columns, inner = kernel[:, :, subset], kernel[:, subset][:, :, subset]
    form, sizes = problem.laplacian, [size, 1]
    solved = nested_rls_path(columns, inner, sizes, problem.scores, LAMBDAS, problem.preferences)
    assert solved.shape == (2, 2, len(LAMBDAS), size)
    for i, place, c in np.ndindex(solved.shape[:3]):
        r = sizes[place]
        first = columns[i, :, :r]
        system = first.T @ form @ first + LAMBDAS[c] * inner[i, :r, :r]
        expected = np.linalg.solve(system, first.T @ form @ problem.scores)
        np.testing.assert_allclose(solved[i, place, c, :r], expected, rtol=1e-6, atol=1e-9)
        assert not solved[i, place, c, r:].any()


def test_points_of_the_subset_that_are_there_already_get_no_weight():
    """Their functions depend on those before them: the subset's kernel is singular."""
    problem = generic_problem(11)
    first, again = [0, 3, 5, 7], [1, 3, 4, 6]
    subset = [0, 0, 3, 3, 0, 5, 5, 7]
    found, expected = (
        sparse_rls_path(
            problem.kernel[:, :, points],
            problem.kernel[:, points][:, :, points],
            problem.scores,
            LAMBDAS,
            problem.preferences,
        )
        for points in (subset, first)
    )
    assert not found[..., again].any()
    np.testing.assert_allclose(found[..., [0, 2, 5, 7]], expected, atol=1e-9)


@given(ranking_problems(), st.integers(1, 7))
def test_sparse_rankrls_of_any_problem_has_a_stationary_cost(problem, size):
    kernel, scores, laplacian = problem.kernel, problem.scores, problem.laplacian
    columns, inner = kernel[:, :, :size], kernel[:, :size, :size]
    coefficients = sparse_rls_path(columns, inner, scores, LAMBDAS, problem.preferences)
    for i in range(2):
        for c, lam in enumerate(LAMBDAS):
            a = coefficients[i, c]
            gradient = columns[i].T @ laplacian @ (columns[i] @ a - scores) + lam * inner[i] @ a
            scale = np.abs(columns[i].T @ laplacian).sum() * np.abs(scores).max()
            assert np.abs(gradient).max() <= 1e-9 * max(scale, 1.0)


@pytest.mark.parametrize("n_groups", [0, 1, 3])
def test_solution_of_one_lambda_is_that_of_the_path(n_groups):
    problem = generic_problem(20, n_points=30, n_groups=max(n_groups, 1), gammas=(0.5,))
    form = problem.preferences if n_groups else Pointwise(30)
    for lam in (1e-6, 1.0, 1e6):
        expected = rls_path(problem.kernel, problem.scores, [lam], form)[0, 0]
        found = rls_solution(problem.kernel[0], problem.scores, lam, form)
        np.testing.assert_allclose(found, expected, atol=1e-7 * np.abs(expected).max())


@pytest.mark.parametrize("order", ["C", "F"])
def test_the_kernel_of_a_solution_is_not_changed(order):
    problem = generic_problem(21, gammas=(0.5,))
    kernel = np.array(problem.kernel[0], order=order)
    rls_solution(kernel, problem.scores, 1.0, Pointwise(12))
    np.testing.assert_array_equal(kernel, problem.kernel[0])


def test_solution_of_a_kernel_that_rounding_makes_indefinite_is_that_of_the_path():
    kernel = -1e-3 * np.eye(5)
    found = rls_solution(kernel, np.arange(5.0), 1e-6, Pointwise(5))
    expected = rls_path(kernel[None], np.arange(5.0), [1e-6], Pointwise(5))[0, 0]
    np.testing.assert_array_equal(found, expected)


EACH_LAMBDA = pytest.mark.parametrize("lam", [1e-3, 1.0, 50.0])


def points(n_points=30, n_features=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_points, n_features))
    return X, rng.normal(size=n_points), rng.integers(3, size=n_points)


@EACH_LAMBDA
@pytest.mark.parametrize("n_features", [4, 50])
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_weights_solve_their_equations(lam, n_features, kind):
    X, scores, groups = points(n_features=n_features)
    for preferences, form in forms(groups):
        weights = rls_weights(kind(X), scores, lam, preferences)
        expected = np.linalg.solve(X.T @ form @ X + lam * np.eye(n_features), X.T @ form @ scores)
        np.testing.assert_allclose(weights, expected, atol=1e-9 * np.abs(expected).max())


def test_large_sparse_points_are_solved_by_products_alone(monkeypatch):
    X, scores, groups = points()
    monkeypatch.setattr(least_squares, "_MAX_DENSE", 0)
    for preferences, form in forms(groups):
        weights = rls_weights(sp.csr_array(X), scores, 0.1, preferences)
        expected = np.linalg.solve(X.T @ form @ X + 0.1 * np.eye(4), X.T @ form @ scores)
        np.testing.assert_allclose(weights, expected, atol=1e-8)


def test_features_of_any_unit_have_their_weights():
    X, _, groups = points()
    units, true = np.array([1e-3, 1.0, 1e4, 1e8]), np.array([1.0, -2.0, 0.5, 3.0])
    weights = rls_weights(X * units, X @ true, 1e-12, GroupPreferences(groups))
    np.testing.assert_allclose(weights * units, true, rtol=1e-6)


@EACH_LAMBDA
@pytest.mark.parametrize(("n_features", "size"), [(4, 10), (4, 3), (50, 10)])
def test_a_subset_restricts_the_weights_to_what_it_spans(lam, n_features, size):
    X, scores, groups = points(n_features=n_features)
    preferences, subset = GroupPreferences(groups), np.arange(size)
    form, columns = dense_laplacian(group_graph(groups)), X @ X[subset].T
    system = columns.T @ form @ columns + lam * columns[subset]
    a = np.linalg.lstsq(system, columns.T @ form @ scores)[0]
    for kind in (np.asarray, sp.csr_array):
        weights = sparse_rls_weights(kind(X), subset, scores, lam, preferences)
        np.testing.assert_allclose(weights, X[subset].T @ a, atol=1e-8)


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


@given(judgements())
def test_nearest_scores_are_the_least_squares_solution(problem):
    n_points, pairs, weights = problem
    rows = dense_rows(n_points, pairs, weights)
    expected = np.linalg.lstsq(rows, np.sqrt(weights), rcond=None)[0]
    scores = nearest_scores(n_points, add_up(pairs, weights))
    np.testing.assert_allclose(rows @ scores, rows @ expected, atol=1e-10)


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
