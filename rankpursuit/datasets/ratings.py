"""The ratings table, its summary, and its histograms as a figure."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankpursuit.errors import DataError, OutputError
from rankpursuit.writing import check_output, replacing

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ARRAYS = ("user_ids", "item_ids", "offsets", "items", "values")
LARGEST_RATING = 1e15  # beyond it integers are not exact, and squares soon overflow


@dataclass(frozen=True, eq=False, repr=False)
class Ratings:
    """An immutable table of ratings, stored user by user.

    Users and items are numbered from 0; `user_ids` and `item_ids` keep the labels of the source.
    Build one with `Ratings.from_arrays`, which checks its input, or with one of the loaders.

    Parameters
    ----------
    name : str
        Name of the table in messages.
    user_ids, item_ids : array of shape (n_users,) and (n_items,)
        Labels of the users and the items in the source.
    offsets : int64 array of shape (n_users + 1,)
        The ratings of user u are those from ``offsets[u]`` up to ``offsets[u + 1]``.
    items : int32 array of shape (n_ratings,)
        The rated items, ascending within a user.
    values : float64 array of shape (n_ratings,)
        The ratings.
    """

    name: str
    user_ids: NDArray[Any]
    item_ids: NDArray[Any]
    offsets: NDArray[np.int64]
    items: NDArray[np.int32]
    values: NDArray[np.float64]

    def __post_init__(self) -> None:
        for value in self.__dict__.values():
            if isinstance(value, np.ndarray):
                value.flags.writeable = False

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.__post_init__()  # arrays are writeable after unpickling

    def __repr__(self) -> str:
        return f"<Ratings {self.name}: {self.sizes}>"

    @property
    def sizes(self) -> str:
        """Numbers of users, items and ratings in words."""
        return f"{self.n_users:,} users, {self.n_items:,} items, {self.n_ratings:,} ratings"

    @classmethod
    def from_arrays(
        cls,
        users: ArrayLike,
        items: ArrayLike,
        values: ArrayLike,
        *,
        name: str = "ratings",
        bounds: tuple[float, float] | None = None,
    ) -> Ratings:
        """Build a table from three columns of equal length, in any order, without duplicates.

        Parameters
        ----------
        users, items : array-like of shape (n_ratings,)
            Labels, numbers or strings. They are numbered in ascending order of the label.
        values : array-like of shape (n_ratings,)
            The ratings: finite numbers.
        name : str
            Name of the table in messages.
        bounds : (low, high), optional
            Smallest and largest rating allowed.
        """
        user_labels, item_labels = np.asarray(users), np.asarray(items)
        try:
            scores = np.asarray(values, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise DataError(f"{name}: ratings must be numbers ({error})") from error
        if not user_labels.shape == item_labels.shape == scores.shape or scores.ndim != 1:
            raise DataError(f"{name}: users, items and ratings must be columns of one length")
        if scores.size == 0:
            raise DataError(f"{name}: there are no ratings")
        low, high = bounds or (-LARGEST_RATING, LARGEST_RATING)
        bad = np.flatnonzero(~((scores >= low) & (scores <= high)))
        if bad.size:
            value = f"the rating {scores[bad[0]]:g} is outside {low:g} to {high:g}"
            raise DataError(f"{name}, row {bad[0] + 1}: {value}")
        user_ids, user_codes = _number(user_labels, name)
        item_ids, item_codes = _number(item_labels, name)
        # One integer per (user, item) sorts faster than two keys.
        keys = user_codes.astype(np.int64) * len(item_ids) + item_codes
        order = np.argsort(keys, kind="stable")
        same = np.flatnonzero(np.diff(keys[order]) == 0)
        if same.size:
            first, second = order[same[0]], order[same[0] + 1]
            raise DataError(
                f"{name}: user {user_labels[first]} rated item {item_labels[first]} twice, in rows "
                f"{first + 1} and {second + 1}; keep one of them"
            )
        counts = np.bincount(user_codes, minlength=len(user_ids))
        return cls(
            name=name,
            user_ids=user_ids,
            item_ids=item_ids,
            offsets=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
            items=item_codes[order].astype(np.int32),
            values=scores[order],
        )

    @property
    def n_users(self) -> int:
        """Number of users."""
        return len(self.user_ids)

    @property
    def n_items(self) -> int:
        """Number of items."""
        return len(self.item_ids)

    @property
    def n_ratings(self) -> int:
        """Number of ratings."""
        return len(self.values)

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        """Number of ratings of each user, shape (n_users,)."""
        return _read_only(np.diff(self.offsets))

    @cached_property
    def medians(self) -> NDArray[np.float64]:
        """Median over each user's own ratings, shape (n_users,)."""
        ascending = self.values[self.order_by_value]
        lower = ascending[self.offsets[:-1] + (self.counts - 1) // 2]
        upper = ascending[self.offsets[:-1] + self.counts // 2]
        return _read_only((lower + upper) / 2)

    @cached_property
    def means(self) -> NDArray[np.float64]:
        """Mean over each user's own ratings, shape (n_users,)."""
        return _read_only(np.add.reduceat(self.values, self.offsets[:-1]) / self.counts)

    @property
    def order_by_value(self) -> NDArray[np.intp]:
        """Order of the ratings, shape (n_ratings,): by user, and ascending within a user."""
        owners = np.repeat(np.arange(self.n_users), self.counts)
        return np.lexsort((self.values, owners))

    def user_items(self, user: int) -> NDArray[np.int32]:
        """Items that `user` rated, ascending, shape (n,)."""
        return self.items[self._of(user)]

    def user_ratings(self, user: int) -> NDArray[np.float64]:
        """Ratings of `user`, shape (n,), in the order of `user_items`."""
        return self.values[self._of(user)]

    def checksum(self) -> str:
        """SHA-256 of the contents, independent of the file format, as 64 hex digits."""
        digest = hashlib.sha256()
        for field in ARRAYS:
            array = getattr(self, field)
            digest.update(f"{field} {array.dtype.str} {array.shape};".encode())
            digest.update(np.ascontiguousarray(array).data)
        return digest.hexdigest()

    def _of(self, user: int) -> slice:
        if not 0 <= user < self.n_users:
            raise IndexError(f"{self.name}: no user {user}; the last is {self.n_users - 1}")
        return slice(self.offsets[user], self.offsets[user + 1])


def _number(labels: NDArray[Any], name: str) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """Return the distinct labels, ascending, and the number of each row's label."""
    if labels.dtype != object:
        ids, codes = np.unique(labels, return_inverse=True)
        return ids, codes
    # Sort the distinct objects only: an array of text takes for every row as much as its longest.
    import pandas as pd

    codes, distinct = pd.factorize(labels)
    if codes.min() < 0 or len({isinstance(label, str) for label in distinct}) > 1:
        raise DataError(f"{name}: labels must be all numbers or all text, none missing")
    ids, ranks = np.unique(np.array(distinct.tolist()), return_inverse=True)
    return ids, ranks[codes]


def _read_only(array: NDArray[Any]) -> NDArray[Any]:
    array.flags.writeable = False
    return array


class Summary(NamedTuple):
    """Statistics of a ratings table."""

    density: float  # fraction of all (user, item) pairs that have a rating
    tied_pairs: float  # fraction of the pairs of a user's items that have equal ratings
    groups: dict[tuple[int, int], int]  # users by inclusive bounds on their number of ratings
    edges: NDArray[np.float64]  # of the histogram of ratings, shape (n_bins + 1,)
    labels: tuple[str, ...]  # of the bins: levels of a coarse scale, or ends of the bins
    histogram: NDArray[np.int64]  # number of ratings in each bin, shape (n_bins,)


def summarise(
    ratings: Ratings, groups: Sequence[tuple[int, int]] = ((20, 40), (40, 60), (60, 80), (50, 300))
) -> Summary:
    """Summarise a ratings table; `groups` are bounds on the number of ratings of a user."""
    counts = ratings.counts
    order = ratings.order_by_value
    owners = np.repeat(np.arange(ratings.n_users), counts)
    new_run = (np.diff(ratings.values[order]) != 0) | (np.diff(owners) != 0)
    runs = np.diff(np.concatenate([[0], np.flatnonzero(new_run) + 1, [ratings.n_ratings]]))
    n_pairs = int((counts * (counts - 1)).sum())
    levels = np.unique(ratings.values)
    if len(levels) > 20:
        edges = np.linspace(levels[0], levels[-1], 21)
        labels = tuple(f"{low:.2f} to {high:.2f}" for low, high in pairwise(edges))
    else:
        steps = np.diff(levels) if len(levels) > 1 else np.ones(1)
        ends = levels[0] - steps[0] / 2, levels[-1] + steps[-1] / 2
        edges = np.concatenate([ends[:1], (levels[1:] + levels[:-1]) / 2, ends[1:]])
        labels = tuple(f"{level:g}" for level in levels)
    return Summary(
        density=ratings.n_ratings / (ratings.n_users * ratings.n_items),
        tied_pairs=int((runs * (runs - 1)).sum()) / max(n_pairs, 1),
        groups={(a, b): int(((counts >= a) & (counts <= b)).sum()) for a, b in groups},
        edges=edges,
        labels=labels,
        histogram=np.histogram(ratings.values, edges)[0],
    )


def check_picture(path: Path) -> None:
    """Raise OutputError if a picture cannot be saved under this name."""
    check_output(path)
    suffixes = ".jpg", ".pdf", ".png", ".svg", ".webp"
    if path.suffix.lower() not in suffixes or not path.parent.is_dir():
        raise OutputError(f"{path}: expected a name in a folder, with suffix {', '.join(suffixes)}")


def save_picture(ratings: Ratings, path: Path) -> None:
    """Save the figure of `draw_picture` in the format of the suffix."""
    figure = draw_picture(ratings)
    with replacing(path) as file:
        figure.savefig(file, format=path.suffix[1:].lower(), dpi=120)


def draw_picture(ratings: Ratings) -> Figure:
    """Draw histograms of the ratings and of the users' numbers of ratings."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    summary, counts = summarise(ratings), ratings.counts
    figure = Figure(figsize=(12, 4), layout="constrained")
    left, right = figure.subplots(1, 2)
    left.stairs(summary.histogram / ratings.n_ratings, summary.edges, fill=True, color="tab:blue")
    left.set(xlabel="rating", ylabel="fraction of all ratings", title="Ratings")
    first, last = int(counts.min()), min(int(counts.max()), 300)
    width = -(-(last - first + 1) // 100)  # an integer: others would alias with the counts
    bins = np.arange(first, last + width + 1, width) - 0.5
    right.hist(counts[counts <= last], bins=bins, color="tab:gray")
    paper = [bounds for bounds in summary.groups if bounds[1] - bounds[0] <= 20]
    for (low, high), color in zip(paper, ("tab:orange", "tab:green", "tab:red"), strict=False):
        label = f"{low}-{high}: {summary.groups[low, high]:,} users"
        right.axvspan(low - 0.5, high + 0.5, alpha=0.25, zorder=0, color=color, label=label)
    beyond = int((counts > last).sum())
    note = f" ({beyond:,} users beyond {last} not shown)" if beyond else ""
    right.set(xlabel=f"ratings of a user{note}", ylabel="users", title="Ratings per user")
    right.yaxis.set_major_locator(MaxNLocator(integer=True))
    right.yaxis.set_major_formatter("{x:,.0f}")
    figure.legend(title="Groups of reference users", loc="outside right upper", frameon=False)
    figure.suptitle(f"{ratings.name}: {ratings.sizes}")
    return figure
