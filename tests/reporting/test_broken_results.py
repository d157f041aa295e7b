"""Results that were cut or edited are refused in one line that names the file."""

import gzip
import json
import shutil

import pytest
import yaml
from click.testing import CliRunner
from made_up import seal, write_results
from small_experiment import run_into, run_of, small_config

from rankpursuit.cli import check, report, tables
from rankpursuit.errors import ResultsError
from rankpursuit.reporting.results import load_results

TABLES = ["repeats.csv", "users.csv.gz", "curves.csv"]


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """Run two algorithms; the provenance has checksums of the results."""
    folder = tmp_path_factory.mktemp("finished") / "small"
    config = small_config()
    config["algorithms"] = {label: config["algorithms"][label] for label in ("rls", "rank_rls")}
    config["protocol"] |= {"test_users": 2, "holdout_users": 2}
    assert run_into(run_of(config), folder) == []
    return folder


@pytest.fixture
def results(finished, tmp_path):
    return shutil.copytree(finished, tmp_path / "one")


def edit(path, change):
    """Change the lines of a table."""
    packed = path.suffix == ".gz"
    content = path.read_bytes()
    lines = (gzip.decompress(content) if packed else content).decode().splitlines()
    text = "".join(f"{line}\n" for line in change(lines)).encode()
    path.write_bytes(gzip.compress(text) if packed else text)


def cell(line, column, value):
    """Return a change of one cell; line 1 has the names of the columns."""

    def change(lines):
        cells = lines[line - 1].split(",")
        cells[lines[0].split(",").index(column)] = value
        return [*lines[: line - 1], ",".join(cells), *lines[line:]]

    return change


def refused(folder):
    with pytest.raises(ResultsError) as caught:
        load_results(folder)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(
    "change",
    [
        cell(4, "repeat", "7"),
        cell(4, "metric", ""),
        lambda lines: [*lines[:6], lines[2], *lines[6:]],
        lambda lines: lines[:-1],
        lambda lines: [*lines[:3], lines[3].replace(",", ',"', 1), *lines[4:]],
        lambda lines: [],
    ],
    ids=["number", "no name", "repeated row", "missing row", "open quote", "empty"],
)
@pytest.mark.parametrize("table", TABLES)
def test_a_table_that_is_not_what_the_run_wrote_is_refused(results, table, change):
    edit(results / table, change)
    assert f"{table}: changed since the run" in refused(results)


@pytest.mark.parametrize(
    ("table", "column"),
    [("repeats.csv", "test_error"), ("repeats.csv", "lambda"), ("users.csv.gz", "error")],
)
def test_text_in_place_of_a_number_is_refused_with_its_line(results, table, column):
    edit(results / table, cell(4, column, "low"))
    said = f'{table}, line 4, column {column}: expected a number, got "low"; re-run rp-run'
    assert said in refused(seal(results))


def test_tables_shortened_together_are_refused(results):
    for name in TABLES:
        edit(results / name, lambda lines: [line for line in lines if "rank_rls" not in line])
    assert "repeats.csv: changed since the run" in refused(results)


@pytest.mark.parametrize("text", ["[]", "{", "{}", "\xff", "", '{"files": {}}'])
def test_provenance_that_cannot_be_used_is_refused(results, text):
    (results / "provenance.json").write_text(text, encoding="latin-1")
    assert "provenance.json" in refused(results)


def test_provenance_has_the_rows_and_checksum_of_every_table(finished):
    files = json.loads((finished / "provenance.json").read_text())["files"]
    assert files["repeats.csv"]["rows"] == 16
    assert set(files) >= {"config.yaml", "timings.csv", *TABLES}


def test_labels_that_look_like_missing_values_keep_their_rows(tmp_path):
    config = small_config(repeats=1)
    config["algorithms"] = {
        label: {"method": "rls", "lambda": [1]} for label in ("NA", "123", "nan")
    }
    config["protocol"] |= {"test_users": 2, "holdout_users": 2}
    run_into(run_of(config), tmp_path / "odd")
    results = load_results(tmp_path / "odd")
    assert sorted(set(results.repeats["algorithm"])) == ["123", "NA", "nan"]


@pytest.mark.parametrize("text", ["{", "- 1", "", "!!python/object:os.system x", "name: other"])
def test_a_config_edited_by_hand_is_refused(results, text):
    (results / "config.yaml").write_text(text)
    assert "config.yaml: changed since the run" in refused(results)


@pytest.mark.parametrize(
    ("key", "value"),
    [("table", 9), ("protocol", None), ("name", "../.."), ("repeats", "x")],
)
def test_a_config_of_another_version_is_refused_by_its_key(tmp_path, key, value):
    results = write_results(tmp_path / "one", repeats=2)
    config = yaml.safe_load((results / "config.yaml").read_text())
    (results / "config.yaml").write_text(yaml.safe_dump(config | {key: value}))
    assert f"config.yaml: {key}" in refused(seal(results))


@pytest.mark.parametrize("command", [check, report, tables])
def test_every_command_reports_it_in_one_line_and_writes_nothing(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    results = write_results(tmp_path / "runs" / "jester_supervised", repeats=2)
    edit(results / "repeats.csv", cell(9, "test_error", "nan"))
    before = sorted(tmp_path.rglob("*"))
    words = ["runs", *(["--only", results.name] if command is check else [])]
    result = CliRunner().invoke(command.main, words)
    assert result.exit_code == 1
    where = "runs/jester_supervised/repeats.csv"
    assert result.stderr.startswith(f"error: {where}: changed since the run")
    assert result.stderr.count("\n") == 1
    assert result.stdout == ""
    assert sorted(tmp_path.rglob("*")) == before
