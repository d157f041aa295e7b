"""Results that were cut or edited are refused in one line that names the file and the row."""

import gzip
import json
import shutil

import pytest
import yaml
from click.testing import CliRunner
from made_up import write_results
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
def sealed(finished, tmp_path):
    return shutil.copytree(finished, tmp_path / "one")


@pytest.fixture
def results(tmp_path):
    """Return results without checksums."""
    return write_results(tmp_path / "one", repeats=2)


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


@pytest.mark.parametrize("value", ["nan", "", "inf", "-0.1", "abc"])
@pytest.mark.parametrize(
    ("table", "column"),
    list(zip(TABLES, ["test_error", "error", "value"], strict=True)),
)
def test_an_error_that_is_no_number_is_named(results, table, column, value):
    edit(results / table, cell(4, column, value))
    assert f"{table}, line 4: {column}" in refused(results)


@pytest.mark.parametrize("value", ["0", "1.5", "", "x"])
@pytest.mark.parametrize("column", ["repeat", "n_users"])
def test_a_count_that_is_none_is_named(results, column, value):
    edit(results / "repeats.csv", cell(3, column, value))
    assert f"repeats.csv, line 3: {column}" in refused(results)


@pytest.mark.parametrize("table", TABLES)
def test_a_repeated_row_is_named(results, table):
    edit(results / table, lambda lines: [*lines[:6], lines[2], *lines[6:]])
    assert f"{table}, line 7: " in refused(results)


@pytest.mark.parametrize("at", [5, -1])
@pytest.mark.parametrize("table", TABLES)
def test_a_missing_row_is_noticed(sealed, table, at):
    edit(sealed / table, lambda lines: [line for line in lines if line != lines[at]])
    assert f"{table}: not what the run wrote" in refused(sealed)


@pytest.mark.parametrize(
    ("column", "value"), [("group", "1-2"), ("algorithm", "svm"), ("metric", "")]
)
@pytest.mark.parametrize("table", TABLES)
def test_a_row_of_something_else_is_named(results, table, column, value):
    edit(results / table, cell(5, column, value))
    assert f"{table}, line 5: " in refused(results)


@pytest.mark.parametrize(("column", "value"), [("test_error", "0.123"), ("n_users", "7")])
def test_a_row_that_contradicts_the_users_is_noticed(sealed, column, value):
    edit(sealed / "repeats.csv", cell(2, column, value))
    assert "repeats.csv: not what the run wrote" in refused(sealed)


@pytest.mark.parametrize(
    "change",
    [
        lambda lines: [*lines[:3], f"{lines[3]},1", *lines[4:]],
        lambda lines: [*lines[:3], lines[3].replace(",", ',"', 1), *lines[4:]],
        lambda lines: [lines[0]],
        lambda lines: [],
    ],
    ids=["one cell too many", "open quote", "no rows", "empty"],
)
@pytest.mark.parametrize("table", TABLES)
def test_what_is_no_table_is_refused(results, table, change):
    edit(results / table, change)
    assert table in refused(results)


def test_a_table_that_is_not_what_the_run_wrote_is_refused(sealed):
    edit(sealed / "repeats.csv", cell(2, "basis_share", "0.123"))
    assert "repeats.csv: not what the run wrote" in refused(sealed)


def test_tables_shortened_together_are_refused(sealed):
    for name in TABLES:
        edit(sealed / name, lambda lines: [line for line in lines if "rank_rls" not in line])
    assert "repeats.csv: not what the run wrote" in refused(sealed)


@pytest.mark.parametrize("text", ["[]", "{", "\xff", "", '{"files": {}}'])
def test_provenance_that_cannot_be_used_is_refused(sealed, text):
    (sealed / "provenance.json").write_text(text, encoding="latin-1")
    assert "provenance.json" in refused(sealed)


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


@pytest.mark.parametrize(
    ("key", "value"),
    [("table", 9), ("protocol", None), ("name", "../.."), ("repeats", "x")],
)
def test_a_config_edited_by_hand_is_refused_by_its_key(results, key, value):
    config = yaml.safe_load((results / "config.yaml").read_text())
    (results / "config.yaml").write_text(yaml.safe_dump(config | {key: value}))
    assert f"config.yaml: {key}" in refused(results)


@pytest.mark.parametrize("text", ["{", "- 1", "", "!!python/object:os.system x"])
def test_a_config_that_is_no_yaml_is_refused(results, text):
    (results / "config.yaml").write_text(text)
    assert "config.yaml" in refused(results)


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
    assert result.stderr.startswith(f"error: {where}, line 9: test_error ")
    assert result.stderr.count("\n") == 1
    assert result.stdout == ""
    assert sorted(tmp_path.rglob("*")) == before
