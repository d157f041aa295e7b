"""Data sets by name: search, download, archives, and the cache of parsed tables."""

import hashlib
import json
import os
import subprocess
import sys
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from rankpursuit.datasets import Ratings, fetch, load_movielens
from rankpursuit.datasets.fetch import (
    DATA_SETS,
    DataSet,
    RemoteFile,
    cached_table,
    download,
    read_member,
)
from rankpursuit.errors import DataNotFoundError, DownloadError


@pytest.fixture
def places(tmp_path, monkeypatch):
    """Return the three places, in the order in which they are searched."""
    monkeypatch.setenv(fetch.DATA_VARIABLE, str(tmp_path / "variable"))
    monkeypatch.setattr(fetch, "working_copy", lambda: tmp_path / "checkout")
    monkeypatch.setenv(fetch.CACHE_VARIABLE, str(tmp_path / "cache"))
    return [tmp_path / "variable", tmp_path / "checkout" / "data", tmp_path / "cache" / "data"]


def put(folder: Path, name: str = "ml-1m.zip") -> Path:
    file = folder / "movielens" / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.touch()
    return file


def test_the_variable_goes_before_the_working_copy_and_that_before_the_cache(places):
    assert fetch.data_folders() == places
    for place in reversed(places):
        file = put(place)
        assert fetch.find_files(DATA_SETS["movielens"]) == [file]


def test_an_explicit_path_goes_before_everything(places, tmp_path):
    put(places[0])
    mine = put(tmp_path / "mine")
    assert fetch.find_files(DATA_SETS["movielens"], tmp_path / "mine") == [mine]
    assert fetch.find_files(DATA_SETS["movielens"], mine.parent) == [mine]
    assert fetch.find_files(DATA_SETS["movielens"], mine) == [mine]


def test_an_unpacked_file_goes_before_the_archive(places):
    put(places[0])
    unpacked = put(places[0], "ml-1m/ratings.dat")
    assert fetch.find_files(DATA_SETS["movielens"]) == [unpacked]


def test_what_is_absent_everywhere_is_told_with_all_places(places):
    with pytest.raises(DataNotFoundError) as caught:
        fetch.find_files(DATA_SETS["movielens"])
    for place in places:
        assert str(place) in str(caught.value)
    assert "rp-data fetch movielens" in str(caught.value)


GOOD = b"PK\x03\x04" + bytes(range(256)) * 300


def data_set(*urls: str, body: bytes = GOOD) -> DataSet:
    file = RemoteFile("a.zip", hashlib.sha256(body).hexdigest(), urls)
    return replace(DATA_SETS["movielens"], name="mine", files=(file,))


def test_a_good_answer_becomes_the_file(server, tmp_path):
    lines = []
    url = server.serve("/a.zip", GOOD)
    download(data_set(url), tmp_path / "new", report=lines.append)
    file = tmp_path / "new" / "a.zip"
    assert file.read_bytes() == GOOD
    assert list((tmp_path / "new").iterdir()) == [file]
    assert lines == [f"{file}: downloaded from {url}"]


def test_a_file_that_is_there_is_not_asked_for_again(server, tmp_path):
    (tmp_path / "a.zip").write_bytes(GOOD)
    lines = []
    download(data_set(server.serve("/a.zip", GOOD)), tmp_path, report=lines.append)
    assert server.asked == []
    assert lines == [f"{tmp_path / 'a.zip'}: already there"]


def test_a_damaged_file_that_is_there_is_replaced(server, tmp_path):
    (tmp_path / "a.zip").write_bytes(GOOD[:100])
    download(data_set(server.serve("/a.zip", GOOD)), tmp_path)
    assert (tmp_path / "a.zip").read_bytes() == GOOD


