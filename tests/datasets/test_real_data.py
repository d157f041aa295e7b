"""The published counts, on the real data: skipped where it is absent."""

import pytest

from rankpursuit.datasets.fetch import DATA_SETS
from rankpursuit.experiments.protocol import Protocol, group_users


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
