from itertools import combinations

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

from rankpursuit.datasets import Ratings, make_ratings
from rankpursuit.datasets.picture import draw_picture, save_picture
from rankpursuit.datasets.summary import summarise, tied_pairs
from rankpursuit.errors import RankpursuitError


def test_the_numbers_of_a_hand_worked_example():
    table = Ratings.from_arrays([1, 1, 1, 2, 2], [1, 2, 3, 1, 4], [5, 5, 1, 1, 2])
    summary = summarise(table, groups=[(2, 3), (3, 3), (4, 9)])
    assert summary.density == 5 / 8
    assert summary.tied_pairs == 1 / 4
    assert summary.ratings_per_user == (2, 2.5, 3)
    assert summary.groups == {(2, 3): 2, (3, 3): 1, (4, 9): 0}
    assert summary.labels == ("1", "2", "5")
    assert summary.histogram.tolist() == [2, 1, 2]
    assert (summary.low, summary.high) == (1, 5)


def test_ties_equal_those_counted_pair_by_pair():
    table = make_ratings(40, 20, scale="stars", min_ratings=3)
    pairs = [
        first == second
        for user in range(table.n_users)
        for first, second in combinations(table.user_ratings(user), 2)
    ]
    assert tied_pairs(table) == pytest.approx(np.mean(pairs))


def test_a_fine_scale_is_put_into_twenty_bins_that_hold_everything():
    summary = summarise(make_ratings(100, 50))
    assert len(summary.histogram) == len(summary.labels) == 20
    assert summary.histogram.sum() == summary.n_ratings


def test_users_with_one_rating_have_no_pairs_to_tie():
    summary = summarise(Ratings.from_arrays([1, 2], [1, 1], [3, 3]))
    assert summary.tied_pairs == 0
    assert summary.histogram.tolist() == [2]


def test_a_picture_is_written_in_the_format_of_its_ending(tmp_path):
    table = make_ratings(100, 50)
    save_picture(table, summarise(table), tmp_path / "a.png")
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")


def test_a_picture_that_cannot_be_written_is_refused_by_name(tmp_path):
    table = make_ratings(100, 50)
    for name in ("nowhere/a.png", "a.unknown"):
        with pytest.raises(RankpursuitError, match=name):
            save_picture(table, summarise(table), tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_legend_covers_no_bars_and_users_are_counted_in_whole_numbers():
    table = make_ratings(100, 50)
    figure = draw_picture(table, summarise(table))
    FigureCanvasAgg(figure).draw()
    legend = figure.legends[0].get_window_extent()
    assert not any(legend.overlaps(axis.get_window_extent()) for axis in figure.axes)
    users = figure.axes[1]
    assert all(tick == int(tick) for tick in users.get_yticks())
    assert all(label.get_text().isdigit() for label in users.get_yticklabels())
