"""What all commands share: an error that a user can mend is one line on standard error."""

from __future__ import annotations

import errno
from typing import IO, Any

import click

from rankpursuit.cli._signals import exit_status, terminable
from rankpursuit.errors import ClusterError, RankpursuitError


class Failure(click.ClickException):
    """Ends a command; for each message, ``error: ...`` on standard error."""

    def __init__(self, *messages: str, exit_code: int = 1) -> None:
        self.exit_code = exit_code  # type: ignore[misc]  # click declares it a class variable
        self.messages = [" ".join(message.splitlines()) for message in messages]
        super().__init__("; ".join(self.messages))

    def show(self, file: IO[Any] | None = None) -> None:
        """Print each message as one line."""
        for message in self.messages:
            click.echo(f"error: {message}", file=file, err=True)


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
        super().__init__(name, **options)
        if self.help:  # docstrings are raw; click wants the character itself
            self.help = self.help.replace(r"\b", "\b")

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; an error that the user can mend becomes a `Failure`, others are bugs."""
        try:
            with terminable():
                return super().invoke(ctx)
        except KeyboardInterrupt as stop:
            raise Stopped(stop) from None
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


class Command(_OneLineErrors):
    """A command that reports errors in one line."""


class Group(_OneLineErrors, click.Group):
    """A group of commands that reports errors in one line."""
