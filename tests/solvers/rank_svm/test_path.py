import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from problems import SMALL, generic_problem, ranking_problems
from rank_svm_references import (
    ANY_LOSS,
    LOSSES,
    Cs,
    differences_by_loops,
    least_objective,
    objective,
    ordered,
)

from rankpursuit.kernels import function_values
from rankpursuit.preferences import GroupPreferences
from rankpursuit.solvers import OrderedPairs, rank_svm_path


@ANY_LOSS
def test_stated_objective_is_the_objective(loss):
    problem = generic_problem(6, n_groups=2)
    rows = differences_by_loops(problem.scores, problem.groups)
    path = rank_svm_path(problem.kernel, ordered(problem), Cs, loss=loss)
    for c, C in enumerate(Cs):
        for i, kernel in enumerate(problem.kernel):
            true = objective(kernel, rows, path.coefficients[i, c], C, loss)
            assert path.objective[i, c] == pytest.approx(true, rel=1e-12)


@ANY_LOSS
@pytest.mark.parametrize("max_iter", [0, 1, 3, 100])
def test_minimum_lies_within_the_stated_gap(loss, max_iter):
    """Also where the solver was stopped long before the end."""
    problem = generic_problem(7, n_points=10, n_groups=2)
    options = {"loss": loss, "tol": 1e-4}
    path = rank_svm_path(problem.kernel, ordered(problem), Cs, max_iter=max_iter, **options)
    exact = rank_svm_path(problem.kernel, ordered(problem), Cs, loss=loss, tol=1e-10)
    assert np.all(exact.gap <= 1e-10)
    assert np.all(path.objective * (1.0 - path.gap) <= exact.objective * (1.0 + 1e-9))
    assert np.all(exact.objective <= path.objective * (1.0 + 1e-9))
    if max_iter == 0:
        assert np.all(path.gap[:, -1] > 1e-4)  # the largest C is not solved before any step
    if max_iter == 100:
        assert np.all(path.gap <= 1e-4)


@SMALL
@given(ranking_problems(), st.sampled_from(LOSSES))
def test_any_problem_is_solved_to_its_stated_gap(problem, loss):
    rows = differences_by_loops(problem.scores, problem.groups)
    pairs = ordered(problem)
    assert pairs.n_pairs == len(rows)
    path = rank_svm_path(problem.kernel, pairs, Cs, loss=loss, tol=1e-6)
    assert np.all(path.gap <= 1e-6)
    if len(rows) == 0:
        assert not path.coefficients.any()
        assert not path.objective.any()
        return
    for c, C in enumerate(Cs):
        for i, kernel in enumerate(problem.kernel):
            stated = path.objective[i, c]
            best = least_objective(kernel, rows, C, loss)
            # Both are upper bounds of the minimum; the gap is honest if theirs is not below.
            assert stated * (1.0 - path.gap[i, c]) <= best * (1.0 + 1e-9)
            assert stated <= best * (1.0 + 1e-5)


@ANY_LOSS
def test_scores_all_tied_give_the_zero_function(loss):
    kernel = generic_problem(8, n_points=4).kernel
    pairs = OrderedPairs.of_scores(np.full(4, 0.1), GroupPreferences.single(4).pairs())
    path = rank_svm_path(kernel, pairs, Cs, loss=loss)
    assert path.coefficients.shape == (2, 3, 4)
    assert not path.coefficients.any()
    assert not path.gap.any()


def stack_of_users():
    """Kernels of four users with 12 points each; the third has only ties, others a few."""
    users = [generic_problem(seed, n_groups=1 + seed % 2) for seed in range(20, 24)]
    scores = [users[0].scores, np.round(users[1].scores), np.ones(12), np.round(users[3].scores, 1)]
    pairs = [
        OrderedPairs.of_scores(scores[u], user.preferences.pairs()) for u, user in enumerate(users)
    ]
    return [user.kernel for user in users], pairs


@ANY_LOSS
@pytest.mark.parametrize("tol", [1e-3, 1e-8])
def test_stack_with_different_pairs_equals_each_alone(loss, tol):
    kernels, pairs = stack_of_users()
    each = [pairs[user] for user in (0, 0, 1, 1, 2, 2, 3, 3)]
    path = rank_svm_path(np.concatenate(kernels), each, Cs, loss=loss, tol=tol)
    assert path.coefficients.shape == (8, 3, 12)
    for user in range(4):
        alone = rank_svm_path(kernels[user], pairs[user], Cs, loss=loss, tol=tol)
        both = slice(2 * user, 2 * user + 2)
        for name in ("coefficients", "objective", "gap"):
            together, single = getattr(path, name)[both], getattr(alone, name)
            np.testing.assert_allclose(together, single, rtol=1e-9, atol=1e-11, err_msg=name)


