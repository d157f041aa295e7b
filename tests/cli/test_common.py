import importlib

import pytest
from click.testing import CliRunner

from rankpursuit.cli._common import Command, Failure, Group, terminal_width
from rankpursuit.errors import ClusterError, DataError


def run(cls, error):
    def body():
        raise error

    command = cls(
        "main", callback=body, **({"invoke_without_command": True} if cls is Group else {})
    )
    return CliRunner().invoke(command, [])


@pytest.mark.parametrize("cls", [Command, Group])
@pytest.mark.parametrize(
    ("error", "said"),
    [
        (DataError("a bad\nfile"), "error: a bad file\n"),
        (PermissionError(13, "Permission denied", "secret"), "error: secret: Permission denied\n"),
        (ClusterError(["worker a", "worker b"]), "error: worker a\nerror: worker b\n"),
        (Failure("one", "two"), "error: one\nerror: two\n"),
    ],
)
def test_an_error_that_the_user_can_fix_is_a_line_each_and_status_one(cls, error, said):
    result = run(cls, error)
    assert result.exit_code == 1
    assert result.stderr == said
    assert result.stdout == ""


@pytest.mark.parametrize("bug", [ZeroDivisionError("bug"), OSError("no file")])
def test_a_bug_keeps_its_traceback(bug):
    assert run(Command, bug).exception is bug


def test_a_closed_standard_output_is_no_terminal(monkeypatch):
    monkeypatch.setattr("sys.stdout", None)
    assert terminal_width() is None


@pytest.mark.parametrize("name", ["check", "data", "report", "run", "tables"])
def test_help_shows_examples_line_by_line(name):
    command = importlib.import_module(f"rankpursuit.cli.{name}").main
    lines = CliRunner().invoke(command, ["--help"]).output.splitlines()
    assert not [line for line in lines if r"\b" in line]
    assert len([line for line in lines if line.startswith(f"    rp-{name}")]) >= 2
