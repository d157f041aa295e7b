"""Dense linear algebra over stacks, against numpy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from problems import ranking_problems

from rankpursuit.solvers import pursue
from rankpursuit.solvers._linalg import GrowingBasis, first_best, solve_shifted, whitening


@pytest.mark.parametrize(
    ("gain", "best"),
    [
        ([0.1, 0.3, 0.2], 1),
        ([0.1, 1.0 - 1e-12, 1.0, 1.0 + 1e-12], 1),  # rounding does not decide
        ([0.1, 1.0 - 1e-6, 1.0], 2),
        ([-1.0, -1.0], 0),
        ([0.0, 0.0, 0.0], 0),
    ],
)
def test_the_first_of_the_highest_gains_is_taken(gain, best):
    rows = np.array([[*gain, -2.0, -2.0], [-2.0, *gain, -2.0], [-2.0, -2.0, *gain]])
    assert first_best(rows).tolist() == [best, best + 1, best + 2]


def test_a_pursuit_takes_the_first_of_equal_functions_on_any_machine():
    rng = np.random.default_rng(1)
    dictionary = np.abs(rng.normal(size=(1, 6, 4)))
    target = rng.normal(size=6)
    best = pursue(dictionary, target, 1).selected[0, 0]
    twice = np.concatenate([dictionary, dictionary * (1.0 + 1e-13)], axis=2)
    noisy = np.concatenate([dictionary * (1.0 + rng.normal(size=(1, 6, 4)) * 1e-14)] * 2, axis=2)
    assert pursue(twice, target, 1).selected[0, 0] == best
    assert pursue(noisy, target, 1).selected[0, 0] == best


def grown(columns):
    """Basis of the columns (b, m, p), with its unit vectors stacked to (b, m, p)."""
    basis = GrowingBasis((len(columns),), columns.shape[1], columns.shape[2])
    units = [basis.append(columns[:, :, p]) for p in range(columns.shape[2])]
    return basis, np.stack(units, axis=2)


def test_basis_is_orthonormal_however_close_the_columns_are():
    rng = np.random.default_rng(0)
    common = rng.normal(size=(3, 20, 1))
    columns = common + 1e-5 * rng.normal(size=(3, 20, 8))
    basis, units = grown(columns)
    gram = np.matmul(units.swapaxes(1, 2), units)
    np.testing.assert_allclose(gram, np.broadcast_to(np.eye(8), gram.shape), atol=1e-14)
    np.testing.assert_allclose(np.matmul(columns, basis.directions), units, atol=1e-9)


def test_dependent_column_adds_nothing_to_its_own_problem_only():
    columns = np.random.default_rng(2).normal(size=(2, 6, 4))
    columns[0, :, 2] = 3.0 * columns[0, :, 0] - columns[0, :, 1]
    basis, units = grown(columns)
    assert not units[0, :, 2].any()
    assert not basis.directions[0, :, 2].any()
    norms = np.linalg.norm(units, axis=1)
    np.testing.assert_allclose(norms, [[1, 1, 0, 1], [1, 1, 1, 1]], rtol=1e-14)
    np.testing.assert_allclose(np.matmul(columns, basis.directions), units, atol=1e-13)


LAMBDAS = np.array([1e-3, 1.0, 40.0])


def random_systems(seed, n_rows, rank):
    rng = np.random.default_rng(seed)
    factors = rng.normal(size=(3, n_rows, rank))
    return factors @ factors.swapaxes(1, 2), rng.normal(size=(3, n_rows))


def dense(matrix, right, lambdas):
    shifts = lambdas[:, None, None] * np.eye(matrix.shape[1])
    return np.linalg.solve(matrix[:, None] + shifts, right[:, None, :, None])[..., 0]


@given(st.integers(0, 2**32 - 1), st.integers(1, 40), st.integers(0, 40), st.integers(1, 3))
def test_the_systems_of_all_lambdas_are_solved(seed, n_rows, rank, n_lambdas):
    matrix, right = random_systems(seed, n_rows, rank)
    lambdas = LAMBDAS[:n_lambdas]
    expected = dense(matrix, right, lambdas)
    np.testing.assert_allclose(
        solve_shifted(matrix, right, lambdas), expected, atol=1e-9 * np.abs(expected).max()
    )


@pytest.mark.parametrize(
    ("lowest", "lam", "expected"),
    [
        (-0.5, 1.0, [1 / 3, 1 / 2, 2.0]),
        (-1e-8, 1e-7, [1 / 2, 1.0, 1e7]),  # made negative by rounding: it counts as zero
    ],
)
def test_negative_directions_are_solved_as_they_are_unless_by_rounding(lowest, lam, expected):
    solved = solve_shifted(np.diag([2.0, 1.0, lowest])[None], np.ones((1, 3)), [lam])
    np.testing.assert_allclose(solved[0, 0], expected)


def test_lambdas_below_the_rounding_errors_do_not_blow_up():
    matrix, right = random_systems(2, 8, 3)
    solved = solve_shifted(matrix, right, [1e-18])
    np.testing.assert_allclose(
        np.einsum("bij,bj->bi", np.linalg.pinv(matrix), right), solved[:, 0], rtol=1e-6
    )


def test_a_stack_gives_what_its_systems_give_alone():
    matrix, right = random_systems(5, 20, 20)
    matrix[1] -= 30.0 * np.eye(20)  # negative: by its eigenvectors, and no other with it
    together = solve_shifted(matrix, right, LAMBDAS)
    for i in range(3):
        own = slice(i, i + 1)
        alone = solve_shifted(matrix[own], right[own], LAMBDAS)
        np.testing.assert_array_equal(together[own], alone)


@given(ranking_problems())
def test_functions_of_any_kernel_span_what_the_points_do(problem):
    found = whitening(problem.kernel)
    spanned = found @ found.swapaxes(1, 2)
    np.testing.assert_allclose(problem.kernel @ spanned @ problem.kernel, problem.kernel, atol=1e-6)


def test_directions_that_are_not_positive_are_left_out():
    kernel = np.diag([4.0, -1.0, 0.0, 1.0])[None]
    np.testing.assert_array_equal(whitening(kernel)[0], np.diag([0.5, 0.0, 0.0, 1.0]))
