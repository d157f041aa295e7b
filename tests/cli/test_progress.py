"""What a run shows while it goes on."""

import io
import sys
import time
import types

import pytest

from rankpursuit.cli import _patience, _progress
from rankpursuit.cli._progress import Lines, Live
from rankpursuit.experiments.evaluate import Cell, Unit, UnitResult

UNIT = UnitResult(Unit(Cell(0, (20, 40)), "test", 0, (1, 2)), {}, {})


@pytest.fixture
def clock(monkeypatch):
    """Return a clock to set by hand."""
    clock = types.SimpleNamespace(now=0.0)
    monkeypatch.setattr(_progress, "time", types.SimpleNamespace(monotonic=lambda: clock.now))
    return clock


@pytest.mark.parametrize(("on_terminal", "told"), [(True, "a while\n"), (False, "")])
def test_what_takes_long_is_told_on_a_terminal(on_terminal, told, monkeypatch, capsys):
    monkeypatch.setattr(_patience, "_SECONDS", 0.01)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: on_terminal)
    with _patience.telling("a while"):
        time.sleep(0.2)
    assert capsys.readouterr().err == told


@pytest.fixture
def stream():
    return io.StringIO()


def test_lines_come_at_the_start_from_time_to_time_and_at_the_end(clock, stream):
    lines = Lines("demo", stream)
    lines.start(200, 0)
    for _ in range(100):
        clock.now += 0.5
        lines.add(UNIT, earlier=False)
    shown = [line.split()[2].split("/")[0] for line in stream.getvalue().splitlines()]
    assert shown == ["0", "60", "120", "180", "200"]


@pytest.mark.parametrize("kind", [Lines, Live])
def test_nothing_is_shown_of_a_run_that_was_finished(kind, clock, stream):
    progress = kind("demo", stream)
    progress.start(20, 20)
    for _ in range(10):
        clock.now += 60
        progress.add(UNIT, earlier=True)
    assert progress.was_finished
    assert stream.getvalue() == ""


def test_what_was_done_before_is_counted_and_not_told_again(clock, stream):
    lines = Lines("demo", stream)
    lines.start(20, 10)
    for earlier in [True] * 5 + [False] * 5:
        lines.add(UNIT, earlier=earlier)
    first, last = stream.getvalue().splitlines()
    assert "10/20" in first
    assert "20/20" in last
    assert not lines.was_finished
