import numpy as np
import pytest
from hypothesis import given
from problems import SMALL, generic_problem, ranking_problems

from rankpursuit.solvers._linalg import whitening


def test_functions_are_orthonormal():
    kernel = generic_problem(0).kernel
    found = whitening(kernel)
    np.testing.assert_allclose(found.swapaxes(1, 2) @ kernel @ found, [np.eye(12)] * 2, atol=1e-9)


@pytest.mark.parametrize("size", [1, 33, 65])
def test_the_leading_part_is_that_of_the_leading_points(size):
    kernel = generic_problem(1, n_points=70, gammas=(2.0, 8.0)).kernel
    leading = whitening(kernel[:, :size, :size])
    np.testing.assert_allclose(whitening(kernel)[:, :size, :size], leading, rtol=1e-9, atol=1e-12)


@SMALL
@given(ranking_problems())
def test_functions_of_any_kernel_span_what_the_points_do(problem):
    found = whitening(problem.kernel)
    spanned = found @ found.swapaxes(1, 2)
    np.testing.assert_allclose(problem.kernel @ spanned @ problem.kernel, problem.kernel, atol=1e-6)


def test_directions_that_are_not_positive_are_left_out():
    kernel = np.diag([4.0, -1.0, 0.0, 1.0])[None]
    np.testing.assert_array_equal(whitening(kernel)[0], np.diag([0.5, 0.0, 0.0, 1.0]))
