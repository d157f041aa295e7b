import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from problems import SMALL

from rankpursuit.solvers import _linalg as shifted
from rankpursuit.solvers._linalg import solve_shifted

LAMBDAS = np.array([1e-3, 1.0, 40.0])


def random_systems(seed, n_rows, rank):
    rng = np.random.default_rng(seed)
    factors = rng.normal(size=(3, n_rows, rank))
    return factors @ factors.swapaxes(1, 2), rng.normal(size=(3, n_rows))


def dense(matrix, right, lambdas):
    shifts = lambdas[:, None, None] * np.eye(matrix.shape[1])
    return np.linalg.solve(matrix[:, None] + shifts, right[:, None, :, None])[..., 0]


@pytest.fixture
def eigenvectors(monkeypatch):
    """Count how often the eigenvectors are asked."""
    calls = []

    def counting(*arguments):
        calls.append(arguments)
        return by_eigenvectors(*arguments)

    by_eigenvectors = shifted._by_eigenvectors
    monkeypatch.setattr(shifted, "_by_eigenvectors", counting)
    return calls


@SMALL
@given(st.integers(0, 2**32 - 1), st.integers(1, 40), st.integers(0, 40), st.integers(1, 3))
def test_the_systems_of_all_lambdas_are_solved(seed, n_rows, rank, n_lambdas):
    matrix, right = random_systems(seed, n_rows, rank)
    lambdas = LAMBDAS[:n_lambdas]
    expected = dense(matrix, right, lambdas)
    np.testing.assert_allclose(
        solve_shifted(matrix, right, lambdas), expected, atol=1e-9 * np.abs(expected).max()
    )


def test_singular_matrices_need_no_eigenvectors(eigenvectors):
    matrix, right = random_systems(0, 20, 5)
    solve_shifted(matrix, right, LAMBDAS, rounding=np.full(3, 1e-9))
    assert not eigenvectors


def test_one_right_hand_side_serves_all_matrices():
    matrix, right = random_systems(1, 6, 6)
    each = np.broadcast_to(right[0], right.shape)
    np.testing.assert_array_equal(
        solve_shifted(matrix, right[0], LAMBDAS), solve_shifted(matrix, each, LAMBDAS)
    )


def test_truly_negative_directions_get_no_part(eigenvectors):
    matrix = np.diag([2.0, 1.0, -0.5])[None]
    solved = solve_shifted(matrix, np.ones((1, 3)), [1.0], rounding=np.array([1e-6]))
    np.testing.assert_allclose(solved[0, 0], [1 / 3, 1 / 2, 0.0])
    assert eigenvectors


def test_eigenvalues_that_rounding_made_negative_count_as_zero(eigenvectors):
    matrix = np.diag([2.0, 1.0, -1e-4])[None]
    solved = solve_shifted(matrix, np.ones((1, 3)), [1e-3], rounding=np.array([1e-2]))
    np.testing.assert_allclose(solved[0, 0], [1 / 2.001, 1 / 1.001, 1e3])
    assert eigenvectors


def test_lambdas_below_the_rounding_errors_do_not_blow_up():
    matrix, right = random_systems(2, 8, 3)
    solved = solve_shifted(matrix, right, [1e-18])
    np.testing.assert_allclose(
        np.einsum("bij,bj->bi", np.linalg.pinv(matrix), right), solved[:, 0], rtol=1e-6
    )


@pytest.mark.parametrize("n_rows", [1, 5])
def test_zero_matrices_and_zero_right_hand_sides_are_solved(n_rows):
    zero, ones = np.zeros((1, n_rows, n_rows)), np.ones((1, n_rows))
    np.testing.assert_allclose(solve_shifted(zero, ones, [2.0]), ones[None] / 2.0)
    assert not solve_shifted(zero + 1.0, 0.0 * ones, [2.0]).any()


def test_a_stack_gives_what_its_systems_give_alone():
    matrix, right = random_systems(5, 20, 20)
    matrix[1] -= 30.0 * np.eye(20)  # negative: by its eigenvectors, and no other with it
    rounding = np.full(3, 1e-6)
    together = solve_shifted(matrix, right, LAMBDAS, rounding)
    for i in range(3):
        own = slice(i, i + 1)
        alone = solve_shifted(matrix[own], right[own], LAMBDAS, rounding[own])
        np.testing.assert_array_equal(together[own], alone)


def test_solutions_that_fall_off_below_the_smallest_numbers_are_exact():
    diagonal = np.linspace(1.0, 2.0, 60)
    matrix = np.diag(diagonal) + 1e-9 * (np.eye(60, k=1) + np.eye(60, k=-1))
    right = np.eye(60)[0] + np.eye(60)[1]
    lambdas = np.array([1e-3, 1e6])
    expected = dense(matrix[None], right[None], lambdas)
    np.testing.assert_allclose(
        solve_shifted(matrix[None], right[None], lambdas), expected, rtol=1e-12, atol=1e-24
    )
