"""Results that were cut, edited or given twice are refused in one line that names file and row."""

import gzip
import json
import shutil
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner
from made_up import write_results
from small_experiment import run_into, run_of, small_config

from rankpursuit.cli import check, report, tables
from rankpursuit.errors import ResultsError
from rankpursuit.reporting.results import load_results

COMMITTED = Path(__file__).parents[2] / "results" / "jester_supervised"


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """A run with checksums in its provenance."""
    folder = tmp_path_factory.mktemp("written") / "small"
    config = small_config()
    config["algorithms"] = {label: config["algorithms"][label] for label in ("rls", "rank_rls")}
    config["protocol"] |= {"test_users": 2, "holdout_users": 2}
    assert run_into(run_of(config), folder) == []
    return folder


@pytest.fixture(params=["with checksums", "made up", "committed"])
def results(request, tmp_path, written):
    """Results with checksums, and without, as runs wrote them earlier."""
    if request.param == "made up":
        return write_results(tmp_path / "one", repeats=2)
    source = written if request.param == "with checksums" else COMMITTED
    return shutil.copytree(source, tmp_path / "one")


def edit(path, change):
    """Change the lines of a table."""
    packed = path.suffix == ".gz"
    content = path.read_bytes()
    lines = (gzip.decompress(content) if packed else content).decode().splitlines()
    text = "".join(f"{line}\n" for line in change(lines)).encode()
    path.write_bytes(gzip.compress(text) if packed else text)


def cell(line, column, value):
    """Return a change of one cell; lines are counted from 1, the first has the names."""

    def change(lines):
        at = lines[0].split(",").index(column)
        cells = lines[line - 1].split(",")
        cells[at] = value
        return [*lines[: line - 1], ",".join(cells), *lines[line:]]

    return change


def refused(folder):
    with pytest.raises(ResultsError) as caught:
        load_results(folder)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("value", ["nan", "NaN", "", "inf", "-inf", "-0.1", "abc", "0.4.1", "True"])
@pytest.mark.parametrize(
    ("table", "column"),
    [("repeats.csv", "test_error"), ("users.csv.gz", "error"), ("curves.csv", "holdout_error")],
)
def test_an_error_that_is_no_number_is_named(results, table, column, value):
    edit(results / table, cell(4, column, value))
    assert f"{table}, line 4: {column} is not a number of at least 0" in refused(results)


@pytest.mark.parametrize("value", ["0", "1.5", "", "x", "9" * 30, "1e400"])
@pytest.mark.parametrize("column", ["repeat", "n_users"])
def test_a_count_that_is_none_is_named(results, column, value):
    edit(results / "repeats.csv", cell(3, column, value))
    said = refused(results)
    assert f"repeats.csv, line 3: {column} is " in said


@pytest.mark.parametrize("table", ["repeats.csv", "users.csv.gz", "curves.csv"])
def test_a_row_given_twice_is_named(results, table):
    edit(results / table, lambda lines: [*lines[:6], lines[2], *lines[6:]])
    assert f"{table}, line 7: an earlier line has the same group, repeat, " in refused(results)


@pytest.mark.parametrize("table", ["repeats.csv", "users.csv.gz", "curves.csv"])
def test_lines_cut_off_at_the_end_of_a_line_are_noticed(results, table):
    edit(results / table, lambda lines: lines[:-1])
    assert "lacks" in refused(results)


@pytest.mark.parametrize("table", ["repeats.csv", "users.csv.gz", "curves.csv"])
def test_a_line_lost_in_the_middle_is_noticed(results, table):
    edit(results / table, lambda lines: [*lines[:5], *lines[6:]])
    assert "lacks" in refused(results)


@pytest.mark.parametrize(
    ("column", "value"),
    [("group", "1-2"), ("algorithm", "svm"), ("metric", "loss"), ("metric", "")],
)
@pytest.mark.parametrize("table", ["repeats.csv", "users.csv.gz", "curves.csv"])
def test_a_row_of_something_else_is_named(results, table, column, value):
    edit(results / table, cell(5, column, value))
    assert f"{table}, line 5: " in refused(results)


def test_another_error_than_that_of_the_users_is_named(results):
    edit(results / "repeats.csv", cell(2, "test_error", "0.123"))
    assert "repeats.csv, line 2: test_error is not the mean of the users' errors" in refused(
        results
    )


def test_another_number_of_users_than_declared_is_named(results):
    edit(results / "repeats.csv", cell(2, "n_users", "7"))
    assert "repeats.csv, line 2: n_users is not " in refused(results)


