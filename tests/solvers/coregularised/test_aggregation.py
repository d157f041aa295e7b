import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from rankpursuit.solvers.coregularised import borda, median, weighted_mean

VALUES = arrays(np.float64, (3, 2, 5), elements=st.integers(-4, 4).map(float))


@given(VALUES)
def test_borda_is_the_mean_number_of_points_below_plus_shared_ties(values):
    below = (values[..., :, None] > values[..., None, :]).sum(axis=-1)
    tied = (values[..., :, None] == values[..., None, :]).sum(axis=-1)
    np.testing.assert_allclose(borda(list(values)), (below + (tied + 1) / 2).mean(axis=0))


@given(VALUES)
def test_median_is_the_middle_one_of_three(values):
    np.testing.assert_array_equal(median(list(values)), np.sort(values, axis=0)[1])


@given(VALUES, arrays(np.float64, (3, 2), elements=st.floats(-0.5, 0.5)))
def test_views_weigh_as_they_are_skilled_and_alike_if_none_is(values, skills):
    expected = np.empty((2, 5))
    for row in range(2):
        own = [max(skill, 0.0) for skill in skills[:, row]]
        own = own if sum(own) > 0 else [1.0] * 3
        expected[row] = np.average(values[:, row], axis=0, weights=own)
    np.testing.assert_allclose(weighted_mean(list(values), skills), expected, atol=1e-9)