def bad_answers(server):
    """Return the address of every kind of bad answer, and the reason in the message."""
    return {
        "missing": (server.url("/missing"), "404"),
        "corrupt": (server.serve("/corrupt", GOOD[:-1] + b"x"), "wrong checksum"),
        "html": (server.serve("/html", b"<!DOCTYPE html><p>We moved"), "or a web page"),
        "empty": (server.serve("/empty", b""), "wrong checksum"),
        "truncated": (
            server.serve("/truncated", GOOD[:9000], announced=len(GOOD)),
            "download failed",
        ),
        "slow": (
            server.serve("/slow", GOOD[:9000], announced=len(GOOD), then_hang=True),
            "download failed",
        ),
    }


@pytest.mark.parametrize("kind", ["missing", "corrupt", "html", "empty", "truncated", "slow"])
def test_a_bad_answer_is_told_and_leaves_nothing(server, tmp_path, kind):
    url, said = bad_answers(server)[kind]
    with pytest.raises(DownloadError) as caught:
        download(data_set(url), tmp_path, timeout=0.3)
    assert said in str(caught.value)
    assert f"put a.zip into {tmp_path}" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_addresses_are_tried_in_turn_until_one_is_good(server, tmp_path):
    bad = [url for url, _ in bad_answers(server).values()]
    good = server.serve("/good", GOOD)
    never = server.serve("/never", GOOD)
    download(data_set(*bad, good, never), tmp_path, timeout=0.3)
    assert (tmp_path / "a.zip").read_bytes() == GOOD
    paths = ["/missing", "/corrupt", "/html", "/empty", "/truncated", "/slow", "/good"]
    assert server.asked == paths


