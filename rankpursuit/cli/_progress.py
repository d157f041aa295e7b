"""What a run shows while it goes on: a bar and a table on a terminal, lines elsewhere."""

from __future__ import annotations

import sys
import time
from typing import IO

from tqdm import tqdm

from rankpursuit.experiments.config import group_name
from rankpursuit.experiments.evaluate import UnitResult
from rankpursuit.experiments.run.progress import Silent


class Errors:
    """Mean test error of each algorithm and group so far, in the first metric."""

    def __init__(self) -> None:
        self._sums: dict[tuple[str, str], tuple[float, int]] = {}

    def add(self, result: UnitResult) -> None:
        """Take in the test users of a unit."""
        group = group_name(result.unit.cell.group)
        for label, of_label in result.results.items():
            metric = of_label.users[0].metric if of_label.users else None
            values = [user.error for user in of_label.users if user.metric == metric]
            if values:
                total, count = self._sums.get((label, group), (0.0, 0))
                self._sums[label, group] = (total + sum(values), count + len(values))

    def lines(self) -> list[str]:
        """Return a small table, one line for each algorithm."""
        labels = list(dict.fromkeys(label for label, _ in self._sums))
        groups = sorted({group for _, group in self._sums})
        if not labels:
            return []
        wide = max(map(len, labels))
        head = "test error so far".ljust(wide) + "".join(f"{group:>10}" for group in groups)
        rows = [head]
        for label in labels:
            cells = ""
            for group in groups:
                total, count = self._sums.get((label, group), (0.0, 0))
                cells += f"{total / count:10.4f}" if count else " " * 10
            rows.append(label.ljust(max(wide, len("test error so far"))) + cells)
        return rows


class _Counting(Silent):
    """Counts users, and shows where the run is unless all of it was done before."""

    def __init__(self, name: str, stream: IO[str]) -> None:
        self._name, self._stream = name, stream
        self._errors = Errors()
        self._added = 0
        self._begun = self._last = time.monotonic()

    def start(self, n_users: int, n_done: int) -> None:
        """Begin with an empty bar."""
        super().start(n_users, n_done)
        if not self.was_finished:
            self._draw()

    def add(self, result: UnitResult, *, earlier: bool) -> None:
        """Take the results of a unit."""
        self._errors.add(result)
        if earlier:
            return
        self._added += len(result.unit.users)
        now = time.monotonic()
        if now - self._last >= self._seconds_between or self.n_done + self._added == self.n_users:
            self._last = now
            self._draw()

    _seconds_between: float

    def _draw(self) -> None:
        """Show where the run is."""

    def _bar(self, width: int | None) -> str:
        return tqdm.format_meter(
            self.n_done + self._added,
            self.n_users,
            time.monotonic() - self._begun,
            ncols=width,
            prefix=self._name,
            unit=" users",
            initial=self.n_done,
        )


class Lines(_Counting):
    """Prints a line from time to time."""

    _seconds_between = 15.0

    def _draw(self) -> None:
        print(self._bar(0), file=self._stream, flush=True)


class Live(_Counting):
    """Redraws a bar and a table of the errors so far."""

    _seconds_between = 0.2
    _height = 0

    def _draw(self) -> None:
        lines = [self._bar(80), *self._errors.lines()]
        back = f"\x1b[{self._height}F\x1b[J" if self._height else ""
        self._stream.write(back + "\n".join(lines) + "\n")
        self._stream.flush()
        self._height = len(lines)


def make_progress(name: str, *, quiet: bool) -> Silent:
    """Choose what suits standard error."""
    if quiet:
        return Silent()
    return Live(name, sys.stderr) if sys.stderr.isatty() else Lines(name, sys.stderr)
