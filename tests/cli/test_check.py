import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from made_up import write_results

from rankpursuit.cli.check import main

NOTHING_ON_RECORD = """\
tables:
  1: {disagreement: {tolerance: 0.007, reason: a test}}
  5:
    disagreement: {tolerance: 0.007, reason: a test}
    squared_error: {tolerance: 1.4, reason: a test}
known_deviations: []
claims: {}
"""


@pytest.fixture
def call(tmp_path, monkeypatch):
    """Check against the published figures alone, unless another file is given."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "published.yaml").write_text(NOTHING_ON_RECORD)
    return lambda *words: CliRunner().invoke(main, ["--expected", "published.yaml", *words])


def test_published_figures_themselves_pass(call, tmp_path):
    for table in (1, 5):
        write_results(tmp_path / "results" / f"table{table}", table=table)
    result = call()
    assert result.exit_code == 0
    assert "60 cells: 60 within tolerance; 10 claims: 0 not as on record" in result.stdout
    assert result.stdout.endswith("check passed\n")


def test_a_cell_out_of_tolerance_is_marked_and_has_status_one(call, tmp_path):
    write_results(tmp_path / "one", errors={("disagreement", "rls", "20-40"): 0.45})
    result = call("one")
    assert result.exit_code == 1
    assert "*unexpected" in result.stdout
    assert "1 unexpected, 17 within tolerance" in result.stdout
    assert result.stdout.endswith("check FAILED\n")


def test_a_small_run_has_status_one_unless_allowed(call, tmp_path):
    write_results(tmp_path / "one", repeats=3)
    assert call("one").exit_code == 1
    result = call("one", "--allow-small")
    assert result.exit_code == 0
    assert "one: too small to check" in result.stdout
    *_, counts, closing = result.stdout.splitlines()
    assert "0 claims: 0 not as on record" in counts
    assert "not judged by runs that are too small" in counts
    assert closing == "nothing was checked: every run is smaller than the paper's"


def test_json_has_every_cell_and_claim(call, tmp_path):
    write_results(tmp_path / "one", noise=0, errors={("disagreement", "rls", "20-40"): 0.45})
    result = call("one", "--json")
    found = json.loads(result.stdout)
    assert result.exit_code == 1
    assert found["passed"] is False
    assert found["cells"][0] | {"measured": round(found["cells"][0]["measured"], 6)} == {
        "table": 1,
        "metric": "disagreement",
        "algorithm": "rls",
        "group": "20-40",
        "published": 0.425,
        "measured": 0.45,
        "target": 0.425,
        "tolerance": 0.007,
        "status": "unexpected",
    }
    claims = {claim["id"]: claim for claim in found["claims"]}
    assert claims["jester-pursuit-beats-regression"]["verdict"] == "holds"
    assert len(claims["jester-pursuit-beats-regression"]["evidence"]) == 6


def test_evidence_is_printed_on_demand(call, tmp_path):
    write_results(tmp_path / "one")
    line = "agrees  20-40: Ranking Pursuit minus RLS -0.0150"
    assert line in call("one", "--evidence").stdout
    assert line not in call("one").stdout


def test_what_is_on_record_makes_the_published_figures_unexpected(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_results(tmp_path / "one")
    result = CliRunner().invoke(main, ["one"])
    assert result.exit_code == 1
    assert "unexpected" in result.stdout


def test_the_committed_results_are_as_on_record(monkeypatch):
    monkeypatch.chdir(Path(__file__).parents[2])
    result = CliRunner().invoke(main, [str(path) for path in sorted(Path("results").glob("*_*/"))])
    assert result.exit_code == 0, result.stdout
    assert "120 cells" in result.stdout


def test_expectations_of_another_file_count(call, tmp_path):
    write_results(tmp_path / "one", errors={("disagreement", "rls", "20-40"): 0.45})
    (tmp_path / "wide.yaml").write_text(
        "tables: {1: {disagreement: {tolerance: 0.1, reason: a test}}}\n"
        "known_deviations: []\nclaims: {}\n"
    )
    assert call("one", "--expected", "wide.yaml").exit_code == 0


@pytest.mark.parametrize("words", [(), ("nowhere",), ("one", "--expected", "none.yaml")])
def test_bad_input_is_one_line_and_status_one(call, tmp_path, words):
    write_results(tmp_path / "one", repeats=2)
    result = call(*words)
    assert result.exit_code == 1
    assert result.stderr.startswith("error: ")
    assert result.stderr.count("\n") == 1
