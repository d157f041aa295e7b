import numpy as np
import pandas as pd
import pytest

from rankpursuit import sizes_from_groups
from rankpursuit.preferences import GroupPreferences, check_labels


@pytest.mark.parametrize(
    "groups",
    [
        [3.0, 1.5, 3.0, np.inf],
        [1, 2.5, True, np.int8(3)],
        ["b", "a", "b", "c"],
        np.array(["b", "a", "b", "c"], dtype=object),
        np.array(["2020-01-01", "2020-01-02", "2020-01-01", "2020-01-03"], dtype="datetime64[D]"),
        pd.Series(["b", "a", "b", "c"], dtype="category"),
        pd.Series([3, 1, 3, 2], dtype="Int64"),
        [10**30, 1, 10**30, 2],
        [],
    ],
    ids=str,
)
def test_labels_of_one_type_are_kept(groups):
    labels = check_labels(groups)
    assert labels.shape == (len(groups),)
    assert labels.tolist() == np.asarray(groups).tolist()


@pytest.mark.parametrize(
    ("groups", "place"),
    [
        ([0.0, np.nan, np.nan], 1),
        (["a", "b", np.nan], 2),
        (["a", None, "b"], 1),
        (np.array([1, np.nan, "a"], dtype=object), 1),
        (np.array(["2020-01-01", "NaT"], dtype="datetime64[D]"), 1),
        (pd.Series([1, None, 2], dtype="Int64"), 1),
        (pd.Series(["a", None, "b"], dtype="string"), 1),
    ],
    ids=str,
)
def test_a_missing_label_is_refused_with_its_place(groups, place):
    with pytest.raises(ValueError, match=f"groups: the label of point {place} is missing"):
        check_labels(groups)


@pytest.mark.parametrize("groups", [[1, "1"], [1.0, "a", 2.0], ["a", b"a"], [0, (1, 2)]], ids=str)
def test_labels_of_different_types_are_refused(groups):
    with pytest.raises(ValueError, match="groups: labels have different types, such as "):
        check_labels(groups)


@pytest.mark.parametrize(
    "groups",
    [
        ["u", "u\0", "u"],
        [b"u", b"u\0"],
        [2**53, 2**53 + 1, 0.5],
        [2.0**53, np.int64(2**53 + 1)],
        [2**63, 2**63 + 1, -1],
        pd.Series(["u", "u\0"]),
    ],
    ids=repr,
)
def test_labels_that_numpy_would_merge_are_kept_apart(groups):
    n_groups = len(set(map(str, groups)))
    assert check_labels(groups).tolist() == list(groups)
    assert GroupPreferences(groups).n_groups == n_groups
    assert len(sizes_from_groups(sorted(groups))) == n_groups


@pytest.mark.parametrize("groups", [[[1, 2], [3, 4]], 7, [(1, 2), (1, 2)]], ids=str)
def test_what_is_no_list_of_labels_is_refused(groups):
    with pytest.raises(ValueError, match="groups: "):
        check_labels(groups)
