import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from problems import SMALL
from scipy.stats import kendalltau, somersd

from rankpursuit import metrics as disagreement
from rankpursuit.metrics import (
    disagreement_error,
    pairwise_accuracy,
    sparsity,
    squared_error,
)

TIES = ["all", "half", "untied"]


def disagreement_by_loops(scores, prediction, groups, normalized, ties):
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
    if normalized:
        return wrong / pairs if pairs else np.nan
    return wrong


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
    st.booleans(),
    st.sampled_from(["all", "half", "untied"]),
    st.sampled_from([0, disagreement._FEW]),
)
def test_disagreement_equals_a_double_loop(ranking, normalized, ties, few):
    scores, predictions, groups = ranking
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(disagreement, "_FEW", few)
        result = disagreement_error(scores, predictions, groups, normalized=normalized, ties=ties)
    assert np.shape(result) == predictions.shape[:-1]
    for index in np.ndindex(predictions.shape[:-1]):
        expected = disagreement_by_loops(scores, predictions[index], groups, normalized, ties)
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
    block = data.draw(st.sampled_from([1, 20, 100, disagreement._BLOCK]))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(disagreement, "_BLOCK", block)
        patch.setattr(disagreement, "_FEW", data.draw(st.sampled_from([0, disagreement._FEW])))
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
@pytest.mark.parametrize("few", [0, disagreement._FEW])
def test_long_rankings_do_not_overflow_the_counters(n_points, ties, few, monkeypatch):
    monkeypatch.setattr(disagreement, "_FEW", few)
    increasing = np.arange(n_points)
    halves = increasing >= n_points // 2
    predictions = np.stack([increasing, -increasing, 0 * increasing])
    assert disagreement_error(increasing, predictions, ties=ties).tolist() == [0.0, 1.0, 0.5]
    n_tied = n_points // 2
    n_other = n_points - n_tied
    across, inside = n_tied * n_other, sum(m * (m - 1) // 2 for m in (n_tied, n_other))
    expected = [0.0, 2.0 * across, across] + (np.array([1, 1, 0]) * inside * (ties == "all"))
    raw = disagreement_error(halves, predictions, normalized=False, ties=ties)
    assert raw.tolist() == expected.tolist()


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
def test_without_pairs_the_normalised_error_is_nan_and_the_raw_zero(scores, groups, ties):
    predictions = np.zeros((2, len(scores)))
    assert np.isnan(disagreement_error(scores, predictions, groups, ties=ties)).all()
    raw = disagreement_error(scores, predictions, groups, ties=ties, normalized=False)
    assert raw.tolist() == [0.0, 0.0]
    assert np.isnan(pairwise_accuracy([1.0, 1.0], [1.0, 2.0]))


@pytest.mark.parametrize("normalized", [True, False])
@pytest.mark.parametrize("groups", [None, [0, 0, 1, 1]])
def test_prediction_with_nan_has_no_error_rather_than_a_small_one(normalized, groups):
    scores = [1.0, 2.0, 3.0, 4.0]
    predictions = np.array([[1.0, 2.0, 3.0, 4.0], [1.0, 2.0, np.nan, 4.0], [np.nan] * 4])
    error = disagreement_error(scores, predictions, groups, normalized=normalized)
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
        (([1, 2], [1, 2, 3]), {}, r"predictions: expected the shape \(..., 2\)"),
        (([1, 2], 1.0), {}, r"predictions: expected the shape \(..., 2\)"),
        (([[1, 2]] * 2, [1, 2]), {}, r"predictions: expected the shape \(2, ..., 2\)"),
        (([[1, 2]] * 2, [[1, 2]] * 3), {}, r"shape \(2, ..., 2\).*got the shape \(3, 2\)"),
        (([[[1, 2]]], [[[1, 2]]]), {}, "predictions: expected"),
        (([1, 2], [1, 2], [0]), {}, "groups: expected 2 labels"),
        (([1, np.nan], [1, 2]), {}, "scores: 1 of 2 are NaN; leave those points out"),
    ],
)
def test_bad_arguments_are_named(arguments, options, message):
    with pytest.raises(ValueError, match=message):
        disagreement_error(*arguments, **options)
