"""Parts that all commands share: one-line errors, signals, and the progress of a run."""

from __future__ import annotations

import errno
import shutil
import signal
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import IO, TYPE_CHECKING, Any

import click

from rankpursuit import __version__
from rankpursuit.errors import ClusterError, RankpursuitError
from rankpursuit.experiments.names import closest_match, suggestion
from rankpursuit.text import cut, one_line, visible

if TYPE_CHECKING:
    from rankpursuit.experiments.evaluate import Unit, UnitResult
    from rankpursuit.experiments.run import Run

LONGEST_MESSAGE = 2000
"""Characters of a message, which a word from outside could make longer."""
LONGEST_PATH = 300
"""Characters of a missing path that are shown."""


def echo(text: str, *, err: bool = False, nl: bool = True) -> None:
    """Print a text, on standard error if `err`, with control characters escaped."""
    click.echo(visible(text, keep="\n"), err=err, nl=nl)


def terminal_width() -> int | None:
    """Return the number of columns of standard output, None if it is not a terminal."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


@contextmanager
def telling(text: str, seconds: float = 2.0) -> Iterator[None]:
    """Print a line on the terminal if the block takes longer than a few seconds."""
    timer = threading.Timer(seconds, echo, (text,), {"err": True})
    timer.daemon = True
    if sys.stderr.isatty():
        timer.start()
    try:
        yield
    finally:
        timer.cancel()


def no_such(what: str, path: Path, otherwise: str = "") -> Failure:
    """Return the failure that a file or folder is missing, with a similar name if there is one.

    Parameters
    ----------
    what : str
        Such as ``file``.
    path : Path
    otherwise : str
        Advice if nothing has a similar name.
    """
    similar = closest_match(path)
    advice = f"did you mean {similar}?" if similar else otherwise
    return Failure(f"{cut(str(path), LONGEST_PATH)}: no such {what}{advice and f'; {advice}'}")


class Failure(click.ClickException):
    """Ends a command with ``error: ...`` on standard error for each message, and what to try."""

    def __init__(self, *messages: str, exit_code: int = 1, attempt: str | None = None) -> None:
        self.exit_code = exit_code  # type: ignore[misc]  # click declares it a class variable
        self.messages = [f"error: {_one_line(message)}" for message in messages]
        self.messages += [f"try: {_one_line(attempt)}"] if attempt else []
        super().__init__("\n".join(self.messages))

    def show(self, file: IO[Any] | None = None) -> None:
        """Print each message as one line."""
        click.echo("\n".join(self.messages), file=file, err=True)


class Terminated(KeyboardInterrupt):
    """SIGTERM or SIGHUP, from ``kill``, a batch system or a closed terminal."""


class Stopped(Failure):
    """Ends a command that a signal stopped: one line, and the status that shells expect."""

    def __init__(self, stop: KeyboardInterrupt, advice: str = "re-run the same command") -> None:
        number = stop.args[0] if isinstance(stop, Terminated) else signal.SIGINT
        super().__init__(exit_code=128 + number)
        self.messages = [f"stopped; {advice}"]


@contextmanager
def terminable() -> Iterator[None]:
    """Raise `Terminated` on SIGTERM and SIGHUP, unless they are ignored or handled already."""

    def stop(number: int, frame: FrameType | None) -> None:
        raise Terminated(number)

    main = threading.current_thread() is threading.main_thread()
    numbers = [
        number
        for number in (signal.SIGTERM, signal.SIGHUP)
        if main and signal.getsignal(number) is signal.SIG_DFL
    ]
    for number in numbers:
        signal.signal(number, stop)
    try:
        yield
    finally:
        for number in numbers:
            signal.signal(number, signal.SIG_DFL)


class _OneLineErrors(click.Command):
    def __init__(self, name: str | None, **options: Any) -> None:
        settings = {"help_option_names": ["-h", "--help"]} | options.pop("context_settings", {})
        super().__init__(name, context_settings=settings, **options)
        click.version_option(__version__)(self)
        if self.help:  # docstrings are raw; click wants the character itself
            self.help = self.help.replace(r"\b", "\b")

    def make_context(self, *arguments: Any, **options: Any) -> click.Context:
        """Parse the command line."""
        with _visible_usage_errors():
            return super().make_context(*arguments, **options)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; errors that a user can fix become a `Failure`, others are bugs."""
        try:
            with terminable(), _visible_usage_errors():
                return super().invoke(ctx)
        except KeyboardInterrupt as stop:
            raise Stopped(stop) from None
        except MemoryError as error:
            reason = f" ({error})" if str(error) else ""
            raise Failure(f"out of memory{reason}: ask for less, or use more memory") from error
        except ClusterError as error:
            raise Failure(*error.faults) from error
        except RankpursuitError as error:
            raise Failure(str(error)) from error
        except OSError as error:
            if error.filename is not None:
                raise Failure(f"{error.filename}: {error.strerror}") from error
            if error.errno in (errno.ENOSPC, errno.EFBIG, errno.EIO):
                raise Failure(f"the output cannot be written: {error.strerror}") from error
            raise


