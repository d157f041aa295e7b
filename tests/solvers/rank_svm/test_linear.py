"""RankSVM of linear functions, against explicit pairs and the kernel solvers."""

import numpy as np
import pytest
import scipy.sparse as sp
from rank_svm_references import ANY_LOSS, differences_by_loops, least_objective, objective

from rankpursuit.solvers import OrderedPairs, rank_svm_path, rank_svm_weights
from rankpursuit.solvers import rank_svm as linear
from rankpursuit.solvers.rank_svm import GroupedPairs, ListedPairs

TOL = {"hinge": 1e-5, "squared_hinge": 1e-9}


def problem(seed=0, n_points=24, n_features=4, n_groups=3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_points, n_features))
    groups = rng.permutation(np.arange(n_points) % n_groups)
    return X, np.round(X[:, 0] + rng.normal(size=n_points), 1), groups


def primal(X, rows, w, C, loss, weights=1.0):
    """Objective of weights of the features: that of an expansion over one point, the weights."""
    return objective(np.eye(len(w)), rows @ X, w, C, loss, weights)


@ANY_LOSS
@pytest.mark.parametrize("C", [0.01, 0.3, 10.0, 100.0])
def test_objective_is_the_least_of_explicit_pairs(loss, C):
    X, scores, groups = problem(int(C))
    tol, pairs = TOL[loss], GroupedPairs(scores, groups, np.ones(24))
    solved = rank_svm_weights(X, pairs, C, loss=loss, tol=tol)
    rows = differences_by_loops(scores, groups)
    assert solved.objective == pytest.approx(primal(X, rows, solved.weights, C, loss), rel=1e-9)
    assert -1e-9 <= solved.gap <= tol
    # The reference is no more exact than that.
    least = least_objective(X @ X.T, rows, C, loss)
    assert least * (1.0 - 1e-4) <= solved.objective <= least * (1.0 + tol)


@ANY_LOSS
@pytest.mark.parametrize("C", [0.01, 10.0, 1e4])
def test_function_is_that_of_the_kernel_solver(loss, C):
    X, scores, groups = problem(7, n_points=40)
    tol, grouped = TOL[loss], GroupedPairs(scores, groups, np.ones(40))
    ours = rank_svm_weights(X, grouped, C, loss=loss, tol=tol)
    rows = differences_by_loops(scores, groups)
    pairs = OrderedPairs(40, np.column_stack([rows.argmax(axis=1), rows.argmin(axis=1)]))
    path = rank_svm_path((X @ X.T)[None], pairs, [C], loss=loss, tol=1e-9)
    assert ours.objective == pytest.approx(path.objective[0, 0], rel=2.0 * tol)
    # The objective is at least half of the squared distance to its least point above the least.
    apart = np.linalg.norm(ours.weights - X.T @ path.coefficients[0, 0])
    assert apart <= 2.0 * np.sqrt(2.0 * tol * ours.objective)


@ANY_LOSS
def test_the_gap_bounds_the_distance_to_the_least_objective(loss):
    X, scores, groups = problem(3)
    pairs = GroupedPairs(scores, groups, np.ones(24))
    best = rank_svm_weights(X, pairs, 1.0, loss=loss, tol=TOL[loss]).objective
    for max_iter in range(1, 8):
        early = rank_svm_weights(X, pairs, 1.0, loss=loss, tol=1e-9, max_iter=max_iter)
        assert early.objective * (1.0 - early.gap) <= best * (1.0 + 1e-9)
        assert early.objective >= best * (1.0 - TOL[loss])


@ANY_LOSS
def test_weights_of_groups_and_of_listed_pairs_count(loss):
    X, scores, groups = problem(4)
    of_group = np.array([0.2, 1.0, 3.0])
    rows = differences_by_loops(scores, groups)
    preferred, other = rows.argmax(axis=1), rows.argmin(axis=1)
    weights = of_group[groups[preferred]]
    grouped = GroupedPairs(scores, groups, of_group[groups])
    listed = ListedPairs(24, np.column_stack([preferred, other]), weights)
    least = least_objective(X @ X.T, rows, 0.5, loss, weights)
    for pairs in (grouped, listed):
        solved = rank_svm_weights(X, pairs, 0.5, loss=loss, tol=TOL[loss])
        assert solved.objective == pytest.approx(least, rel=1e-4)
        stated = primal(X, rows, solved.weights, 0.5, loss, weights)
        assert solved.objective == pytest.approx(stated, rel=1e-9)


@ANY_LOSS
@pytest.mark.parametrize("by_gradients", [False, True])
def test_sparse_points_give_the_function_of_dense_ones(loss, by_gradients, monkeypatch):
    X, scores, groups = problem(5, n_points=60, n_features=20)
    X[np.abs(X) < 0.8] = 0.0
    tol, pairs = TOL[loss], GroupedPairs(scores, groups, np.ones(60))
    dense = rank_svm_weights(X, pairs, 0.1, loss=loss, tol=tol)
    monkeypatch.setattr(linear, "_MOST_DENSE", 0 if by_gradients else 512)
    for points in (X, sp.csr_array(X)):
        solved = rank_svm_weights(points, pairs, 0.1, loss=loss, tol=tol)
        assert solved.gap <= tol
        assert solved.objective == pytest.approx(dense.objective, rel=2.0 * tol)
        apart = np.linalg.norm(solved.weights - dense.weights)
        assert apart <= 2.0 * np.sqrt(2.0 * tol * dense.objective)


@ANY_LOSS
def test_features_of_any_unit_are_solved(loss):
    X, scores, groups = problem(6, n_points=60)
    X = X * [1e-3, 1.0, 1e4, 1e8]
    solved = rank_svm_weights(X, GroupedPairs(scores, groups, np.ones(60)), 1e-3, loss=loss)
    assert solved.gap <= 1e-3


@ANY_LOSS
def test_points_without_a_pair_have_the_zero_function(loss):
    X, _, groups = problem()
    solved = rank_svm_weights(X, GroupedPairs(np.ones(24), groups, np.ones(24)), 1.0, loss=loss)
    assert solved.objective == solved.gap == 0.0
    assert not solved.weights.any()
