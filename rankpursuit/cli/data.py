"""``rp-data``: list, fetch, verify and describe data sets."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rankpursuit.cli._common import Failure, Group, echo, no_such
from rankpursuit.experiments.names import suggestion

if TYPE_CHECKING:
    from rankpursuit.datasets.ratings import Ratings

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
      rp-data describe jester --plot a.png  summary and histograms
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

    Compares the SHA-256 of the files, the numbers of users, items and ratings, the range of the
    ratings, and the SHA-256 of the table, which is the same for an archive and its unpacked file.
    Reading the Jester spreadsheets for the first time takes some ten seconds.
    """
    from rankpursuit.datasets.fetch import DATA_SETS
    from rankpursuit.datasets.fetch import verify as compare
    from rankpursuit.errors import RankpursuitError

    failures = []
    for data_set in [DATA_SETS[name] for name in names or DATA_SETS]:
        echo(data_set.name)
        try:
            for what, expected, found in compare(data_set, path):
                if found == expected:
                    echo(f"  ok    {what}: {found}")
                else:
                    echo(f"  WRONG {what}: {found}, not {expected}")
                    failures.append(f"{data_set.name}: {what} is {found}, not {expected}")
        except RankpursuitError as error:  # the other data sets may still be sound
            echo("  could not be checked")
            failures.append(str(error))
    if failures:
        raise Failure(*failures)


@main.command()
@click.argument("source")
@click.option("--plot", type=click.Path(path_type=Path), help="Save histograms to this file.")
@click.option("--user", help="Column of users in a ratings file. [default: guessed]")
@click.option("--item", help="Column of items. [default: guessed]")
@click.option("--rating", help="Column of ratings. [default: guessed]")
@click.option("--separator", help="Field separator of a text file. [default: detected]")
@click.option("--no-header", is_flag=True, help="The first line is a rating; columns are 1, 2, 3.")
def describe(source: str, plot: Path | None, no_header: bool, **given: Any) -> None:
    """Describe ratings: users per group, histogram, ties, density.

    SOURCE is jester, movielens or synthetic, or a file of your own ratings with one row per
    rating: .csv, .tsv, .parquet, or other delimited text. Separator and columns are guessed as
    by rp-init; without a header, columns are numbers from 1.
    """
    if Path(source).suffix and not os.path.lexists(source):  # before the slow imports
        raise no_such("file", Path(source))
    from rankpursuit.datasets import load_named, load_ratings
    from rankpursuit.datasets.fetch import NAMES
    from rankpursuit.datasets.files import guess_layout
    from rankpursuit.datasets.ratings import check_picture, save_picture

    if plot is not None:
        check_picture(plot)
    if source in NAMES:
        ratings = load_named(source)
    elif Path(source).suffix or Path(source).exists():
        layout = guess_layout(source, header=False if no_header else None, **given)
        ratings = load_ratings(source, **layout)
    else:
        raise Failure(f"{source}: neither a file nor a data set; {suggestion(source, NAMES)}")
    synthetic = "SYNTHETIC ratings, drawn from a model; nobody gave them"
    echo(synthetic if source == "synthetic" else ratings.name)
    echo("\n".join(_description(ratings)))
    if plot is not None:
        save_picture(ratings, plot)
        echo(f"\npicture      {plot}")


def _description(ratings: Ratings) -> Iterator[str]:
    """Yield the lines that describe a table."""
    import numpy as np

    from rankpursuit.datasets.ratings import summarise

    summary, values, counts = summarise(ratings), ratings.values, ratings.counts
    yield f"users        {ratings.n_users:,}"
    yield f"items        {ratings.n_items:,}"
    yield f"ratings      {ratings.n_ratings:,}, from {values.min():g} to {values.max():g}"
    yield f"per user     {counts.min():,} to {counts.max():,}, median {np.median(counts):g}"
    yield f"density      {summary.density:.2%} of all (user, item) pairs are rated"
    yield f"ties         {summary.tied_pairs:.2%} of the pairs of a user's items are rated alike"
    yield "\nusers by how many items they rated, ends included"
    yield from (f"  {low:>4} to {high:<4} {n:>9,}" for (low, high), n in summary.groups.items())
    yield "\nratings"
    longest = int(summary.histogram.max())
    for label, count in zip(summary.labels, summary.histogram, strict=True):
        bar = "#" * round(40 * int(count) / longest)
        yield f"  {label:>16} {count:>9,} {bar}".rstrip()
