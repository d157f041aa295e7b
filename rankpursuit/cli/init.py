"""``rp-init``: write a first config for your own ratings."""

from __future__ import annotations

import json
import os
import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rankpursuit.cli._common import Command, Failure, echo, no_such
from rankpursuit.errors import DataError, RankpursuitError
from rankpursuit.experiments.names import SCHEMA, SCHEMA_LINE, shipped_folder

if TYPE_CHECKING:
    from rankpursuit.experiments.config import Experiment

_CONFIG = """\
{schema}
# The paper's algorithms on {path}. All keys: `rp-run --schema`.
extends: paper                            # its algorithms and grids; keys below override them
name: {name:<34}  # results go to results/{name}/

data:
{data}
protocol:
{protocol}  scored_share: null                      # 0.5: half of the training items have no score

repeats: 10                               # each with other test users

algorithms:                               # null drops one
  semi_supervised_ranking_pursuit: null   # needs a scored_share
"""
_COMMENTS = {
    "path": "relative to this file",
    "separator": "between fields",
    "header": "none: the first line is a rating",
    "user": "columns: their names, or numbers if there is no header",
    "groups": "reference users by how many items they rated",
    "test_user_bounds": "how many items a test user rated",
    "test_users": "users of a repeat; the paper has {}",
    "holdout_users": "others, to choose parameters on; {}",
    "reference_users": "whose ratings are the features; {}",
}
_COLUMNS = ("user", "item", "rating")


@click.command(cls=Command, short_help="Write a first config for your own ratings.")
@click.argument("name")
@click.argument("ratings", required=False, type=click.Path(path_type=Path))
@click.option("--user", metavar="COLUMN", help="Column of users: name, or number if no header.")
@click.option("--item", metavar="COLUMN", help="Column of items.")
@click.option("--rating", metavar="COLUMN", help="Column of ratings.")
def main(name: str, ratings: Path | None, **columns: Any) -> None:
    r"""Write NAME.yaml, a commented config that runs the paper's algorithms on your RATINGS.

    RATINGS is a file with a user, an item and a rating in each row: .csv, .tsv, .parquet, or other
    delimited text. Separator, header and columns are guessed from its first lines, and the numbers
    of users are lowered to what it has. Check the result; --user, --item and --rating correct the
    guess. Without RATINGS, fill in the config yourself.

    \b
    Examples:
      rp-init mine ratings.csv      then: rp-run mine.yaml
      rp-init movies u.data
      rp-init mine log.csv --user who --item what --rating score
      rp-init mine
    """
    if ratings is not None and not os.path.isfile(ratings):  # before the slow imports
        raise no_such("file", ratings)
    from rankpursuit.datasets.files import guess_layout, load_ratings
    from rankpursuit.experiments.config import LABEL
    from rankpursuit.experiments.protocol import Protocol, fitting_sizes
    from rankpursuit.writing import write_atomically

    name = name.removesuffix(".yaml")
    if not re.fullmatch(LABEL, name):
        raise click.UsageError(f"NAME: expected letters, digits, _ and -, got {name!r}")
    path = Path(f"{name}.yaml")
    if path.exists() or path.is_symlink():
        raise Failure(f"{path} is there already: give another name, or remove it first")
    data: dict[str, Any] = {"path": "ratings.csv"} | {key: key for key in _COLUMNS}
    protocol = paper = Protocol().model_dump(mode="json")
    if ratings is not None:
        layout = guess_layout(ratings, **columns)
        guessed = ", ".join(f"{key} {layout[key]}" for key in _COLUMNS)
        try:
            table = load_ratings(ratings, **layout)
        except DataError as error:
            hint = f"guessed columns: {guessed}; if wrong, give --user, --item and --rating"
            raise Failure(str(error), f"{ratings}: {hint}") from error
        echo(f"{ratings}: {table.sizes} (columns: {guessed})")
        sizes = fitting_sizes(table.counts, Protocol())
        if sizes is None:
            raise Failure(f"{ratings}: too few users with enough ratings for any experiment")
        data = {"path": os.path.relpath(ratings), **_section(layout, ratings)}
        protocol = paper | sizes
    config = _CONFIG.format(
        schema=f"{SCHEMA_LINE}{os.path.relpath(shipped_folder() / SCHEMA)}",
        path=json.dumps(data["path"]),
        name=name,
        data=_lines({"name": "ratings", **data}, paper),
        protocol=_lines({key: protocol[key] for key in _COMMENTS if key in protocol}, paper),
    )
    write_atomically(path, config.encode())
    echo(f"wrote {path}: check it, then rp-run {path} --dry-run, and rp-run {path}")


def _section(layout: dict[str, Any], ratings: Path) -> dict[str, Any]:
    """Return a layout as keys of the section ``data``, without defaults except for columns."""
    from rankpursuit.datasets.files import SEPARATORS

    usual = {"separator": SEPARATORS.get(ratings.suffix.lower()), "header": True}
    section = {key: x for key, x in layout.items() if key not in usual or x != usual[key]}
    return section | ({} if layout["header"] else {"header": None})


def _lines(values: dict[str, Any], paper: dict[str, Any]) -> str:
    """Return keys of a config as commented lines."""
    lines = ""
    for key, value in values.items():
        comment = _COMMENTS.get(key, "").format(paper.get(key))
        text = f"  {key}: {json.dumps(value, ensure_ascii=False)}"
        lines += f"{text:<40}  # {comment}\n" if comment else f"{text}\n"
    return lines


def advice(experiment: Experiment) -> str | None:
    """Return ``--set`` options with which an experiment would run; None if none are known."""
    from rankpursuit.datasets.files import guess_layout, load_ratings
    from rankpursuit.experiments.config import ratings_of
    from rankpursuit.experiments.protocol import fitting_sizes

    changes: dict[str, Any] = {}
    given = experiment.data.model_dump()
    try:
        try:
            ratings = ratings_of(experiment.data)
        except DataError:
            if given["name"] != "ratings":
                raise
            layout = guess_layout(given["path"])
            ratings = load_ratings(given["path"], **layout)
            section = _section(layout, Path(given["path"]))
            changes = {f"data.{key}": x for key, x in section.items() if x != given.get(key)}
    except RankpursuitError:
        return None
    sizes = fitting_sizes(ratings.counts, experiment.protocol)
    if sizes is None:
        return None
    changes |= {f"protocol.{key}": value for key, value in sizes.items()}
    words = (f"{key}={json.dumps(value, ensure_ascii=False)}" for key, value in changes.items())
    return " ".join(f"--set {shlex.quote(word)}" for word in words) or None