def test_a_folder_that_cannot_be_written_is_named(server, tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(DownloadError, match=f"{tmp_path / 'file'}"):
        download(data_set(server.serve("/a.zip", GOOD)), tmp_path / "file")


@pytest.mark.parametrize("name", list(DATA_SETS))
def test_every_registered_file_has_a_checksum_and_more_than_one_address(name):
    for file in DATA_SETS[name].files:
        assert len(file.sha256) == 64 and int(file.sha256, 16)
        assert len(set(file.urls)) > 1
        assert file.urls[0].startswith("https://")


def archive(path: Path, members: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as opened:
        for name, content in members.items():
            opened.writestr(name, content)
    return path


def test_names_of_members_that_point_outside_are_not_followed(tmp_path):
    (tmp_path / "inside").mkdir()
    file = archive(tmp_path / "inside" / "a.zip", {"../x.dat": b"fine", "/tmp/y": b"evil"})
    assert read_member(file, "x.dat") == b"fine"
    assert list(tmp_path.rglob("*")) == [tmp_path / "inside", file]


def test_a_member_with_a_flipped_byte_is_refused(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.zip", "w", zipfile.ZIP_STORED) as opened:
        opened.writestr("x.dat", b"0123456789" * 10)
    content = bytearray((tmp_path / "a.zip").read_bytes())
    content[60] ^= 1
    (tmp_path / "a.zip").write_bytes(content)
    with pytest.raises(match="CRC"):
        read_member(tmp_path / "a.zip", "x.dat")


def test_a_member_longer_than_declared_is_refused(tmp_path):
    file = archive(tmp_path / "a.zip", {"x.dat": bytes(10_000_000)})
    size = (10_000_000).to_bytes(4, "little")
    file.write_bytes(file.read_bytes().replace(size, (9).to_bytes(4, "little")))
    with pytest.raises(match="damaged"):
        read_member(file, "x.dat")


@pytest.mark.parametrize("names", [[], ["a/x.dat", "b/x.dat"]])
def test_an_archive_without_exactly_one_such_member_is_refused(tmp_path, names):
    file = archive(tmp_path / "a.zip", dict.fromkeys(["other", *names], b"1"))
    with pytest.raises(match=rf"holds {len(names)} files \*x.dat, expected one"):
        read_member(file, "x.dat")


@pytest.fixture
def source(tmp_path):
    file = tmp_path / "source"
    file.write_text("one")
    return file


class Parser:
    """Counts how often it is called."""

    def __init__(self):
        self.calls = 0

    def __call__(self):
        self.calls += 1
        return Ratings.from_arrays(["ann", "bob"], [1, 2], [self.calls, 0.5], name="cached")


def cached_files(cache):
    return sorted((cache / "tables").iterdir())


def test_a_table_is_parsed_once(cache, source):
    parse = Parser()
    first = cached_table("t", [source], parse)
    second = cached_table("t", [source], parse)
    assert parse.calls == 1
    assert second.checksum() == first.checksum()
    assert second.name == "cached"
    assert len(cached_files(cache)) == 1


def test_every_flipped_byte_is_noticed_or_harmless(cache, source):
    parse = Parser()
    good = cached_table("t", [source], parse)
    (file,) = cached_files(cache)
    whole = file.read_bytes()
    for position in range(0, len(whole), 37):
        damaged = bytearray(whole)
        damaged[position] ^= 0x55
        file.write_bytes(damaged)
        table = cached_table("t", [source], lambda: good)
        assert table.checksum() == good.checksum()


def test_a_table_with_other_values_but_a_sound_file_is_parsed_again(cache, source):
    parse = Parser()
    cached_table("t", [source], parse)
    (file,) = cached_files(cache)
    with np.load(file) as stored:
        arrays = dict(stored)
    arrays["values"] = arrays["values"] + 10
    np.savez(file, **arrays)
    assert cached_table("t", [source], parse).values[0] == 2


class Trap:
    """Makes a folder when it is unpickled."""

    def __init__(self, folder):
        self.folder = folder

    def __reduce__(self):
        return os.mkdir, (str(self.folder),)


def test_a_pickled_object_is_never_loaded(cache, source, tmp_path):
    parse = Parser()
    cached_table("t", [source], parse)
    (file,) = cached_files(cache)
    with np.load(file) as stored:
        arrays = dict(stored)
    arrays["user_ids"] = np.array([Trap(tmp_path / "sprung"), None], dtype=object)
    np.savez(file, **arrays)
    cached_table("t", [source], parse)
    assert parse.calls == 2
    assert not (tmp_path / "sprung").exists()


def test_a_cache_that_cannot_be_written_is_a_warning(cache, source):
    cache.write_text("a file where the folder should be")
    with pytest.warns(UserWarning, match="the parsed table was not cached") as caught:
        assert cached_table("t", [source], Parser()).n_ratings == 2
    assert caught[0].filename == __file__


def test_several_processes_at_once_all_get_the_table(cache, tmp_path):
    pairs = [(user, movie) for user in range(99) for movie in range(99)]
    lines = [f"{user}::{movie}::{1 + (user * movie) % 5}" for user, movie in pairs]
    (tmp_path / "ratings.dat").write_text("\n".join(lines))
    program = (
        "import json, sys; from rankpursuit.datasets import load_movielens; "
        "print(json.dumps([load_movielens(sys.argv[1]).checksum() for _ in range(5)]))"
    )
    running = [
        subprocess.Popen(
            [sys.executable, "-c", program, str(tmp_path / "ratings.dat")], stdout=subprocess.PIPE
        )
        for _ in range(4)
    ]
    printed = [json.loads(process.communicate()[0]) for process in running]
    assert [process.returncode for process in running] == [0] * 4
    expected = load_movielens(tmp_path / "ratings.dat").checksum()
    assert {checksum for line in printed for checksum in line} == {expected}
    assert len(cached_files(cache)) == 1


@pytest.mark.parametrize("content", [b"<!DOCTYPE html><p>Moved", b""])
def test_a_web_page_and_an_empty_file_are_refused(tmp_path, content):
    (tmp_path / "a.zip").write_bytes(content)
    with pytest.raises(match=r"not a zip archive.*download it again"):
        read_member(tmp_path / "a.zip", "x.dat")
