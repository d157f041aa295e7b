"""``python -m rankpursuit``: all commands in one, for use without the scripts."""

from __future__ import annotations

import click

from rankpursuit.cli import check, data, init, report, run, tables
from rankpursuit.cli._common import Group

COMMANDS = {
    module.__name__.rpartition(".")[2]: module.main
    for module in (run, init, data, tables, report, check)
}  # each is also a script ``rp-NAME``


@click.group(cls=Group, commands=COMMANDS)
def main() -> None:
    r"""Learn to rank with few basis functions, and reproduce the paper's experiments.

    Each command is also a script: `python -m rankpursuit run` is `rp-run`.

    \b
    Getting started:
      python -m rankpursuit run demo
      python -m rankpursuit run --list
      python -m rankpursuit data list
    """
