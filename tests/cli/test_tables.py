import re

import pytest
from click.testing import CliRunner
from made_up import write_results

from rankpursuit.cli import tables
from rankpursuit.cli._common import load_default
from rankpursuit.cli.report import main as report
from rankpursuit.cli.tables import main


@pytest.fixture
def call(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return lambda *words: CliRunner().invoke(main, words)


def test_files_stand_next_to_the_results_and_the_tables_are_printed(call, tmp_path):
    folder = write_results(tmp_path / "results" / "one", repeats=2)
    result = call("results/one")
    assert result.exit_code == 0
    assert "NOT the paper's size" in result.stdout
    assert "Sparsity on Jester, supervised" not in result.stdout
    assert "Sparsity on Jester, supervised" in call("results/one", "--all").stdout
    for name in ("md", "tex", "csv"):
        assert f"wrote results/one/tables.{name}" in result.stdout
    for name in ("tables.md", "tables.csv", "tables/one-errors.tex"):
        assert "Matching Pursuit" in (folder / name).read_text(encoding="utf-8")


def test_each_table_is_a_file_to_input_and_a_document_shows_them_all(call, tmp_path):
    folder = write_results(tmp_path / "one", repeats=2)
    assert call("one").exit_code == 0
    files = {path.name: path.read_text(encoding="utf-8") for path in (folder / "tables").iterdir()}
    assert {"one-errors.tex", "one-sparsity.tex", "one-claims.tex"} < set(files)
    for text in files.values():
        assert "\\documentclass" not in text
        assert text.count(r"\begin{table}") == text.count(r"\end{table}") == 1
        assert text.startswith(r"% \usepackage{adjustbox, array, booktabs}")
    document = (folder / "tables.tex").read_text(encoding="utf-8")
    assert document.startswith("\\documentclass")
    assert document.endswith("\\end{document}\n")
    labels = re.findall(r"\\label\{tab:(.*?)\}", document)
    assert sorted(f"{label}.tex" for label in labels) == sorted(files)


def test_tables_of_a_terminal_fit_its_width(call, tmp_path, monkeypatch):
    write_results(tmp_path / "one", table=5, repeats=2)
    wide = call("one", "--compare").stdout
    assert 100 < max(map(len, wide.splitlines())) <= 120
    for width in (80, 72):
        monkeypatch.setattr(tables, "terminal_width", lambda width=width: width)
        text = call("one", "--compare").stdout
        assert max(map(len, text.splitlines())) <= width
        assert set(re.findall(r"0\.\d{3} ± 0\.\d{3}", wide)) == set(
            re.findall(r"0\.\d{3} ± 0\.\d{3}", text)
        )


def test_two_runs_stand_side_by_side(call, tmp_path):
    write_results(tmp_path / "one", table=1, repeats=2)
    write_results(tmp_path / "two", table=3, repeats=2)
    text = call("one", "two").stdout
    rls = next(line.split() for line in text.splitlines() if line.startswith("RLS "))
    assert rls[:7] == ["RLS", *("0.425", "0.495", "+0.070"), *("0.419", "0.494", "+0.075")]
    assert "First: one (300 users, 2 repeats). Second: two" in text
    assert "Differences of the configs: table: 1 -> 3." in text


def test_without_arguments_and_references_everything_in_results_is_shown(call, tmp_path):
    write_results(tmp_path / "results" / "one", table=1, repeats=2)
    write_results(tmp_path / "results" / "two", table=3, repeats=2)
    result = call()
    assert result.exit_code == 0
    assert "Table 1 of the paper" in result.stdout
    assert "Table 3 of the paper" in result.stdout
    assert not (tmp_path / "results" / "one" / "tables.md").exists()
    assert (tmp_path / "results" / "tables" / "tables.md").exists()


def test_a_complete_run_takes_the_place_of_the_reference(tmp_path, monkeypatch, capsys):
    results = tmp_path / "results"
    for number, name in enumerate(("whole", "partial", "small", "broken", "other"), start=1):
        write_results(results / "reference" / name, table=number)
    write_results(results / "whole", table=1)
    write_results(results / "other", table=5, baselines={"mean_rating": 0.4})
    write_results(results / "partial", table=2, leave_out=lambda row: row["algorithm"] == "rls")
    write_results(results / "small", table=3, n_users=4)
    (write_results(results / "broken", table=4) / "users.csv.gz").unlink()
    write_results(results / "demo", table=None, repeats=2)
    monkeypatch.chdir(tmp_path)
    runs = load_default()
    assert capsys.readouterr().err.splitlines() == [
        "Table 1: results/whole (your run)",
        "Table 2: results/reference/partial (the reference; results/partial is incomplete)",
        "Table 3: results/reference/small (the reference; results/small is incomplete)",
        "not included: results/broken/users.csv.gz: missing; re-run rp-run to write it again",
        "Table 4: results/reference/broken (the reference; results/broken is incomplete)",
        "Table 5: results/other (your run, changed)",
        "not included: results/demo; pass it as an argument to include it",
    ]
    assert [run.table for run in runs] == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("command", [main, report])
def test_a_run_without_a_complete_repeat_is_one_line_and_status_one(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "started"
    folder.mkdir()
    for name in ("results.sqlite", "config.yaml", "provenance.json"):  # as a stopped run leaves it
        (folder / name).touch()
    result = CliRunner().invoke(command, [str(folder)])
    assert [path.name for path in tmp_path.iterdir()] == ["started"]
    assert result.exit_code == 1
    assert result.stderr == (
        f"error: {folder}: no results: no group, repeat and algorithm is complete; run rp-run, or "
        "give another folder\n"
    )


@pytest.mark.parametrize(
    ("name", "start"),
    [("md", "### Norm"), ("tex", "\\documentclass"), ("csv", "table,part"), ("text", "Norm")],
)
def test_a_format_is_printed_and_no_file_written(call, tmp_path, name, start):
    folder = write_results(tmp_path / "one", repeats=2)
    before = sorted(folder.iterdir())
    result = call("one", "--format", name)
    assert result.stdout.startswith(start)
    assert sorted(folder.iterdir()) == before


TWO_TABLES = "Tables 1 and 2: Supervised methods do worse with half of the scores"


def test_a_claim_about_a_table_that_is_nowhere_is_left_out_and_said(call, tmp_path):
    folder = write_results(tmp_path / "results" / "one", table=1)
    write_results(tmp_path / "results" / "three", table=3)
    said = f"Not judged, since it needs results of Table 2 too: {TWO_TABLES}"
    assert said in " ".join(call("results/one").stdout.split())
    text = (folder / "tables.md").read_text(encoding="utf-8")
    assert f"- {said}" in text
    assert f"| {TWO_TABLES} " not in text


@pytest.mark.parametrize("words", [(), ("nowhere",), ("one", "--control", "svm")])
def test_wrong_choices_are_one_line_and_status_one(call, tmp_path, words):
    write_results(tmp_path / "one", repeats=2)
    result = call(*words)
    assert result.exit_code == 1
    assert result.stderr.startswith("error: ")
    assert result.stderr.count("\n") == 1


def test_a_mistyped_folder_is_told_with_the_one_that_may_be_meant(call, tmp_path):
    (tmp_path / "results" / "demo").mkdir(parents=True)
    refused = call("results/dmo")
    assert refused.exit_code == 1
    assert refused.stderr == (
        "error: results/dmo: no such folder of results; did you mean results/demo?\n"
    )
    (tmp_path / "mine.yaml").touch()
    assert call("mine.yaml").stderr.startswith("error: mine.yaml: not a folder of results; ")


def test_output_gets_one_file_for_all_results(call, tmp_path):
    write_results(tmp_path / "one", table=1, repeats=2)
    write_results(tmp_path / "two", table=3, repeats=2)
    assert call("one", "two", "--output", "deep/out", "--format", "md").exit_code == 0
    assert [path.name for path in (tmp_path / "deep/out").iterdir()] == ["tables.md"]
    text = (tmp_path / "deep/out/tables.md").read_text(encoding="utf-8")
    assert "Table 1 of the paper" in text
    assert "Table 3 of the paper" in text


def test_wide_tables_of_latex_span_two_columns(call, tmp_path):
    folder = write_results(tmp_path / "one", repeats=2)
    assert r"\begin{table*}" in call("one", "--format", "tex", "--wide").stdout
    assert call("one", "--wide").exit_code == 0
    assert r"\end{table*}" in (folder / "tables" / "one-errors.tex").read_text(encoding="utf-8")
