"""Every grid of a method is a loop over its kernels and points, each solved alone and densely."""

from itertools import product

import numpy as np
import pytest
from problems import dense_laplacian, generic_problem, group_graph

from rankpursuit.preferences import Blend, GroupPreferences, Pointwise
from rankpursuit.solvers import (
    Functions,
    OrderedPairs,
    Rows,
    View,
    joint_grid,
    least_squares_grid,
    pursuit_grid,
    rank_svm_grid,
    rank_svm_path,
    subset_grid,
)
from rankpursuit.solvers.pursuit import GramSums

PROBLEM = generic_problem(0, n_points=14, n_groups=2)
OTHER_SCORES = generic_problem(1, n_points=14).scores
SCORES = np.stack([PROBLEM.scores, OTHER_SCORES])  # of each kernel
LAPLACIAN = PROBLEM.laplacian
ALPHAS = [0.1, 3.0, 0.5]
NEW = np.random.default_rng(2).normal(size=(2, 5, 14))  # kernels at new points
PAIRS = OrderedPairs.of_scores(PROBLEM.scores, PROBLEM.preferences.pairs())
ANY_LOSS = pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
FITTINGS = pytest.mark.parametrize("fitting", ["basic", "backfit"])


def assert_consistent(grid, new, shape):
    """All results of a grid agree with each other; return the predictions."""
    values = grid.predict(new)
    assert values.shape[:-1] == shape
    n_basis = np.broadcast_to(grid.n_basis, shape)
    for index in np.ndindex(*shape):
        chosen, coef = grid.coefficients(index)
        last = coef if coef.ndim == 1 else coef[-1]
        assert len(chosen) == n_basis[index]
        np.testing.assert_allclose(new[index[0]][:, chosen] @ last, values[index], atol=1e-10)
    return values


@pytest.mark.parametrize("name", ["RLS", "RankRLS"])
def test_least_squares_are_solved_for_each_kernel_and_alpha(name):
    form = Pointwise(14) if name == "RLS" else PROBLEM.preferences
    dense = np.eye(14) if name == "RLS" else LAPLACIAN
    grid = least_squares_grid(PROBLEM.kernel, SCORES, form, {"alpha": ALPHAS})
    values = assert_consistent(grid, NEW, (2, 3))
    for (w, kernel), (k, alpha) in product(enumerate(PROBLEM.kernel), enumerate(ALPHAS)):
        coef = np.linalg.solve(dense @ kernel + alpha * np.eye(14), dense @ SCORES[w])
        np.testing.assert_allclose(values[w, k], NEW[w] @ coef, atol=1e-9)


def test_linear_functions_are_solved_for_their_weights():
    X, new = PROBLEM.points, np.random.default_rng(1).normal(size=(5, 3))
    linear = least_squares_grid(X, PROBLEM.scores, PROBLEM.preferences, {"alpha": ALPHAS})
    kernels = least_squares_grid(
        (X @ X.T)[None], PROBLEM.scores, PROBLEM.preferences, {"alpha": ALPHAS}
    )
    assert linear.n_basis == 3
    np.testing.assert_allclose(linear.predict(new), kernels.predict((new @ X.T)[None]), atol=1e-9)
    np.testing.assert_allclose(linear.coefficients((0, 1))[1], linear.coef[0, 1])


def test_subsets_are_nested_and_solved_for_each_size_and_alpha():
    order, sizes = np.random.default_rng(3).permutation(14)[:9], [9, 2, 5]
    columns, among = PROBLEM.kernel[:, :, order], PROBLEM.kernel[:, order[:, None], order]
    grid = subset_grid(
        columns, among, SCORES, PROBLEM.preferences, {"n_basis": sizes, "alpha": ALPHAS}
    )
    values = assert_consistent(grid, NEW[:, :, order], (2, 3, 3))
    for w, (s, size), (k, alpha) in product(range(2), enumerate(sizes), enumerate(ALPHAS)):
        part, kernel = columns[w][:, :size], among[w][:size, :size]
        system, right = part.T @ LAPLACIAN @ part + alpha * kernel, part.T @ LAPLACIAN @ SCORES[w]
        expected = NEW[w][:, order[:size]] @ np.linalg.solve(system, right)
        np.testing.assert_allclose(values[w, s, k], expected, atol=1e-8)


