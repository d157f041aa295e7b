"""Metrics against loops, scipy and scikit-learn."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from problems import SMALL
from scipy.stats import kendalltau, somersd
from sklearn.metrics import average_precision_score, ndcg_score

from rankpursuit import metrics
from rankpursuit.metrics import (
    disagreement_error,
    kendall_tau,
    mean_average_precision,
    mean_reciprocal_rank,
    merge_near_ties,
    ndcg_error,
    pairwise_accuracy,
    sparsity,
    squared_error,
)

TIES = ["all", "half", "untied"]
COUNTED = ["all with all", "in sweeps", "by sorting"]


def count_by(way, patch):
    """Count the pairs of all problems in one way, whatever their size."""
    patch.setattr(metrics, "_FEW", 2**60 if way == "all with all" else 0)
    patch.setattr(metrics, "_LONG", 2 if way == "by sorting" else 2**60)


def disagreement_by_loops(scores, prediction, groups, ties):
    wrong, pairs = 0.0, 0
    for i in range(len(scores)):
        for j in range(len(scores)):
            if i == j or (groups is not None and groups[i] != groups[j]):
                continue
            if ties == "untied" and scores[i] == scores[j]:
                continue
            signs = np.sign(scores[i] - scores[j]), np.sign(prediction[i] - prediction[j])
            if ties == "half" and 0.0 in signs:
                wrong += 0.5
            else:
                wrong += 0.5 * abs(signs[0] - signs[1])
            pairs += 1
    return wrong / pairs if pairs else np.nan


@st.composite
def rankings(draw):
    n_points = draw(st.integers(1, 8))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    levels = draw(st.integers(1, 5))
    scores = rng.integers(0, levels, size=n_points) / 2.0
    shape = draw(st.sampled_from([(), (1,), (3,), (2, 3), (0,)]))
    predictions = rng.integers(0, draw(st.integers(1, 5)), size=(*shape, n_points)) / 4.0
    groups = draw(st.sampled_from([None, rng.integers(0, 3, size=n_points)]))
    return scores, predictions, groups


@SMALL
@given(
    rankings(),
    st.sampled_from(["all", "half", "untied"]),
    st.sampled_from(COUNTED),
)
def test_disagreement_equals_a_double_loop(ranking, ties, counted):
    scores, predictions, groups = ranking
    with pytest.MonkeyPatch.context() as patch:
        count_by(counted, patch)
        result = disagreement_error(scores, predictions, groups, ties=ties)
    assert np.shape(result) == predictions.shape[:-1]
    for index in np.ndindex(predictions.shape[:-1]):
        expected = disagreement_by_loops(scores, predictions[index], groups, ties)
        np.testing.assert_allclose(np.asarray(result)[index], expected, rtol=1e-14)


@SMALL
@given(st.data(), st.sampled_from(["all", "half", "untied"]))
def test_rows_of_predictions_may_have_scores_of_their_own(data, ties):
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    n_rows, n_points = data.draw(st.integers(0, 5)), data.draw(st.integers(0, 8))
    levels = rng.integers(1, 9, size=(n_rows, 1))
    scores = np.floor(rng.random((n_rows, n_points)) * levels)
    scores[rng.random(n_rows) < 0.3] = scores[:1]
    predictions = rng.integers(0, 4, size=(n_rows, 3, 2, n_points)) / 4.0
    block = data.draw(st.sampled_from([1, 20, 100, metrics._BLOCK]))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(metrics, "_BLOCK", block)
        count_by(data.draw(st.sampled_from(COUNTED)), patch)
        result = disagreement_error(scores, predictions, ties=ties)
    expected = [
        disagreement_error(own, part, ties=ties)
        for own, part in zip(scores, predictions, strict=True)
    ]
    np.testing.assert_array_equal(result, np.reshape(expected, (n_rows, 3, 2)))


@SMALL
@given(rankings())
def test_pairwise_accuracy_counts_a_predicted_tie_half(ranking):
    scores, predictions, groups = ranking
    result = np.asarray(pairwise_accuracy(scores, predictions, groups))
    for index in np.ndindex(predictions.shape[:-1]):
        points, pairs = 0.0, 0
        for i in range(len(scores)):
            for j in range(len(scores)):
                if scores[i] > scores[j] and (groups is None or groups[i] == groups[j]):
                    f_i, f_j = predictions[index][i], predictions[index][j]
                    points += 1.0 if f_i > f_j else 0.5 if f_i == f_j else 0.0
                    pairs += 1
        expected = points / pairs if pairs else np.nan
        np.testing.assert_allclose(result[index], expected, atol=1e-14)


@pytest.mark.parametrize("n_points", [255, 256, 257, 258, 700])
@pytest.mark.parametrize("ties", ["all", "untied"])
@pytest.mark.parametrize("counted", COUNTED)
def test_long_rankings_do_not_overflow_the_counters(n_points, ties, counted, monkeypatch):
    count_by(counted, monkeypatch)
    increasing = np.arange(n_points)
    halves = increasing >= n_points // 2
    predictions = np.stack([increasing, -increasing, 0 * increasing])
    assert disagreement_error(increasing, predictions, ties=ties).tolist() == [0.0, 1.0, 0.5]
    n_tied = n_points // 2
    n_other = n_points - n_tied
    across, inside = n_tied * n_other, sum(m * (m - 1) // 2 for m in (n_tied, n_other))
    expected = [0.0, 2.0 * across, across] + (np.array([1, 1, 0]) * inside * (ties == "all"))
    counted_pairs = across + inside * (ties == "all")
    error = disagreement_error(halves, predictions, ties=ties)
    assert error.tolist() == (expected / (2.0 * counted_pairs)).tolist()


@pytest.mark.parametrize("ties", TIES)
def test_long_rankings_count_the_same_pairs_by_sorting(ties, monkeypatch):
    rng = np.random.default_rng(4)
    scores, predictions = rng.integers(0, 300, 1500), rng.integers(0, 900, size=(3, 1500))
    by_sorting = disagreement_error(scores, predictions, ties=ties)
    count_by("in sweeps", monkeypatch)
    np.testing.assert_array_equal(by_sorting, disagreement_error(scores, predictions, ties=ties))


def test_forty_thousand_points_are_not_compared_one_by_one():
    rng = np.random.default_rng(5)
    scores, prediction = rng.normal(size=(2, 40_000))
    tau = kendalltau(scores, prediction).statistic
    assert disagreement_error(scores, prediction) == pytest.approx((1 - tau) / 2, abs=1e-12)


def test_numpy_keeps_its_buffer_size():
    before = np.getbufsize()
    disagreement_error(np.arange(40.0), np.zeros((100, 40)))
    assert np.getbufsize() == before


def test_large_stack_is_the_same_as_one_prediction_at_a_time():
    rng = np.random.default_rng(0)
    scores, predictions = rng.integers(0, 9, 150), rng.integers(0, 20, size=(9000, 150))
    stack = disagreement_error(scores, predictions)
    for i in (0, 3494, 3495, 8999):  # one block ends behind 3495 predictions of 150 points
        assert stack[i] == disagreement_error(scores, predictions[i])


def test_disagreement_without_ties_is_kendalls_tau():
    rng = np.random.default_rng(1)
    for n_points in (2, 5, 40):
        scores, prediction = rng.normal(size=(2, n_points))
        tau = kendalltau(scores, prediction).statistic
        for ties in ("all", "half", "untied"):
            error = disagreement_error(scores, prediction, ties=ties)
            assert error == pytest.approx((1.0 - tau) / 2.0, abs=1e-14)


def test_disagreement_over_untied_pairs_is_somers_d():
    rng = np.random.default_rng(2)
    scores, prediction = rng.integers(0, 5, size=(2, 30))
    error = disagreement_error(scores, prediction, ties="untied")
    # The pairs of somersd are those that differ in its first argument.
    assert error == pytest.approx((1.0 - somersd(scores, prediction).statistic) / 2.0, abs=1e-14)


def test_constant_prediction_is_half_wrong():
    assert disagreement_error([3.0, 1.0, 2.0], [5.0, 5.0, 5.0]) == 0.5
    assert disagreement_error([1.0, 1.0, 2.0], [5.0, 5.0, 5.0]) == 0.5
    assert pairwise_accuracy([3.0, 1.0, 2.0], [5.0, 5.0, 5.0]) == 0.5


def test_good_prediction_of_tied_scores_beats_a_constant_unless_told_otherwise():
    rng = np.random.default_rng(7)
    scores = rng.integers(0, 2, size=60)
    good, constant = scores + rng.normal(scale=0.8, size=60), np.zeros(60)
    assert disagreement_error(scores, good) < 0.4 < disagreement_error(scores, constant)
    readings = {ties: disagreement_error(scores, [good, constant], ties=ties) for ties in TIES}
    assert np.diff(readings["untied"]) > 0.0 > np.diff(readings["all"])
    np.testing.assert_array_equal(disagreement_error(scores, [good, constant]), readings["half"])


@pytest.mark.parametrize("groups", [[0, 0, np.nan, np.nan], [None, None, 1, 1], [1, 1, "1", "1"]])
def test_labels_that_are_missing_or_of_mixed_types_are_refused(groups):
    with pytest.raises(ValueError, match="groups: "):
        disagreement_error([1.0, 2.0, 3.0, 4.0], [1.0, 2.0, 3.0, 4.0], groups)


def test_half_wrong_ties_are_kendalls_tau_a():
    rng = np.random.default_rng(5)
    scores, prediction = rng.integers(0, 5, size=(2, 30))
    signs = np.sign(np.subtract.outer(scores, scores) * np.subtract.outer(prediction, prediction))
    tau_a = signs.sum() / (30 * 29)
    error = disagreement_error(scores, prediction, ties="half")
    assert error == pytest.approx((1.0 - tau_a) / 2.0, abs=1e-14)


def test_tied_scores_distinguish_the_readings():
    scores, prediction = [1.0, 1.0, 2.0], [0.0, 1.0, 2.0]
    constant = [0.0, 0.0, 0.0]
    assert disagreement_error(scores, constant, ties="all") == pytest.approx(1 / 3)
    assert disagreement_error(scores, constant, ties="half") == 0.5
    assert disagreement_error(scores, constant, ties="untied") == 0.5
    assert disagreement_error(scores, prediction, ties="half") == pytest.approx(1 / 6)
    assert disagreement_error(scores, prediction, ties="untied") == 0.0
    assert disagreement_error(scores, prediction, ties="all") == pytest.approx(1 / 6)


@pytest.mark.parametrize(
    ("scores", "groups", "ties"),
    [([1.0], None, "all"), ([1.0, 2.0], [0, 1], "all"), ([1.0, 1.0], None, "untied")],
)
def test_without_pairs_the_error_is_nan(scores, groups, ties):
    predictions = np.zeros((2, len(scores)))
    assert np.isnan(disagreement_error(scores, predictions, groups, ties=ties)).all()
    assert np.isnan(pairwise_accuracy([1.0, 1.0], [1.0, 2.0]))


@pytest.mark.parametrize("groups", [None, [0, 0, 1, 1]])
def test_prediction_with_nan_has_no_error_rather_than_a_small_one(groups):
    scores = [1.0, 2.0, 3.0, 4.0]
    predictions = np.array([[1.0, 2.0, 3.0, 4.0], [1.0, 2.0, np.nan, 4.0], [np.nan] * 4])
    error = disagreement_error(scores, predictions, groups)
    assert np.isnan(error).tolist() == [False, True, True]
    accuracy = pairwise_accuracy(scores, predictions, groups)
    assert np.isnan(accuracy).tolist() == [False, True, True]


def test_one_prediction_gives_a_float():
    for metric in (disagreement_error, pairwise_accuracy, squared_error):
        assert type(metric([1.0, 2.0], [1.0, 2.0])) is float


def test_squared_error_is_the_mean_over_the_points():
    predictions = np.array([[1.0, 2.0, 3.0], [0.0, 0.0, 0.0]])
    assert squared_error([1.0, 2.0, 5.0], predictions).tolist() == [4.0 / 3.0, 10.0]


def test_sparsity_is_the_share_of_zeros():
    assert sparsity([0.0, 1.0, -0.0, 1e-300]) == 0.5
    assert sparsity(np.array([[0.0, 0.0], [1.0, 0.0]])).tolist() == [1.0, 0.5]


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (
            ([1, 2], [1, 2]),
            {"ties": "some"},
            "ties: expected 'half' or 'all' or 'untied', got 'some'",
        ),
        (([1, 2], [1, 2, 3]), {}, r"predictions: expected shape \(..., 2\)"),
        (([1, 2], 1.0), {}, r"predictions: expected shape \(..., 2\)"),
        (([[1, 2]] * 2, [1, 2]), {}, r"predictions: expected shape \(2, ..., 2\)"),
        (([[1, 2]] * 2, [[1, 2]] * 3), {}, r"shape \(2, ..., 2\).*got shape \(3, 2\)"),
        (([[[1, 2]]], [[[1, 2]]]), {}, "predictions: expected"),
        (([1, 2], [1, 2], [0]), {}, "groups: expected 2 labels"),
        (([1, np.nan], [1, 2]), {}, "scores: 1 of 2 are NaN or infinite; drop those points"),
        (([1, np.inf], [1, 2]), {}, "scores: 1 of 2 are NaN or infinite; drop those points"),
    ],
)
def test_bad_arguments_are_named(arguments, options, message):
    with pytest.raises(ValueError, match=message):
        disagreement_error(*arguments, **options)


FEW = st.integers(0, 3)


def tau_by_loops(scores, prediction):
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
    return right_less_wrong / np.sqrt(untied_scores * untied_prediction)


@SMALL
@given(st.lists(st.tuples(FEW, FEW), min_size=1, max_size=8))
def test_tau_equals_a_double_loop(points):
    scores, prediction = (np.array(column) for column in zip(*points, strict=True))
    found = kendall_tau(scores, prediction)
    np.testing.assert_allclose(found, tau_by_loops(scores, prediction), atol=1e-14)


def test_it_is_the_tau_of_scipy():
    rng = np.random.default_rng(0)
    scores, predictions = rng.integers(0, 5, size=40), rng.integers(0, 9, size=(3, 40))
    expected = [kendalltau(scores, prediction).statistic for prediction in predictions]
    np.testing.assert_allclose(kendall_tau(scores, predictions), expected)


def test_the_mean_over_groups_with_something_to_order_counts():
    rng = np.random.default_rng(2)
    groups = rng.permutation(np.repeat([5, 2, 9, 4], [4, 3, 1, 6]))
    scores, predictions = rng.integers(0, 3, size=14), rng.integers(0, 3, size=(5, 14))
    scores[groups == 2] = 7
    parts = [
        kendall_tau(scores[groups == label], predictions[:, groups == label]) for label in (5, 4)
    ]
    found = kendall_tau(scores, predictions, groups)
    np.testing.assert_allclose(found, np.mean(parts, axis=0))
    # The group 9 of one point has no pair at all, and is not asked what it counts.
    found = kendall_tau(scores, predictions, groups, empty=0.0)
    np.testing.assert_allclose(found, np.sum(parts, axis=0) / 3)


def test_rows_of_kendall_may_have_scores_of_their_own():
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


BOTH = [mean_average_precision, mean_reciprocal_rank]


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
def test_rows_of_relevance_may_have_scores_of_their_own(metric):
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
        ({"k": 0}, "k: expected an integer of at least 1"),
        ({"k": 1.5}, "k: expected an integer of at least 1, got 1.5"),
        ({"k": True}, "k: expected an integer of at least 1, got True"),
        ({"empty": "leave_out"}, "could not convert"),
        ({"groups": [0]}, "groups: expected 2 labels"),
    ],
)
def test_wrong_options_of_relevance_are_refused(metric, wrong, said):
    with pytest.raises(ValueError, match=said):
        metric([1, 0], [1, 2], **wrong)


def by_hand(gains, predictions, k):
    """Return the error as the mean over all orders of tied points, written out."""
    best = sum(g / np.log2(i + 2) for i, g in enumerate(sorted(gains, reverse=True)[:k]))
    if best == 0:
        return 0.0
    falling = sorted(predictions, reverse=True)
    orders = [
        order
        for order in itertools.permutations(range(len(gains)))
        if [predictions[i] for i in order] == falling
    ]
    reached = [sum(gains[i] / np.log2(p + 2) for p, i in enumerate(o[:k])) for o in orders]
    return 1.0 - np.mean(reached) / best


@given(st.lists(st.tuples(FEW, FEW), min_size=2, max_size=5), st.integers(1, 6))
def test_ties_count_the_mean_over_their_orders(points, k):
    scores, predictions = map(np.array, zip(*points, strict=True))
    worth = {
        "linear": scores,
        "exponential": 2.0**scores - 1,
        "shifted": scores - scores.min(),
    }
    for gain, gains in worth.items():
        expected = by_hand(gains.tolist(), predictions.tolist(), k)
        found = ndcg_error(scores, predictions, k=k, gain=gain)
        assert found == pytest.approx(expected, abs=1e-12)


def test_it_is_one_minus_the_ndcg_of_scikit_learn():
    rng = np.random.default_rng(0)
    scores, predictions = rng.integers(1, 4, 40).astype(float), rng.normal(size=40)
    for k in (1, 5, 10, None):  # also for grades from 1 on
        expected = 1 - ndcg_score([scores], [predictions], k=k)
        assert ndcg_error(scores, predictions, k=k) == pytest.approx(expected, abs=1e-12)


def test_exponential_gains_of_large_grades_do_not_overflow():
    grades = np.array([[1, 3, 0, 2], [2001, 2003, 2000, 2002]], dtype=float)
    # 2^g - 1 is 2^2000 times 2^(g - 2000), without the -1.
    expected = [by_hand(gains, [1, 2, 3, 4], 4) for gains in ([1, 7, 0, 3], [2, 8, 1, 4])]
    error = ndcg_error(grades, [[1, 2, 3, 4], [1, 2, 3, 4]], gain="exponential")
    np.testing.assert_allclose(error, expected)
    assert ndcg_error([0, 1, 2000], [3, 2, 1], gain="exponential") == pytest.approx(0.5)


def test_a_group_is_a_ranking_of_its_own_and_the_mean_counts():
    rng = np.random.default_rng(1)
    scores, predictions = rng.normal(size=12), rng.normal(size=(3, 12))
    groups = np.repeat([2, 0, 1], [3, 4, 5])
    options = {"k": 2, "gain": "shifted"}
    parts = [
        ndcg_error(scores[groups == g], predictions[:, groups == g], **options) for g in range(3)
    ]
    found = ndcg_error(scores, predictions, groups, **options)
    np.testing.assert_allclose(found, np.mean(parts, axis=0))
    moved = ndcg_error(scores + 100 * groups, predictions, groups, **options)
    np.testing.assert_allclose(moved, np.mean(parts, axis=0))


def test_points_below_place_k_do_not_count():
    assert ndcg_error([3, 2, 1, 0], [4, 3, 1, 2], k=2) == 0.0
    assert ndcg_error([3, 2, 1, 0], [4, 3, 1, 2]) > 0.0


def test_where_all_scores_tie_no_order_is_wrong():
    for gain in ("linear", "exponential", "shifted"):
        assert ndcg_error([2, 2, 2], [1, 2, 3], gain=gain) == pytest.approx(0.0, abs=1e-15)


def test_nan_predictions_have_a_nan_error():
    assert np.isnan(ndcg_error([1, 2, 3], [[1, 2, np.nan]])).all()


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"k": 0}, "k: expected"),
        ({"k": 2.0}, "k: expected"),
        ({"gain": "cubic"}, "gain: expected 'linear' or 'exponential'"),
    ],
)
def test_wrong_options_of_ndcg_are_refused(wrong, said):
    with pytest.raises(ValueError, match=said):
        ndcg_error([1, 2], [1, 2], **wrong)
    for gain in ("linear", "exponential"):
        with pytest.raises(ValueError, match=r"grades of at least 0, got .*; use gain='shifted'"):
            ndcg_error([-1, 2], [1, 2], gain=gain)


@pytest.mark.parametrize(("empty", "expected"), [(0.0, 0.0), (1.0, 0.5), (None, 0.0)])
def test_a_group_in_which_nothing_is_worth_more_counts_as_told(empty, expected):
    found = ndcg_error([1, 0, 0, 0], [2, 1, 2, 1], [0, 0, 1, 1], empty=empty)
    assert found == expected


def test_without_a_group_that_counts_there_is_no_mean():
    assert np.isnan(ndcg_error([0, 0], [1, 2], empty=None))
    assert np.isnan(ndcg_error([1, 2], [1, 2], groups=[0, 1]))


def merged_slowly(row, tolerance):
    """Give each number, in ascending order, the value of the one before if it is near to it."""
    merged, previous = dict.fromkeys(row), np.nan
    for value in sorted(merged):
        size = min(max(abs(value), abs(previous)), max(row) - min(row))
        near = value - previous <= tolerance * size
        merged[value] = merged[previous] if near else value
        previous = value
    return [merged[value] for value in row]


@given(
    arrays(
        float,
        st.tuples(st.integers(1, 4), st.integers(0, 3), st.integers(1, 12)),
        elements=st.sampled_from([-2.0, -1e-9, 0.0, 1e-300, 1e-12, 0.1, 1.0, 3e5]),
    ),
    st.integers(0, 2**32 - 1),
)
def test_predictions_that_differ_by_rounding_are_tied_and_others_are_not(values, seed):
    rng = np.random.default_rng(seed)
    values = values * (1.0 + rng.choice([0.0, 1e-12, -1e-11, 1e-8], size=values.shape))
    expected = [[merged_slowly(row, 1e-9) for row in rows.tolist()] for rows in values]
    np.testing.assert_array_equal(merge_near_ties(values), np.reshape(expected, values.shape))
    turned = merge_near_ties(values.swapaxes(0, 1)).swapaxes(0, 1)
    np.testing.assert_array_equal(turned, np.reshape(expected, values.shape))


def test_a_chain_of_near_predictions_is_one_tie():
    chain = 1.0 + 5e-11 * np.arange(10)
    assert (merge_near_ties(np.append(chain, 3.0)) == [*[1.0] * 10, 3.0]).all()


def test_small_differences_count_where_all_are_small():
    near_one = 1.0 + 5e-11 * np.arange(10)
    np.testing.assert_array_equal(merge_near_ties(near_one), near_one)
    assert (merge_near_ties(np.array([-1e-300, 0.0, 1e-300])) == [-1e-300, 0.0, 1e-300]).all()
