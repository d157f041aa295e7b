"""What a ratings table looks like, in a few numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from rankpursuit.datasets.ratings import Ratings


@dataclass(frozen=True, eq=False)
class Summary:
    """A ratings table in a few numbers."""

    name: str
    n_users: int
    n_items: int
    n_ratings: int
    low: float
    high: float
    density: float
    """Share of all (user, item) pairs that have a rating."""
    tied_pairs: float
    """Share of the pairs of items rated by one user that the user rated alike, over all users."""
    ratings_per_user: tuple[int, float, int]
    """Least, median and most ratings of a user."""
    groups: dict[tuple[int, int], int]
    """Number of users whose number of ratings is within the bounds, ends included."""
    edges: NDArray[np.float64]
    """Edges of the histogram's bins, shape (n_bins + 1,)."""
    labels: tuple[str, ...]
    """Name of each bin: the level of a coarse scale, or the bin's ends."""
    histogram: NDArray[np.int64]
    """Number of ratings in each bin, shape (n_bins,)."""


def summarise(
    ratings: Ratings, groups: Sequence[tuple[int, int]] = ((20, 40), (40, 60), (60, 80), (50, 300))
) -> Summary:
    """Summarise a ratings table.

    Parameters
    ----------
    ratings : Ratings
        The table.
    groups : sequence of (low, high)
        Bounds on the number of ratings, within which users are counted.

    Returns
    -------
    Summary
    """
    counts = ratings.counts
    edges, labels = _bins(ratings.values)
    return Summary(
        name=ratings.name,
        n_users=ratings.n_users,
        n_items=ratings.n_items,
        n_ratings=ratings.n_ratings,
        low=float(ratings.values.min()),
        high=float(ratings.values.max()),
        density=ratings.n_ratings / (ratings.n_users * ratings.n_items),
        tied_pairs=tied_pairs(ratings),
        ratings_per_user=(int(counts.min()), float(np.median(counts)), int(counts.max())),
        groups={(a, b): int(((counts >= a) & (counts <= b)).sum()) for a, b in groups},
        edges=edges,
        labels=labels,
        histogram=np.histogram(ratings.values, edges)[0],
    )


def tied_pairs(ratings: Ratings) -> float:
    """Return the share of the pairs of a user's items that are rated alike, over all users."""
    owners = np.repeat(np.arange(ratings.n_users), ratings.counts)
    ascending = ratings.values[ratings.order_by_value]
    new_run = np.diff(ascending) != 0
    new_run |= np.diff(owners) != 0
    starts = np.concatenate([[0], np.flatnonzero(new_run) + 1, [len(ascending)]])
    runs = np.diff(starts)
    pairs = int((ratings.counts * (ratings.counts - 1)).sum())
    return int((runs * (runs - 1)).sum()) / pairs if pairs else 0.0


def _bins(values: NDArray[np.float64]) -> tuple[NDArray[np.float64], tuple[str, ...]]:
    """Return the edges and the names of one bin for each level of a coarse scale, or of 20 bins."""
    levels = np.unique(values)
    if len(levels) > 20:
        edges = np.linspace(levels[0], levels[-1], 21)
        return edges, tuple(f"{low:.2f} to {high:.2f}" for low, high in pairwise(edges))
    steps = np.diff(levels) if len(levels) > 1 else np.ones(1)
    first, last = levels[0] - steps[0] / 2, levels[-1] + steps[-1] / 2
    edges = np.concatenate([[first], (levels[1:] + levels[:-1]) / 2, [last]])
    return edges, tuple(f"{level:g}" for level in levels)
