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
_TABLES = (".csv", ".tsv", ".tab", ".txt", ".data", ".dat", ".gz", ".zip", ".xlsx", ".xls")


@click.command(cls=Command, short_help="Write a first config for your own ratings.")
@click.argument("words", nargs=-1, required=True, metavar="[NAME] [RATINGS]")
@click.option(
    "--user",
    metavar="COLUMN",
    help="Column of users: its name, or its number if there is no header.",
)
@click.option("--item", metavar="COLUMN", help="Column of items.")
@click.option("--rating", metavar="COLUMN", help="Column of ratings.")
@click.option(
    "--missing",
    multiple=True,
    metavar="VALUE",
    help='A rating that means "not rated", such as 99; repeatable. Default: guessed.',
)
@click.option(
    "--melt",
    is_flag=True,
    help="RATINGS is a matrix, with a row per user: write NAME_ratings.csv, with a row per rating.",
)
def main(words: tuple[str, ...], missing: tuple[str, ...], melt: bool, **columns: Any) -> None:
    r"""Write NAME.yaml, a commented config that runs the paper's algorithms on your RATINGS.

    RATINGS is a file with a user, an item and a rating in each row: delimited text such as .csv,
    also as .gz or .zip, .xlsx, .xls or .parquet. Encoding, separator, header, columns, ratings that
    mean "not rated" and repeated ratings are guessed, and the numbers of users are reduced to fit
    it. Check the result; --user, --item, --rating and --missing correct the guess. NAME is by
    default that of the file. Without RATINGS, writes a template to fill in.

    \b
    Examples:
      rp-init ratings.csv           then: rp-run ratings.yaml
      rp-init movies u.data
      rp-init mine log.csv --user who --item what --rating score
      rp-init jokes.xls --melt      a matrix with a row per user
      rp-init mine
    """
    name, ratings = _name_and_file(words)
    if ratings is not None and not os.path.isfile(ratings):  # before the slow imports
        raise no_such("file", ratings)
    from rankpursuit.datasets.files import melt_matrix
    from rankpursuit.experiments.config import LABEL
    from rankpursuit.experiments.protocol import Protocol
    from rankpursuit.writing import write_atomically

    if not re.fullmatch(LABEL, name):
        raise click.UsageError(f"NAME: expected letters, digits, _ and -, got {name!r}")
    path, melted = Path(f"{name}.yaml"), Path(f"{name}_ratings.csv")
    for output in (path, melted)[: 1 + melt]:
        if os.path.lexists(output):
            raise Failure(f"{output} already exists: choose another name, or remove it first")
    data: dict[str, Any] = {"path": "ratings.csv"} | {key: key for key in _COLUMNS}
    reasons: dict[str, str] = {}
    protocol = Protocol().model_dump(mode="json")
    if ratings is not None:
        if melt:
            melt_matrix(ratings, melted)
            echo(f"wrote {melted}: the ratings of {ratings}, one per row")
            ratings = melted
        data, reasons, sizes = _inspect(ratings, missing, columns)
        protocol |= sizes
    data = {"name": "ratings", **data}
    comments = {key: f"  # {reason}" for key, reason in reasons.items()}
    lines = [f"  {key}: {_to_yaml(x)}{comments.get(key, '')}\n" for key, x in data.items()]
    config = _CONFIG.format(
        schema=f"{SCHEMA_LINE}{os.path.relpath(shipped_folder() / SCHEMA)}",
        path=_to_yaml(data["path"]),
        name=name,
        data="".join(lines),
        **{key: _to_yaml(value) for key, value in protocol.items()},
    )
    write_atomically(path, config.encode())
    echo(f"wrote {path}: check it, then rp-run {path} --dry-run, and rp-run {path}")


def _name_and_file(words: tuple[str, ...]) -> tuple[str, Path | None]:
    """Return the name of the config and the file of ratings, given in any order."""
    if len(words) > 2:
        raise click.UsageError(f"expected a name and a file of ratings, got {len(words)} words")
    files = [word for word in words if os.path.isfile(word)]
    files += [word for word in words if Path(word).suffix.lower() in _TABLES]
    if len(words) == 2:
        file = files[0] if files and words[1] not in files else words[1]
        name = words[words.index(file) - 1]
        return name.removesuffix(".yaml"), Path(file)
    if not files:
        return words[0].removesuffix(".yaml"), None
    stem = Path(words[0]).name.split(".")[0]
    return re.sub(r"[^A-Za-z0-9_-]+", "_", stem).strip("_-")[:100] or "ratings", Path(words[0])


def _inspect(
    ratings: Path, missing: tuple[str, ...], columns: dict[str, Any]
) -> tuple[dict[str, Any], dict[str, str], dict[str, Any]]:
    """Return the keys of a file's data, the reasons for some of them, and fitting sizes."""
    from rankpursuit.datasets.files import SEPARATORS, guess_exceptions, guess_layout, load_ratings
    from rankpursuit.experiments.protocol import Protocol, fitting_sizes

    hint = ""
    try:
        layout = guess_layout(ratings, **columns)
        used = ", ".join(f"{key} {layout[key]}" for key in _COLUMNS)
        hint = (
            f"columns: {used}; if wrong, set --user, --item and --rating; for all else, `rp-init "
            "NAME` writes a template to edit"
        )
        exceptions = guess_exceptions(ratings, layout | {"missing": missing})
        layout |= {key: value for key, (value, _) in exceptions.items()}
        table = load_ratings(ratings, **layout)
    except DataError as error:
        raise Failure(str(error), *[f"{ratings}: {hint}"] * bool(hint)) from error
    span = f"from {table.values.min():g} to {table.values.max():g}"
    echo(f"{ratings}: {table.size_text} {span} (columns: {used})")
    for key, (value, reason) in exceptions.items():
        echo(f"{key}: {_to_yaml(value)}: {reason}")
    sizes = fitting_sizes(table.counts, Protocol())
    if sizes is None:
        raise Failure(f"{ratings}: too few users, or too few ratings per user, for any experiment")
    if table.n_items == table.n_ratings:
        raise Failure(f"{ratings}: no item has two ratings; {hint}")
    usual = {"separator": SEPARATORS.get(ratings.suffix.lower()), "header": True}
    data = {"path": os.path.relpath(ratings)}
    data |= {key: x for key, x in layout.items() if key not in usual or x != usual[key]}
    return data, {key: reason for key, (_, reason) in exceptions.items()}, sizes


def _to_yaml(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