@ANY_LOSS
def test_rank_svm_is_solved_for_each_kernel_and_C(loss):
    Cs, options = [3.0, 0.1], {"loss": loss, "tol": 1e-8}
    grid = rank_svm_grid(PROBLEM.kernel, PAIRS, {"C": Cs}, **options)
    values = assert_consistent(grid, NEW, (2, 2))
    for (w, kernel), (c, C) in product(enumerate(PROBLEM.kernel), enumerate(Cs)):
        alone = rank_svm_path(kernel[None], PAIRS, [C], **options)
        np.testing.assert_allclose(values[w, c], NEW[w] @ alone.coefficients[0, 0], atol=1e-3)
        assert grid.gap[w, c] <= 1e-8


# Pursuits


def greedy(gram, products, n_steps, fitting):
    """Coefficients after 1 to P steps of a pursuit, by dense normal equations."""
    coef, chosen, staged = np.zeros(len(gram)), [], []
    for _ in range(n_steps):
        correlation = products - gram @ coef
        gain = np.square(correlation) / np.diag(gram)
        gain[chosen] = -1.0
        chosen.append(int(gain.argmax()))
        if fitting == "basic":
            coef[chosen[-1]] = correlation[chosen[-1]] / gram[chosen[-1], chosen[-1]]
        else:
            coef[chosen] = np.linalg.solve(gram[np.ix_(chosen, chosen)], products[chosen])
        staged.append(coef.copy())
    return staged


def greedy_order(gram, products, n_steps):
    """Choose functions one by one by the cost after a refit."""
    chosen: list[int] = []
    for _ in range(n_steps):
        others = [j for j in range(len(gram)) if j not in chosen]
        tries = [[*chosen, j] for j in others]
        gains = [products[w] @ np.linalg.solve(gram[np.ix_(w, w)], products[w]) for w in tries]
        chosen = tries[int(np.argmax(gains))]
    return chosen


RIDGES, SIZES = [0.5, 0.01], [4, 1, 6, 4]
FORM, DENSE = Blend(PROBLEM.preferences, 0.3), 0.3 * np.eye(14) + 0.7 * LAPLACIAN


@FITTINGS
@pytest.mark.parametrize("small", [False, True, None])
def test_pursuits_are_followed_for_each_kernel_ridge_and_size(fitting, small):
    candidates = np.array([1, 3, 4, 6, 8, 9, 12, 13])
    columns, among = (
        PROBLEM.kernel[:, :, candidates],
        PROBLEM.kernel[:, candidates][:, :, candidates],
    )
    if small is None:
        problem = GramSums.of(columns, PROBLEM.scores, FORM)
    else:
        problem = Rows(FORM.root(columns), FORM.root(PROBLEM.scores), small)
    grid = pursuit_grid(problem, {"ridge": RIDGES, "n_basis": SIZES}, kernel=among, fitting=fitting)
    values = assert_consistent(grid, NEW[:, :, candidates], (2, 2, 4))
    for (w, K), (r, ridge) in product(enumerate(columns), enumerate(RIDGES)):
        gram, right = K.T @ DENSE @ K + ridge * among[w], K.T @ DENSE @ PROBLEM.scores
        staged = greedy(gram, right, max(SIZES), fitting)
        expected = [NEW[w][:, candidates] @ staged[size - 1] for size in SIZES]
        np.testing.assert_allclose(values[w, r], expected, atol=1e-7)


def test_functions_are_pursued_for_each_ridge_and_size():
    columns, new = PROBLEM.kernel[0], NEW[0]
    functions = Functions(columns, None, FORM, PROBLEM.scores)
    grid = pursuit_grid(functions, {"ridge": RIDGES, "n_basis": SIZES})
    values = assert_consistent(grid, new[None], (1, 2, 4))
    np.testing.assert_allclose(grid.predict(lambda which: new[:, which]), values, atol=1e-12)
    dense, right = columns.T @ DENSE @ columns, columns.T @ DENSE @ PROBLEM.scores
    chosen = greedy_order(dense, right, max(SIZES))
    for (r, ridge), (p, size) in product(enumerate(RIDGES), enumerate(SIZES)):
        which = chosen[:size]
        penalised = dense[np.ix_(which, which)] + ridge * np.diag(np.diag(dense)[which])
        expected = new[:, which] @ np.linalg.solve(penalised, right[which])
        np.testing.assert_allclose(values[0, r, p], expected, atol=1e-7)


