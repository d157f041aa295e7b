import hashlib
import socket
from dataclasses import replace

import pytest

from rankpursuit.datasets.data_set import DataSet, RemoteFile
from rankpursuit.datasets.download import fetch
from rankpursuit.datasets.named import DATA_SETS, known
from rankpursuit.errors import DownloadError

GOOD = b"PK\x03\x04" + bytes(range(256)) * 300


def data_set(*urls: str, body: bytes = GOOD) -> DataSet:
    file = RemoteFile("a.zip", hashlib.sha256(body).hexdigest(), len(body), urls)
    return replace(known("movielens"), name="mine", files=(file,))


def test_a_good_answer_becomes_the_file(server, tmp_path):
    lines = []
    url = server.serve("/a.zip", GOOD)
    (file,) = fetch(data_set(url), tmp_path / "new", report=lines.append)
    assert file.read_bytes() == GOOD
    assert list((tmp_path / "new").iterdir()) == [file]
    assert lines == [f"{file}: downloaded from {url}"]


@pytest.mark.parametrize("progress", [True, False])
def test_a_progress_bar_is_shown_only_when_asked_for(server, tmp_path, capsys, progress):
    fetch(data_set(server.serve("/a.zip", GOOD)), tmp_path, progress=progress)
    assert ("a.zip" in capsys.readouterr().err) == progress


def test_a_file_that_is_there_is_not_asked_for_again(server, tmp_path):
    (tmp_path / "a.zip").write_bytes(GOOD)
    lines = []
    fetch(data_set(server.serve("/a.zip", GOOD)), tmp_path, report=lines.append)
    assert server.asked == []
    assert lines == [f"{tmp_path / 'a.zip'}: already there"]


def test_a_damaged_file_that_is_there_is_replaced(server, tmp_path):
    (tmp_path / "a.zip").write_bytes(GOOD[:100])
    fetch(data_set(server.serve("/a.zip", GOOD)), tmp_path)
    assert (tmp_path / "a.zip").read_bytes() == GOOD


def bad_answers(server):
    """Return the address of every kind of bad answer, and what is said of it."""
    return {
        "missing": (server.url("/missing"), "answered with status 404"),
        "corrupt": (server.serve("/corrupt", GOOD[:-1] + b"x"), "wrong checksum"),
        "html": (server.serve("/html", b"<!DOCTYPE html><p>We moved"), "a web page instead"),
        "empty": (server.serve("/empty", b""), "sent an empty file"),
        "truncated": (
            server.serve("/truncated", GOOD[:9000], announced=len(GOOD)),
            "broke off before the end",
        ),
        "slow": (
            server.serve("/slow", GOOD[:9000], announced=len(GOOD), then_hang=True),
            "sent nothing for 0.3 seconds",
        ),
    }


@pytest.mark.parametrize("kind", ["missing", "corrupt", "html", "empty", "truncated", "slow"])
def test_a_bad_answer_is_told_and_leaves_nothing(server, tmp_path, kind):
    url, said = bad_answers(server)[kind]
    with pytest.raises(DownloadError) as caught:
        fetch(data_set(url), tmp_path, patience=0.3)
    assert said in str(caught.value)
    assert f"put a.zip into {tmp_path}" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_a_bad_answer_does_not_touch_the_file_that_was_there(server, tmp_path):
    (tmp_path / "a.zip").write_bytes(b"older")
    with pytest.raises(DownloadError):
        fetch(data_set(server.url("/missing")), tmp_path)
    assert (tmp_path / "a.zip").read_bytes() == b"older"


def test_addresses_are_tried_in_turn_until_one_is_good(server, tmp_path):
    bad = [url for url, _ in bad_answers(server).values()]
    good = server.serve("/good", GOOD)
    never = server.serve("/never", GOOD)
    (file,) = fetch(data_set(*bad, good, never), tmp_path, patience=0.3)
    assert file.read_bytes() == GOOD
    paths = ["/missing", "/corrupt", "/html", "/empty", "/truncated", "/slow", "/good"]
    assert server.asked == paths


def test_a_host_that_cannot_be_reached_is_asked_once(server, tmp_path, monkeypatch):
    import requests

    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        dead = f"http://127.0.0.1:{closed.getsockname()[1]}"
    tried = []
    get = requests.get

    def counted(url, **options):
        tried.append(url)
        return get(url, **options)

    monkeypatch.setattr(requests, "get", counted)
    with pytest.raises(DownloadError, match="cannot be reached"):
        fetch(data_set(f"{dead}/1", f"{dead}/2"), tmp_path)
    assert tried == [f"{dead}/1"]
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_written_is_named(server, tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(DownloadError, match=f"{tmp_path / 'file'}"):
        fetch(data_set(server.serve("/a.zip", GOOD)), tmp_path / "file")


def test_a_download_that_broke_off_can_be_taken_up_again(server, tmp_path):
    first, second = b"PK first", b"PK second"
    both = replace(
        known("movielens"),
        files=tuple(
            RemoteFile(name, hashlib.sha256(body).hexdigest(), 8, (server.url(f"/{name}"),))
            for name, body in (("1.zip", first), ("2.zip", second))
        ),
    )
    server.serve("/1.zip", first)
    with pytest.raises(DownloadError, match=r"put 1\.zip, 2\.zip into"):
        fetch(both, tmp_path)
    server.serve("/2.zip", second)
    fetch(both, tmp_path)
    assert server.asked == ["/1.zip", "/2.zip", "/2.zip"]


@pytest.mark.parametrize("name", list(DATA_SETS))
def test_every_registered_file_has_a_checksum_and_more_than_one_address(name):
    for file in known(name).files:
        assert len(file.sha256) == 64 and int(file.sha256, 16)
        assert len(set(file.urls)) > 1
        assert file.urls[0].startswith("https://")
