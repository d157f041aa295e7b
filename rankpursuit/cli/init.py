"""``rp-init``: write a first config for your own ratings."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import click

from rankpursuit.cli._common import Command, Failure, echo, no_such
from rankpursuit.errors import DataError
from rankpursuit.experiments.names import SCHEMA, SCHEMA_LINE, shipped_folder

_CONFIG = """\
{schema}
# The paper's algorithms on {path}. All keys: `rp-run --schema`.
extends: paper  # its algorithms and grids; keys below override them
name: {name}  # results go to results/{name}/

data:  # the path is relative to this file; columns are numbers if there is no header
{data}
protocol:
  groups: {groups}  # reference users by number of rated items
  test_user_bounds: {test_user_bounds}  # number of items that a test user rated
  test_users: {test_users}  # per repeat; paper: 300
  holdout_users: {holdout_users}  # other users, on whom parameters are chosen; paper: 300
  reference_users: {reference_users}  # per task; their ratings are its features; paper: 300
  scored_share: null  # fraction of training items with a score; null: all

repeats: 10  # each with different users

algorithms:  # null drops one
  semi_supervised_ranking_pursuit: null  # for unscored items: set scored_share, such as 0.5
"""
_COLUMNS = ("user", "item", "rating")


@click.command(cls=Command, short_help="Write a first config for your own ratings.")
@click.argument("name")
@click.argument("ratings", required=False, type=click.Path(path_type=Path))
@click.option(
    "--user",
    metavar="COLUMN",
    help="Column of users: its name, or its number if there is no header.",
)
@click.option("--item", metavar="COLUMN", help="Column of items.")
@click.option("--rating", metavar="COLUMN", help="Column of ratings.")
def main(name: str, ratings: Path | None, **columns: Any) -> None:
    r"""Write NAME.yaml, a commented config that runs the paper's algorithms on your RATINGS.

    RATINGS is a file with a user, an item and a rating in each row: .csv, .tsv, .parquet, or other
    delimited text. Separator, header and columns are guessed from its first lines, and the numbers
    of users are reduced to fit it. Check the result; --user, --item and --rating correct the guess.
    Without RATINGS, writes a template to fill in.

    \b
    Examples:
      rp-init mine ratings.csv      then: rp-run mine.yaml
      rp-init movies u.data
      rp-init mine log.csv --user who --item what --rating score
      rp-init mine
    """
    if ratings is not None and not os.path.isfile(ratings):  # before the slow imports
        raise no_such("file", ratings)
    from rankpursuit.datasets.files import SEPARATORS, guess_layout, load_ratings
    from rankpursuit.experiments.config import LABEL
    from rankpursuit.experiments.protocol import Protocol, fitting_sizes
    from rankpursuit.writing import write_atomically

    name = name.removesuffix(".yaml")
    if not re.fullmatch(LABEL, name):
        raise click.UsageError(f"NAME: expected letters, digits, _ and -, got {name!r}")
    path = Path(f"{name}.yaml")
    if os.path.lexists(path):
        raise Failure(f"{path} already exists: choose another name, or remove it first")
    data: dict[str, Any] = {"path": "ratings.csv"} | {key: key for key in _COLUMNS}
    protocol = Protocol().model_dump(mode="json")
    if ratings is not None:
        hints = [f"for encoding, missing or duplicates: `rp-init {name}`, then edit {path}"]
        try:
            layout = guess_layout(ratings, **columns)
            used = ", ".join(f"{key} {layout[key]}" for key in _COLUMNS)
            hints.insert(0, f"columns: {used}; if wrong, set --user, --item and --rating")
            table = load_ratings(ratings, **layout)
        except DataError as error:
            raise Failure(str(error), f"{ratings}: {'; '.join(hints)}") from error
        echo(f"{ratings}: {table.size_text} (columns: {used})")
        sizes = fitting_sizes(table.counts, Protocol())
        if sizes is None:
            raise Failure(
                f"{ratings}: too few users, or too few ratings per user, for any experiment"
            )
        if table.n_items == table.n_ratings:
            raise Failure(f"{ratings}: no item has two ratings; {hints[0]}")
        usual = {"separator": SEPARATORS.get(ratings.suffix.lower()), "header": True}
        data = {"path": os.path.relpath(ratings)}
        data |= {key: x for key, x in layout.items() if key not in usual or x != usual[key]}
        protocol |= sizes
    lines = [f"  {key}: {_to_yaml(value)}\n" for key, value in {"name": "ratings", **data}.items()]
    config = _CONFIG.format(
        schema=f"{SCHEMA_LINE}{os.path.relpath(shipped_folder() / SCHEMA)}",
        path=_to_yaml(data["path"]),
        name=name,
        data="".join(lines),
        **{key: _to_yaml(value) for key, value in protocol.items()},
    )
    write_atomically(path, config.encode())
    echo(f"wrote {path}: check it, then rp-run {path} --dry-run, and rp-run {path}")


def _to_yaml(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
