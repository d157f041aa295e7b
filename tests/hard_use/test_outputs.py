"""Commands write where they were told, and nowhere else."""

import os
import stat
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner
from made_up import write_results
from made_up_runs import write_run
from rp_run import write_config

from rankpursuit.cli import data, report, run, tables


def invoke(command, *words):
    return CliRunner().invoke(command.main, [str(word) for word in words])


def assert_one_line(result, *parts):
    assert result.exit_code == 1, result.output
    assert result.stderr.startswith("error: ")
    assert result.stderr.count("\n") == 1
    for part in parts:
        assert part in result.stderr


@pytest.fixture
def device(tmp_path):
    """A pipe, which stands for any device and needs no rights to be made."""
    os.mkfifo(tmp_path / "pipe")
    return tmp_path / "pipe"


def test_a_report_does_not_replace_a_device(tmp_path, device):
    folder = write_run(tmp_path)
    assert_one_line(invoke(report, folder, "-o", device), f"cannot write {device}: it is a device")
    assert stat.S_ISFIFO(device.stat().st_mode)


def test_a_report_is_not_written_to_the_full_device(tmp_path):
    folder = write_run(tmp_path)
    assert_one_line(invoke(report, folder, "-o", "/dev/full"), "/dev/full", "not a regular file")
    assert stat.S_ISCHR(Path("/dev/full").stat().st_mode)


@pytest.mark.parametrize("name", ["tables.md", "tables.csv"])
def test_tables_do_not_follow_links(tmp_path, name):
    folder = write_results(tmp_path / "one", repeats=2)
    (tmp_path / "victim").write_text("mine")
    (folder / name).symlink_to(tmp_path / "victim")
    assert_one_line(invoke(tables, folder), f"{name}: it is a symbolic link")
    assert (tmp_path / "victim").read_text() == "mine"


def test_figures_do_not_follow_links(tmp_path):
    folder = write_run(tmp_path / "results")
    (tmp_path / "victim").write_text("mine")
    place = tmp_path / "figures" / "made_up"
    place.mkdir(parents=True)
    (place / "width-disagreement.svg").symlink_to(tmp_path / "victim")
    words = (folder, "-o", tmp_path / "page.html", "--figures", tmp_path / "figures")
    assert_one_line(invoke(report, *words), "width-disagreement.svg: it is a symbolic link")
    assert (tmp_path / "victim").read_text() == "mine"


@pytest.mark.parametrize("name", ["../..", "..", "/tmp/elsewhere", "a/b", ".hidden", "a\nb", ""])
def test_a_name_in_the_config_of_results_is_never_a_path(tmp_path, name):
    folder = write_run(tmp_path / "results")
    config = yaml.safe_load((folder / "config.yaml").read_text())
    (folder / "config.yaml").write_text(yaml.safe_dump(config | {"name": name}))
    before = sorted(tmp_path.rglob("*"))
    words = (folder, "-o", tmp_path / "page.html", "--figures", tmp_path / "figures")
    assert_one_line(invoke(report, *words), "config.yaml: name: expected letters, digits, _ and -")
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("link", ["repeats.csv", "results.sqlite", ".repeats.csv.partial"])
def test_a_run_does_not_write_through_links(tmp_path, link):
    config = write_config(tmp_path, "rls")
    folder = tmp_path / "small"
    folder.mkdir()
    (tmp_path / "victim").write_text("")
    (folder / link).symlink_to(tmp_path / "victim")
    options = ("--output", tmp_path, "-j", 1, "-q", "--repeats", 1)
    result = invoke(run, config, *options, "--set", "protocol.test_users=2")
    if link == ".repeats.csv.partial":
        assert result.exit_code == 0, result.output
        assert (folder / "repeats.csv").is_file()
    else:
        assert_one_line(result)
    assert (tmp_path / "victim").read_text() == ""
    assert (folder / link).is_symlink()


@pytest.fixture
def ratings(tmp_path):
    rows = [f"{user},{item},{user * item % 5}" for user in range(9) for item in range(9)]
    (tmp_path / "mine.csv").write_text("\n".join(["user,item,rating", *rows]) + "\n")
    return tmp_path / "mine.csv"


@pytest.mark.parametrize(
    ("plot", "said"),
    [
        ("folder", "it is a folder"),
        ("picture", "the name of a picture ends in .jpg, .pdf, .png, .svg, .webp"),
        ("a.txt", "the name of a picture ends in"),
        ("a.png.csv", "the name of a picture ends in"),
        ("none/a.png", "there is no folder"),
        ("pipe.png", "it is a device or pipe"),
    ],
)
def test_a_picture_that_cannot_be_is_refused_before_anything_is_read(ratings, plot, said):
    (ratings.parent / "folder").mkdir()
    os.mkfifo(ratings.parent / "pipe.png")
    before = sorted(ratings.parent.iterdir())
    result = invoke(data, "describe", ratings, "--plot", ratings.parent / plot)
    assert_one_line(result, said)
    assert result.stdout == ""
    assert sorted(ratings.parent.iterdir()) == before


@pytest.mark.parametrize(
    ("name", "mark"),
    [
        ("a.png", b"\x89PNG"),
        ("a.SVG", b"<?xml"),
        ("a.pdf", b"%PDF"),
        ("a.jpg", b"\xff\xd8"),
        ("a.webp", b"RIFF"),
    ],
)
def test_a_picture_has_the_format_of_its_ending(ratings, name, mark):
    path = ratings.parent / name
    assert invoke(data, "describe", ratings, "--plot", path).exit_code == 0
    marks = {
        "png": b"\x89PNG",
        "svg": b"<?xml",
        "pdf": b"%PDF",
        "jpg": b"\xff\xd8",
        "webp": b"RIFF",
    }
    assert path.read_bytes().startswith(marks[name[2:].lower()])
