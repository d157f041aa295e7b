import importlib
import io
import sys
import time
import types

import click
import pytest
from click.testing import CliRunner
from small_experiment import run_of, small_config

from rankpursuit.cli import _common
from rankpursuit.cli._common import Command, Failure, Group, ProgressLines, telling
from rankpursuit.errors import ClusterError, DataError
from rankpursuit.experiments.evaluate import AlgorithmResult, UnitResult, UserResult


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


def test_wrong_usage_has_status_two():
    result = CliRunner().invoke(Group("main", commands={"a": click.Command("a")}), ["b"])
    assert result.exit_code == 2


@pytest.mark.parametrize("name", ["check", "data", "report", "run", "tables"])
def test_help_shows_examples_line_by_line(name):
    command = importlib.import_module(f"rankpursuit.cli.{name}").main
    lines = CliRunner().invoke(command, ["--help"]).output.splitlines()
    assert not [line for line in lines if r"\b" in line]
    assert len([line for line in lines if line.startswith(f"    rp-{name}")]) >= 2


@pytest.mark.parametrize(("on_terminal", "told"), [(True, "a while\n"), (False, "")])
def test_what_takes_long_is_told_on_a_terminal(on_terminal, told, monkeypatch, capsys):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: on_terminal)
    with telling("a while", seconds=0.01):
        time.sleep(0.2)
    assert capsys.readouterr().err == told


class TestProgress:
    @pytest.fixture
    def run(self):
        protocol = small_config()["protocol"] | {"test_users": 30, "holdout_users": 30}
        return run_of(small_config(protocol=protocol), only=["rls"])

    @pytest.fixture
    def clock(self, monkeypatch):
        """Return a clock to set by hand."""
        clock = types.SimpleNamespace(now=0.0)
        monkeypatch.setattr(_common, "time", types.SimpleNamespace(monotonic=lambda: clock.now))
        return clock

    def units(self, run):
        return [unit for units in run.plan.units.values() for unit in units]

    def result(self, unit, seconds=1.0):
        users = [UserResult(user, "disagreement", 0.25, 1, 1, 1) for user in unit.users]
        return UnitResult(unit, {"rls": AlgorithmResult({}, users, seconds)}, {})

    def test_lines_come_at_the_start_from_time_to_time_and_at_the_end(self, run, clock):
        stream = io.StringIO()
        lines = ProgressLines("demo", stream)
        lines.start(run, [])
        for unit in self.units(run):
            clock.now += 4
            lines.add(self.result(unit))
        shown = [
            line.split("%")[1].split("/")[0].strip() for line in stream.getvalue().splitlines()
        ]
        assert shown == ["0", "40", "80", "120", "160", "200", "240"]
        assert stream.getvalue().splitlines()[-1] == "demo: 100% 240/240 users [1:36, 0:00 left]"

    @pytest.mark.parametrize("live", [False, True])
    def test_nothing_is_shown_of_a_run_that_was_finished(self, run, clock, live):
        stream = io.StringIO()
        progress = ProgressLines("demo", stream, live)
        progress.start(run, self.units(run))
        for unit in self.units(run):
            clock.now += 60
            progress.add(self.result(unit), earlier=True)
        assert stream.getvalue() == ""

    def test_the_time_left_follows_from_the_work_of_large_tasks_that_come_first(self, run, clock):
        """Hold-out users take four times as long as test users, and large tasks longer."""
        stream = io.StringIO()
        progress = ProgressLines("demo", stream, live=True)
        progress.start(run, [])
        sizes = {unit: progress._sizes[unit] for unit in self.units(run)}
        work = {unit: sizes[unit] * (4 if unit.role == "holdout" else 1) for unit in sizes}
        total = sum(work.values())
        clock.now += 30  # workers start
        assert "left" not in stream.getvalue()
        for unit in sorted(work, key=work.get, reverse=True):
            clock.now += 100 * work[unit] / total
            progress.add(self.result(unit, work[unit]))
            if "left" in (line := stream.getvalue().split("demo: ")[-1].splitlines()[0]):
                minutes, seconds = line.split(", ")[1].split()[0].split(":")
                left = 60 * int(minutes) + int(seconds)
                assert left == pytest.approx(130 - clock.now, rel=0.3, abs=3)

    def test_a_terminal_shows_the_mean_errors_so_far(self, run, clock):
        stream = io.StringIO()
        progress = ProgressLines("demo", stream, live=True)
        progress.start(run, [])
        for unit in self.units(run):
            clock.now += 1
            progress.add(self.result(unit))
        head, row = stream.getvalue().splitlines()[-2:]
        assert head.split() == ["test", "error", "so", "far", "15-30", "31-60"]
        assert row.split() == ["rls", "0.2500", "0.2500"]
