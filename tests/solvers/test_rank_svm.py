"""RankSVM against dense solvers on the explicit differences of its pairs."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from problems import generic_problem, ranking_problems
from scipy.optimize import minimize
from sklearn.svm import SVC

from rankpursuit.preferences import GroupPreferences
from rankpursuit.solvers import OrderedPairs, rank_svm, rank_svm_path, rank_svm_weights
from rankpursuit.solvers.rank_svm import GroupedPairs

LOSSES = ["hinge", "squared_hinge"]
ANY_LOSS = pytest.mark.parametrize("loss", LOSSES)
Cs = np.array([0.01, 0.3, 10.0])


def ordered(problem):
    return OrderedPairs.of_scores(problem.scores, problem.preferences.pairs())


def differences(listed, n_points):
    """One row ``e_i - e_j`` for each pair in which i is preferred to j."""
    rows = np.zeros((len(listed), n_points))
    for row, (i, j) in zip(rows, listed, strict=True):
        row[i], row[j] = 1.0, -1.0
    return rows


def ordered_by_loops(scores, groups):
    """Each pair inside a group whose scores differ, the preferred point first."""
    n_points = range(len(scores))
    return [
        (i, j)
        for i in n_points
        for j in n_points
        if groups[i] == groups[j] and scores[i] > scores[j]
    ]


def differences_by_loops(scores, groups):
    return differences(ordered_by_loops(scores, groups), len(scores))


def objective(kernel, rows, a, C, loss, weights=1.0):
    slack = np.maximum(0.0, 1.0 - rows @ kernel @ a)
    return 0.5 * a @ kernel @ a + C * np.sum(weights * (slack if loss == "hinge" else slack**2))


def least_objective(kernel, rows, C, loss, weights=1.0):
    if loss == "squared_hinge":
        return best_squared_hinge(kernel, rows, C, weights)
    a = best_hinge(kernel, rows, C, weights)
    return objective(kernel, rows, a, C, loss, weights)


def best_hinge(kernel, rows, C, weights=1.0):
    """Coefficients of scikit-learn's SVC on the kernel of the pairs' differences.

    Each pair is given in both orientations with half of C: by symmetry and convexity an intercept
    of zero is among the best ones.
    """
    gram = rows @ kernel @ rows.T
    both = np.block([[gram, -gram], [-gram, gram]])
    labels = np.repeat([1, -1], len(rows))
    twice = np.tile(np.broadcast_to(weights, len(rows)), 2)
    svc = SVC(C=C / 2.0, kernel="precomputed", tol=1e-5).fit(both, labels, sample_weight=twice)
    dual = np.zeros(2 * len(rows))
    dual[svc.support_] = svc.dual_coef_[0]
    return rows.T @ (dual[: len(rows)] - dual[len(rows) :])


def best_squared_hinge(kernel, rows, C, weights=1.0):
    """Least objective by L-BFGS on the primal, in an explicit feature space of the kernel."""
    values, vectors = np.linalg.eigh(kernel)
    features = vectors * np.sqrt(np.maximum(values, 0.0))
    X = rows @ features

    def primal(w):
        slack = np.maximum(0.0, 1.0 - X @ w)
        pull = C * weights * slack
        return 0.5 * w @ w + pull @ slack, w - 2.0 * X.T @ pull

    start = np.zeros(len(kernel))
    tight = {"maxiter": 10_000, "ftol": 1e-15, "gtol": 1e-10}
    return minimize(primal, start, jac=True, method="L-BFGS-B", options=tight).fun


def assert_solved(path, kernels, rows, loss, weights=1.0):
    """The objective is that of the coefficients, and above the least one by the gap at most."""
    for i, c in np.ndindex(len(kernels), len(Cs)):
        stated, a = path.objective[i, c], path.coefficients[i, c]
        assert stated == pytest.approx(
            objective(kernels[i], rows, a, Cs[c], loss, weights), rel=1e-9
        )
        # Both are upper bounds of the minimum; the gap is honest if theirs is not below.
        best = least_objective(kernels[i], rows, Cs[c], loss, weights)
        assert stated * (1.0 - path.gap[i, c]) <= best * (1.0 + 1e-9)
        assert stated <= best * (1.0 + 1e-5)


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


@given(ranking_problems(), st.sampled_from(LOSSES), st.booleans())
def test_any_problem_is_solved_to_its_stated_gap(problem, loss, weighted):
    rows = differences_by_loops(problem.scores, problem.groups)
    compared = problem.preferences.pairs()
    # The weight of a pair depends on both of its points, in any order.
    of_pairs, of_rows = (
        0.5 + both.sum(axis=1) % 3 for both in (compared, np.abs(rows) * np.arange(rows.shape[1]))
    )
    pairs = OrderedPairs.of_scores(problem.scores, compared, of_pairs if weighted else None)
    assert pairs.n_pairs == len(rows)
    path = rank_svm_path(problem.kernel, pairs, Cs, loss=loss, tol=1e-6)
    assert np.all(path.gap <= 1e-6)
    if len(rows) == 0:
        assert not path.coefficients.any()
        assert not path.objective.any()
    else:
        assert_solved(path, problem.kernel, rows, loss, of_rows if weighted else 1.0)


@given(st.integers(0, 2**32 - 1), st.integers(1, 30), st.sampled_from(LOSSES))
def test_any_weighted_pairs_contradictions_too_are_solved_to_the_stated_gap(seed, n_pairs, loss):
    """The weights are from 0.1 to 10."""
    rng, kernels = np.random.default_rng(seed), generic_problem(seed, n_points=6).kernel
    every = [(i, j) for i in range(6) for j in range(6) if i != j]
    listed = rng.permutation(every)[:n_pairs]
    weights = 10.0 ** rng.uniform(-1.0, 1.0, size=len(listed))
    path = rank_svm_path(kernels, OrderedPairs(6, listed, weights), Cs, loss=loss, tol=1e-6)
    assert np.all(path.gap <= 1e-6)
    assert_solved(path, kernels, differences(listed, 6), loss, weights)


def stack_of_users():
    """Kernels and pairs of four users; the second has weights, the third has only ties."""
    users = [generic_problem(seed, n_groups=1 + seed % 2) for seed in range(20, 24)]
    scores = [users[0].scores, np.round(users[1].scores), np.ones(12), np.round(users[3].scores, 1)]
    pairs = []
    for number, (user, own) in enumerate(zip(users, scores, strict=True)):
        compared = user.preferences.pairs()
        weights = np.linspace(0.1, 3.0, len(compared)) if number == 1 else None
        pairs.append(OrderedPairs.of_scores(own, compared, weights))
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
def test_pairs_are_counted_without_their_matrix(seed, n_points, n_groups, n_scores, margin):
    rng = np.random.default_rng(seed)
    scores = rng.integers(n_scores, size=n_points).astype(float)
    _, groups = np.unique(rng.integers(n_groups, size=n_points), return_inverse=True)
    of_group = rng.random(n_groups) + 0.1
    rows = differences_by_loops(scores, groups)
    weights = of_group[groups[(rows > 0).argmax(axis=1)]] if len(rows) else np.empty(0)
    values = rng.normal(size=n_points)
    for pairs in (
        GroupedPairs(scores, groups, of_group[groups]),
        OrderedPairs(n_points, ordered_by_loops(scores, groups), weights),
    ):
        assert_same(pairs.violated(values, margin), *of_list(rows, weights, values, margin))


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
def test_the_gap_bounds_the_distance_to_the_least_objective(loss):
    X, scores, groups = problem(3)
    pairs = GroupedPairs(scores, groups, np.ones(24))
    best = rank_svm_weights(X, pairs, 1.0, loss=loss, tol=TOL[loss]).objective
    for max_iter in range(1, 8):
        early = rank_svm_weights(X, pairs, 1.0, loss=loss, tol=1e-9, max_iter=max_iter)
        assert early.objective * (1.0 - early.gap) <= best * (1.0 + 1e-9)
        assert early.objective >= best * (1.0 - TOL[loss])


@ANY_LOSS
@pytest.mark.parametrize("C", [0.01, 0.3, 10.0, 100.0])
@pytest.mark.parametrize("of_group", [[1.0, 1.0, 1.0], [0.2, 1.0, 3.0]], ids=["equal", "weighted"])
def test_linear_objective_is_the_least_of_grouped_and_of_listed_pairs(loss, C, of_group):
    X, scores, groups = problem(int(C))
    listed = np.array(ordered_by_loops(scores, groups))
    rows, of_group = differences(listed, 24), np.array(of_group)
    weights = of_group[groups[listed[:, 0]]]
    least = least_objective(X @ X.T, rows, C, loss, weights)
    for pairs in (
        GroupedPairs(scores, groups, of_group[groups]),
        OrderedPairs(24, listed, weights),
    ):
        solved = rank_svm_weights(X, pairs, C, loss=loss, tol=TOL[loss])
        stated = primal(X, rows, solved.weights, C, loss, weights)
        assert solved.objective == pytest.approx(stated, rel=1e-9)
        assert -1e-9 <= solved.gap <= TOL[loss]
        # The reference is no more exact than that.
        assert least * (1.0 - 1e-4) <= solved.objective <= least * (1.0 + TOL[loss])


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
def test_a_large_C_leaves_a_finite_function(loss):
    X, scores, groups = problem(7, n_points=60)
    linear = rank_svm_weights(X, GroupedPairs(scores, groups, np.ones(60)), 1e12, loss=loss)
    assert np.isfinite(linear.weights).all()
    pairs = OrderedPairs.of_scores(scores, GroupPreferences(groups).pairs())
    path = rank_svm_path((X @ X.T)[None], pairs, [1e12], loss=loss)
    assert np.isfinite(path.coefficients).all()


@ANY_LOSS
def test_points_without_a_pair_have_the_zero_function(loss):
    X, _, groups = problem()
    solved = rank_svm_weights(X, GroupedPairs(np.ones(24), groups, np.ones(24)), 1.0, loss=loss)
    assert solved.objective == solved.gap == 0.0
    assert not solved.weights.any()
