import re
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from rankpursuit.cli.check import main
from rankpursuit.experiments.config import ratings_of

ROOT = Path(__file__).parents[2]


def call(*words):
    return CliRunner().invoke(main, list(map(str, words)))


def test_the_reference_is_as_on_record(monkeypatch):
    monkeypatch.chdir(ROOT)
    for words in ((), ("--inferred",)):
        result = call(*words)
        assert result.exit_code == 0, result.stdout
        assert result.stdout.endswith("check passed\n")


def test_every_missing_table_and_claim_is_told_with_status_one(tmp_path):
    for name in ("jester_supervised", "jester_crrp", "movielens_supervised"):
        shutil.copytree(ROOT / "results/reference" / name, tmp_path / name)
    result = call(tmp_path)
    assert result.exit_code == 1
    for name in ("jester_semi_supervised", "movielens_semi_supervised"):
        assert f"no results in {tmp_path / name}" in result.stdout
    assert "claim jester-fewer-scores-cost: not judged, since results are missing" in result.stdout
    assert result.stdout.endswith("check FAILED\n")
    signed = call(tmp_path, "--only", "jester_supervised", "--only", "jester_crrp", "--sign")
    assert signed.exit_code == 0
    *_, outcome, machine, name = signed.stdout.splitlines()
    assert re.fullmatch(r"- \d{4}-\d\d-\d\d, rankpursuit .*: passed; 42 cells, .*", outcome)
    assert "Python" in machine and name.startswith("  signed: NAME")


def test_distinct_cells_are_counted_once(monkeypatch):
    monkeypatch.chdir(ROOT)
    assert "\n102 distinct cells: " in call().stdout
    assert "\n24 distinct cells: " in call("--only", "jester_crrp").stdout


@pytest.mark.parametrize("words", [("nowhere",), (ROOT / "results/reference", "--only", "mine")])
def test_bad_input_is_one_line_and_status_one(words):
    result = call(*words)
    assert result.exit_code == 1
    assert result.stderr.startswith("error: ")
    assert result.stderr.count("\n") == 1


def test_without_the_data_the_rest_is_checked_and_the_command_says_so(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RANKPURSUIT_DATA", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    ratings_of.cache_clear()
    words = ("--only", "jester_supervised", "--recompute", "1")
    result = call(ROOT / "results/reference", *words)
    assert "note: Table 1: not recomputed: jester: not found" in result.stdout
    assert result.exit_code == 0
