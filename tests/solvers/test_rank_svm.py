"""RankSVM against dense solvers and lists of pairs."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from problems import SMALL, generic_problem, ranking_problems
from rank_svm_references import (
    ANY_LOSS,
    LOSSES,
    Cs,
    best_hinge,
    best_squared_hinge,
    differences_by_loops,
    least_objective,
    objective,
    ordered,
)
from sklearn.svm import LinearSVC

from rankpursuit.kernels import function_values
from rankpursuit.preferences import GroupPreferences
from rankpursuit.solvers import OrderedPairs, rank_svm, rank_svm_path, rank_svm_weights
from rankpursuit.solvers.rank_svm import GroupedPairs


def test_ties_make_no_pair():
    scores = np.array([1.0, 2.0, 2.0, 3.0])
    pairs = OrderedPairs.of_scores(scores, GroupPreferences.single(4).pairs())
    assert pairs.n_pairs == 5
    margins = pairs.margins(scores[None])
    assert sorted(margins[0].tolist()) == [1.0, 1.0, 1.0, 1.0, 2.0]
    assert np.array_equal(
        pairs.matrix(1.0, -np.inf), np.where(scores[:, None] > scores, 1.0, -np.inf)
    )


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
    assert np.array_equal(weighted.matrix(weights, 0.0), expected)
    assert np.array_equal(plain.matrix(1.0, 0.0), expected > 0.0)
    assert np.array_equal(weighted.matrix(1.0, -np.inf) == 1.0, expected > 0.0)
    assert np.array_equal(weighted.weighted(np.full((1, 3), 2.0)), [2.0 * weights])
    assert np.array_equal(plain.weighted(np.full((1, 3), 2.0)), np.full((1, 3), 2.0))


def test_no_pair_at_all_is_allowed():
    pairs = OrderedPairs(3, [], [])
    assert pairs.n_pairs == 0
    assert pairs.margins(np.ones((2, 3))).shape == (2, 0)


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
            rank_svm_path(problem.kernel, pairs, [1e4], loss="squared_hinge", max_iter=steps)
            for steps in range(9)
        ]
        return np.diff([path.objective[:, 0] for path in paths], axis=0) > 0.0

    assert not rises().any()
    monkeypatch.setattr(rank_svm, "_HALVINGS", 0)
    assert rises().any()


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


def of_list(rows, weights, values, margin):
    """Weights, rows and the Laplacian of the pairs with a margin that is too small."""
    which = rows @ values < margin
    return weights[which], rows[which], rows[which].T @ (weights[which, None] * rows[which])


def assert_same(violated, weights, rows, laplacian):
    rng = np.random.default_rng(0)
    x, columns = rng.normal(size=len(laplacian)), rng.normal(size=(len(laplacian), 3))
    np.testing.assert_allclose(violated.total, weights.sum(), atol=1e-12)
    np.testing.assert_allclose(violated.balance, rows.T @ weights, atol=1e-12)
    np.testing.assert_allclose(violated.degrees, np.abs(rows).T @ weights, atol=1e-12)
    np.testing.assert_allclose(violated.laplacian(x), laplacian @ x, atol=1e-11)
    np.testing.assert_allclose(violated.laplacian(columns), laplacian @ columns, atol=1e-11)


@given(
    st.integers(0, 2**32 - 1),
    st.integers(1, 25),
    st.integers(1, 4),
    st.integers(1, 20),
    st.sampled_from([1.0, 0.3, 0.0]),
)
@SMALL
def test_pairs_of_groups_are_counted_by_sorting(seed, n_points, n_groups, n_scores, margin):
    rng = np.random.default_rng(seed)
    scores = rng.integers(n_scores, size=n_points).astype(float)
    _, groups = np.unique(rng.integers(n_groups, size=n_points), return_inverse=True)
    of_group = rng.random(n_groups) + 0.1
    rows = differences_by_loops(scores, groups)
    weights = of_group[groups[(rows > 0).argmax(axis=1)]] if len(rows) else np.empty(0)
    values = rng.normal(size=n_points)
    grouped = GroupedPairs(scores, groups, of_group[groups]).violated(values, margin)
    assert_same(grouped, *of_list(rows, weights, values, margin))


def test_listed_pairs_are_picked_by_their_differences():
    rng = np.random.default_rng(0)
    rows = differences_by_loops(rng.normal(size=8), np.zeros(8))[::2]
    ordered = np.column_stack([rows.argmax(axis=1), rows.argmin(axis=1)])
    weights, values = rng.random(len(rows)), rng.normal(size=8)
    listed = OrderedPairs(8, ordered, weights).violated(values, 0.7)
    assert 0 < listed.total < weights.sum()
    assert_same(listed, *of_list(rows, weights, values, 0.7))


def test_no_array_is_as_large_as_the_number_of_pairs(monkeypatch):
    sizes = []
    cumsum = np.cumsum

    def measured(x, **options):
        sizes.append(x.size)
        return cumsum(x, **options)

    monkeypatch.setattr(np, "cumsum", measured)
    rng = np.random.default_rng(0)
    n_points = 3000
    grouped = GroupedPairs(
        rng.normal(size=n_points), np.zeros(n_points, dtype=int), np.ones(n_points)
    )
    violated = grouped.violated(np.zeros(n_points), 1.0)
    assert violated.total == n_points * (n_points - 1) / 2
    assert max(sizes) <= n_points


def test_a_common_level_of_a_group_is_taken_away():
    groups = np.array([0, 0, 1, 1])
    X = np.array([[1.0, 5.0], [3.0, 5.0], [1e9, 0.0], [1e9, 2.0]])
    centred = GroupedPairs(np.arange(4.0), groups, np.ones(4)).centred(X)
    np.testing.assert_array_equal(centred, [[-1.0, 0.0], [1.0, 0.0], [0.0, -1.0], [0.0, 1.0]])
    listed = OrderedPairs(4, np.array([[0, 1]]), np.ones(1)).centred(X)
    np.testing.assert_allclose(listed, X - X.mean(axis=0))


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
    listed = OrderedPairs(24, np.column_stack([preferred, other]), weights)
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
    monkeypatch.setattr(rank_svm, "_MAX_DENSE", 0 if by_gradients else 512)
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


@ANY_LOSS
def test_a_large_C_leaves_a_finite_function(loss):
    X, scores, groups = problem(7, n_points=60)
    linear = rank_svm_weights(X, GroupedPairs(scores, groups, np.ones(60)), 1e12, loss=loss)
    assert np.isfinite(linear.weights).all()
    pairs = OrderedPairs.of_scores(scores, GroupPreferences(groups).pairs())
    path = rank_svm_path((X @ X.T)[None], pairs, [1e12], loss=loss)
    assert np.isfinite(path.coefficients).all()
