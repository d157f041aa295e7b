"""A picture of a ratings table: what ratings people gave, and how many."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from rankpursuit.datasets.ratings import Ratings
from rankpursuit.datasets.summary import Summary
from rankpursuit.errors import OutputError
from rankpursuit.writing import check_output, replacing

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ENDINGS = (".jpg", ".pdf", ".png", ".svg", ".webp")
"""Formats of a picture."""


def save_picture(ratings: Ratings, summary: Summary, path: Path) -> None:
    """Draw the histogram of ratings and that of the users' numbers of ratings, and save it.

    Parameters
    ----------
    ratings : Ratings
        The table.
    summary : Summary
        Its summary.
    path : Path
        File to write; its ending, one of `ENDINGS`, gives the format.

    Raises
    ------
    OutputError
        If it cannot be written.
    """
    check_picture(path)
    figure = draw_picture(ratings, summary)
    with replacing(path) as file:
        figure.savefig(file, format=path.suffix[1:].lower(), dpi=120)


def draw_picture(ratings: Ratings, summary: Summary) -> Figure:
    """Draw the histogram of ratings and that of the users' numbers of ratings."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    figure = Figure(figsize=(12, 4), layout="constrained")
    given, number = figure.subplots(1, 2)
    given.bar(
        summary.edges[:-1],
        summary.histogram / summary.n_ratings,
        width=np.diff(summary.edges),
        align="edge",
        edgecolor="white",
        color="tab:blue",
    )
    given.set(xlabel="rating", ylabel="share of all ratings", title="How the ratings are spread")
    most = summary.ratings_per_user[2]
    first, last = summary.ratings_per_user[0], min(most, 300)
    width = -(-(last - first + 1) // 100)  # whole numbers: others would alias with the counts
    bins = np.arange(first, last + width + 1, width) - 0.5
    number.hist(ratings.counts[ratings.counts <= last], bins=bins, color="tab:gray")
    paper = [bounds for bounds in summary.groups if bounds[1] - bounds[0] <= 20]
    for (low, high), color in zip(paper, ("tab:orange", "tab:green", "tab:red"), strict=False):
        label = f"{low}-{high}: {summary.groups[low, high]:,} users"
        number.axvspan(low - 0.5, high + 0.5, alpha=0.25, zorder=0, color=color, label=label)
    beyond = int((ratings.counts > last).sum())
    note = f" ({beyond:,} users beyond {last} not shown)" if beyond else ""
    number.set(
        xlabel=f"ratings of a user{note}", ylabel="users", title="How many ratings a user has"
    )
    number.yaxis.set_major_locator(MaxNLocator(integer=True))
    number.yaxis.set_major_formatter("{x:,.0f}")
    if paper:
        figure.legend(title="Groups of reference users", loc="outside right upper", frameon=False)
    figure.suptitle(
        f"{summary.name}: {summary.n_users:,} users, {summary.n_items:,} items, "
        f"{summary.n_ratings:,} ratings"
    )
    return figure


def check_picture(path: Path) -> None:
    """Refuse a name that a picture cannot have, before any work is done for it.

    Raises
    ------
    OutputError
        If its ending is none of `ENDINGS`, its folder is not there, or something that is no regular
        file has the name.
    """
    check_output(path)
    if path.suffix.lower() not in ENDINGS:
        raise OutputError(f"{path}: the name of a picture ends in {', '.join(ENDINGS)}")
    if not path.parent.is_dir():
        raise OutputError(f"{path}: there is no folder {path.parent}")
