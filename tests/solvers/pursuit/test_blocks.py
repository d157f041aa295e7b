"""Sums over blocks are those of all rows at once."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from problems import SMALL, generic_problem

from rankpursuit.kernels import GaussianColumns
from rankpursuit.preferences import Blend, GroupPreferences, PairPreferences, Pointwise
from rankpursuit.solvers.pursuit import (
    GramSums,
    centre_groups,
    positive_part,
    pursue,
    ridge_paths,
    ridge_rows,
    runs_of_groups,
    sum_rows,
)

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


def summed(problem, form, n_rows):
    columns = GaussianColumns(problem.points[CANDIDATES], 0.3)
    entries = n_rows * (len(CANDIDATES) + problem.points.shape[1])
    return sum_rows(columns, 4, problem.points, problem.scores, form, entries=entries)


@each_form
@given(seed=st.integers(0, 10_000), n_groups=st.integers(1, 6), n_rows=st.integers(1, 30))
@SMALL
def test_sums_over_blocks_are_those_of_all_rows_at_once(form, seed, n_groups, n_rows):
    problem = generic_problem(seed, n_points=25, n_groups=n_groups, gammas=(0.3,))
    form = form(problem.groups)
    expected = GramSums.empty(1, 4)
    expected.add(0, problem.kernel[0][:, CANDIDATES], problem.scores, form)
    found = summed(problem, form, n_rows)
    np.testing.assert_allclose(found.gram, expected.gram, atol=1e-12)
    np.testing.assert_allclose(found.products, expected.products, atol=1e-12)
    assert found.square == pytest.approx(expected.square)
    assert found.n_rows == 25


def test_blocks_keep_the_digits_of_values_at_a_high_level():
    rng = np.random.default_rng(0)
    values, groups = 1e6 + rng.normal(size=(60, 3)), np.zeros(60)

    def columns(X, out):
        out[:] = X

    found = sum_rows(columns, 3, values, values[:, 0].copy(), GroupPreferences(groups), entries=21)
    centred = values - values[0] - (values - values[0]).mean(axis=0)
    np.testing.assert_allclose(found.gram[0], 60 * centred.T @ centred, rtol=1e-8)


def test_no_more_than_a_block_of_kernel_values_is_asked_for():
    problem = generic_problem(0, n_points=25, n_groups=2)
    asked = []

    def columns(X, out):
        asked.append(out.shape)
        out[:] = 1.0

    form = GroupPreferences(problem.groups)
    sum_rows(columns, 4, problem.points, problem.scores, form, entries=35)
    assert sum(rows for rows, _ in asked) == 25
    assert max(rows for rows, _ in asked) <= 5


def test_explicit_pairs_cannot_be_cut_into_blocks():
    pairs = PairPreferences(3, [[0, 2]])
    with pytest.raises(TypeError, match="PairPreferences cannot be cut"):
        sum_rows(GaussianColumns(np.ones((1, 1)), 1.0), 1, np.ones((3, 1)), np.ones(3), pairs)


@pytest.mark.parametrize("fitting", ["basic", "backfit", "prefit"])
def test_paths_of_sums_are_those_of_rows_for_all_kernels_and_ridges(fitting):
    problem = generic_problem(3, n_points=20, n_groups=3, gammas=(0.5, 2.0))
    root, ridges = problem.preferences.root, [0.0, 0.1, 5.0]
    sums = GramSums.empty(2, 20)
    for number, kernel in enumerate(problem.kernel):
        sums.add(number, kernel, problem.scores, problem.preferences)
    rows = ridge_rows(root(problem.kernel), root(problem.scores), problem.kernel, ridges)
    expected = pursue(*rows, 8, fitting=fitting)
    found = ridge_paths(sums, problem.kernel, ridges, 8, fitting=fitting)
    np.testing.assert_array_equal(found.selected, expected.selected)
    scale = np.abs(expected.coefficients()).max()
    np.testing.assert_allclose(found.coefficients(), expected.coefficients(), atol=1e-7 * scale)


@pytest.mark.parametrize("rank", [3, 6])
def test_ridge_rows_are_roots_of_the_kernel_of_full_rank_or_not(rank):
    points = np.random.default_rng(0).normal(size=(2, 6, rank))
    kernel = points @ points.swapaxes(1, 2)
    rows, _ = ridge_rows(np.zeros((2, 0, 6)), np.zeros(0), kernel, [0.0, 2.0])
    found = rows.swapaxes(1, 2) @ rows
    expected = [0.0 * kernel[0], 2.0 * kernel[0], 0.0 * kernel[1], 2.0 * kernel[1]]
    np.testing.assert_allclose(found, expected, atol=1e-13)


def test_positive_part_is_the_penalty_of_ridge_rows():
    kernel = np.array([[[0.0, 2.0], [2.0, 1.0]]])
    rows, _ = ridge_rows(np.zeros((1, 0, 2)), np.zeros(0), kernel, [1.0])
    np.testing.assert_allclose(positive_part(kernel)[0], rows[0].T @ rows[0], atol=1e-14)


@given(sizes=st.lists(st.integers(1, 9), min_size=1), n_rows=st.integers(1, 12))
def test_runs_hold_whole_groups_and_every_row_once(sizes, n_rows):
    runs = list(runs_of_groups(np.array(sizes), n_rows))
    ends = np.concatenate([[0], np.cumsum(sizes)])
    assert [rows.start for rows, _ in runs] == [0, *(rows.stop for rows, _ in runs[:-1])]
    assert runs[-1][0].stop == sum(sizes)
    for rows, groups in runs:
        assert (rows.start, rows.stop) == (ends[groups.start], ends[groups.stop])
        assert rows.stop - rows.start <= n_rows or groups.stop - groups.start == 1


@pytest.mark.parametrize("n_columns", [1, 3, 5000])
def test_groups_are_centred_whatever_number_of_them_the_cache_holds(n_columns):
    rng = np.random.default_rng(0)
    sizes = rng.integers(1, 9, size=40)
    groups = np.repeat(np.arange(40), sizes)
    x = rng.normal(size=(len(groups), n_columns)) + groups[:, None]
    expected = GroupPreferences(groups).root(x)
    centre_groups(x, sizes, np.sqrt(sizes))
    np.testing.assert_allclose(x, expected, atol=1e-12)


def test_without_a_kernel_there_is_no_penalty():
    problem = generic_problem(3, gammas=(0.5,))
    sums = GramSums.empty(1, 12)
    sums.add(0, problem.kernel[0], problem.scores, problem.preferences)
    alone = ridge_paths(sums, None, [0.0], 5)
    beside = ridge_paths(sums, problem.kernel, [0.0], 5)
    np.testing.assert_array_equal(alone.coefficients(), beside.coefficients())
    with pytest.raises(ValueError, match="without a kernel the one ridge must be 0"):
        ridge_paths(sums, None, [0.0, 1.0], 5)