@ANY_LOSS
def test_kernel_without_any_pair_gets_zeros_in_a_stack(loss):
    kernels, pairs = stack_of_users()
    assert pairs[2].n_pairs == 0
    path = rank_svm_path(np.stack([kernel[0] for kernel in kernels]), pairs, Cs, loss=loss)
    for part in (path.coefficients, path.objective, path.gap):
        assert not part[2].any()
    assert np.all(path.objective[[0, 1, 3]] > 0.0)


@ANY_LOSS
def test_same_pairs_for_each_kernel_are_shared_pairs(loss):
    problem = generic_problem(9, n_groups=2)
    one, two = ordered(problem), ordered(problem)
    shared = rank_svm_path(problem.kernel, one, Cs, loss=loss)
    for each in ([one, one], [one, two]):
        path = rank_svm_path(problem.kernel, each, Cs, loss=loss)
        np.testing.assert_allclose(path.coefficients, shared.coefficients, rtol=1e-9, atol=1e-12)


@ANY_LOSS
@pytest.mark.parametrize("n_given", [0, 1, 3])
def test_wrong_number_of_pairs_is_refused(loss, n_given):
    problem = generic_problem(9)
    with pytest.raises(ValueError, match=f"pairs: expected one for each of 2 .* got {n_given}"):
        rank_svm_path(problem.kernel, [ordered(problem)] * n_given, Cs, loss=loss)


@ANY_LOSS
def test_path_over_C_equals_single_solves(loss):
    problem = generic_problem(9, n_groups=2)
    unsorted = np.array([1.0, 0.01, 100.0, 0.1])
    path = rank_svm_path(problem.kernel, ordered(problem), unsorted, loss=loss, tol=1e-9)
    for c, C in enumerate(unsorted):
        for i in range(2):
            kernel = problem.kernel[i : i + 1]
            alone = rank_svm_path(kernel, ordered(problem), [C], loss=loss, tol=1e-9)
            assert path.objective[i, c] == pytest.approx(alone.objective[0, 0], rel=2e-9)
            np.testing.assert_allclose(
                problem.kernel[i] @ path.coefficients[i, c],
                problem.kernel[i] @ alone.coefficients[0, 0],
                atol=1e-3,
            )


@ANY_LOSS
def test_constant_added_to_the_scores_of_a_group_changes_nothing(loss):
    problem = generic_problem(10, n_groups=3)
    shifted = problem.scores + np.array([5.0, -20.0, 100.0])[problem.groups]
    pairs = problem.preferences.pairs()
    before, after = (
        rank_svm_path(problem.kernel, OrderedPairs.of_scores(scores, pairs), Cs, loss=loss)
        for scores in (problem.scores, shifted)
    )
    assert np.array_equal(before.coefficients, after.coefficients)


@ANY_LOSS
def test_permuting_the_points_permutes_the_solution(loss):
    problem = generic_problem(11, n_groups=2)
    order = np.random.default_rng(0).permutation(12)
    pairs = GroupPreferences(problem.groups[order]).pairs()
    kernel = problem.kernel[:, order][:, :, order]
    before = rank_svm_path(problem.kernel, ordered(problem), Cs, loss=loss, tol=1e-10)
    turned = OrderedPairs.of_scores(problem.scores[order], pairs)
    after = rank_svm_path(kernel, turned, Cs, loss=loss, tol=1e-10)
    values, permuted = (
        function_values(k, path.coefficients)
        for k, path in ((problem.kernel, before), (kernel, after))
    )
    np.testing.assert_allclose(permuted, values[..., order], atol=1e-3)


@ANY_LOSS
def test_degenerate_kernels_are_solved(loss):
    """Identity, all ones, and nearly all ones, at the ends of the grid of C."""
    problem = generic_problem(12, n_points=20, gammas=(1e9, 0.0, 1e-9, 1e-4))
    extreme = np.array([1e-6, 1.0, 1e4])
    path = rank_svm_path(problem.kernel, ordered(problem), extreme, loss=loss)
    assert np.isfinite(path.coefficients).all()
    assert np.all(path.gap <= 1e-3)


def test_unknown_loss_is_refused():
    problem = generic_problem(9)
    with pytest.raises(ValueError, match="loss: expected one of hinge, squared_hinge; got 'log'"):
        rank_svm_path(problem.kernel, ordered(problem), Cs, loss="log")
