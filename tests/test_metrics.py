"""Metrics against loops, scipy and scikit-learn."""

import itertools
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
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
RELEVANCE = [mean_average_precision, mean_reciprocal_rank]
MEANS = [*RELEVANCE, kendall_tau, partial(ndcg_error, empty=None)]
ALL = [disagreement_error, pairwise_accuracy, *MEANS]
LEVELS = st.integers(0, 3)


def name_of(metric):
    return getattr(metric, "func", metric).__name__


def count_by(way, patch):
    """Count the pairs of all problems in one way, whatever their size."""
    patch.setattr(metrics, "_FEW", 2**60 if way == "all with all" else 0)
    patch.setattr(metrics, "_LONG", 2 if way == "by sorting" else 2**60)


# What all metrics have in common


@pytest.mark.parametrize("metric", ALL, ids=name_of)
def test_rows_of_predictions_may_have_scores_of_their_own(metric):
    rng = np.random.default_rng(3)
    scores, predictions = rng.integers(0, 2, size=(4, 9)), rng.integers(0, 4, size=(4, 3, 2, 9))
    groups = rng.integers(0, 3, size=9)
    found = metric(scores, predictions, groups)
    assert found.shape == (4, 3, 2)
    expected = [metric(*both, groups) for both in zip(scores, predictions, strict=True)]
    np.testing.assert_array_equal(found, expected)
    assert type(metric(scores[0], scores[0])) is float


@pytest.mark.parametrize("metric", MEANS, ids=name_of)
@pytest.mark.parametrize("k", [None, 2])
def test_the_mean_over_groups_that_count_is_taken(metric, k):
    """Groups need not be contiguous; the group a has one point, in b all scores are equal."""
    options = {} if metric is kendall_tau else {"k": k}
    rng = np.random.default_rng(2)
    groups = rng.permutation(np.repeat(["c", "a", "d", "b"], [3, 1, 5, 6]))
    scores, predictions = rng.integers(0, 2, size=15), rng.integers(0, 4, size=(3, 2, 15))
    scores[np.isin(groups, ["a", "b"])] = 0
    scores[groups == "c"] = [1, 0, 1]
    parts = [
        metric(scores[groups == label], predictions[..., groups == label], **options)
        for label in "abcd"
    ]
    assert np.isnan(parts[:2]).all() and not np.isnan(parts[2:]).any()
    expected = np.mean(parts[2:], axis=0)
    np.testing.assert_allclose(metric(scores, predictions, groups, **options), expected)


@pytest.mark.parametrize("metric", ALL, ids=name_of)
@pytest.mark.parametrize("groups", [None, [0, 0, 1, 1]])
def test_a_prediction_with_nan_has_no_value(metric, groups):
    predictions = np.array([[1.0, 2.0, 3.0, 4.0], [1.0, 2.0, np.nan, 4.0], [np.nan] * 4])
    found = metric([1.0, 0.0, 3.0, 4.0], predictions, groups)
    assert np.isnan(found).tolist() == [False, True, True]


@pytest.mark.parametrize("metric", ALL, ids=name_of)
def test_without_anything_to_order_there_is_no_value(metric):
    assert np.isnan(metric([0, 0], [1, 2])) == (metric is not disagreement_error)
    assert np.isnan(metric([], []))
    assert np.isnan(metric([0, 0], [[1, 2], [2, 2]], groups=[0, 1])).all()


@pytest.mark.parametrize(
    ("metric", "empty", "expected"),
    [
        *((metric, *case) for metric in RELEVANCE for case in ((None, 1.0), (0.0, 0.5), (1, 1.0))),
        *((kendall_tau, *case) for case in ((None, 1.0), (0.0, 0.5))),
        *((ndcg_error, *case) for case in ((None, 0.0), (0.0, 0.0), (1.0, 0.5))),
    ],
)
def test_a_group_in_which_nothing_can_be_ordered_counts_as_told(metric, empty, expected):
    assert metric([1, 0, 0, 0], [2, 1, 2, 1], [0, 0, 1, 1], empty=empty) == expected
    assert np.isnan(metric([0, 0], [1, 2], empty=None))


PAIR = [1, 2], [1, 2]


