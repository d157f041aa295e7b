"""By which form a pursuit is followed, and whether the path of sums is that of the rows."""

import numpy as np
import pytest
from problems import generic_problem

from rankpursuit.preferences import Blend, GroupPreferences, PairPreferences, Pointwise
from rankpursuit.solvers import pursuit as form_choice
from rankpursuit.solvers.pursuit import (
    GramSums,
    choose_form,
    is_exact,
    pursue,
    pursue_stack,
    ridge_paths,
    ridge_rows,
)


@pytest.mark.parametrize(
    ("n_rows", "n_candidates", "form"),
    [
        (500, 500, "rows"),
        (2_000, 100, "rows"),  # a few hundredths of a second
        (4_000, 1_000, "sums if exact"),
        (3_999, 1_000, "rows"),  # a Gram matrix takes too much of the room of the rows
        (33_000, 1_000, "sums if exact"),
        (34_000, 1_000, "sums"),  # rows do not fit into memory
        (1_000_000, 30, "sums if exact"),
        (10_000, 10_000, "rows"),
        (40_000, 10_000, "sums"),
    ],
)
def test_sums_take_the_place_of_many_rows(n_rows, n_candidates, form):
    groups = GroupPreferences(np.zeros(2))
    for preferences in (Pointwise(2), groups, Blend(groups, 0.5)):
        for fitting in ("basic", "backfit"):
            assert choose_form(n_rows, n_candidates, preferences, fitting) == form
        by_memory = "rows" if form == "sums if exact" else form
        assert choose_form(n_rows, n_candidates, preferences, "prefit") == by_memory


def test_explicit_pairs_are_followed_by_their_rows():
    pairs = PairPreferences(3, [[0, 2]])
    assert choose_form(10**9, 10, pairs, "basic") == "rows"
    assert choose_form(10**9, 10, Blend(pairs, 0.5), "basic") == "rows"


def both_paths(gamma, fitting, n_steps, scores=None):
    problem = generic_problem(1, n_points=60, n_groups=6, gammas=(gamma,))
    form, columns = problem.preferences, problem.kernel[:, :, :40]
    scores = problem.scores if scores is None else scores(columns)
    sums = GramSums.empty(1, 40)
    sums.add(0, columns[0], scores, form)
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


def test_least_left_is_the_smallest_share_of_a_chosen_column():
    rows = np.array([[[2.0, 3.0], [0.0, 4.0]]])
    by_rows = pursue(rows, np.array([1.0, 5.0]), 2, fitting="backfit")
    assert by_rows.selected.tolist() == [[1, 0]]
    np.testing.assert_allclose(by_rows.least_left, [1.0 - 0.6**2])
    np.testing.assert_array_equal(pursue(rows, np.ones(2), 2).least_left, [1.0])


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


def test_path_by_products_ends_where_that_of_the_rows_does():
    """Where nothing is left of the residue, and not where little is left."""
    rng = np.random.default_rng(6)
    orthonormal = np.linalg.qr(rng.normal(size=(8, 8)))[0]
    lengths = 10.0 ** -np.arange(0, 16, 2)
    target = orthonormal @ lengths
    stack = pursue_stack(orthonormal[None], target, 8)
    path = pursue(orthonormal[None], target, 8)
    assert stack.n_steps.tolist() == path.n_steps.tolist() == [6]


@pytest.mark.parametrize(
    ("fitting", "n_steps", "by_products"),
    [("basic", 10, True), ("basic", 2, False), ("prefit", 10, False), ("backfit", 10, False)],
)
def test_products_are_for_many_steps_without_a_refit(monkeypatch, fitting, n_steps, by_products):
    followed = []
    for name in ("pursue", "pursue_gram"):
        monkeypatch.setattr(form_choice, name, lambda *_, name=name, **__: followed.append(name))
    pursue_stack(np.zeros((2, 10, 10)), np.zeros(10), n_steps, fitting=fitting)
    assert followed == ["pursue_gram" if by_products else "pursue"]
