"""Parts that all commands share: one-line errors and signals."""

from __future__ import annotations

import errno
import shutil
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import IO, Any

import click

from rankpursuit import __version__
from rankpursuit.errors import ConfigError, RankpursuitError
from rankpursuit.experiments.names import closest_match, suggestion
from rankpursuit.text import cut, one_line, visible


def echo(text: str, *, err: bool = False, nl: bool = True) -> None:
    """Print a text, on standard error if `err`, with control characters escaped."""
    click.echo(visible(text, keep="\n"), err=err, nl=nl)


def terminal_width() -> int | None:
    """Return the number of columns of standard output, None if it is not a terminal."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def no_such(what: str, path: Path, otherwise: str = "") -> Failure:
    """Return the failure that a file or folder is missing, with a similar name or other advice."""
    similar = closest_match(path)
    advice = f"did you mean {similar}?" if similar else otherwise
    return Failure(f"{cut(str(path), 300)}: no such {what}{advice and f'; {advice}'}")


class Failure(click.ClickException):
    """Ends a command with ``error: ...`` on standard error for each message, and what to try."""

    def __init__(self, *messages: str, exit_code: int = 1, attempt: str | None = None) -> None:
        self.exit_code = exit_code  # type: ignore[misc]  # click declares it a class variable
        self.messages = [f"error: {cut(one_line(message), 2000)}" for message in messages]
        self.messages += [f"try: {one_line(attempt)}"] if attempt else []
        super().__init__("\n".join(self.messages))

    def show(self, file: IO[Any] | None = None) -> None:
        """Print each message as one line."""
        click.echo("\n".join(self.messages), file=file, err=True)


class Terminated(KeyboardInterrupt):
    """SIGTERM or SIGHUP, from ``kill``, a batch system or a closed terminal."""


class Stopped(Failure):
    """Ends a command that a signal stopped, with the status that shells expect."""

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
    both = (signal.SIGTERM, signal.SIGHUP) if main else ()
    numbers = [number for number in both if signal.getsignal(number) is signal.SIG_DFL]
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

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; errors that a user can fix become a `Failure`, others are bugs."""
        try:
            with terminable():
                return super().invoke(ctx)
        except KeyboardInterrupt as stop:
            raise Stopped(stop) from None
        except RankpursuitError as error:
            faults = getattr(error, "faults", [str(error)])
            raise Failure(*faults, exit_code=2 if isinstance(error, ConfigError) else 1) from error
        except OSError as error:
            if error.filename is not None:
                raise Failure(f"{error.filename}: {error.strerror}") from error
            if error.errno in (errno.ENOSPC, errno.EFBIG, errno.EIO):
                raise Failure(f"the output cannot be written: {error.strerror}") from error
            raise


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
