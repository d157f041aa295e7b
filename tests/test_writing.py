import os

import pytest

from rankpursuit.errors import OutputError
from rankpursuit.writing import remove_leftovers, replacing, write_atomically


def test_a_file_is_made_or_replaced_and_nothing_is_left_beside_it(tmp_path):
    path = tmp_path / "file"
    for content in (b"one", b"two"):
        write_atomically(path, content)
        assert path.read_bytes() == content
    assert list(tmp_path.iterdir()) == [path]


def test_a_new_file_has_the_rights_that_the_user_gives_to_new_files(tmp_path):
    before = os.umask(0o027)
    try:
        write_atomically(tmp_path / "file", b"")
    finally:
        os.umask(before)
    assert (tmp_path / "file").stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize("error", [KeyboardInterrupt, ZeroDivisionError])
def test_a_block_that_fails_leaves_the_old_file(tmp_path, error):
    (tmp_path / "file").write_text("old")
    with pytest.raises(error), replacing(tmp_path / "file") as file:
        file.write(b"new")
        raise error
    assert (tmp_path / "file").read_text() == "old"
    assert len(list(tmp_path.iterdir())) == 1


def test_a_link_is_neither_followed_nor_replaced(tmp_path):
    (tmp_path / "target").write_text("mine")
    for target in ("target", "nowhere"):
        link = tmp_path / f"to_{target}"
        link.symlink_to(target)
        with pytest.raises(OutputError, match="not a regular file"):
            write_atomically(link, b"other")
        assert link.is_symlink()
    assert (tmp_path / "target").read_text() == "mine"
    assert not (tmp_path / "nowhere").exists()


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir])
def test_what_is_no_regular_file_is_refused(tmp_path, make):
    make(tmp_path / "place")
    before = (tmp_path / "place").stat()
    with pytest.raises(OutputError, match="not a regular file"):
        write_atomically(tmp_path / "place", b"")
    assert (tmp_path / "place").stat().st_ino == before.st_ino


def test_links_under_the_names_of_temporary_files_are_not_followed(tmp_path, monkeypatch):
    monkeypatch.setattr("rankpursuit.writing.secrets.token_hex", lambda n: "0" * 2 * n)
    (tmp_path / "victim").write_text("mine")
    link = tmp_path / f".file.{'0' * 16}.partial"
    link.symlink_to("victim")
    with pytest.raises(OutputError, match="File exists"):
        write_atomically(tmp_path / "file", b"other")
    assert (tmp_path / "victim").read_text() == "mine"
    assert link.is_symlink()


def test_what_killed_writers_left_is_removed_and_nothing_else(tmp_path):
    left = tmp_path / f".a.csv.{'0' * 16}.partial"
    others = [tmp_path / name for name in (f".b.csv.{'0' * 16}.partial", ".a.csv.partial", "a.csv")]
    for path in (left, *others):
        path.touch()
    remove_leftovers(tmp_path, {"a.csv"})
    assert sorted(tmp_path.iterdir()) == sorted(others)


@pytest.mark.parametrize("where", ["none/file", "file/file"])
def test_a_folder_that_is_not_there_is_told(tmp_path, where):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(OutputError, match="cannot write"):
        write_atomically(tmp_path / where, b"")
