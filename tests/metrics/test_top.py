import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import ndcg_score

from rankpursuit.metrics import ndcg_error

FEW = st.integers(0, 3)


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
    expected = by_hand(scores - scores.min(), predictions.tolist(), k)
    assert ndcg_error(scores, predictions, k=k) == pytest.approx(expected, abs=1e-12)
    grades = by_hand((2.0**scores - 1).tolist(), predictions.tolist(), k)
    found = ndcg_error(scores, predictions, k=k, gain="exponential")
    assert found == pytest.approx(grades, abs=1e-12)


def test_it_is_one_minus_the_ndcg_of_scikit_learn():
    rng = np.random.default_rng(0)
    scores, predictions = rng.integers(0, 5, 40).astype(float), rng.normal(size=40)
    for k in (1, 5, 10, None):
        expected = 1 - ndcg_score([scores], [predictions], k=k)
        assert ndcg_error(scores, predictions, k=k) == pytest.approx(expected, abs=1e-12)


def test_a_group_is_a_ranking_of_its_own_and_the_mean_counts():
    rng = np.random.default_rng(1)
    scores, predictions = rng.normal(size=12), rng.normal(size=(3, 12))
    groups = np.repeat([2, 0, 1], [3, 4, 5])
    parts = [ndcg_error(scores[groups == g], predictions[:, groups == g], k=2) for g in range(3)]
    np.testing.assert_allclose(ndcg_error(scores, predictions, groups, k=2), np.mean(parts, axis=0))
    moved = ndcg_error(scores + 100 * groups, predictions, groups, k=2)
    np.testing.assert_allclose(moved, np.mean(parts, axis=0))


def test_points_below_place_k_do_not_count():
    assert ndcg_error([3, 2, 1, 0], [4, 3, 1, 2], k=2) == 0.0
    assert ndcg_error([3, 2, 1, 0], [4, 3, 1, 2]) > 0.0


def test_where_all_scores_tie_no_order_is_wrong():
    assert ndcg_error([2, 2, 2], [1, 2, 3]) == 0.0


def test_nan_predictions_have_a_nan_error():
    assert np.isnan(ndcg_error([1, 2, 3], [[1, 2, np.nan]])).all()


@pytest.mark.parametrize(
    ("wrong", "said"),
    [({"k": 0}, "k: expected"), ({"gain": "cubic"}, "gain: expected 'linear' or 'exponential'")],
)
def test_wrong_options_are_refused(wrong, said):
    with pytest.raises(ValueError, match=said):
        ndcg_error([1, 2], [1, 2], **wrong)
    with pytest.raises(ValueError, match="grades of at least 0"):
        ndcg_error([-1, 2], [1, 2], gain="exponential")


@pytest.mark.parametrize(("empty", "expected"), [(0.0, 0.0), (1.0, 0.5), (None, 0.0)])
def test_a_group_in_which_nothing_is_worth_more_counts_as_told(empty, expected):
    found = ndcg_error([2, 1, 1, 1], [2, 1, 2, 1], [0, 0, 1, 1], empty=empty)
    assert found == expected


def test_without_a_group_that_counts_there_is_no_mean():
    assert np.isnan(ndcg_error([1, 1], [1, 2], empty=None))
    assert np.isnan(ndcg_error([1, 2], [1, 2], groups=[0, 1]))


def test_the_discount_of_letor_counts_the_first_two_places_in_full():
    grades, prediction = [2, 0, 1], [1, 3, 2]  # the order of the grades is 0, 1, 2
    reached, best = 0 + 1 / 1 + 3 / np.log2(3), 3 + 1
    found = ndcg_error(grades, prediction, gain="exponential", discount="letor")
    assert found == pytest.approx(1 - reached / best)
    with pytest.raises(ValueError, match="discount: expected 'standard' or 'letor'"):
        ndcg_error([1, 2], [1, 2], discount="none")
