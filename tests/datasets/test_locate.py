from pathlib import Path

import pytest

from rankpursuit.datasets import locate
from rankpursuit.datasets.named import known
from rankpursuit.errors import DataNotFoundError


@pytest.fixture
def places(tmp_path, monkeypatch):
    """Return the three places, in the order in which they are searched."""
    monkeypatch.setenv(locate.DATA_VARIABLE, str(tmp_path / "variable"))
    monkeypatch.setattr(locate, "working_copy", lambda: tmp_path / "checkout")
    monkeypatch.setenv(locate.CACHE_VARIABLE, str(tmp_path / "cache"))
    return [tmp_path / "variable", tmp_path / "checkout" / "data", tmp_path / "cache" / "data"]


def put(folder: Path, name: str = "ml-1m.zip") -> Path:
    file = folder / "movielens" / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.touch()
    return file


def test_the_variable_goes_before_the_working_copy_and_that_before_the_cache(places):
    assert locate.data_folders() == places
    for place in reversed(places):
        file = put(place)
        assert locate.find_files(known("movielens")) == [file]


def test_an_explicit_path_goes_before_everything(places, tmp_path):
    put(places[0])
    mine = put(tmp_path / "mine")
    assert locate.find_files(known("movielens"), tmp_path / "mine") == [mine]
    assert locate.find_files(known("movielens"), mine.parent) == [mine]
    assert locate.find_files(known("movielens"), mine) == [mine]


def test_an_explicit_path_without_the_data_is_not_made_up_for_elsewhere(places, tmp_path):
    put(places[0])
    with pytest.raises(DataNotFoundError, match="mine"):
        locate.find_files(known("movielens"), tmp_path / "mine")


def test_an_unpacked_file_goes_before_the_archive(places):
    put(places[0])
    unpacked = put(places[0], "ml-1m/ratings.dat")
    assert locate.find_files(known("movielens")) == [unpacked]


def test_what_is_absent_everywhere_is_told_with_all_places(places):
    with pytest.raises(DataNotFoundError) as caught:
        locate.find_files(known("movielens"))
    for place in places:
        assert str(place) in str(caught.value)
    assert "rp-data fetch movielens" in str(caught.value)


def test_without_variables_the_cache_folder_is_that_of_the_system(monkeypatch, tmp_path):
    monkeypatch.delenv(locate.CACHE_VARIABLE)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert locate.cache_folder().name == "rankpursuit"
