"""``python -m rankpursuit``: every command as a word, where the scripts are not on the path."""

from __future__ import annotations

from importlib import import_module

import click

from rankpursuit.cli._common import Group

COMMANDS = ("run", "init", "data", "tables", "report", "check")  # each is a script ``rp-NAME``


class _Commands(Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        command: click.Command = import_module(f"rankpursuit.cli.{name}").main
        return command


@click.group(cls=_Commands)
def main() -> None:
    r"""Learn to rank with few basis functions, and run the paper's experiments again.

    Each command is also a script: `python -m rankpursuit run` is `rp-run`.

    \b
    A first session:
      python -m rankpursuit run demo
      python -m rankpursuit run --list
      python -m rankpursuit data list
    """
