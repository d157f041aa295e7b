"""Folds of whole groups, and splits that are refused."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.model_selection import GroupKFold, KFold, PredefinedSplit

from rankpursuit.estimators.cv import common_blocks, make_splits

X, Y = np.arange(12.0)[:, None], np.arange(12.0)
GROUPS = np.repeat(["a", "b", "c", "d"], 3)


@given(st.lists(st.integers(0, 8), min_size=12, max_size=40), st.integers(2, 4))
def test_a_number_of_folds_never_splits_a_group(labels, n_folds):
    groups = np.array(labels)
    if len(np.unique(groups)) < n_folds:
        return
    points = np.zeros((len(groups), 1))
    splits = make_splits(n_folds, points, np.arange(len(groups), dtype=float), groups)
    assert len(splits) == n_folds
    for train, test in splits:
        assert not set(groups[train]) & set(groups[test])
        assert sorted([*train, *test]) == list(range(len(groups)))
    assert np.array_equal(
        np.sort(np.concatenate([test for _, test in splits])), np.arange(len(groups))
    )
    blocks = common_blocks(splits, groups)
    assert len(blocks) == n_folds
    assert sorted(np.concatenate(blocks)) == list(range(len(groups)))


def same(splits, others):
    assert len(splits) == len(others)
    for split, other in zip(splits, others, strict=True):
        assert all(map(np.array_equal, split, other))


def test_splits_are_the_same_every_time_and_those_of_scikit_learn():
    same(make_splits(3, X, Y, GROUPS), list(GroupKFold(3).split(X, Y, GROUPS)))
    shuffled = KFold(4, shuffle=True, random_state=0)
    same(make_splits(4, X, Y, None), list(shuffled.split(X)))
    predefined = PredefinedSplit(np.repeat([0, 1, -1], 4))
    same(make_splits(predefined, X, Y, None), list(predefined.split()))


def test_splits_may_come_from_an_iterable_of_indices_or_masks():
    expected = list(KFold(3).split(X))
    same(make_splits(iter(expected), X, Y, None), expected)
    masks = [(np.isin(Y, train), np.isin(Y, test)) for train, test in expected]
    same(make_splits(masks, X, Y, None), expected)


def test_unscored_points_are_in_every_training_part_and_in_no_test_part():
    y = np.where(np.arange(12) % 3 == 0, np.nan, Y)
    unscored = np.flatnonzero(np.isnan(y))
    for cv in (2, GroupKFold(2), list(GroupKFold(2).split(X, Y, GROUPS))):
        for train, test in make_splits(cv, X, y, GROUPS):
            assert set(unscored) <= set(train)
            assert not set(unscored) & set(test)


def test_groups_partly_in_a_training_part_are_noticed():
    whole, cut = (np.arange(6), np.arange(6, 9)), (np.arange(5), np.arange(6, 9))
    assert common_blocks([whole, whole], GROUPS) is not None
    assert common_blocks([whole, cut], GROUPS) is None


HALVES = [(range(6), range(6, 12)), (range(6, 12), range(6))]
BAD = [
    (5, GROUPS, "cv=5 folds need at least as many groups with scores; got n_groups = 4: lower cv"),
    (13, None, "cv=13 folds need at least as many samples with scores; got n_samples = 12"),
    (KFold(3, shuffle=True, random_state=0), GROUPS, "must keep groups whole; split 0 has group"),
    ([(range(4), range(4, 12)), HALVES[1]], GROUPS, "split 0 has group 'b' in both of its parts"),
    ([HALVES[0], (range(7), range(6, 12))], None, "split 1 has samples in both"),
    ([HALVES[0], (range(12), [])], None, "must hold pairs|split 1 has none in one of them"),
    ([HALVES[0]], None, "at least two splits; got 1"),
    ([], None, "at least two splits; got 0"),
    ([(range(6), [12])] * 2, None, "test indices of the 12 samples; split 0 is not one"),
    ([3, 4], None, "pairs of training and test indices of the 12 samples; split 0 is not one"),
]


@pytest.mark.parametrize(("cv", "groups", "message"), BAD)
@pytest.mark.filterwarnings("ignore:The groups parameter is ignored by KFold")
def test_bad_splits_are_refused(cv, groups, message):
    with pytest.raises(ValueError, match=message):
        make_splits(cv, X, Y, groups)
