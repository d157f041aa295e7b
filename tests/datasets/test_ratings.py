"""The ratings table, its summary and its figure."""

import pickle
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.backends.backend_agg import FigureCanvasAgg

from rankpursuit.datasets import Ratings, make_ratings
from rankpursuit.datasets.ratings import check_picture, draw_picture, save_picture, summarise
from rankpursuit.errors import DataError, RankpursuitError


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


@pytest.mark.parametrize("user", [-1, 3])
def test_a_user_that_is_not_there_is_an_index_error(user):
    with pytest.raises(IndexError, match="small: no user"):
        small().user_items(user)


@pytest.mark.parametrize("field", ["items", "values", "offsets", "counts", "medians", "means"])
@pytest.mark.parametrize("pickled", [False, True])
def test_arrays_are_read_only_also_after_pickling(field, pickled):
    table = small()
    _ = table.counts, table.medians, table.means
    if pickled:
        table = pickle.loads(pickle.dumps(table))
    with pytest.raises(ValueError, match="read-only"):
        getattr(table, field)[0] = 1
    with pytest.raises(AttributeError):
        table.name = "other"


def test_a_users_ratings_are_a_view_not_a_copy():
    table = small()
    assert np.shares_memory(table.user_ratings(0), table.values)


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


@pytest.mark.parametrize(("bad", "said"), [(5.5, "5.5 is outside 1 to 5"), (0, "0 is outside")])
def test_a_rating_outside_the_bounds_is_refused_with_its_row(bad, said):
    with pytest.raises(DataError, match=f"mine, row 2: the rating {said}"):
        Ratings.from_arrays([1, 2], [1, 1], [1, bad], name="mine", bounds=(1, 5))


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_rating_that_is_not_finite_is_refused(bad):
    with pytest.raises(DataError, match=r"row 1: the rating (nan|inf) is outside"):
        Ratings.from_arrays([1, 2], [1, 1], [bad, 1])


def test_an_empty_table_is_refused():
    with pytest.raises(DataError, match="no ratings"):
        Ratings.from_arrays([], [], [])


def test_columns_of_different_lengths_are_refused():
    with pytest.raises(DataError, match="one length"):
        Ratings.from_arrays([1, 2], [1], [1, 2])


def test_bad_data_is_a_value_error_and_an_error_of_the_package():
    assert issubclass(DataError, ValueError)
    assert issubclass(DataError, RankpursuitError)


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


def test_four_million_ratings_would_take_well_under_200_megabytes():
    n_users, n_items = 2000, 100
    users, items = np.divmod(np.arange(n_users * n_items), n_items)
    table = Ratings.from_arrays(users, items, np.zeros(len(users)))
    n_bytes = table.values.nbytes + table.items.nbytes
    assert n_bytes / table.n_ratings * 4_136_360 < 100e6


def test_the_numbers_of_a_hand_worked_example():
    table = Ratings.from_arrays([1, 1, 1, 2, 2], [1, 2, 3, 1, 4], [5, 5, 1, 1, 2])
    summary = summarise(table, groups=[(2, 3), (3, 3), (4, 9)])
    assert summary.density == 5 / 8
    assert summary.tied_pairs == 1 / 4
    assert summary.groups == {(2, 3): 2, (3, 3): 1, (4, 9): 0}
    assert summary.labels == ("1", "2", "5")
    assert summary.histogram.tolist() == [2, 1, 2]


def test_ties_equal_those_counted_pair_by_pair():
    table = make_ratings(40, 20, scale="stars", min_ratings=3)
    pairs = [
        first == second
        for user in range(table.n_users)
        for first, second in combinations(table.user_ratings(user), 2)
    ]
    assert summarise(table).tied_pairs == pytest.approx(np.mean(pairs))


def test_a_fine_scale_is_put_into_twenty_bins_that_hold_everything():
    table = make_ratings(100, 50)
    summary = summarise(table)
    assert len(summary.histogram) == len(summary.labels) == 20
    assert summary.histogram.sum() == table.n_ratings


def test_users_with_one_rating_have_no_pairs_to_tie():
    summary = summarise(Ratings.from_arrays([1, 2], [1, 1], [3, 3]))
    assert summary.tied_pairs == 0
    assert summary.histogram.tolist() == [2]


def test_a_picture_is_written_in_the_format_of_its_ending(tmp_path):
    table = make_ratings(100, 50)
    save_picture(table, tmp_path / "a.png")
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")


def test_a_picture_that_cannot_be_written_is_refused_by_name(tmp_path):
    for name in ("nowhere/a.png", "a.unknown"):
        with pytest.raises(RankpursuitError, match=name):
            check_picture(tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_legend_covers_no_bars_and_users_are_counted_in_whole_numbers():
    table = make_ratings(100, 50)
    figure = draw_picture(table)
    FigureCanvasAgg(figure).draw()
    legend = figure.legends[0].get_window_extent()
    assert not any(legend.overlaps(axis.get_window_extent()) for axis in figure.axes)
    users = figure.axes[1]
    assert all(tick == int(tick) for tick in users.get_yticks())
    assert all(label.get_text().isdigit() for label in users.get_yticklabels())
