"""Words from outside reach terminals, LaTeX and spreadsheets without being obeyed."""

import ast
import re
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner
from small_experiment import run_into, run_of, small_config

import rankpursuit.cli
from rankpursuit.cli import check, data, report, run, tables
from rankpursuit.cli._common import Failure, echo
from rankpursuit.experiments.config import LABEL
from rankpursuit.reporting.latex import to_latex
from rankpursuit.reporting.render import to_csv
from rankpursuit.reporting.table import Cell, Part, Table
from rankpursuit.visible import visible

HOSTILE = ["\x1b[2J", "\x07", "\x9b31m", "\u202e", "\u2066", "\u200b", "\x7f", "\r"]
COMMANDS = [check, data, report, run, tables]


@pytest.mark.parametrize("word", HOSTILE)
def test_every_character_that_does_not_print_is_spelt_out(word):
    text = visible(f"a{word}b")
    assert text.isprintable() and text.startswith("a\\") and text.endswith("b")


def test_letters_of_all_scripts_stay():
    assert visible("naïve Ελλάδα 日本 🙂 \\x1b") == "naïve Ελλάδα 日本 🙂 \\x1b"


@pytest.mark.parametrize("word", HOSTILE)
@pytest.mark.parametrize("module", COMMANDS, ids=lambda module: module.__name__.split(".")[-1])
@pytest.mark.parametrize("form", ["{}", "--{}", "nowhere{}.csv"])
def test_no_command_prints_it(module, form, word, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    arguments = [form.format(word)]
    arguments = ["describe", *arguments] if module is data and form != "{}" else arguments
    result = CliRunner().invoke(module.main, arguments)
    assert result.exit_code in (1, 2)
    assert all(line.isprintable() for line in result.output.split("\n"))
    assert isinstance(result.exception, SystemExit)


@pytest.mark.parametrize(
    "override",
    ["{}=1", "name={}", "algorithms.{}=1", "data={{name: ratings, path: 'x{}.csv'}}", "{}"],
)
def test_no_fault_of_a_config_prints_it(tmp_path, monkeypatch, override):
    monkeypatch.chdir(tmp_path)
    Path("small.yaml").write_text(yaml.safe_dump(small_config()))
    for word in ("\u202e", "\u2066\u200b"):
        result = CliRunner().invoke(run.main, ["small.yaml", "--set", override.format(word)])
        assert result.exit_code in (1, 2)
        assert all(line.isprintable() for line in result.output.split("\n"))
        assert result.output.startswith("error: ")


def test_messages_are_one_line_and_no_longer_than_needed(capsys):
    Failure("a\nb\x1b[2J", "x" * 10**6).show()
    first, second = capsys.readouterr().err.splitlines()
    assert first == "error: a b\\x1b[2J"
    assert len(second) < 2100
    echo("kept\nlines\x1b", err=True)
    assert capsys.readouterr().err == "kept\nlines\\x1b\n"


def test_commands_print_through_one_function():
    for path in Path(rankpursuit.cli.__file__).parent.glob("*.py"):
        if path.name == "_common.py":
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Attribute):
                assert node.attr not in ("echo", "secho"), path


@pytest.mark.parametrize(
    "word", ["=1+1", "+1", "-1", "@SUM", "\tx", "\rx", "\\input{x}", "a b", "../x", "a\n", ""]
)
def test_a_label_is_no_formula_command_or_path(word):
    assert not re.fullmatch(LABEL.rstrip("$"), word)


def table_of(word):
    cell = Cell("0.5", numbers={word: -0.5})
    return Table(word, word, (word,), (Part(word, {word: (cell,)}),), (word,))


def test_latex_obeys_no_word():
    text = to_latex([table_of(r"\input{/etc/passwd}\write18{id}^^5cinput")])
    assert r"\input" not in text and r"\write" not in text and "^^" not in text
    assert r"\label{tab:-input--etc-passwd--write18-id---5cinput}" in text


@pytest.mark.parametrize("word", ["=cmd|'/C calc'!A0", "+1", "-1", "@x", "\tx", "\rx"])
def test_spreadsheets_compute_no_word(word):
    last = to_csv([table_of(word)]).split("\n", 1)[1]
    assert last.count(f"'{word}") == 5
    assert last.rstrip().endswith(",-0.5")


def test_users_of_results_are_numbers(tmp_path):
    import pandas as pd

    assert run_into(run_of(small_config(), repeats=1, only=["rls"]), tmp_path) == []
    assert pd.read_csv(tmp_path / "users.csv.gz")["user"].dtype.kind == "i"
