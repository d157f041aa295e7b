"""Shared by the commands: one-line errors, signals, and loading of results."""

from __future__ import annotations

import errno
import os
import shlex
import shutil
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import IO, TYPE_CHECKING, Any

import click

from rankpursuit import __version__
from rankpursuit.errors import ConfigError, RankpursuitError, ResultsError
from rankpursuit.experiments.names import closest_match, suggestion
from rankpursuit.text import escape_unprintable, one_line, truncate

if TYPE_CHECKING:
    from rankpursuit.reporting.results import Results


def echo(text: str, *, err: bool = False, nl: bool = True) -> None:
    """Print a text, on standard error if `err`, with control characters escaped."""
    click.echo(escape_unprintable(text, keep="\n"), err=err, nl=nl)


def typed_command(name: str, without: str = "") -> str:
    """Return the command line of this process, as a command of this name, without one word."""
    program, *words = sys.argv
    by_module = Path(program).name == "__main__.py"  # python -m rankpursuit run ...
    return shlex.join([name, *(word for word in words[by_module:] if word != without)])


def terminal_width() -> int | None:
    """Return the number of columns of standard output, None if it is not a terminal."""
    is_terminal = sys.stdout is not None and sys.stdout.isatty()  # None: closed by the shell
    return shutil.get_terminal_size().columns if is_terminal else None


def no_such(what: str, path: Path, otherwise: str = "") -> Failure:
    """Return the failure for a missing file or folder, with a similar name or other advice."""
    if os.path.lexists(path):
        return Failure(f"{truncate(str(path), 300)}: not a {what}{otherwise and f'; {otherwise}'}")
    similar = closest_match(path)
    advice = f"did you mean {similar}?" if similar else otherwise
    return Failure(f"{truncate(str(path), 300)}: no such {what}{advice and f'; {advice}'}")


class Failure(click.ClickException):
    """Ends a command; prints ``error: ...`` for each message, and any advice."""

    def __init__(self, *messages: str, exit_code: int = 1, attempt: str | None = None) -> None:
        self.exit_code = exit_code  # type: ignore[misc]  # click declares it a class variable
        self.messages = [f"error: {truncate(one_line(message), 2000)}" for message in messages]
        self.messages += [f"try: {one_line(attempt)}"] if attempt else []
        super().__init__("\n".join(self.messages))

    def show(self, file: IO[Any] | None = None) -> None:
        """Print each message as one line."""
        click.echo("\n".join(self.messages), file=file, err=True)


class Terminated(KeyboardInterrupt):
    """SIGTERM or SIGHUP, from ``kill``, a batch system or a closed terminal."""


class Stopped(Failure):
    """Ends a command stopped by a signal, with the exit status that shells expect."""

    def __init__(self, stop: KeyboardInterrupt, advice: str = "re-run the same command") -> None:
        number = stop.args[0] if isinstance(stop, Terminated) else signal.SIGINT
        super().__init__(exit_code=128 + number)
        self.messages = [f"stopped; {advice}"]


@contextmanager
def terminable() -> Iterator[None]:
    """Raise `Terminated` on SIGTERM and SIGHUP, unless already ignored or handled."""

    def stop(number: int, frame: FrameType | None) -> None:
        raise Terminated(number)

    main = threading.current_thread() is threading.main_thread()
    both = (signal.SIGTERM, signal.SIGHUP) if main else ()
    numbers = [number for number in both if signal.getsignal(number) is signal.SIG_DFL]
    for number in numbers:
        signal.signal(number, stop)
    try:
        yield
    finally:
        for number in numbers:
            signal.signal(number, signal.SIG_DFL)