def test_sizes_beyond_the_end_of_a_path_are_its_end():
    rows = Rows(FORM.root(PROBLEM.kernel[:, :, :3]), FORM.root(PROBLEM.scores))
    grid = pursuit_grid(rows, {"ridge": [0.0], "n_basis": [2, 3, 9]}, fitting="backfit")
    values = assert_consistent(grid, NEW[:, :, :3], (2, 1, 3))
    np.testing.assert_array_equal(values[:, :, 1], values[:, :, 2])


def test_repeated_functions_are_listed_once():
    rows = Rows(FORM.root(PROBLEM.kernel), FORM.root(PROBLEM.scores))
    grid = pursuit_grid(rows, {"ridge": [0.0], "n_basis": [40, 12]}, repeat=True)
    values = grid.predict(NEW)
    chosen, staged = grid.coefficients((1, 0, 0))
    assert len(np.unique(chosen)) == len(chosen) < len(staged) == 40
    np.testing.assert_allclose(NEW[1][:, chosen] @ staged[11], values[1, 0, 1], atol=1e-10)


# Joint pursuits


def joint_greedy(grams, cross, products, n_steps, fitting):
    """Coefficients of both views after 1 to P steps, by comparing all pairs of functions."""
    n = len(products[0])
    gram = np.block([[grams[0], cross], [cross.T, grams[1]]])
    right, coef, staged = np.concatenate(products), np.zeros(2 * n), []
    chosen = []
    for _ in range(n_steps):
        residual = right - gram @ coef
        best, pair = -1.0, []
        for i, j in product(range(n), range(n, 2 * n)):
            if i in chosen or j in chosen:
                continue
            step = np.linalg.solve(gram[np.ix_([i, j], [i, j])], residual[[i, j]])
            if residual[[i, j]] @ step > best:
                best, pair = residual[[i, j]] @ step, [i, j]
        chosen += pair
        if fitting == "basic":
            coef[pair] = np.linalg.solve(gram[np.ix_(pair, pair)], residual[pair])
        else:
            coef[chosen] = np.linalg.solve(gram[np.ix_(chosen, chosen)], right[chosen])
        staged.append(np.split(coef.copy(), 2))
    return staged


@FITTINGS
def test_joint_pursuits_are_followed_for_each_kernel_ridge_nu_and_size(fitting):
    n_scored, points, nus, sizes = 9, [np.arange(0, 14, 2), np.arange(1, 14, 2)], [0.1, 2.0], [3, 1]
    scored, common = GroupPreferences.single(n_scored), GroupPreferences.single(5)
    dense, bar = (dense_laplacian(group_graph(np.zeros(n))) for n in (n_scored, 5))
    scores = PROBLEM.scores[:n_scored]
    views = []
    for own in points:
        K = PROBLEM.kernel[:, :, own]
        views.append(
            View(scored.root(K[:, :9]), scored.root(scores), common.root(K[:, 9:]), K[:, own])
        )
    grid = joint_grid(views, {"ridge": RIDGES, "nu": nus, "n_basis": sizes}, fitting=fitting)
    new = [NEW[:, :, own] for own in points]
    values, by_view = grid.predict(new), grid.predict_views(new)
    assert values.shape == (2, 2, 2, 2, 5)
    np.testing.assert_allclose(np.mean(by_view, axis=0), values, atol=1e-10)
    np.testing.assert_array_equal(grid.n_basis, np.broadcast_to([6, 2], (2, 2, 2, 2)))
    for w, (r, ridge), (k, nu) in product(range(2), enumerate(RIDGES), enumerate(nus)):
        K = [PROBLEM.kernel[w][:, own] for own in points]
        grams = [
            c[:9].T @ dense @ c[:9] + ridge * c[own] + 2.0 * nu * c[9:].T @ bar @ c[9:]
            for c, own in zip(K, points, strict=True)
        ]
        cross = -2.0 * nu * K[0][9:].T @ bar @ K[1][9:]
        right = [c[:9].T @ dense @ scores for c in K]
        staged = joint_greedy(grams, cross, right, max(sizes), fitting)
        for p, size in enumerate(sizes):
            coefficients = grid.coefficients((w, r, k, p))
            for v, (chosen, coef) in enumerate(coefficients):
                expected = new[v][w] @ staged[size - 1][v]
                np.testing.assert_allclose(by_view[v][w, r, k, p], expected, atol=1e-7)
                np.testing.assert_allclose(new[v][w][:, chosen] @ coef[-1], expected, atol=1e-7)
