"""``rp-init``: write a first config for ratings of one's own."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rankpursuit.cli._common import Command, Failure, echo, no_such
from rankpursuit.experiments.names import SCHEMA, SCHEMA_LINE, shipped_folder

if TYPE_CHECKING:
    from rankpursuit.experiments.config import Protocol

_COMMENTS_AT = 40
"""Column in which comments begin."""


@click.command(cls=Command, short_help="Write a first config for ratings of your own.")
@click.argument("name")
@click.argument("ratings", required=False, type=click.Path(path_type=Path))
@click.option(
    "--user", metavar="COLUMN", help="Column of users: its name; its number without a header."
)
@click.option("--item", metavar="COLUMN", help="Column of items.")
@click.option("--rating", metavar="COLUMN", help="Column of ratings.")
def main(name: str, ratings: Path | None, **columns: str | None) -> None:
    r"""Write NAME.yaml, a commented config that runs the paper's algorithms on your RATINGS.

    RATINGS is a file with a user, an item and a rating in each row: .csv, .tsv, .parquet, or text
    of any ending. Separator, header and columns are found by looking at it, and numbers of users
    are chosen that it has enough for. Look the result over: it is a guess, which --user, --item
    and --rating correct. Without RATINGS, fill in the config yourself.

    \b
    Examples:
      rp-init mine ratings.csv      then: rp-run mine.yaml
      rp-init movies u.data
      rp-init mine log.csv --user who --item what --rating score
      rp-init mine
    """
    if ratings is not None and not os.path.isfile(ratings):  # told at once: imports take a second
        raise no_such("file", ratings)
    from rankpursuit.experiments.config import LABEL, Protocol
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
        given = {key: column for key, column in columns.items() if column is not None}
        data, protocol = _fitted(ratings, protocol, given)
    lines = _lines(name, data, protocol)
    write_atomically(path, "".join(f"{line}\n" for line in lines).encode())
    echo(f"wrote {path}: look it over, then rp-run {path} --dry-run, and rp-run {path}")


def _fitted(
    ratings: Path, protocol: Protocol, given: dict[str, str]
) -> tuple[dict[str, Any], Protocol]:
    """Return the section ``data`` for a file of ratings, and a protocol that it has users for."""
    from rankpursuit.datasets.guess import guess_layout
    from rankpursuit.errors import DataError
    from rankpursuit.experiments.protocol import fitting_sizes

    layout = guess_layout(ratings)
    columns: dict[str, Any] = {
        key: int(word) if word.isdigit() and not layout.header else word
        for key, word in given.items()
    }
    layout = replace(layout, **columns)
    taken = f"user {layout.user}, item {layout.item}, rating {layout.rating}"
    try:
        table = layout.load(ratings)
    except DataError as error:
        raise Failure(
            str(error),
            f"{ratings}: the columns were taken to be: {taken}; if they are others, "
            "give --user, --item and --rating",
        ) from error
    echo(
        f"{ratings}: {table.n_users:,} users, {table.n_items:,} items, {table.n_ratings:,} ratings"
        f" (columns: {taken})"
    )
    sizes = fitting_sizes(table.counts, protocol)
    if sizes is None:
        raise Failure(f"{ratings}: too few users with enough ratings for any experiment")
    fitted = protocol.model_dump(mode="json") | sizes
    return layout.as_config(ratings), type(protocol).model_validate_json(json.dumps(fitted))


def _lines(name: str, data: dict[str, Any], protocol: Protocol) -> Iterator[str]:
    """Yield the lines of a config."""
    yield f"{SCHEMA_LINE}{shipped_folder() / SCHEMA}"
    yield f"# The paper's algorithms on {json.dumps(data['path'])}. All keys: `rp-run --schema`."
    yield _line("extends: paper", "its algorithms and grids; yours below win")
    yield _line(f"name: {name}", f"results go to results/{name}/")
    yield ""
    yield "data:"
    yield "  name: ratings"
    shown = {"user": "user", "item": "item", "rating": "rating"} | data
    if "header" in data:
        shown |= {key: data.get(key, at) for at, key in enumerate(("user", "item", "rating"), 1)}
    comments = {
        "path": "relative to this file",
        "separator": "between fields",
        "header": "none: the first line is a rating already",
        "user": "columns: their names" if "header" not in data else "columns: their numbers",
    }
    for key in ("path", "separator", "header", "user", "item", "rating"):
        if key in shown:
            yield _line(f"  {key}: {json.dumps(shown[key], ensure_ascii=False)}", comments.get(key))
    yield ""
    yield "protocol:"
    paper = type(protocol)()
    comments = {
        "groups": "reference users by how many items they rated",
        "test_user_bounds": "how many items a test user rated",
        "test_users": f"users of a repeat; the paper has {paper.test_users}",
        "holdout_users": f"others, to choose parameters on; {paper.holdout_users}",
        "reference_users": f"whose ratings are the features; {paper.reference_users}",
    }
    for key, value in protocol.model_dump(mode="json", include=set(comments)).items():
        yield _line(f"  {key}: {json.dumps(value)}", comments[key])
    yield _line("  scored_share: null", "0.5: half of the training items have no score")
    yield ""
    yield _line("repeats: 10", "each with other test users")
    yield ""
    yield _line("algorithms:", "null drops one")
    yield _line("  semi_supervised_ranking_pursuit: null", "needs a scored_share")


def _line(text: str, comment: str | None) -> str:
    return f"{text:<{_COMMENTS_AT}}  # {comment}" if comment else text