class Command(click.Command):
    """A command that reports errors in one line."""

    def __init__(self, name: str | None, **options: Any) -> None:
        settings = {"help_option_names": ["-h", "--help"]} | options.pop("context_settings", {})
        super().__init__(name, context_settings=settings, **options)
        click.version_option(__version__)(self)
        if self.help:  # docstrings are raw; click wants the character itself
            self.help = self.help.replace(r"\b", "\b")

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; errors that a user can fix become a `Failure`, others are bugs."""
        try:
            with terminable():
                return super().invoke(ctx)
        except KeyboardInterrupt as stop:
            raise Stopped(stop) from None
        except RankpursuitError as error:
            problems = getattr(error, "problems", [str(error)])
            raise Failure(
                *problems, exit_code=2 if isinstance(error, ConfigError) else 1
            ) from error
        except OSError as error:
            if error.filename is not None:
                raise Failure(f"{error.filename}: {error.strerror}") from error
            if error.errno in (errno.ENOSPC, errno.EFBIG, errno.EIO):
                raise Failure(f"the output cannot be written: {error.strerror}") from error
            raise


class Group(Command, click.Group):
    """A group of commands that reports errors in one line."""

    command_class = Command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find a command; suggest one if the name is mistyped."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            known = suggestion(args[0], self.list_commands(ctx))
            raise click.UsageError(f"no command {args[0]!r}; {known}", ctx) from error


# Results

DEFAULT = Path("results")
REFERENCE = DEFAULT / "reference"  # committed results; runs do not write there by default


def _folders(_: click.Context, __: click.Parameter, folders: tuple[Path, ...]) -> tuple[Path, ...]:
    """Raise a `Failure` if a folder does not exist, before the slow imports."""
    for folder in folders:
        if not os.path.isdir(folder):  # False, not an error, for an invalid name
            raise no_such("folder of results", folder, "rp-run creates one")
    return folders


results_argument = click.argument(
    "results", nargs=-1, type=click.Path(path_type=Path), callback=_folders
)


def load_all(folders: Sequence[Path]) -> list[Results]:
    """Load the results in folders, each of one run or of several; `load_default` if none."""
    from rankpursuit.experiments.store import RunFolder
    from rankpursuit.reporting.results import load_results

    if not folders:
        return load_default()
    found: list[Path] = []
    for folder in folders:
        below = [] if RunFolder(folder).has_results else RunFolder.below(folder)
        found += [run.path for run in below] or [folder]
    return [load_results(folder) for folder in found]


def load_default() -> list[Results]:
    """Load, for each published table, the user's run if complete, otherwise the reference."""
    from rankpursuit.experiments.store import RunFolder

    runs = _own_or_reference(DEFAULT, REFERENCE)
    if not runs:
        return load_all([DEFAULT])
    names = {run.folder.name for run in runs}
    for folder in (run.path for run in RunFolder.below(DEFAULT) if run.path.name not in names):
        echo(f"not included: {folder}; pass it as an argument to include it", err=True)
    return runs


def load_inferred() -> list[Results]:
    """Load the runs of the inferred set-up, as `load_default` does; may be empty."""
    return _own_or_reference(DEFAULT / "inferred", REFERENCE / "inferred")


def _own_or_reference(own: Path, reference: Path) -> list[Results]:
    """Load each run in `reference`, or the one of the same name in `own` if complete."""
    from rankpursuit.experiments.store import RunFolder
    from rankpursuit.reporting.notes import config_changes, is_full_size, missing_notes
    from rankpursuit.reporting.results import load_results

    kept = [load_results(run.path) for run in RunFolder.below(reference)]
    runs = []
    for run in sorted(kept, key=lambda run: (run.table is None, run.table, run.name)):
        folder, used, kind = own / run.folder.name, run, "the reference"
        if RunFolder(folder).has_results:
            kind = f"the reference; {folder} is incomplete"
            try:
                found = load_results(folder)
                if found.table == run.table and is_full_size(found) and not missing_notes(found):
                    changes = config_changes(found) != config_changes(run)
                    used, kind = found, "your run" + ", changed" * changes
            except ResultsError as error:
                echo(f"not included: {error}", err=True)
        runs.append(used)
        echo(f"Table {run.table}: {used.folder} ({kind})", err=True)
    return runs