@pytest.mark.parametrize(
    ("metric", "arguments", "options", "message"),
    [
        (disagreement_error, PAIR, {"ties": "some"}, "ties: expected 'half' or 'all' or 'untied'"),
        (disagreement_error, ([1, 2], [1, 2, 3]), {}, r"predictions: expected shape \(..., 2\)"),
        (disagreement_error, ([1, 2], 1.0), {}, r"predictions: expected shape \(..., 2\)"),
        (disagreement_error, ([[1, 2]] * 2, [1, 2]), {}, r"expected shape \(2, ..., 2\)"),
        (disagreement_error, ([[1, 2]] * 2, [[1, 2]] * 3), {}, r"got shape \(3, 2\)"),
        (disagreement_error, ([[[1, 2]]], [[[1, 2]]]), {}, "predictions: expected"),
        *(
            (disagreement_error, ([1, x], [1, 2]), {}, "scores: 1 of 2 are NaN or infinite; drop")
            for x in (np.nan, np.inf)
        ),
        (disagreement_error, (*PAIR, [1, "1"]), {}, "groups: labels have different types"),
        *((metric, (*PAIR, [0]), {}, "groups: expected 2 labels") for metric in ALL),
        *(
            (metric, PAIR, {"k": k}, "k: expected an integer of at least 1, got")
            for metric in (*RELEVANCE, ndcg_error)
            for k in (0, 1.5, True)
        ),
        *((metric, PAIR, {"empty": "leave_out"}, "could not convert") for metric in MEANS[:3]),
        (ndcg_error, PAIR, {"gain": "cubic"}, "gain: expected 'linear' or 'exponential'"),
        (ndcg_error, ([-1, 2], [1, 2]), {}, "grades of at least 0, got -1; use gain='shifted'"),
    ],
)
def test_bad_arguments_are_named(metric, arguments, options, message):
    with pytest.raises(ValueError, match=message):
        metric(*arguments, **options)


# Pairs


def disagreement_by_loops(scores, prediction, groups, ties):
    wrong, pairs = 0.0, 0
    for i, j in itertools.permutations(range(len(scores)), 2):
        if groups is not None and groups[i] != groups[j]:
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
    scores = rng.integers(0, draw(st.integers(1, 5)), size=n_points) / 2.0
    shape = draw(st.sampled_from([(), (1,), (3,), (2, 3), (0,)]))
    predictions = rng.integers(0, draw(st.integers(1, 5)), size=(*shape, n_points)) / 4.0
    groups = draw(st.sampled_from([None, rng.integers(0, 3, size=n_points)]))
    return scores, predictions, groups


@given(rankings(), st.sampled_from(TIES), st.sampled_from(COUNTED))
def test_disagreement_equals_a_double_loop(ranking, ties, counted):
    scores, predictions, groups = ranking
    with pytest.MonkeyPatch.context() as patch:
        count_by(counted, patch)
        result = disagreement_error(scores, predictions, groups, ties=ties)
        accuracy = pairwise_accuracy(scores, predictions, groups)
    assert np.shape(result) == predictions.shape[:-1]
    for index in np.ndindex(predictions.shape[:-1]):
        expected = disagreement_by_loops(scores, predictions[index], groups, ties)
        np.testing.assert_allclose(np.asarray(result)[index], expected, rtol=1e-14)
    if ties == "untied":
        np.testing.assert_array_equal(accuracy, 1.0 - np.asarray(result))


@given(st.data(), st.sampled_from(TIES))
def test_pairs_of_many_rows_are_counted_in_blocks(data, ties):
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
        disagreement_error(row, part, ties=ties)
        for row, part in zip(scores, predictions, strict=True)
    ]
    np.testing.assert_array_equal(result, np.reshape(expected, (n_rows, 3, 2)))


@given(st.integers(0, 2**32 - 1), st.sampled_from(TIES), st.sampled_from(COUNTED))
def test_near_ties_are_counted_as_if_they_were_merged_before(seed, ties, counted):
    rng = np.random.default_rng(seed)
    scores = rng.integers(0, 30, size=(3, 25))
    level = rng.choice([0.0, 1.0, -3.0, 1e12])
    # Most are equal or differ by rounding; some rows have a range of a few rounding errors only.
    coarse = rng.integers(-3, 4, size=(3, 40, 25)) * 10.0 ** rng.integers(-14, 3, size=(3, 40, 1))
    rounding = rng.integers(-2, 3, size=coarse.shape) * 2.0 ** rng.integers(-52, -30)
    predictions = (level + coarse) * (1.0 + rounding)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(metrics, "_BLOCK", int(rng.choice([1, 100, metrics._BLOCK])))
        count_by(counted, patch)
        found = disagreement_error(scores, predictions, ties=ties, near_ties=True)
        expected = disagreement_error(scores, merge_near_ties(predictions), ties=ties)
    np.testing.assert_array_equal(found, expected)


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


def test_disagreement_without_ties_is_kendalls_tau_and_over_untied_pairs_somers_d():
    rng = np.random.default_rng(1)
    scores, prediction = rng.normal(size=(2, 40))
    tau = kendalltau(scores, prediction).statistic
    for ties in TIES:
        error = disagreement_error(scores, prediction, ties=ties)
        assert error == pytest.approx((1.0 - tau) / 2.0, abs=1e-14)
    scores, prediction = rng.integers(0, 5, size=(2, 30))
    error = disagreement_error(scores, prediction, ties="untied")
    # The pairs of somersd are those that differ in its first argument.
    assert error == pytest.approx((1.0 - somersd(scores, prediction).statistic) / 2.0, abs=1e-14)


