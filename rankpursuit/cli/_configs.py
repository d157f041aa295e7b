"""What ``rp-run`` says about configs without running one: names, schema, completion."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from rankpursuit.cli._common import echo
from rankpursuit.experiments.names import shipped_configs, shipped_experiments, summary_line

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


def complete(ctx: click.Context, _: click.Parameter, word: str) -> list[CompletionItem]:
    """Return what a shell may complete a word to: the names of experiments, and files."""
    from click.shell_completion import CompletionItem

    fitting = {name: at for name, at in shipped_experiments().items() if name.startswith(word)}
    items = [CompletionItem(name, help=summary_line(at)) for name, at in fitting.items()]
    return [*items, CompletionItem(word, type="file")]


def _list() -> str:
    rows = [f"  {name:<27}{summary_line(path)}" for name, path in shipped_configs().items()]
    head = "Configs that come with rankpursuit (rp-run NAME, or extends: NAME in your own):"
    return "\n".join([head, *rows])


def _schema() -> str:
    import json

    from rankpursuit.experiments.config import json_schema

    return json.dumps(json_schema(), indent=2)


def _printing(name: str, text: Callable[[], str], help_: str) -> Callable[..., Any]:
    """Return an option that prints a text and ends the command."""

    def show(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
        if wanted:
            echo(text())
            ctx.exit()

    return click.option(
        name, is_flag=True, is_eager=True, expose_value=False, callback=show, help=help_
    )


list_option = _printing("--list", _list, "List the configs that come with rankpursuit.")
schema_option = _printing("--schema", _schema, "Print the JSON Schema of configs, for editors.")
