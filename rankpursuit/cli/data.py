"""``rp-data``: list, fetch, verify and describe data sets."""

from __future__ import annotations

import os
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import click

from rankpursuit.cli._common import Failure, Group, echo, no_such
from rankpursuit.experiments.names import suggestion

_names = click.argument(
    "names", nargs=-1, metavar="[NAME]...", type=click.Choice(("jester", "movielens"))
)


@click.group(cls=Group)
def main() -> None:
    r"""List, fetch, verify and describe the data sets of the experiments.

    Data is searched in $RANKPURSUIT_DATA, then in data/ of the working copy, then in the user's
    cache folder.

    \b
    A first session:
      rp-data list                          known data sets, and where they are
      rp-data fetch jester                  download it (about 10 MB)
      rp-data verify jester                 compare it with the data of the paper
      rp-data describe jester               its size and a histogram
      rp-data describe mine.csv             the same for your own ratings
    """


@main.command("list", short_help="List the known data sets, and where they are.")
def list_() -> None:
    """List the known data sets with their place, size and terms of use."""
    from rankpursuit.datasets.fetch import DATA_SETS, data_folders, find_files
    from rankpursuit.errors import DataNotFoundError

    for data_set in DATA_SETS.values():
        try:
            files = find_files(data_set)
            size = sum(file.stat().st_size for file in files)
            where = f"present in {files[0].parent}"
        except DataNotFoundError:
            size = data_set.size
            where = f"absent; `rp-data fetch {data_set.name}` downloads it"
        about = f"{size / 1e6:.1f} MB; {data_set.terms}"
        echo(f"{data_set.name:<11}{data_set.title}\n{'':<11}{where}\n{'':<11}{about}")
    echo(f"{'synthetic':<11}Synthetic ratings, drawn from a model; nobody gave them")
    echo(f"\nSearched, in this order: {', '.join(map(str, data_folders()))}")


@main.command(short_help="Download data sets from their owners.")
@_names
@click.option("--to", type=click.Path(path_type=Path), help="Folder to put the data into.")
def fetch(names: tuple[str, ...], to: Path | None) -> None:
    """Download data sets (by default all) from their owners, and print the terms of use.

    Several addresses are tried in turn, and each file is checked by its SHA-256. Re-run the same
    command to resume: complete files are not downloaded again. Files go to --to, or to the first
    folder that is searched for data (see `rp-data list`).
    """
    from rankpursuit.datasets.fetch import DATA_SETS, data_folders, download
    from rankpursuit.errors import DownloadError

    root, failures = to or data_folders()[0], []
    for data_set in [DATA_SETS[name] for name in names or DATA_SETS]:
        echo(f"{data_set.title}\nTerms: {data_set.terms}\nCite: {data_set.citation}")
        folder, progress = root / data_set.name, sys.stderr.isatty()
        try:
            download(data_set, folder, progress=progress, report=echo)
        except DownloadError as error:  # the other data sets may still be available
            failures.append(str(error))
    if failures:
        raise Failure(*failures)


@main.command()
@_names
@click.option("--path", type=click.Path(path_type=Path), help="Search only here.")
def verify(names: tuple[str, ...], path: Path | None) -> None:
    """Check that data sets (by default all) are those of the paper.

    Compares the SHA-256 of the files, and of the table, which is the same for an archive and its
    unpacked file. Reading the Jester spreadsheets for the first time takes some ten seconds.
    """
    from rankpursuit.datasets.fetch import DATA_SETS, file_sha256, find_files, load_named
    from rankpursuit.errors import RankpursuitError

    failures = []
    for data_set in [DATA_SETS[name] for name in names or DATA_SETS]:
        echo(data_set.name)
        published = {file.name: file.sha256 for file in data_set.files}
        try:
            files = [file for file in find_files(data_set, path) if file.name in published]
            checks = [(str(file), published[file.name], file_sha256(file)) for file in files]
            table = load_named(data_set.name, path)
            checks.append(("the table", data_set.table_sha256, table.checksum()))
        except RankpursuitError as error:  # the other data sets may still be sound
            failures.append(str(error))
            continue
        for what, expected, found in checks:
            echo(f"  {'ok   ' if found == expected else 'WRONG'} SHA-256 of {what}: {found}")
            if found != expected:
                failures.append(f"{data_set.name}: SHA-256 of {what} is {found}, not {expected}")
        echo(f"        {table.sizes}")
    if failures:
        raise Failure(*failures)


@main.command()
@click.argument("source")
@click.option("--user", help="Column of users in a ratings file. [default: guessed]")
@click.option("--item", help="Column of items. [default: guessed]")
@click.option("--rating", help="Column of ratings. [default: guessed]")
@click.option("--separator", help="Field separator of a text file. [default: detected]")
@click.option("--no-header", is_flag=True, help="The first line is a rating; columns are 1, 2, 3.")
def describe(source: str, no_header: bool, **given: Any) -> None:
    """Describe ratings: users per group, histogram, density.

    SOURCE is jester, movielens or synthetic, or a file of your own ratings with one row per
    rating: .csv, .tsv, .parquet, or other delimited text. Separator and columns are guessed as
    by rp-init; without a header, columns are numbers from 1.
    """
    if Path(source).suffix and not os.path.lexists(source):  # before the slow imports
        raise no_such("file", Path(source))
    import numpy as np

    from rankpursuit.datasets import load_named, load_ratings
    from rankpursuit.datasets.fetch import NAMES
    from rankpursuit.datasets.files import guess_layout

    if source in NAMES:
        ratings = load_named(source)
    elif Path(source).suffix or Path(source).exists():
        layout = guess_layout(source, header=False if no_header else None, **given)
        ratings = load_ratings(source, **layout)
    else:
        raise Failure(f"{source}: neither a file nor a data set; {suggestion(source, NAMES)}")
    synthetic = "SYNTHETIC ratings, drawn from a model; nobody gave them"
    echo(synthetic if source == "synthetic" else ratings.name)
    values, counts = ratings.values, ratings.counts
    echo(f"users        {ratings.n_users:,}")
    echo(f"items        {ratings.n_items:,}")
    echo(f"ratings      {ratings.n_ratings:,}, from {values.min():g} to {values.max():g}")
    echo(f"per user     {counts.min():,} to {counts.max():,}, median {np.median(counts):g}")
    density = ratings.n_ratings / (ratings.n_users * ratings.n_items)
    echo(f"density      {density:.2%} of all (user, item) pairs are rated")
    echo("\nusers by how many items they rated, ends included")
    for low, high in ((20, 40), (40, 60), (60, 80), (50, 300)):
        echo(f"  {low:>4} to {high:<4} {((counts >= low) & (counts <= high)).sum():>9,}")
    echo("\nratings")
    levels, numbers = np.unique(values, return_counts=True)
    labels = [f"{level:g}" for level in levels]
    if len(levels) > 20:
        numbers, edges = np.histogram(values, bins=20)
        labels = [f"{low:.2f} to {high:.2f}" for low, high in pairwise(edges)]
    for label, number in zip(labels, numbers, strict=True):
        echo(f"  {label:>16} {number:>9,} {'#' * round(40 * number / numbers.max())}".rstrip())
