"""Pairs that are given one by one, with weights, and with contradictions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from problems import SMALL, generic_problem
from rank_svm_references import ANY_LOSS, LOSSES, Cs, least_objective, objective

from rankpursuit.solvers import OrderedPairs, rank_svm_path

PARTS = ("coefficients", "objective", "gap")


def random_pairs(seed, n_points, n_pairs):
    """Ordered pairs, contradictions among them, and weights from 0.1 to 10."""
    rng = np.random.default_rng(seed)
    every = [(i, j) for i in range(n_points) for j in range(n_points) if i != j]
    return rng.permutation(every)[:n_pairs], 10.0 ** rng.uniform(-1.0, 1.0, size=n_pairs)


def differences(listed, n_points):
    rows = np.zeros((len(listed), n_points))
    for row, (i, j) in zip(rows, listed, strict=True):
        row[i], row[j] = 1.0, -1.0
    return rows


@ANY_LOSS
@pytest.mark.parametrize(("seed", "n_pairs"), [(0, 1), (1, 20), (2, 60), (3, 90)])
def test_weighted_objective_is_that_of_a_dense_solver(loss, seed, n_pairs):
    kernels = generic_problem(seed, n_points=10).kernel
    listed, weights = random_pairs(seed, 10, n_pairs)
    rows, pairs = differences(listed, 10), OrderedPairs(10, listed, weights)
    path = rank_svm_path(kernels, pairs, Cs, loss=loss, tol=1e-7)
    assert np.all(path.gap <= 1e-7)
    for i, c in np.ndindex(2, 3):
        stated = path.objective[i, c]
        a = path.coefficients[i, c]
        assert stated == pytest.approx(objective(kernels[i], rows, a, Cs[c], loss, weights))
        theirs = least_objective(kernels[i], rows, Cs[c], loss, weights)
        assert stated == pytest.approx(theirs, rel=1e-5)


@SMALL
@given(st.integers(0, 2**32 - 1), st.integers(1, 30), st.sampled_from(LOSSES))
def test_minimum_of_any_weighted_pairs_lies_within_the_stated_gap(seed, n_pairs, loss):
    kernels = generic_problem(seed, n_points=6).kernel
    listed, weights = random_pairs(seed, 6, n_pairs)
    rows = differences(listed, 6)
    path = rank_svm_path(kernels, OrderedPairs(6, listed, weights), Cs, loss=loss, tol=1e-6)
    assert np.all(path.gap <= 1e-6)
    for i, c in np.ndindex(2, 3):
        best = least_objective(kernels[i], rows, Cs[c], loss, weights)
        stated = path.objective[i, c]
        assert stated * (1.0 - path.gap[i, c]) <= best * (1.0 + 1e-9)
        assert stated <= best * (1.0 + 1e-5)


@ANY_LOSS
def test_weights_of_one_are_no_weights(loss):
    problem = generic_problem(30)
    listed, _ = random_pairs(30, 12, 70)
    plain, ones = (OrderedPairs(12, listed, w) for w in (None, np.ones(70)))
    before, after = (rank_svm_path(problem.kernel, p, Cs, loss=loss) for p in (plain, ones))
    for name in PARTS:
        assert np.array_equal(getattr(before, name), getattr(after, name)), name


@ANY_LOSS
def test_weights_of_two_double_C(loss):
    problem = generic_problem(31)
    listed, _ = random_pairs(31, 12, 70)
    twice = OrderedPairs(12, listed, np.full(70, 2.0))
    before = rank_svm_path(problem.kernel, OrderedPairs(12, listed), 2.0 * Cs, loss=loss)
    after = rank_svm_path(problem.kernel, twice, Cs, loss=loss)
    for name in PARTS:
        np.testing.assert_allclose(
            getattr(after, name), getattr(before, name), rtol=1e-9, atol=1e-10, err_msg=name
        )


@ANY_LOSS
def test_pair_of_vanishing_weight_is_left_out(loss):
    problem = generic_problem(32)
    listed, weights = random_pairs(32, 12, 40)
    weights[20:] = 1e-12
    pairs, fewer = OrderedPairs(12, listed, weights), OrderedPairs(12, listed[:20], weights[:20])
    path, other = (
        rank_svm_path(problem.kernel, p, Cs, loss=loss, tol=1e-7) for p in (pairs, fewer)
    )
    np.testing.assert_allclose(path.objective, other.objective, rtol=1e-6)


@ANY_LOSS
def test_stack_of_weighted_and_unweighted_pairs_equals_each_alone(loss):
    problem = generic_problem(33)
    each = []
    for seed in range(2):
        listed, weights = random_pairs(seed, 12, 30 + seed)
        each += [OrderedPairs(12, listed, weights), OrderedPairs(12, listed)]
    kernels = np.concatenate([problem.kernel, problem.kernel])
    together = rank_svm_path(kernels, each, Cs, loss=loss)
    for i, pairs in enumerate(each):
        alone = rank_svm_path(kernels[i : i + 1], pairs, Cs, loss=loss)
        for name in PARTS:
            np.testing.assert_allclose(
                getattr(together, name)[i], getattr(alone, name)[0], rtol=1e-9, atol=1e-11
            )


@ANY_LOSS
def test_pairs_that_all_contradict_each_other_give_the_zero_function(loss):
    kernel = generic_problem(34, n_points=5).kernel
    one_way, weights = np.array([[0, 1], [2, 3], [4, 1]]), np.array([1.0, 0.2, 5.0])
    both_ways = np.concatenate([one_way, one_way[:, ::-1]])
    pairs = OrderedPairs(5, both_ways, np.tile(weights, 2))
    path = rank_svm_path(kernel, pairs, Cs, loss=loss)
    np.testing.assert_allclose(path.coefficients, 0.0, atol=1e-12)
    np.testing.assert_allclose(path.objective, [2.0 * Cs * weights.sum()] * 2)


@ANY_LOSS
def test_heavier_side_of_a_contradiction_wins(loss):
    kernel = generic_problem(35, n_points=4).kernel
    pairs = OrderedPairs(4, [[0, 1], [1, 0]], [1.0, 3.0])
    values = kernel @ rank_svm_path(kernel, pairs, [1.0], loss=loss).coefficients.swapaxes(1, 2)
    assert np.all(values[:, 1] > values[:, 0])
