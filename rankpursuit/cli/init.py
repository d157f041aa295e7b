"""``rp-init``: write a first config for your own ratings."""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rankpursuit.cli._common import Command, Failure, echo, no_such
from rankpursuit.errors import DataError, RankpursuitError
from rankpursuit.experiments.syntax.shipped import SCHEMA, SCHEMA_LINE, shipped_folder

if TYPE_CHECKING:
    from rankpursuit.experiments.config import Experiment, Protocol


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
    from rankpursuit.experiments.config import Protocol
    from rankpursuit.experiments.syntax.sections import LABEL
    from rankpursuit.writing import write_atomically

    name = name.removesuffix(".yaml")
    if not re.fullmatch(LABEL, name):
        raise click.UsageError(f"NAME: expected letters, digits, _ and -, got {name!r}")
    path = Path(f"{name}.yaml")
    if path.exists() or path.is_symlink():
        raise Failure(f"{path} is there already: give another name, or remove it first")
    data: dict[str, Any] = {"name": "ratings", "path": "ratings.csv"}
    protocol = Protocol()
    if ratings is not None:
        data, protocol = _fit_to(ratings, columns, protocol)
    write_atomically(path, "".join(f"{line}\n" for line in _lines(name, data, protocol)).encode())
    echo(f"wrote {path}: check it, then rp-run {path} --dry-run, and rp-run {path}")


def _fit_to(
    ratings: Path, columns: dict[str, Any], protocol: Protocol
) -> tuple[dict[str, Any], Protocol]:
    """Return the section ``data`` for a ratings file, and a protocol that it has users for."""
    from rankpursuit.datasets.files import guess_layout, load_ratings
    from rankpursuit.experiments.tasks import fitting_sizes

    layout = guess_layout(ratings, **columns)
    guessed = ", ".join(f"{key} {layout[key]}" for key in ("user", "item", "rating"))
    try:
        table = load_ratings(ratings, **layout)
    except DataError as error:
        hint = f"{ratings}: guessed columns: {guessed}; if wrong, give --user, --item and --rating"
        raise Failure(str(error), hint) from error
    counts = f"{table.n_users:,} users, {table.n_items:,} items, {table.n_ratings:,} ratings"
    echo(f"{ratings}: {counts} (columns: {guessed})")
    sizes = fitting_sizes(table.counts, protocol)
    if sizes is None:
        raise Failure(f"{ratings}: too few users with enough ratings for any experiment")
    fitted = json.dumps(protocol.model_dump(mode="json") | sizes)
    data = {"name": "ratings", "path": os.path.relpath(ratings)} | _changed(layout, ratings)
    return data, type(protocol).model_validate_json(fitted)


def _changed(layout: dict[str, Any], ratings: Path) -> dict[str, Any]:
    """Return the keys of the section ``data`` whose values are not the defaults."""
    from rankpursuit.datasets.files import SEPARATORS

    header = layout["header"]
    separator = SEPARATORS.get(ratings.suffix.lower())
    usual: dict[str, Any] = {"separator": separator, "header": True, "decimal": "."}
    usual |= {key: key if header else at for at, key in enumerate(("user", "item", "rating"), 1)}
    config = {key: value for key, value in layout.items() if value != usual[key]}
    return config if header else config | {"header": None}


def _lines(name: str, data: dict[str, Any], protocol: Protocol) -> Iterator[str]:
    """Yield the lines of a config."""
    paper = type(protocol)()
    comments = {
        "path": "relative to this file",
        "separator": "between fields",
        "header": "none: the first line is a rating",
        "user": "columns: their numbers" if "header" in data else "columns: their names",
        "groups": "reference users by how many items they rated",
        "test_user_bounds": "how many items a test user rated",
        "test_users": f"users of a repeat; the paper has {paper.test_users}",
        "holdout_users": f"others, to choose parameters on; {paper.holdout_users}",
        "reference_users": f"whose ratings are the features; {paper.reference_users}",
    }

    def line(text: str, comment: str) -> str:
        return f"{text:<40}  # {comment}"

    def section(values: dict[str, Any]) -> Iterator[str]:
        for key, value in values.items():
            text = f"  {key}: {json.dumps(value, ensure_ascii=False)}"
            yield line(text, comments[key]) if key in comments else text

    yield f"{SCHEMA_LINE}{os.path.relpath(shipped_folder() / SCHEMA)}"
    yield f"# The paper's algorithms on {json.dumps(data['path'])}. All keys: `rp-run --schema`."
    yield line("extends: paper", "its algorithms and grids; keys below override them")
    yield line(f"name: {name}", f"results go to results/{name}/")
    yield "\ndata:"
    usual = enumerate(("user", "item", "rating"), start=1)
    yield from section(
        data | {key: data.get(key, at if "header" in data else key) for at, key in usual}
    )
    yield "\nprotocol:"
    yield from section(protocol.model_dump(mode="json", include=set(comments)))
    yield line("  scored_share: null", "0.5: half of the training items have no score")
    yield line("\nrepeats: 10", "each with other test users")
    yield line("\nalgorithms:", "null drops one")
    yield line("  semi_supervised_ranking_pursuit: null", "needs a scored_share")


def advice(experiment: Experiment) -> str | None:
    """Return ``--set`` options with which an experiment would run; None if none are known.

    Parameters
    ----------
    experiment : Experiment
        One whose data cannot be read as declared, or has too few users.
    """
    from rankpursuit.datasets.files import guess_layout, load_ratings
    from rankpursuit.experiments.config import ratings_of
    from rankpursuit.experiments.tasks import fitting_sizes

    changes: dict[str, Any] = {}
    try:
        try:
            ratings = ratings_of(experiment.data)
        except DataError:
            given = experiment.data.model_dump()
            if given["name"] != "ratings":
                raise
            file = Path(given["path"])
            layout = guess_layout(file)
            ratings = load_ratings(file, **layout)
            usual = {key: x.default for key, x in type(experiment.data).model_fields.items()}
            found = (
                given | usual | {"name": "ratings", "path": given["path"]} | _changed(layout, file)
            )
            changes = {f"data.{key}": found[key] for key in given if found[key] != given[key]}
    except RankpursuitError:
        return None
    sizes = fitting_sizes(ratings.counts, experiment.protocol)
    if sizes is None:
        return None
    changes |= {f"protocol.{key}": value for key, value in sizes.items()}
    words = (f"{key}={json.dumps(value, ensure_ascii=False)}" for key, value in changes.items())
    return " ".join(f"--set {shlex.quote(word)}" for word in words) or None
