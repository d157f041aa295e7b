import numpy as np
import pytest

from rankpursuit.datasets import load_named, make_ratings
from rankpursuit.errors import DataError


def test_the_seed_decides():
    assert make_ratings(50, 30, seed=3).checksum() == make_ratings(50, 30, seed=3).checksum()
    assert make_ratings(50, 30, seed=3).checksum() != make_ratings(50, 30, seed=4).checksum()


def test_jokes_are_real_numbers_from_minus_ten_to_ten():
    values = make_ratings(300, 50, scale="jokes").values
    assert values.min() >= -10 and values.max() <= 10
    assert values.min() < -5 and values.max() > 5
    assert len(np.unique(values)) > 500


def test_stars_are_whole_numbers_and_all_of_them_occur():
    values = make_ratings(300, 50, scale="stars").values
    assert np.unique(values).tolist() == [1, 2, 3, 4, 5]


@pytest.mark.parametrize(
    "wrong",
    [
        {"scale": "thumbs"},
        {"n_users": 0},
        {"n_tastes": 0},
        {"noise": -1},
        {"min_ratings": 0},
        {"min_ratings": 20, "max_ratings": 10},
        {"n_items": 10, "max_ratings": 11, "min_ratings": 1},
    ],
)
def test_impossible_parameters_are_refused(wrong):
    with pytest.raises(DataError):
        make_ratings(**wrong)


def test_named_data_sets_are_refused_by_name():
    with pytest.raises(DataError, match="unknown data set 'nope'; choose from jester, movielens"):
        load_named("nope")
    with pytest.raises(DataError, match="generated, not read"):
        load_named("synthetic", "here")
