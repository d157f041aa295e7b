import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from problems import SMALL
from scipy.stats import kendalltau

from rankpursuit.metrics import disagreement_error, kendall_tau

FEW = st.integers(0, 3)


def tau_by_loops(scores, prediction, variant):
    right_less_wrong, untied_scores, untied_prediction = 0, 0, 0
    n_points = len(scores)
    for i in range(n_points):
        for j in range(i):
            signs = np.sign(scores[i] - scores[j]), np.sign(prediction[i] - prediction[j])
            right_less_wrong += signs[0] * signs[1]
            untied_scores += signs[0] != 0
            untied_prediction += signs[1] != 0
    if untied_scores == 0:
        return np.nan
    if untied_prediction == 0:
        return 0.0
    if variant == "a":
        return right_less_wrong / (n_points * (n_points - 1) / 2)
    return right_less_wrong / np.sqrt(untied_scores * untied_prediction)


@SMALL
@given(st.lists(st.tuples(FEW, FEW), min_size=1, max_size=8), st.sampled_from(["a", "b"]))
def test_tau_equals_a_double_loop(points, variant):
    scores, prediction = (np.array(column) for column in zip(*points, strict=True))
    found = kendall_tau(scores, prediction, variant=variant)
    np.testing.assert_allclose(found, tau_by_loops(scores, prediction, variant), atol=1e-14)


def test_variant_b_is_the_tau_of_scipy():
    rng = np.random.default_rng(0)
    scores, predictions = rng.integers(0, 5, size=40), rng.integers(0, 9, size=(3, 40))
    expected = [kendalltau(scores, prediction).statistic for prediction in predictions]
    np.testing.assert_allclose(kendall_tau(scores, predictions), expected)


def test_variant_a_of_one_group_is_the_disagreement_with_half_wrong_ties():
    rng = np.random.default_rng(1)
    scores, predictions = rng.integers(0, 5, size=30), rng.integers(0, 5, size=(2, 3, 30))
    error = disagreement_error(scores, predictions, ties="half")
    np.testing.assert_allclose(kendall_tau(scores, predictions, variant="a"), 1 - 2 * error)


@pytest.mark.parametrize("variant", ["a", "b"])
def test_the_mean_over_groups_with_something_to_order_counts(variant):
    rng = np.random.default_rng(2)
    groups = rng.permutation(np.repeat([5, 2, 9, 4], [4, 3, 1, 6]))
    scores, predictions = rng.integers(0, 3, size=14), rng.integers(0, 3, size=(5, 14))
    scores[groups == 2] = 7
    parts = [
        kendall_tau(scores[groups == label], predictions[:, groups == label], variant=variant)
        for label in (5, 4)
    ]
    found = kendall_tau(scores, predictions, groups, variant=variant)
    np.testing.assert_allclose(found, np.mean(parts, axis=0))
    # The group 9 of one point has no pair at all, and is not asked what it counts.
    found = kendall_tau(scores, predictions, groups, variant=variant, empty=0.0)
    np.testing.assert_allclose(found, np.sum(parts, axis=0) / 3)


def test_rows_of_predictions_may_have_scores_of_their_own():
    rng = np.random.default_rng(3)
    scores, predictions = rng.integers(0, 2, size=(4, 9)), rng.integers(0, 4, size=(4, 3, 9))
    groups = rng.integers(0, 3, size=9)
    expected = [kendall_tau(*both, groups) for both in zip(scores, predictions, strict=True)]
    np.testing.assert_array_equal(kendall_tau(scores, predictions, groups), expected)


def test_without_two_different_scores_there_is_no_mean():
    assert np.isnan(kendall_tau([1, 1], [1, 2]))
    assert np.isnan(kendall_tau([1, 2], [1, 2], groups=[0, 1]))
    assert np.isnan(kendall_tau([1, 2], [1, np.nan]))
    assert np.isnan(kendall_tau([], []))


def test_a_constant_prediction_counts_nothing():
    assert kendall_tau([1, 2, 2, 3], [5, 5, 5, 5]) == 0.0


def test_an_unknown_variant_is_refused():
    with pytest.raises(ValueError, match="variant: expected 'a' or 'b', got 'c'"):
        kendall_tau([1, 2], [1, 2], variant="c")
