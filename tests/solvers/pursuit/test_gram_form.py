"""A pursuit by the products of its columns is the pursuit by their rows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from problems import SMALL, generic_problem

from rankpursuit.solvers import pursue, pursue_gram, ridge_gram, ridge_rows

MODES = [("basic", False), ("basic", True), ("backfit", False), ("prefit", False)]
ALL_MODES = pytest.mark.parametrize(("fitting", "repeat"), MODES)


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
@SMALL
def test_both_forms_give_the_same_path(fitting, repeat, seed):
    rng = np.random.default_rng(seed)
    rows, target = rng.normal(size=(2, 30, 9)), rng.normal(size=(2, 30))
    by_rows = pursue(rows, target, 7, fitting=fitting, repeat=repeat)
    by_products = pursue_gram(*products_of(rows, target), 7, fitting=fitting, repeat=repeat)
    assert_same_path(by_rows, by_products)


@ALL_MODES
def test_both_forms_give_the_same_path_of_ridges(fitting, repeat):
    problem = generic_problem(4, n_points=14, n_groups=2, gammas=(0.5, 1.0, 3.0))
    root, ridges = problem.preferences.root, [0.01, 1.0, 50.0]
    rows, target = root(problem.kernel), root(problem.scores)
    by_rows = pursue(
        *ridge_rows(rows, target, problem.kernel, ridges), 9, fitting=fitting, repeat=repeat
    )
    penalised = ridge_gram(*products_of(rows, target), problem.kernel, ridges)
    by_products = pursue_gram(*penalised, 9, fitting=fitting, repeat=repeat)
    assert by_rows.selected.shape == (9, 9)
    assert_same_path(by_rows, by_products)


def test_each_ridge_of_a_path_is_that_ridge_alone():
    problem = generic_problem(5, gammas=(0.5, 2.0))
    ridges = [0.0, 0.3, 4.0]
    together = pursue(
        *ridge_rows(problem.kernel, problem.scores, problem.kernel, ridges), 8, fitting="backfit"
    )
    for number, ridge in enumerate(ridges):
        rows = ridge_rows(problem.kernel, problem.scores, problem.kernel, [ridge])
        alone = pursue(*rows, 8, fitting="backfit")
        np.testing.assert_array_equal(together.selected[number::3], alone.selected)
        np.testing.assert_allclose(
            together.coefficients()[number::3], alone.coefficients(), rtol=1e-9
        )


def test_without_a_penalty_the_rows_are_those_of_before():
    problem = generic_problem(6)
    rows, target = ridge_rows(problem.kernel, problem.scores, problem.kernel, [0.0])
    assert rows is problem.kernel
    np.testing.assert_array_equal(target, np.broadcast_to(problem.scores, target.shape))


def test_gram_path_ends_when_no_column_is_independent():
    rng = np.random.default_rng(0)
    three = rng.normal(size=(1, 40, 3))
    rows = np.concatenate([three, three @ rng.normal(size=(3, 4))], axis=2)
    path = pursue_gram(*products_of(rows, rng.normal(size=(1, 40))), 7, fitting="backfit")
    assert path.n_steps.tolist() == [3]
    assert np.isfinite(path.coefficients()).all()


def test_products_of_a_hundred_thousand_rows_give_the_path_of_the_rows():
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(1, 100_000, 12)) + 3.0
    target = rows[:, :, 0] - 2 * rows[:, :, 5] + rng.normal(size=(1, 100_000))
    for fitting in ("basic", "backfit", "prefit"):
        by_products = pursue_gram(*products_of(rows, target), 8, fitting=fitting)
        assert_same_path(pursue(rows, target, 8, fitting=fitting), by_products, 1e-7)


@ALL_MODES
def test_paths_by_products_that_end_early_leave_the_others_as_they_are_alone(fitting, repeat):
    rng = np.random.default_rng(13)
    rows, target = rng.normal(size=(4, 20, 10)), rng.normal(size=(4, 20))
    rows[1, :, 2:] = rows[1, :, :1]
    target[2] = rows[2, :, 3]
    gram, products, square = products_of(rows, target)
    path = pursue_gram(gram, products, square, 10, fitting=fitting, repeat=repeat)
    assert path.n_steps.min() < path.n_steps.max()
    for problem in range(4):
        one = slice(problem, problem + 1)
        alone = pursue_gram(
            gram[one], products[one], square[one], 10, fitting=fitting, repeat=repeat
        )
        for name in ("selected", "weights", "cost", "n_steps", "least_left"):
            np.testing.assert_array_equal(
                getattr(path, name)[one], getattr(alone, name), err_msg=name
            )
        np.testing.assert_array_equal(path.coefficients()[one], alone.coefficients())
