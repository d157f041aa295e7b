"""What all commands share: an error that a user can mend is one line on standard error."""

from __future__ import annotations

import errno
import shutil
import sys
from pathlib import Path
from typing import IO, Any

import click

from rankpursuit import __version__
from rankpursuit.cli._signals import exit_status, terminable
from rankpursuit.errors import ClusterError, RankpursuitError
from rankpursuit.experiments.names import closest_match, suggestion
from rankpursuit.visible import cut, one_line, visible

LONGEST_MESSAGE = 2000
"""Characters of a message: more than it takes, unless a word from outside fills the screen."""
LONGEST_PATH = 300
"""Characters of a missing path that are shown."""


def echo(text: str, *, err: bool = False, nl: bool = True) -> None:
    """Print a text; of what it has from outside, nothing is obeyed by a terminal.

    Parameters
    ----------
    text : str
    err : bool
        Whether to print on standard error.
    nl : bool
        Whether to end the line.
    """
    click.echo(visible(text, keep="\n"), err=err, nl=nl)


def terminal_width() -> int | None:
    """Return how many columns standard output has; None if it is no terminal."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def _one_line(message: str) -> str:
    return cut(one_line(message), LONGEST_MESSAGE)


def no_such(what: str, path: Path, otherwise: str = "") -> Failure:
    """Return the failure that a file or folder is missing, with one that may have been meant.

    Parameters
    ----------
    what : str
        Such as ``file``.
    path : Path
    otherwise : str
        What to say where nothing has a name like it.
    """
    beside = closest_match(path)
    advice = f"did you mean {beside}?" if beside else otherwise
    return Failure(f"{cut(str(path), LONGEST_PATH)}: no such {what}{advice and f'; {advice}'}")


class Failure(click.ClickException):
    """Ends a command; for each message, ``error: ...`` on standard error, and then what to try."""

    def __init__(self, *messages: str, exit_code: int = 1, attempt: str | None = None) -> None:
        self.exit_code = exit_code  # type: ignore[misc]  # click declares it a class variable
        self.messages = [_one_line(message) for message in messages]
        self.attempt = None if attempt is None else _one_line(attempt)
        super().__init__("; ".join(self.messages))

    def show(self, file: IO[Any] | None = None) -> None:
        """Print each message as one line, and what would work as another."""
        for message in self.messages:
            click.echo(f"error: {message}", file=file, err=True)
        if self.attempt:
            click.echo(f"this would work: {self.attempt}", file=file, err=True)


class Stopped(click.ClickException):
    """Ends a command that Ctrl-C or SIGTERM stopped: one line, and the status of that signal."""

    def __init__(
        self, stop: KeyboardInterrupt, advice: str = "give the same command again"
    ) -> None:
        self.exit_code = exit_status(stop)  # type: ignore[misc]  # click declares it a class variable
        super().__init__(f"stopped; {advice}")

    def show(self, file: IO[Any] | None = None) -> None:
        """Print the line."""
        click.echo(self.message, file=file, err=True)


class _OneLineErrors(click.Command):
    def __init__(self, name: str | None, **options: Any) -> None:
        settings = {"help_option_names": ["-h", "--help"]} | options.pop("context_settings", {})
        super().__init__(name, context_settings=settings, **options)
        click.version_option(__version__)(self)
        if self.help:  # docstrings are raw; click wants the character itself
            self.help = self.help.replace(r"\b", "\b")

    def make_context(self, *arguments: Any, **options: Any) -> click.Context:
        """Read the words of the command line; wrong ones are told with nothing invisible."""
        try:
            return super().make_context(*arguments, **options)
        except click.UsageError as error:
            raise _visible(error) from error

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; an error that the user can mend becomes a `Failure`, others are bugs."""
        try:
            with terminable():
                return super().invoke(ctx)
        except KeyboardInterrupt as stop:
            raise Stopped(stop) from None
        except click.UsageError as error:
            raise _visible(error) from error
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


def _visible(error: click.UsageError) -> click.UsageError:
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        return error  # its message is the help of a group, in lines
    error.message = _one_line(error.message)  # type: ignore[misc]  # it is shown by its own class
    return error


class Command(_OneLineErrors):
    """A command that reports errors in one line."""


class Group(_OneLineErrors, click.Group):
    """A group of commands that reports errors in one line."""

    command_class = Command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that is meant; suggest one in place of a word that is none."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            known = suggestion(args[0], self.list_commands(ctx))
            raise click.UsageError(f"no command {args[0]!r}; {known}", ctx) from error
