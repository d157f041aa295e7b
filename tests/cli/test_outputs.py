"""Commands write only where they are told, print plain text, and refuse bad options."""

import os
import stat

import pytest
import yaml
from click.testing import CliRunner
from made_up import seal, write_results
from made_up_runs import write_run
from rp_run import write_config

from rankpursuit.cli import check, data, init, report, run, tables

HOSTILE = "\x1b[2J\x07\x9b31m\u202e\u2066\u200b\x7f\r"


def invoke(command, *words):
    return CliRunner().invoke(command.main, [str(word) for word in words])


def assert_one_line(result, *parts, status=1):
    assert result.exit_code == status, result.output
    assert result.stderr.startswith("error: ")
    assert result.stderr.count("\n") == 1
    for part in parts:
        assert part in result.stderr


def test_a_report_does_not_replace_a_pipe(tmp_path):
    folder = write_run(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    assert_one_line(invoke(report, folder, "-o", tmp_path / "pipe"), "pipe")
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)


def test_tables_do_not_follow_links(tmp_path):
    folder = write_results(tmp_path / "one", repeats=2)
    (tmp_path / "victim").write_text("mine")
    (folder / "tables.md").symlink_to(tmp_path / "victim")
    assert_one_line(invoke(tables, folder), "tables.md: a link, folder or device")
    assert (tmp_path / "victim").read_text() == "mine"


@pytest.mark.parametrize("link", ["repeats.csv", "results.sqlite"])
def test_a_run_does_not_write_through_links(tmp_path, link):
    config = write_config(tmp_path, "rls")
    folder = tmp_path / "small"
    folder.mkdir()
    (tmp_path / "victim").write_text("")
    (folder / link).symlink_to(tmp_path / "victim")
    options = ("--output", tmp_path, "-j", 1, "-q", "--repeats", 1)
    assert_one_line(invoke(run, config, *options, "--set", "protocol.test_users=2"))
    assert (tmp_path / "victim").read_text() == ""
    assert (folder / link).is_symlink()


@pytest.mark.parametrize("name", ["../..", "/tmp/elsewhere", "a/b", ".hidden", ""])
def test_a_name_in_the_config_of_results_is_never_a_path(tmp_path, name):
    folder = write_run(tmp_path / "results")
    config = yaml.safe_load((folder / "config.yaml").read_text())
    (folder / "config.yaml").write_text(yaml.safe_dump(config | {"name": name}))
    seal(folder)
    before = sorted(tmp_path.rglob("*"))
    words = (folder, "-o", tmp_path / "page.html", "--figures", tmp_path / "figures")
    assert_one_line(invoke(report, *words), "config.yaml: name: expected letters, digits, _ and -")
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("label", ["=1+1", "@SUM", "\\input{x}", "a b", "../x", ""])
def test_a_label_is_no_formula_command_or_path(tmp_path, label):
    config = yaml.safe_load(write_config(tmp_path, "rls").read_text())
    config["algorithms"][label] = {"method": "rls", "lambda": [1]}
    (tmp_path / "small.yaml").write_text(yaml.safe_dump(config))
    result = invoke(run, tmp_path / "small.yaml", "--output", tmp_path / "out")
    assert_one_line(result, "algorithms", status=2)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "words",
    [
        (run, HOSTILE),
        (run, "small.yaml", "--set", f"{HOSTILE}=1"),
        (run, "small.yaml", "--set", f"name=x{HOSTILE}"),
        (run, "small.yaml", "--only", HOSTILE),
        (data, "describe", f"nowhere{HOSTILE}.csv"),
        (init, "mine", f"nowhere{HOSTILE}.csv"),
        (check, HOSTILE),
        (report, HOSTILE),
        (tables, HOSTILE),
    ],
    ids=lambda words: f"{words[0].__name__} {words[-1]}".encode("unicode_escape").decode(),
)
def test_no_command_prints_control_characters(words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_config(tmp_path, "rls")
    result = invoke(*words)
    assert result.exit_code in (1, 2)
    assert isinstance(result.exception, SystemExit)
    assert all(line.isprintable() for line in result.output.split("\n"))


@pytest.mark.parametrize("number", ["0", "1000000"])
def test_bad_options_are_refused_before_anything_is_written(tmp_path, number):
    config, output = write_config(tmp_path, "rls"), tmp_path / "out"
    result = invoke(run, config, "--output", output, "--n-jobs", number)
    assert_one_line(result, f"--n-jobs: expected 1 to 256, or -1, got {number}", status=2)
    assert not (tmp_path / "out").exists()