@given(st.lists(st.tuples(LEVELS, LEVELS), min_size=1, max_size=8))
def test_tau_is_that_of_scipy_and_0_of_a_constant_prediction(points):
    scores, prediction = (np.array(column) for column in zip(*points, strict=True))
    expected = kendalltau(scores, prediction).statistic if np.ptp(prediction) else 0.0
    expected = expected if np.ptp(scores) else np.nan
    np.testing.assert_allclose(kendall_tau(scores, prediction), expected, atol=1e-14)


# The whole ranking


def average_precision(scores, k, threshold):
    """Return the average precision of scores in the order of a ranking, written out."""
    relevant = [score > threshold for score in scores]
    precisions = [sum(relevant[: i + 1]) / (i + 1) for i in range(min(k, len(relevant)))]
    hits = [p for p, flag in zip(precisions, relevant, strict=False) if flag]
    return sum(hits) / min(sum(relevant), k)


def reciprocal_rank(scores, k, threshold):
    place = [score > threshold for score in scores].index(True) + 1
    return 1 / place if place <= k else 0.0


def error_of_gains(gains, k):
    """Return one minus the discounted gains over those of the best order, written out."""
    reached, best = (
        sum(gain / np.log2(i + 2) for i, gain in enumerate(order[:k]))
        for order in (gains, sorted(gains, reverse=True))
    )
    return 1.0 - reached / best if best else 0.0


def over_all_orders(value, scores, predictions, *options):
    """Return the mean over every order of the points that the prediction allows."""
    falling = sorted(predictions, reverse=True)
    return np.mean(
        [
            value([scores[i] for i in order], *options)
            for order in itertools.permutations(range(len(scores)))
            if [predictions[i] for i in order] == falling
        ]
    )


@given(st.lists(st.tuples(LEVELS, LEVELS), min_size=1, max_size=6), st.integers(1, 7), LEVELS)
def test_ties_count_the_mean_over_all_their_orders(points, k, threshold):
    scores, predictions = (list(column) for column in zip(*points, strict=True))
    for metric, value in zip(RELEVANCE, (average_precision, reciprocal_rank), strict=True):
        found = metric(scores, predictions, k=k, threshold=threshold)
        if max(scores) > threshold:
            expected = over_all_orders(value, scores, predictions, k, threshold)
            assert found == pytest.approx(expected, abs=1e-12)
        else:
            assert np.isnan(found)
    lowest = min(scores)
    for gain, worth in {
        "linear": lambda grade: grade,
        "exponential": lambda grade: 2**grade - 1,
        "shifted": lambda grade: grade - lowest,
    }.items():
        expected = over_all_orders(error_of_gains, [*map(worth, scores)], predictions, k)
        found = ndcg_error(scores, predictions, k=k, gain=gain)
        assert found == pytest.approx(expected, abs=1e-12)


def test_values_without_ties_are_those_of_scikit_learn():
    rng = np.random.default_rng(0)
    grades, prediction = rng.integers(0, 3, 50), rng.normal(size=50)
    expected = average_precision_score(grades > 1, prediction)
    assert mean_average_precision(grades, prediction, threshold=1) == pytest.approx(expected)
    for k in (1, 5, 10, None):
        expected = 1 - ndcg_score([grades], [prediction], k=k)
        assert ndcg_error(grades, prediction, k=k) == pytest.approx(expected, abs=1e-12)


def test_exponential_gains_of_large_grades_do_not_overflow():
    grades = np.array([[1, 3, 0, 2], [2001, 2003, 2000, 2002]], dtype=float)
    # 2^g - 1 is 2^2000 times 2^(g - 2000), without the -1.
    expected = [error_of_gains(gains[::-1], 4) for gains in ([1, 7, 0, 3], [2, 8, 1, 4])]
    error = ndcg_error(grades, [[1, 2, 3, 4], [1, 2, 3, 4]], gain="exponential")
    np.testing.assert_allclose(error, expected)
    assert ndcg_error([0, 1, 2000], [3, 2, 1], gain="exponential") == pytest.approx(0.5)


# Errors of other kinds, and ties by rounding


def test_squared_error_is_the_mean_over_the_points():
    predictions = np.array([[1.0, 2.0, 3.0], [0.0, 0.0, 0.0]])
    assert squared_error([1.0, 2.0, 5.0], predictions).tolist() == [4.0 / 3.0, 10.0]


def test_sparsity_is_the_share_of_zeros():
    assert sparsity([0.0, 1.0, -0.0, 1e-300]) == 0.5
    assert sparsity(np.array([[0.0, 0.0], [1.0, 0.0]])).tolist() == [1.0, 0.5]


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
