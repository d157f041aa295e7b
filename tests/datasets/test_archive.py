import zipfile
from pathlib import Path

import pytest

from rankpursuit.datasets.archive import read_member
from rankpursuit.errors import ArchiveError


def archive(path: Path, members: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as opened:
        for name, content in members.items():
            opened.writestr(name, content)
    return path


def test_the_one_member_is_read_without_unpacking(tmp_path):
    file = archive(tmp_path / "a.zip", {"folder/x.dat": b"hello", "folder/README": b"no"})
    assert read_member(file, "x.dat") == b"hello"
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.parametrize("name", ["../x.dat", "a/../../x.dat", "/x.dat", "C:\\x.dat", "..\\x.dat"])
def test_a_member_with_a_path_outside_is_refused(tmp_path, name):
    file = archive(tmp_path / "a.zip", {"x.dat": b"fine", name: b"evil"})
    with pytest.raises(ArchiveError, match=r"a\.zip: member .* has a path outside"):
        read_member(file, "x.dat")


@pytest.mark.parametrize("page", [b"<!DOCTYPE html><p>Moved", b"\n <HTML>", b"\xef\xbb\xbf<html>"])
def test_a_web_page_is_refused(tmp_path, page):
    (tmp_path / "a.zip").write_bytes(page)
    with pytest.raises(ArchiveError, match="a web page, not a zip archive"):
        read_member(tmp_path / "a.zip", "x.dat")


def test_an_empty_file_is_refused(tmp_path):
    (tmp_path / "a.zip").touch()
    with pytest.raises(ArchiveError, match="empty"):
        read_member(tmp_path / "a.zip", "x.dat")


def test_a_truncated_archive_is_refused(tmp_path):
    file = archive(tmp_path / "a.zip", {"x.dat": bytes(range(256)) * 40})
    file.write_bytes(file.read_bytes()[:-60])
    with pytest.raises(ArchiveError, match="truncated or damaged"):
        read_member(file, "x.dat")


def test_a_member_with_a_flipped_byte_is_refused(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.zip", "w", zipfile.ZIP_STORED) as opened:
        opened.writestr("x.dat", b"0123456789" * 10)
    content = bytearray((tmp_path / "a.zip").read_bytes())
    content[60] ^= 1
    (tmp_path / "a.zip").write_bytes(content)
    with pytest.raises(ArchiveError, match="CRC"):
        read_member(tmp_path / "a.zip", "x.dat")


@pytest.mark.parametrize("names", [[], ["a/x.dat", "b/x.dat"]])
def test_an_archive_without_exactly_one_such_member_is_refused(tmp_path, names):
    file = archive(tmp_path / "a.zip", dict.fromkeys(["other", *names], b"1"))
    with pytest.raises(ArchiveError, match=rf"holds {len(names)} files \*x.dat, expected exactly"):
        read_member(file, "x.dat")
