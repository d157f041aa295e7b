import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankpursuit.kernels import (
    IDENTITY,
    ONES,
    REGULAR,
    GaussianColumns,
    classify_widths,
    function_values,
    gamma_from_width,
    gaussian_stack,
    squared_distances,
)

EPS = np.finfo(float).eps


def distances_by_loops(X, Y):
    result = np.zeros((len(X), len(Y)))
    for i, x in enumerate(X):
        for j, y in enumerate(Y):
            result[i, j] = sum((a - b) ** 2 for a, b in zip(x, y, strict=True))
    return result


@pytest.mark.parametrize("offset", [0.0, 1e9])
def test_squared_distances_are_exact_however_far_the_points_lie(offset):
    rng = np.random.default_rng(0)
    # Multiples of 1/8, so that shifting the points rounds none of them.
    X, Y = (rng.integers(-40, 40, size=(n, 5)) / 8.0 + offset for n in (7, 9))
    np.testing.assert_allclose(squared_distances(X, Y), distances_by_loops(X, Y), rtol=1e-12)
    np.testing.assert_allclose(squared_distances(X), distances_by_loops(X, X), rtol=1e-12)


@given(st.integers(0, 2**32 - 1), st.integers(1, 8), st.integers(1, 300))
def test_squared_distances_of_a_set_are_symmetric_with_zero_diagonal(seed, n_points, n_features):
    squared = squared_distances(np.random.default_rng(seed).normal(size=(n_points, n_features)))
    assert np.array_equal(squared, squared.T)
    assert np.all(np.diag(squared) == 0.0)
    assert np.all(squared >= 0.0)


@given(st.integers(0, 2**32 - 1), st.integers(2, 300))
def test_equal_points_have_distance_zero_and_different_ones_have_not(seed, n_features):
    rng = np.random.default_rng(seed)
    X = 10.0 * rng.normal(size=(12, n_features))
    X[6:9] = X[:3]
    equal = np.all(X[:, None] == X[None, :], axis=2)
    assert np.array_equal(squared_distances(X) == 0.0, equal)
    assert np.array_equal(squared_distances(X[:5], X) == 0.0, equal[:5])


def test_gaussian_stack_equals_the_formula():
    squared = squared_distances(np.random.default_rng(1).normal(size=(6, 2)))[:, :4]
    gammas = [1e-3, 0.7, 20.0]
    stack = gaussian_stack(squared, gammas)
    assert stack.shape == (3, 6, 4)
    for w, gamma in enumerate(gammas):
        for i in range(6):
            for j in range(4):
                assert stack[w, i, j] == pytest.approx(np.exp(-gamma * squared[i, j]), rel=1e-14)


@pytest.mark.parametrize("grid", [(), (3,), (3, 2), (0,)])
@pytest.mark.parametrize("n_kernels", [0, 1, 4])
def test_function_values_are_the_kernel_times_each_vector_of_the_grid(grid, n_kernels):
    rng = np.random.default_rng(5)
    kernel, coefficients = rng.random((n_kernels, 5, 6)), rng.random((n_kernels, *grid, 6))
    values = function_values(kernel, coefficients)
    assert values.shape == (n_kernels, *grid, 5)
    for b, *point in np.ndindex(n_kernels, *grid):
        expected = kernel[b] @ coefficients[b, *point]
        np.testing.assert_allclose(values[b, *point], expected, rtol=1e-14)


def test_width_is_the_standard_deviation_of_the_gaussian():
    squared = np.array([[0.0, 3.0]])
    widths = np.array([0.25, 1.0, 8.0])
    stack = gaussian_stack(squared, gamma_from_width(widths))
    np.testing.assert_allclose(stack[:, 0, 1], np.exp(-3.0 / (2.0 * widths**2)), rtol=1e-14)


def test_widths_are_degenerate_exactly_where_the_kernel_is():
    rng = np.random.default_rng(2)
    squared = squared_distances(rng.normal(size=(10, 3)))
    apart = squared[squared > 0]
    to_identity, to_ones = -np.log(EPS) / apart.min(), EPS / apart.max()
    gammas = np.array([0.99 * to_ones, 1.01 * to_ones, 1.0, 0.99 * to_identity, 1.01 * to_identity])
    kinds = classify_widths(squared, gammas)
    assert kinds.tolist() == [ONES, REGULAR, REGULAR, REGULAR, IDENTITY]
    stack = gaussian_stack(squared, gammas)
    from_ones = np.abs(stack - 1.0).max(axis=(1, 2))
    from_identity = np.abs(stack - np.eye(10)).max(axis=(1, 2))
    assert from_ones[0] <= EPS <= from_ones[1:].min()
    assert from_identity[-1] < EPS < from_identity[:-1].min()


def test_distances_of_whole_and_half_numbers_are_exact():
    rng = np.random.default_rng(4)
    points = rng.integers(2, 11, size=(60, 300)) / 2.0
    apart = points[:, None, :] - points[None, :, :]
    np.testing.assert_array_equal(squared_distances(points), np.square(apart).sum(axis=2))


@pytest.mark.parametrize("level", [0.0, 1e5])
@pytest.mark.parametrize("gamma", [1e-3, 0.7, 50.0])
def test_gaussian_columns_are_the_gaussian_stack(level, gamma):
    rng = np.random.default_rng(0)
    X = level + rng.normal(size=(300, 4))
    points = X[::7]
    expected = gaussian_stack(squared_distances(X, points), [gamma])[0]
    found = GaussianColumns(points, gamma)(X)
    np.testing.assert_allclose(found, expected, atol=1e-14 * max(1.0, gamma))
    assert np.all(found[::7].diagonal() == 1.0)
    assert found.max() == 1.0


def test_gaussian_columns_go_where_they_are_wanted_and_take_single_precision():
    X = np.random.default_rng(1).normal(size=(10, 2)).astype(np.float32)
    out = np.empty((10, 3))
    columns = GaussianColumns(X[:3], 0.5)
    assert columns(X, out) is out
    np.testing.assert_allclose(out, columns(X.astype(np.float64)), atol=1e-15)
