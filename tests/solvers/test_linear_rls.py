"""Linear least squares in the weights of the features, against the equations and the kernel."""

import numpy as np
import pytest
import scipy.sparse as sp
from problems import dense_laplacian, group_graph, pair_graph

from rankpursuit.preferences import Blend, GroupPreferences, PairPreferences, Pointwise
from rankpursuit.solvers import least_squares as linear_rls
from rankpursuit.solvers import rls_path, rls_weights
from rankpursuit.solvers.least_squares import sparse_rls_weights

LAMBDAS = pytest.mark.parametrize("lam", [1e-3, 1.0, 50.0])


def points(n_points=30, n_features=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_points, n_features))
    return X, rng.normal(size=n_points), rng.integers(3, size=n_points)


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
    yield (
        PairPreferences(n_points, pairs, weights),
        dense_laplacian(pair_graph(n_points, pairs, weights)),
    )


@LAMBDAS
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
    monkeypatch.setattr(linear_rls, "_MOST_DENSE", 0)
    for preferences, form in forms(groups):
        weights = rls_weights(sp.csr_array(X), scores, 0.1, preferences)
        expected = np.linalg.solve(X.T @ form @ X + 0.1 * np.eye(4), X.T @ form @ scores)
        np.testing.assert_allclose(weights, expected, atol=1e-8)


def test_features_of_any_unit_have_their_weights():
    X, _, groups = points()
    units, true = np.array([1e-3, 1.0, 1e4, 1e8]), np.array([1.0, -2.0, 0.5, 3.0])
    weights = rls_weights(X * units, X @ true, 1e-12, GroupPreferences(groups))
    np.testing.assert_allclose(weights * units, true, rtol=1e-6)


def test_features_that_repeat_each_other_share_their_weight():
    X, scores, _ = points()
    twice = np.column_stack([X, X])
    weights = rls_weights(twice, scores, 1e-30, Pointwise(30))
    expected = rls_weights(X, scores, 1e-30, Pointwise(30))
    np.testing.assert_allclose(weights, np.tile(expected / 2.0, 2), rtol=1e-6)


@LAMBDAS
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


def test_a_subset_that_lacks_a_direction_leaves_it_out():
    X, scores, _ = points()
    X[:10, 3] = X[:10, 0]
    weights = sparse_rls_weights(X, np.arange(10), scores, 0.1, Pointwise(30))
    assert weights[3] == pytest.approx(weights[0])
    X[:10, 3] = 0.0
    weights = sparse_rls_weights(X, np.arange(10), scores, 0.1, Pointwise(30))
    assert weights[3] == 0.0


@LAMBDAS
def test_weights_are_those_of_the_kernel_form(lam):
    X, scores, groups = points()
    preferences = GroupPreferences(groups, "equal")
    a = rls_path((X @ X.T)[None], scores, [lam], preferences)[0, 0]
    np.testing.assert_allclose(rls_weights(X, scores, lam, preferences), X.T @ a, atol=1e-9)
