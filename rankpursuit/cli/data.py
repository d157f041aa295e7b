"""``rp-data``: list, fetch, verify and describe data sets."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rankpursuit.cli._common import LONGEST_PATH, Failure, Group, echo, no_such

if TYPE_CHECKING:
    from rankpursuit.datasets.data_set import DataSet
    from rankpursuit.datasets.ratings import Ratings
    from rankpursuit.datasets.summary import Summary


@click.group(cls=Group)
def main() -> None:
    r"""List, fetch, verify and describe the data sets of the experiments.

    Data is looked for in $RANKPURSUIT_DATA, then in data/ of the working copy, then in the user's
    cache folder.

    \b
    A first session:
      rp-data list                          what is known, and what is here
      rp-data fetch jester                  download it (about 10 MB)
      rp-data verify jester                 is it the data of the paper?
      rp-data describe jester --plot a.png  what does it look like?
      rp-data describe mine.csv             the same for ratings of your own
    """


@main.command("list", short_help="List the known data sets, and where they are.")
def list_() -> None:
    """List the known data sets: where they are, how large, on what terms."""
    from rankpursuit.datasets.locate import data_folders, find_files
    from rankpursuit.datasets.named import DATA_SETS
    from rankpursuit.errors import DataNotFoundError

    for data_set in DATA_SETS.values():
        try:
            files = find_files(data_set)
            size = sum(file.stat().st_size for file in files)
            where = f"present in {files[0].parent}"
        except DataNotFoundError:
            size = sum(file.size for file in data_set.files)
            where = f"absent; `rp-data fetch {data_set.name}` downloads it"
        echo(f"{data_set.name:<11}{data_set.title}")
        echo(f"{'':<11}{where}")
        echo(f"{'':<11}{size / 1e6:.1f} MB; {data_set.licence}")
    echo(f"{'synthetic':<11}Synthetic ratings, drawn from a model; nobody gave them")
    echo(f"{'':<11}always present; nothing to download")
    echo(f"\nSearched, in this order: {', '.join(map(str, data_folders()))}")


@main.command(short_help="Download data sets from their owners.")
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--to", type=click.Path(path_type=Path), help="Folder to put the data into.")
@click.option(
    "--patience",
    type=click.FloatRange(min=0, min_open=True),
    default=15.0,
    show_default=True,
    help="Seconds without a byte after which an address is given up.",
)
def fetch(names: tuple[str, ...], to: Path | None, patience: float) -> None:
    """Download data sets (by default all) from their owners, and print the terms of use.

    Several addresses are tried in turn, and SHA-256 decides whether a file is right. An interrupted
    download can simply be started again: what is complete is not downloaded twice. Files go to
    --to, else to the first folder in which data is looked for (see `rp-data list`).
    """
    from rankpursuit.datasets.download import fetch as download
    from rankpursuit.datasets.locate import data_folders
    from rankpursuit.errors import DownloadError

    data_sets = _chosen(names)
    root = data_folders()[0] if to is None else to
    failures = []
    for data_set in data_sets:
        echo(f"{data_set.title}\nTerms: {data_set.terms}\nCite: {data_set.citation}")
        try:
            download(
                data_set,
                root / data_set.name,
                patience=patience,
                progress=sys.stderr.isatty(),
                report=echo,
            )
        except DownloadError as error:  # the other data sets may still be had
            failures.append(str(error))
    if failures:
        raise Failure(*failures)


@main.command()
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--path", type=click.Path(path_type=Path), help="Look here, and nowhere else.")
def verify(names: tuple[str, ...], path: Path | None) -> None:
    """Check that data sets (by default all) are those of the paper.

    Compares the SHA-256 of the files, the numbers of users, items and ratings, the range of the
    ratings, and the SHA-256 of the table that was read, which is the same for an archive and for
    its unpacked file. The first reading of the Jester spreadsheets takes about a quarter of a
    minute.
    """
    from rankpursuit.datasets.verify import verify as checks
    from rankpursuit.errors import RankpursuitError

    failures = []
    for data_set in _chosen(names):
        echo(data_set.name)
        try:
            for check in checks(data_set, path):
                found = check.found if check.passed else f"{check.found}, not {check.expected}"
                echo(f"  {'ok   ' if check.passed else 'WRONG'} {check.what}: {found}")
                if not check.passed:
                    failures.append(f"{data_set.name}: {check.what} is {found}")
        except RankpursuitError as error:  # the other data sets may still be sound
            echo("  could not be checked")
            failures.append(str(error))
    if failures:
        raise Failure(*failures)


@main.command()
@click.argument("source")
@click.option(
    "--plot",
    type=click.Path(path_type=Path),
    help="Draw a picture into this file: .png, .pdf, .svg, .jpg or .webp.",
)
@click.option("--user", default="user", show_default=True, help="Column of a ratings file.")
@click.option("--item", default="item", show_default=True, help="Column of a ratings file.")
@click.option("--rating", default="rating", show_default=True, help="Column of a ratings file.")
@click.option("--separator", help="Between the fields of a ratings file; default: by its ending.")
@click.option("--no-header", is_flag=True, help="Its first line is a rating; columns are 1, 2, 3.")
def describe(
    source: str,
    plot: Path | None,
    user: str,
    item: str,
    rating: str,
    separator: str | None,
    no_header: bool,
) -> None:
    """Describe ratings: users per group, histogram, ties, density.

    SOURCE is jester, movielens or synthetic, or a file of your own ratings: .csv, .tsv or .parquet
    with one row for each rating and the columns user, item and rating, or as --user, --item and
    --rating say.
    """
    if Path(source).suffix and not os.path.lexists(source):
        raise no_such("file", Path(source))
    from difflib import get_close_matches

    from rankpursuit.datasets import load_named, load_ratings
    from rankpursuit.datasets.named import NAMES, SYNTHETIC
    from rankpursuit.datasets.summary import summarise
    from rankpursuit.errors import DataError

    if plot is not None:
        from rankpursuit.datasets.picture import check_picture, save_picture

        check_picture(plot)
    ratings: Ratings
    if source in NAMES:
        ratings = load_named(source)
    elif Path(source).suffix or Path(source).exists():
        who, what, how = (
            int(word) if no_header and word.isdigit() else word for word in (user, item, rating)
        )
        ratings = load_ratings(
            source, user=who, item=what, rating=how, separator=separator, header=not no_header
        )
    else:
        known = f"neither a file nor one of {', '.join(NAMES)}"
        close = get_close_matches(source[:LONGEST_PATH], NAMES, n=1)
        raise DataError(f"{source}: {known}" + (f"; did you mean {close[0]}?" if close else ""))
    summary = summarise(ratings)
    if source == SYNTHETIC:
        summary = replace(summary, name="SYNTHETIC ratings, drawn from a model; nobody gave them")
    echo("\n".join(_description(summary)))
    if plot is not None:
        save_picture(ratings, summary, plot)
        echo(f"\npicture      {plot}")


def _chosen(names: tuple[str, ...]) -> list[DataSet]:
    from rankpursuit.datasets.named import DATA_SETS, known
    from rankpursuit.errors import DataError

    try:
        return [known(name) for name in dict.fromkeys(names or DATA_SETS)]
    except DataError as error:
        raise click.UsageError(str(error)) from error


def _description(summary: Summary) -> list[str]:
    least, median, most = summary.ratings_per_user
    lines = [
        summary.name,
        f"users        {summary.n_users:,}",
        f"items        {summary.n_items:,}",
        f"ratings      {summary.n_ratings:,}, from {summary.low:g} to {summary.high:g}",
        f"per user     {least:,} to {most:,}, median {median:g}",
        f"density      {summary.density:.2%} of all (user, item) pairs are rated",
        f"ties         {summary.tied_pairs:.2%} of the pairs of a user's items are rated alike",
        "",
        "users by how many items they rated, ends included",
    ]
    lines += [f"  {low:>4} to {high:<4} {n:>9,}" for (low, high), n in summary.groups.items()]
    lines += ["", "ratings"]
    longest = max(int(summary.histogram.max()), 1)
    for label, count in zip(summary.labels, summary.histogram, strict=True):
        bar = "#" * round(40 * int(count) / longest)
        lines.append(f"  {label:>16} {count:>9,} {bar}".rstrip())
    return lines
