import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from problems import SMALL
from sklearn.metrics import average_precision_score

from rankpursuit.metrics import mean_average_precision, mean_reciprocal_rank

BOTH = [mean_average_precision, mean_reciprocal_rank]
FEW = st.integers(0, 3)


def average_precision(relevant, k):
    """Return the average precision of flags in the order of a ranking, written out."""
    precisions = [sum(relevant[: i + 1]) / (i + 1) for i in range(min(k, len(relevant)))]
    hits = [p for p, flag in zip(precisions, relevant, strict=False) if flag]
    return sum(hits) / min(sum(relevant), k)


def reciprocal_rank(relevant, k):
    place = relevant.index(True) + 1
    return 1 / place if place <= k else 0.0


def over_all_orders(value, scores, predictions, k, threshold=0):
    """Return the mean over every order of the points that the prediction allows."""
    falling = sorted(predictions, reverse=True)
    return np.mean(
        [
            value([scores[i] > threshold for i in order], k)
            for order in itertools.permutations(range(len(scores)))
            if [predictions[i] for i in order] == falling
        ]
    )


@SMALL
@given(st.lists(st.tuples(FEW, FEW), min_size=1, max_size=6), st.integers(1, 7), FEW)
def test_ties_count_the_mean_over_all_their_orders(points, k, threshold):
    scores, predictions = (list(column) for column in zip(*points, strict=True))
    for metric, value in zip(BOTH, (average_precision, reciprocal_rank), strict=True):
        found = metric(scores, predictions, k=k, threshold=threshold)
        if max(scores) > threshold:
            expected = over_all_orders(value, scores, predictions, k, threshold)
            assert found == pytest.approx(expected, abs=1e-12)
        else:
            assert np.isnan(found)


def test_average_precision_is_that_of_scikit_learn_without_ties():
    rng = np.random.default_rng(0)
    scores, prediction = rng.integers(0, 2, 50), rng.normal(size=50)
    expected = average_precision_score(scores, prediction)
    assert mean_average_precision(scores, prediction) == pytest.approx(expected, abs=1e-14)


@pytest.mark.parametrize("n_points", [10, 1000])
def test_a_constant_prediction_has_the_mean_over_random_orders(n_points):
    rng = np.random.default_rng(1)
    scores = np.arange(n_points) < n_points // 5
    random = rng.permuted(np.tile(np.arange(n_points), (20_000_000 // n_points**2, 1)), axis=1)
    for metric in BOTH:
        shuffled = metric(scores, random)
        error = shuffled.std() / np.sqrt(len(random))
        assert metric(scores, np.zeros(n_points)) == pytest.approx(shuffled.mean(), abs=5 * error)


@pytest.mark.parametrize("metric", BOTH)
@pytest.mark.parametrize("k", [None, 2])
def test_groups_need_not_be_contiguous_and_their_mean_counts(metric, k):
    rng = np.random.default_rng(2)
    groups = rng.permutation(np.repeat(["c", "a", "d", "b"], [3, 1, 5, 6]))
    scores = rng.integers(0, 2, size=15)
    scores[groups == "b"] = 0
    predictions = rng.integers(0, 4, size=(3, 2, 15))
    parts = {
        label: metric(scores[groups == label], predictions[..., groups == label], k=k)
        for label in "abcd"
    }
    assert np.isnan(parts["b"]).all()
    expected = np.nanmean(list(parts.values()), axis=0)
    np.testing.assert_allclose(metric(scores, predictions, groups, k=k), expected)


@pytest.mark.parametrize("metric", BOTH)
def test_rows_of_predictions_may_have_scores_of_their_own(metric):
    rng = np.random.default_rng(3)
    scores, predictions = rng.integers(0, 2, size=(4, 9)), rng.integers(0, 4, size=(4, 3, 2, 9))
    groups = rng.integers(0, 3, size=9)
    found = metric(scores, predictions, groups)
    assert found.shape == (4, 3, 2)
    expected = [metric(*both, groups) for both in zip(scores, predictions, strict=True)]
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("metric", BOTH)
@pytest.mark.parametrize(("empty", "expected"), [(None, 1.0), (0.0, 0.5), (1, 1.0)])
def test_a_group_without_a_relevant_point_counts_as_told(metric, empty, expected):
    found = metric([1, 0, 0, 0], [2, 1, 2, 1], [0, 0, 1, 1], empty=empty)
    assert found == expected


@pytest.mark.parametrize("metric", BOTH)
def test_without_any_relevant_point_there_is_no_mean_unless_told(metric):
    assert np.isnan(metric([0, 0], [1, 2]))
    assert np.isnan(metric([0, 0], [[1, 2]])).all()
    assert np.isnan(metric([], []))
    assert metric([0, 0], [1, 2], empty=0.0) == 0.0


@pytest.mark.parametrize("metric", BOTH)
def test_a_group_of_one_relevant_point_is_right(metric):
    assert metric([1], [5.0]) == 1.0
    assert metric([1, 1, 0], [1, 2, 3], groups=[0, 1, 1]) == 0.75


@pytest.mark.parametrize("metric", BOTH)
def test_grades_above_the_threshold_are_relevant(metric):
    scores, prediction = [0, 1, 2, 3], [4, 3, 2, 1]
    flags = [0, 0, 1, 1]
    assert metric(scores, prediction, threshold=1) == metric(flags, prediction)


@pytest.mark.parametrize("metric", BOTH)
def test_nan_predictions_have_a_nan_score(metric):
    found = metric([1, 0, 1, 0], [[1, 2, 3, 4], [1, 2, np.nan, 4]], [0, 0, 1, 1])
    assert np.isnan(found).tolist() == [False, True]


@pytest.mark.parametrize("metric", BOTH)
@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"k": 0}, "k: expected a whole number of at least 1"),
        ({"empty": "leave_out"}, "empty: expected a number, or None"),
        ({"groups": [0]}, "groups: expected 2 labels"),
    ],
)
def test_wrong_options_are_refused(metric, wrong, said):
    with pytest.raises(ValueError, match=said):
        metric([1, 0], [1, 2], **wrong)