@pytest.mark.parametrize(
    "change",
    [
        lambda lines: [lines[0], "", *lines[1:]],
        lambda lines: [f"{line},1" if number else line for number, line in enumerate(lines)],
        lambda lines: [*lines[:3], f"{lines[3]},1", *lines[4:]],
        lambda lines: [*lines[:3], lines[3].replace(",", ',"', 1), *lines[4:]],
        lambda lines: [lines[0]],
        lambda lines: ["\0" * 50],
    ],
)
@pytest.mark.parametrize("table", ["repeats.csv", "users.csv.gz", "curves.csv"])
def test_what_is_no_table_is_refused(results, table, change):
    edit(results / table, change)
    assert table in refused(results)


def test_a_table_that_changed_since_it_was_written_is_refused(tmp_path, written):
    folder = shutil.copytree(written, tmp_path / "one")
    edit(folder / "repeats.csv", cell(2, "basis_share", "0.123"))
    said = refused(folder)
    assert "repeats.csv: not what the run wrote: its SHA-256 is not that in provenance.json" in said


def test_another_number_of_rows_is_told(tmp_path, written):
    folder = shutil.copytree(written, tmp_path / "one")
    for name in ("repeats.csv", "users.csv.gz", "curves.csv"):
        edit(folder / name, lambda lines: [line for line in lines if "rank_rls" not in line])
    assert "repeats.csv: not what the run wrote, it has 8 rows and had 16" in refused(folder)


def test_provenance_has_rows_and_checksum_of_every_table(written):
    files = json.loads((written / "provenance.json").read_text())["files"]
    assert files["repeats.csv"]["rows"] == 16
    assert sorted(files) == [
        "config.yaml",
        "curves.csv",
        "repeats.csv",
        "timings.csv",
        "users.csv.gz",
    ]


@pytest.mark.parametrize(
    "files", [None, [], {}, {"repeats.csv": "sum"}, {"repeats.csv": {"sha256": 1}}]
)
def test_provenance_without_the_checksum_of_a_table_is_refused(tmp_path, written, files):
    folder = shutil.copytree(written, tmp_path / "one")
    facts = json.loads((folder / "provenance.json").read_text())
    (folder / "provenance.json").write_text(json.dumps(facts | {"files": files}))
    assert "provenance.json: lacks the checksum of repeats.csv" in refused(folder)


@pytest.mark.parametrize("text", ["[" * 100_000, "[]", "{", "\xff", ""])
def test_provenance_that_is_none_is_refused(tmp_path, written, text):
    folder = shutil.copytree(written, tmp_path / "one")
    (folder / "provenance.json").write_text(text, encoding="latin-1")
    assert "provenance.json: " in refused(folder)


def test_a_label_that_looks_like_no_text_keeps_its_rows(tmp_path):
    config = small_config(repeats=1)
    config["algorithms"] = {
        label: {"method": "rls", "lambda": [1]} for label in ("NA", "123", "nan")
    }
    config["protocol"] |= {"test_users": 2, "holdout_users": 2}
    run_into(run_of(config), tmp_path / "odd")
    results = load_results(tmp_path / "odd")
    assert sorted(set(results.repeats["algorithm"])) == ["123", "NA", "nan"]


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("table", 9, "table: expected a number of at most 5"),
        ("metrics", ["loss"], "metrics[0]: expected"),
        ("protocol", None, "protocol: expected a mapping"),
        ("name", "../..", "name: expected letters, digits, _ and -"),
        ("name", "/tmp", "name: expected letters, digits, _ and -"),
        ("algorithms", {}, "algorithms: expected at least one"),
        ("repeats", "many", "repeats: expected a whole number"),
    ],
)
def test_a_config_edited_by_hand_is_refused_by_its_key(results, key, value, said):
    config = yaml.safe_load((results / "config.yaml").read_text())
    (results / "config.yaml").write_text(yaml.safe_dump(config | {key: value}))
    assert f"config.yaml: {said}" in refused(results)


@pytest.mark.parametrize("text", ["{", "a: b: c", "- 1", "", "\t", "!!python/object:os.system x"])
def test_a_config_that_is_no_yaml_is_refused(results, text):
    (results / "config.yaml").write_text(text)
    assert "config.yaml" in refused(results)


@pytest.mark.parametrize("command", [check, report, tables])
def test_every_command_tells_in_one_line(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder = write_results(tmp_path / "one", repeats=2)
    edit(folder / "repeats.csv", cell(9, "test_error", "nan"))
    before = sorted(tmp_path.rglob("*"))
    result = CliRunner().invoke(command.main, ["one"])
    assert result.exit_code == 1
    assert result.stderr.startswith("error: one/repeats.csv, line 9: test_error is not a number")
    assert result.stderr.count("\n") == 1
    assert result.stdout == ""
    assert sorted(tmp_path.rglob("*")) == before