@contextmanager
def _visible_usage_errors() -> Iterator[None]:
    try:
        yield
    except click.exceptions.NoArgsIsHelpError:
        raise  # its message is the help of a group, in lines
    except click.UsageError as error:
        error.message = _one_line(error.message)  # type: ignore[misc]
        raise


def _one_line(message: str) -> str:
    return cut(one_line(message), LONGEST_MESSAGE)


class Command(_OneLineErrors):
    """A command that reports errors in one line."""


class Group(_OneLineErrors, click.Group):
    """A group of commands that reports errors in one line."""

    command_class = Command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find a command; suggest one for a mistyped word."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            known = suggestion(args[0], self.list_commands(ctx))
            raise click.UsageError(f"no command {args[0]!r}; {known}", ctx) from error


class ProgressLines:
    """Progress of a run: a bar and the errors so far on a terminal, otherwise a line at times.

    Parameters
    ----------
    name : str
    stream : file
    live : bool
        Redraw a bar and a table of the mean test errors.
    """

    def __init__(self, name: str, stream: IO[str], live: bool = False) -> None:
        self._name, self._stream, self._live = name, stream, live
        self._errors: dict[tuple[str, str], list[float]] = defaultdict(list)
        self._height = 0

    def start(self, run: Run, done: Sequence[Unit]) -> None:
        """Begin a run, with the units that an earlier run has done."""
        from rankpursuit.experiments.config import ratings_of

        counts, earlier = ratings_of(run.experiment.data).counts, set(done)
        # A task of n items takes about n^2, and test users about a third of hold-out users, until
        # both are measured. The largest tasks of a repeat come first.
        self._sizes = {
            unit: float((counts[list(unit.users)] ** 2.0).sum()) for unit in run.plan.all()
        }
        self._left = {
            role: sum(x for u, x in self._sizes.items() if u.role == role and u not in earlier)
            for role in ("holdout", "test")
        }
        self._seconds, self._done = (dict.fromkeys(self._left, 0.0) for _ in range(2))
        self._n_users = sum(len(unit.users) for unit in self._sizes)
        self._n_before = self._n_done = sum(len(unit.users) for unit in done)
        self._begun = self._drawn = time.monotonic()
        self._first = (0.0, 0.0)  # time of the first result, and its seconds of work
        if self._n_done < self._n_users:
            self._draw()

    def add(self, result: UnitResult, *, earlier: bool = False) -> None:
        """Receive the results of a unit, of this run or of an earlier one."""
        from rankpursuit.experiments.protocol import group_name

        unit = result.unit
        for label, of_label in result.results.items():
            for user in of_label.users:
                if user.metric == of_label.users[0].metric:
                    self._errors[label, group_name(unit.cell.group)].append(user.error)
        if earlier:
            return
        self._n_done += len(unit.users)
        self._left[unit.role] -= self._sizes[unit]
        self._done[unit.role] += self._sizes[unit]
        self._seconds[unit.role] += sum(of_label.seconds for of_label in result.results.values())
        now = time.monotonic()
        if not self._first[1]:
            self._first = now, sum(self._seconds.values())
        if now - self._drawn >= (0.2 if self._live else 15.0) or self._n_done == self._n_users:
            self._drawn = now
            self._draw()

    def _draw(self) -> None:
        elapsed, fraction = time.monotonic() - self._begun, self._n_done / self._n_users
        new, total = self._n_done - self._n_before, self._n_users - self._n_before
        left, seconds = "", sum(self._seconds.values())
        if seconds > self._first[1] and (elapsed >= 20 or new >= 0.03 * total):
            pace = {role: x / self._done[role] for role, x in self._seconds.items() if x}
            pace.setdefault("test", 0.3 * pace.get("holdout", 0.0))
            work = sum(self._left[role] * x for role, x in pace.items())
            since = time.monotonic() - self._first[0]  # without the start of the workers
            left = f", {_clock(since * work / (seconds - self._first[1]))} left"
        bar = f"|{'#' * int(20 * fraction):<20}| " if self._live else ""
        users = f"{self._n_done:,}/{self._n_users:,} users"
        lines = [f"{self._name}: {fraction:4.0%} {bar}{users} [{_clock(elapsed)}{left}]"]
        if self._live:
            lines += self._table()
            self._stream.write(f"\x1b[{self._height}F\x1b[J" if self._height else "")
            self._height = len(lines)
        self._stream.write("\n".join(lines) + "\n")
        self._stream.flush()

    def _table(self) -> list[str]:
        """Return the mean test errors so far in the first metric, a line for each algorithm."""
        groups = sorted({group for _, group in self._errors})
        rows = {"test error so far": [f"{group:>10}" for group in groups]} if groups else {}
        for label in dict.fromkeys(label for label, _ in self._errors):
            values = [self._errors.get((label, group)) for group in groups]
            rows[label] = [f"{sum(v) / len(v):10.4f}" if v else " " * 10 for v in values]
        wide = max(map(len, rows), default=0)
        return [label.ljust(wide) + "".join(cells) for label, cells in rows.items()]


def _clock(seconds: float) -> str:
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"
