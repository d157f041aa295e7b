"""Pursuits against a slow version that refits from scratch, by rows and by Gram matrices."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from problems import (
    dictionaries,
    generic_problem,
    group_graph,
    least_squares,
    ranking_cost,
    ranking_problems,
)
from sklearn.linear_model import orthogonal_mp

from rankpursuit.kernels import GaussianColumns
from rankpursuit.preferences import Blend, GroupPreferences, PairPreferences, Pointwise
from rankpursuit.solvers import (
    GramSums,
    choose_form,
    is_exact,
    pursue,
    pursue_gram,
    pursue_stack,
    ridge_paths,
    ridge_rows,
    sum_rows,
)

MODES = [("basic", False), ("basic", True), ("backfit", False), ("prefit", False)]
ALL_MODES = pytest.mark.parametrize(("fitting", "repeat"), MODES)
any_mode = st.sampled_from(MODES)


def share_independent(columns, chosen, g):
    """Share of the norm of column g that the chosen columns leave."""
    column = columns[:, g]
    if not column.any():
        return 0.0
    left = column - columns[:, chosen] @ least_squares(columns[:, chosen], column)
    return np.linalg.norm(left) / np.linalg.norm(column)


def cost_with(columns, target, chosen, coefficients, g, fitting):
    """Coefficients over chosen + [g] and cost, if g were chosen next and fitted."""
    if fitting == "prefit":
        refitted = least_squares(columns[:, [*chosen, g]], target)
        return np.sum((target - columns[:, [*chosen, g]] @ refitted) ** 2)
    residue = target - columns[:, chosen] @ coefficients
    step = columns[:, g] @ residue / (columns[:, g] @ columns[:, g])
    return np.sum((residue - step * columns[:, g]) ** 2)


def assert_obvious_path(columns, target, path, i, fitting, repeat):
    """Follow path i step by step with a slow version that refits from scratch.

    Where choices tie, the version takes that of the path; it must be a best one.
    """
    total = target @ target
    tolerance = 1e-10 * total
    chosen, coefficients = [], np.zeros(0)
    stated = path.coefficients()[i]
    n_steps = int(path.n_steps[i])
    assert path.cost[i, 0] == pytest.approx(total)
    for p in range(path.selected.shape[1]):
        open_ones = [g for g in range(columns.shape[1]) if repeat or g not in chosen]
        if fitting != "basic":
            open_ones = [g for g in open_ones if share_independent(columns, chosen, g) > 2e-6]
        open_ones = [g for g in open_ones if columns[:, g].any()]
        costs = {g: cost_with(columns, target, chosen, coefficients, g, fitting) for g in open_ones}
        if p >= n_steps:
            now = np.sum((target - columns[:, chosen] @ coefficients) ** 2)
            assert all(cost >= now - tolerance for cost in costs.values()), "ended too early"
            assert path.selected[i, p] == -1
        else:
            g = int(path.selected[i, p])
            assert g in costs
            assert costs[g] <= min(costs.values()) + tolerance
            if fitting == "basic":
                residue = target - columns[:, chosen] @ coefficients
                step = columns[:, g] @ residue / (columns[:, g] @ columns[:, g])
                coefficients = np.append(coefficients, step)
            else:
                coefficients = least_squares(columns[:, [*chosen, g]], target)
            chosen.append(g)
        fit = columns[:, chosen] @ coefficients
        stated_fit = columns[:, chosen] @ stated[p, : len(chosen)]
        np.testing.assert_allclose(stated_fit, fit, atol=1e-8 * np.sqrt(total))
        assert not stated[p, len(chosen) :].any()
        assert path.cost[i, p + 1] == pytest.approx(np.sum((target - fit) ** 2), abs=tolerance)


@ALL_MODES
@pytest.mark.parametrize("seed", range(3))
def test_path_is_the_obvious_one(fitting, repeat, seed):
    problem = generic_problem(seed, n_groups=2)
    columns = problem.preferences.root(problem.kernel)
    target = problem.preferences.root(problem.scores)
    path = pursue(columns, target, 20, fitting=fitting, repeat=repeat)
    assert path.selected.shape == (2, 20 if repeat else 12)
    for i in range(len(columns)):
        assert_obvious_path(columns[i], target, path, i, fitting, repeat)


@given(dictionaries(), any_mode)
def test_path_over_any_dictionary_is_the_obvious_one(dictionary, mode):
    columns, target = dictionary
    path = pursue(columns, target, 9, fitting=mode[0], repeat=mode[1])
    for i in range(len(columns)):
        assert_obvious_path(columns[i], target, path, i, *mode)


@given(ranking_problems(), any_mode)
def test_ranking_path_is_the_obvious_one_in_the_laplacian_cost(problem, mode):
    preferences, scores = problem.preferences, problem.scores
    columns, target = preferences.root(problem.kernel), preferences.root(scores)
    path = pursue(columns, target, 8, fitting=mode[0], repeat=mode[1])
    predictions = path.predict(problem.kernel)
    graph = group_graph(problem.groups)
    total = ranking_cost(graph, scores)
    assert np.isfinite(predictions).all()
    for i in range(len(columns)):
        for p in range(path.selected.shape[1]):
            true_cost = ranking_cost(graph, scores - predictions[i, p])
            assert path.cost[i, p + 1] == pytest.approx(true_cost, abs=1e-8 * total, rel=1e-8)
    assert np.all(np.diff(path.cost, axis=1) <= 1e-12 * total)
    if total == 0.0:
        assert not path.n_steps.any()


@ALL_MODES
def test_predictions_are_the_chosen_columns_times_the_coefficients(fitting, repeat):
    problem = generic_problem(6)
    elsewhere = np.random.default_rng(1).normal(size=(2, 5, 12))
    path = pursue(problem.kernel, problem.scores, 6, fitting=fitting, repeat=repeat)
    predictions, coefficients = path.predict(elsewhere), path.coefficients()
    for i, p in np.ndindex(2, 6):
        expected = elsewhere[i][:, path.selected[i]] @ coefficients[i, p]
        np.testing.assert_allclose(predictions[i, p], expected, rtol=1e-9, atol=1e-9)
    steps = np.array([1, 4, 6])
    np.testing.assert_allclose(path.predict(elsewhere, steps), predictions[:, steps - 1])


def test_prefit_chooses_as_in_exact_arithmetic_among_nearly_dependent_functions():
    rng = np.random.default_rng(0)
    points, targets = rng.normal(size=(1000, 20, 4)), rng.normal(size=(1000, 20))
    squared = np.square(points[:, :, None] - points[:, None]).sum(axis=3)
    kernels = np.exp(-squared / (2 * 1000.0**2))
    # In extended precision, all columns orthogonalised at each step.
    norms = (kernels**2).sum(axis=1)
    left, residue, expected = kernels.astype(np.longdouble), targets.astype(np.longdouble), []
    for _ in range(3):
        gain, squares = np.einsum("bm,bmn->bn", residue, left) ** 2, (left**2).sum(axis=1)
        best = (gain / np.where(squares > 1e-12 * norms, squares, np.inf)).argmax(axis=1)
        expected.append(best)
        unit = np.take_along_axis(left, best[:, None, None], axis=2)
        unit /= np.sqrt((unit**2).sum(axis=1, keepdims=True))
        residue = residue - (unit * np.einsum("bm,bmi->bi", residue, unit)[:, None])[:, :, 0]
        left = left - unit * np.einsum("bmi,bmn->bin", unit, left)
    selected = pursue(kernels, targets, 3, fitting="prefit").selected
    np.testing.assert_array_equal(selected, np.column_stack(expected))


def test_repeated_functions_are_listed_once_in_the_order_of_their_first_choice():
    problem = generic_problem(8)
    path = pursue(problem.kernel, problem.scores, 40, repeat=True)
    for i in range(2):
        functions, coefficients = path.expansion(i)
        assert functions.tolist() == list(dict.fromkeys(path.selected[i].tolist()))
        expected = path.predict(problem.kernel)[i]
        np.testing.assert_allclose(coefficients @ problem.kernel[i][:, functions].T, expected)


@ALL_MODES
def test_nearly_dependent_columns_do_not_blow_up(fitting, repeat):
    """Wide kernels, whose columns differ from each other in the last digits only."""
    problem = generic_problem(9, n_points=30, gammas=(1e-3, 1e-6, 1e-9))
    root = problem.preferences.root
    path = pursue(root(problem.kernel), root(problem.scores), 30, fitting=fitting, repeat=repeat)
    assert np.all(np.diff(path.cost, axis=1) <= 1e-10 * path.cost[:, :1])
    fit = root(path.predict(problem.kernel).swapaxes(1, 2)).swapaxes(1, 2)
    true_cost = np.square(root(problem.scores) - fit).sum(axis=2)
    np.testing.assert_allclose(path.cost[:, 1:], true_cost, rtol=1e-4)


@pytest.mark.parametrize("seed", range(5))
def test_backfitted_kmp_has_the_support_of_orthogonal_matching_pursuit(seed):
    problem = generic_problem(seed, n_points=20, gammas=(0.5, 1.5))
    path = pursue(problem.kernel, problem.scores, 10, fitting="backfit")
    for i, kernel in enumerate(problem.kernel):
        norms = np.linalg.norm(kernel, axis=0)
        for p in range(10):
            theirs = orthogonal_mp(kernel / norms, problem.scores, n_nonzero_coefs=p + 1) / norms
            ours = np.zeros(20)
            ours[path.selected[i]] = path.coefficients()[i, p]
            assert set(path.selected[i, : p + 1]) == set(np.flatnonzero(theirs))
            np.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=1e-9)


@ALL_MODES
@pytest.mark.parametrize("level", [0.0, 1e6])
def test_constant_columns_are_never_chosen_for_ranking(fitting, repeat, level):
    rng = np.random.default_rng(5)
    columns = rng.normal(size=(1, 7, 4))
    columns[0, :, 1], columns[0, :, 2] = 0.1, 1.0 / 3.0
    for groups in ([0] * 7, [0, 1, 0, 1, 0, 1, 0]):
        root = GroupPreferences(groups).root
        target = root(level + rng.normal(size=7))
        path = pursue(root(columns), target, 4, fitting=fitting, repeat=repeat)
        assert set(path.selected[0]) <= {0, 3, -1}
        assert np.abs(path.coefficients()).max() < 100.0


@ALL_MODES
def test_function_that_vanishes_on_all_points_is_never_chosen(fitting, repeat):
    """Its coefficient would be huge, and so its value at a point where it does not vanish."""
    rng = np.random.default_rng(6)
    columns = rng.normal(size=(2, 6, 4))
    columns[0, :, 1] *= 1e-100
    columns[0, :, 3] *= 1e-17
    path = pursue(columns, rng.normal(size=6), 40, fitting=fitting, repeat=repeat)
    assert set(path.selected[0]) <= {0, 2, -1}
    assert {1, 3} <= set(path.selected[1])
    # What counts is the size beside the other functions.
    small = pursue(1e-100 * columns[1:], rng.normal(size=6), 40, fitting=fitting, repeat=repeat)
    assert set(small.selected[0]) == {0, 1, 2, 3}


@ALL_MODES
@pytest.mark.parametrize("by_products", [False, True])
def test_paths_that_end_early_leave_the_others_as_they_are_alone(fitting, repeat, by_products):
    rng = np.random.default_rng(11)
    ranks = (12, 1, 3, 12, 2, 7)  # that of the columns, which ends a path with a refit
    rows = np.stack([rng.normal(size=(12, rank)) @ rng.normal(size=(rank, 12)) for rank in ranks])
    target = rng.normal(size=(6, 12))
    target[4] = rows[4, :, 5]  # nothing is left after one step
    data, solve = (rows, target), pursue
    if by_products:
        data, solve = products_of(rows, target), pursue_gram
    path = solve(*data, 12, fitting=fitting, repeat=repeat)
    assert len(set(path.n_steps)) > 1
    for problem in range(6):
        one = slice(problem, problem + 1)
        alone = solve(*(array[one] for array in data), 12, fitting=fitting, repeat=repeat)
        for name in ("selected", "weights", "cost", "n_steps", "least_left"):
            np.testing.assert_array_equal(
                getattr(path, name)[one], getattr(alone, name), err_msg=name
            )
        np.testing.assert_array_equal(path.coefficients()[one], alone.coefficients())


def products_of(rows, target):
    """Gram matrices, products with the target and its square."""
    target = np.broadcast_to(target, rows.shape[:2])
    gram = np.matmul(rows.swapaxes(1, 2), rows)
    return gram, np.einsum("bmn,bm->bn", rows, target), np.square(target).sum(axis=1)


def assert_same_path(one, two, tolerance=1e-8):
    np.testing.assert_array_equal(one.selected, two.selected)
    np.testing.assert_array_equal(one.n_steps, two.n_steps)
    scale = np.abs(one.coefficients()).max()
    np.testing.assert_allclose(two.coefficients(), one.coefficients(), atol=tolerance * scale)
    np.testing.assert_allclose(two.cost, one.cost, atol=tolerance * one.cost.max())


@ALL_MODES
@given(seed=st.integers(0, 10_000))
def test_both_forms_give_the_same_path(fitting, repeat, seed):
    rng = np.random.default_rng(seed)
    rows, target = rng.normal(size=(2, 30, 9)), rng.normal(size=(2, 30))
    by_rows = pursue(rows, target, 7, fitting=fitting, repeat=repeat)
    by_products = pursue_gram(*products_of(rows, target), 7, fitting=fitting, repeat=repeat)
    assert_same_path(by_rows, by_products)


@pytest.mark.parametrize(
    ("n_rows", "n_candidates", "form"),
    [
        (2_000, 100, "rows"),  # a few hundredths of a second
        (4_000, 1_000, "gram_then_rows"),
        (3_999, 1_000, "rows"),  # a Gram matrix takes too much of the room of the rows
        (34_000, 1_000, "sums"),  # rows do not fit into memory
        (1_000_000, 30, "gram_then_rows"),
    ],
)
def test_sums_take_the_place_of_many_rows(n_rows, n_candidates, form):
    groups = GroupPreferences(np.zeros(2))
    for preferences in (Pointwise(2), groups, Blend(groups, 0.5)):
        for fitting in ("basic", "backfit"):
            assert choose_form(n_rows, n_candidates, preferences, fitting) == form
        by_memory = "rows" if form == "gram_then_rows" else form
        assert choose_form(n_rows, n_candidates, preferences, "prefit") == by_memory
    pairs = PairPreferences(3, [[0, 2]])  # cannot be split into blocks
    for preferences in (pairs, Blend(pairs, 0.5)):
        assert choose_form(n_rows, n_candidates, preferences, "basic") == "rows"


def both_paths(gamma, fitting, n_steps, scores=None):
    problem = generic_problem(1, n_points=60, n_groups=6, gammas=(gamma,))
    form, columns = problem.preferences, problem.kernel[:, :, :40]
    scores = problem.scores if scores is None else scores(columns)
    sums = GramSums.of(columns, scores, form)
    by_sums = ridge_paths(sums, None, [0.0], n_steps, fitting=fitting)
    return by_sums, pursue(form.root(columns), form.root(scores), n_steps, fitting=fitting)


@pytest.mark.parametrize("fitting", ["basic", "backfit"])
@pytest.mark.parametrize("gamma", [10.0, 1.0, 0.1, 0.01, 0.001])
@pytest.mark.parametrize("n_steps", [5, 15, 30])
def test_a_path_of_sums_that_is_called_exact_is_that_of_the_rows(fitting, gamma, n_steps):
    found, expected = both_paths(gamma, fitting, n_steps)
    if gamma == 0.001 and fitting == "backfit" and n_steps == 30:
        assert not is_exact(found)
    if gamma == 10.0 or fitting == "basic":
        assert is_exact(found)
    if is_exact(found):
        np.testing.assert_array_equal(found.selected, expected.selected)
        scale = np.abs(expected.coefficients()).max()
        np.testing.assert_allclose(found.coefficients(), expected.coefficients(), atol=1e-7 * scale)
        np.testing.assert_allclose(found.cost, expected.cost, rtol=1e-7)


def test_a_path_through_nearly_dependent_functions_is_not_called_exact():
    one, other, rest = np.random.default_rng(0).normal(size=(3, 50))
    for apart, exact in ((1.0, True), (1e-4, False)):
        columns = np.stack([one, one + apart * other], axis=1)[None]
        path = pursue(columns, other + rest, 2, fitting="backfit")
        assert path.n_steps.tolist() == [2]
        assert is_exact(path) == exact


@pytest.mark.parametrize("fitting", ["basic", "backfit"])
def test_a_path_that_leaves_nothing_of_the_cost_is_not_called_exact(fitting):
    assert not is_exact(both_paths(10.0, fitting, 1, lambda columns: 3.0 * columns[0, :, 7])[0])


@pytest.mark.parametrize("repeat", [False, True])
@pytest.mark.parametrize("ridges", [[0.0], [0.0, 0.3]])
def test_basic_pursuit_of_a_stack_is_that_of_its_rows(repeat, ridges):
    rng = np.random.default_rng(5)
    points = rng.normal(size=(6, 15, 2))
    kernel = np.exp(-np.square(points[:, :, None] - points[:, None]).sum(axis=3))
    target = rng.normal(size=(6, 15))
    rows, longer = ridge_rows(kernel, target, kernel, ridges)
    stack = pursue_stack(rows, longer, 15, repeat=repeat)
    path = pursue(rows, longer, 15, repeat=repeat)
    np.testing.assert_array_equal(stack.selected, path.selected)
    np.testing.assert_allclose(stack.weights, path.weights, atol=1e-11)
    np.testing.assert_allclose(stack.cost, path.cost, atol=1e-12)


CANDIDATES = np.array([0, 3, 5, 11])
FORMS = {
    "pointwise": lambda groups: Pointwise(len(groups)),
    "pairs": GroupPreferences,
    "equal": lambda groups: GroupPreferences(groups, "equal"),
    "weights": lambda groups: GroupPreferences(groups, 1.0 + np.arange(len(np.unique(groups)))),
    "blend": lambda groups: Blend(GroupPreferences(groups), 0.3),
    "regression": lambda groups: Blend(GroupPreferences(groups), 1.0),
}
each_form = pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)


@each_form
@given(seed=st.integers(0, 10_000), n_groups=st.integers(1, 6), n_rows=st.integers(1, 30))
def test_sums_over_blocks_are_those_of_all_rows_at_once(form, seed, n_groups, n_rows):
    problem = generic_problem(seed, n_points=25, n_groups=n_groups, gammas=(0.3,))
    form = form(problem.groups)
    columns = GaussianColumns(problem.points[CANDIDATES], 0.3)
    entries = n_rows * (len(CANDIDATES) + problem.points.shape[1])
    found = sum_rows(columns, 4, problem.points, problem.scores, form, entries=entries)
    root, target = form.root(problem.kernel[0][:, CANDIDATES]), form.root(problem.scores)
    np.testing.assert_allclose(found.gram[0], root.T @ root, atol=1e-11)
    np.testing.assert_allclose(found.products[0], root.T @ target, atol=1e-11)
    assert found.square == pytest.approx(target @ target)
    assert found.n_rows == 25


def test_blocks_keep_the_digits_of_values_at_a_high_level():
    rng = np.random.default_rng(0)
    values, groups = 1e6 + rng.normal(size=(60, 3)), np.zeros(60)

    def columns(X, out):
        out[:] = X

    found = sum_rows(columns, 3, values, values[:, 0].copy(), GroupPreferences(groups), entries=21)
    centred = values - values[0] - (values - values[0]).mean(axis=0)
    np.testing.assert_allclose(found.gram[0], 60 * centred.T @ centred, rtol=1e-8)


@pytest.mark.parametrize("rank", [3, 6])
def test_ridge_rows_are_roots_of_the_kernel_of_full_rank_or_not(rank):
    points = np.random.default_rng(0).normal(size=(2, 6, rank))
    kernel = points @ points.swapaxes(1, 2)
    rows, target = ridge_rows(np.zeros((2, 0, 6)), np.zeros(0), kernel, [0.0, 2.0])
    expected = [0.0 * kernel[0], 2.0 * kernel[0], 0.0 * kernel[1], 2.0 * kernel[1]]
    np.testing.assert_allclose(rows.swapaxes(1, 2) @ rows, expected, atol=1e-13)
    assert not target.any()
