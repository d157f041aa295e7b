import json
import os
import subprocess
import sys

import numpy as np
import pytest

from rankpursuit.datasets import Ratings, load_movielens
from rankpursuit.datasets.cache import cached_table


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


def files(cache):
    return sorted((cache / "tables").iterdir())


def test_a_table_is_parsed_once(cache, source):
    parse = Parser()
    first = cached_table("t", [source], parse)
    second = cached_table("t", [source], parse)
    assert parse.calls == 1
    assert second.checksum() == first.checksum()
    assert second.name == "cached"
    assert not second.values.flags.writeable
    assert len(files(cache)) == 1


def test_a_changed_source_is_parsed_again(cache, source):
    parse = Parser()
    cached_table("t", [source], parse)
    source.write_text("two")
    assert cached_table("t", [source], parse).values[0] == 2


@pytest.mark.parametrize("keep", [0, 1, 100, -1])
def test_a_truncated_table_is_parsed_again_and_replaced(cache, source, keep):
    parse = Parser()
    cached_table("t", [source], parse)
    (file,) = files(cache)
    file.write_bytes(file.read_bytes()[:keep])
    cached_table("t", [source], parse)
    cached_table("t", [source], parse)
    assert parse.calls == 2
    assert files(cache) == [file]


def test_every_flipped_byte_is_noticed_or_harmless(cache, source):
    parse = Parser()
    good = cached_table("t", [source], parse)
    (file,) = files(cache)
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
    (file,) = files(cache)
    with np.load(file) as stored:
        arrays = dict(stored)
    arrays["values"] = arrays["values"] + 1
    np.savez(file, **arrays)
    assert cached_table("t", [source], parse).values[0] == 2


def test_a_table_of_another_source_under_this_name_is_not_trusted(cache, source, tmp_path):
    parse = Parser()
    cached_table("t", [source], parse)
    (file,) = files(cache)
    source.write_text("two")
    cached_table("t", [source], parse)
    (other,) = set(files(cache)) - {file}
    other.write_bytes(file.read_bytes())
    assert cached_table("t", [source], parse).values[0] == 3


class Trap:
    """Makes a folder when it is unpickled."""

    def __init__(self, folder):
        self.folder = folder

    def __reduce__(self):
        return os.mkdir, (str(self.folder),)


def test_a_pickled_object_is_never_loaded(cache, source, tmp_path):
    parse = Parser()
    cached_table("t", [source], parse)
    (file,) = files(cache)
    with np.load(file) as stored:
        arrays = dict(stored)
    arrays["user_ids"] = np.array([Trap(tmp_path / "sprung"), None], dtype=object)
    np.savez(file, **arrays)
    cached_table("t", [source], parse)
    assert parse.calls == 2
    assert not (tmp_path / "sprung").exists()


def test_a_failing_parser_leaves_nothing(cache, source):
    def parse():
        raise RuntimeError("no")

    with pytest.raises(RuntimeError):
        cached_table("t", [source], parse)
    assert not cache.exists()


def test_a_cache_that_cannot_be_written_is_a_warning(cache, source):
    cache.write_text("a file where the folder should be")
    with pytest.warns(UserWarning, match="the parsed table was not kept"):
        assert cached_table("t", [source], Parser()).n_ratings == 2


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
    assert len(files(cache)) == 1
