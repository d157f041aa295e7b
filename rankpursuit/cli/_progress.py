"""What a run shows while it goes on: a bar and a table on a terminal, lines elsewhere."""

from __future__ import annotations

import sys
import time
from typing import IO

from tqdm import tqdm

from rankpursuit.experiments.config import group_name
from rankpursuit.experiments.run.evaluate import UnitResult
from rankpursuit.experiments.run.progress import Progress, Silent

_SECONDS_BETWEEN_FRAMES = 0.2
_SECONDS_BETWEEN_LINES = 15.0


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


class _Counting:
    """Counts users."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._errors = Errors()
        self._total = self._done = self._earlier = 0
        self._begun = time.monotonic()

    def start(self, n_users: int, n_done: int) -> None:
        """Begin."""
        self._total, self._done, self._earlier = n_users, n_done, n_done

    def add(self, result: UnitResult, *, earlier: bool) -> None:
        """Take the results of a unit."""
        if not earlier:
            self._done += len(result.unit.users)
        self._errors.add(result)
        self._show()

    def _show(self) -> None:
        """Show where the run is."""

    def _bar(self, width: int | None) -> str:
        return tqdm.format_meter(
            self._done,
            self._total,
            time.monotonic() - self._begun,
            ncols=width,
            prefix=self._name,
            unit=" users",
            initial=self._earlier,
        )


class Lines(_Counting):
    """Prints a line from time to time."""

    def __init__(self, name: str, stream: IO[str]) -> None:
        super().__init__(name)
        self._stream = stream
        self._last = time.monotonic()

    def _show(self) -> None:
        if time.monotonic() - self._last >= _SECONDS_BETWEEN_LINES or self._done == self._total:
            self._last = time.monotonic()
            print(self._bar(0), file=self._stream, flush=True)


class Live(_Counting):
    """Redraws a bar and a table of the errors so far."""

    def __init__(self, name: str, stream: IO[str]) -> None:
        super().__init__(name)
        self._stream = stream
        self._height = 0
        self._last = 0.0

    def start(self, n_users: int, n_done: int) -> None:
        """Begin with an empty bar."""
        super().start(n_users, n_done)
        self._draw()

    def _show(self) -> None:
        if time.monotonic() - self._last >= _SECONDS_BETWEEN_FRAMES or self._done == self._total:
            self._last = time.monotonic()
            self._draw()

    def _draw(self) -> None:
        lines = [self._bar(80), *self._errors.lines()]
        back = f"\x1b[{self._height}F\x1b[J" if self._height else ""
        self._stream.write(back + "\n".join(lines) + "\n")
        self._stream.flush()
        self._height = len(lines)


def make_progress(name: str, *, quiet: bool) -> Progress:
    """Choose what suits standard error."""
    if quiet:
        return Silent()
    return Live(name, sys.stderr) if sys.stderr.isatty() else Lines(name, sys.stderr)
