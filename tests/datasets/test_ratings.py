"""The ratings table."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankpursuit.datasets import Ratings
from rankpursuit.datasets.fetch import DATA_SETS
from rankpursuit.errors import DataError
from rankpursuit.experiments.protocol import Protocol, group_users


def small() -> Ratings:
    users = ["bob", "ann", "bob", "ann", "cid"]
    items = [30, 10, 10, 20, 20]
    return Ratings.from_arrays(users, items, [1.5, -2, 3, 4, 0], name="small")


def test_users_and_items_are_numbered_in_order_of_their_labels():
    table = small()
    assert table.user_ids.tolist() == ["ann", "bob", "cid"]
    assert table.item_ids.tolist() == [10, 20, 30]
    assert (table.n_users, table.n_items, table.n_ratings) == (3, 3, 5)


def test_a_users_items_are_ascending_with_their_ratings():
    table = small()
    assert table.user_items(1).tolist() == [0, 2]
    assert table.user_ratings(1).tolist() == [3, 1.5]
    assert table.user_items(2).tolist() == [1]
    assert table.counts.tolist() == [2, 2, 1]


@given(
    st.dictionaries(
        st.tuples(st.integers(0, 6), st.integers(0, 9)), st.integers(-20, 20), min_size=1
    )
)
def test_medians_and_means_are_over_each_users_own_ratings(ratings):
    keys = list(ratings)
    values = [ratings[key] / 2 for key in keys]
    table = Ratings.from_arrays([u for u, _ in keys], [i for _, i in keys], values)
    for number, label in enumerate(table.user_ids):
        own = [ratings[key] / 2 for key in keys if key[0] == label]
        assert table.medians[number] == np.median(own)
        assert table.means[number] == pytest.approx(np.mean(own))


def test_a_duplicate_is_refused_with_both_rows():
    with pytest.raises(DataError, match="user 7 rated item 2 twice, in rows 1 and 3"):
        Ratings.from_arrays([7, 7, 7], [2, 3, 2], [1, 2, 3])


@pytest.mark.parametrize("users", [[1, "1"], ["u", "u\0"], [2**53, 2**53 + 1, 0.5], [2**64, 1]])
def test_labels_that_would_become_others_are_refused(users):
    with pytest.raises(DataError, match="labels must be all numbers or all strings"):
        Ratings.from_arrays(users, list(range(len(users))), [1] * len(users))


@pytest.mark.parametrize("bad", [np.nan, np.inf, -1e16])
def test_a_rating_that_is_not_finite_is_refused(bad):
    with pytest.raises(DataError, match=r"row 1: the rating .* is not a finite number"):
        Ratings.from_arrays([1, 2], [1, 1], [bad, 1])


def test_an_empty_table_is_refused():
    with pytest.raises(DataError, match="no ratings"):
        Ratings.from_arrays([], [], [])


def test_columns_of_different_lengths_are_refused():
    with pytest.raises(DataError, match="equal length"):
        Ratings.from_arrays([1, 2], [1], [1, 2])


def test_the_checksum_ignores_the_order_of_rows_and_sees_every_change():
    users, items, values = np.array([1, 1, 2]), np.array([1, 2, 1]), np.array([3.0, 4.0, 5.0])
    original = Ratings.from_arrays(users, items, values).checksum()
    assert Ratings.from_arrays(users[::-1], items[::-1], values[::-1]).checksum() == original
    changed = [
        Ratings.from_arrays(users, items, [3, 4, 5.1]),
        Ratings.from_arrays(users, [1, 2, 2], values),
        Ratings.from_arrays([1, 1, 3], items, values),
    ]
    assert original not in [table.checksum() for table in changed]


@pytest.mark.parametrize(
    ("name", "users", "items", "ratings", "low", "high"),
    [
        ("jester", 73_421, 100, 4_136_360, -9.95, 10),
        ("movielens", 6_040, 3_706, 1_000_209, 1, 5),
    ],
)
def test_the_published_counts(real_ratings, name, users, items, ratings, low, high):
    table = real_ratings(name)
    assert (table.n_users, table.n_items, table.n_ratings) == (users, items, ratings)
    assert (table.values.min(), table.values.max()) == (low, high)


def test_the_group_sizes_on_jester(real_ratings):
    table = real_ratings("jester")
    sizes = [len(group_users(table, group)) for group in Protocol().groups]
    assert sizes == [23_195, 12_211, 16_567]


@pytest.mark.parametrize("name", ["jester", "movielens"])
def test_the_table_is_the_one_whose_checksum_is_registered(real_ratings, name):
    assert real_ratings(name).checksum() == DATA_SETS[name].table_sha256
