"""The ratings table: who rated what how, compact, immutable, one user's ratings without a scan."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankpursuit.errors import DataError

_ARRAYS = ("user_ids", "item_ids", "offsets", "items", "values")


@dataclass(frozen=True, eq=False, repr=False)
class Ratings:
    """An immutable table of ratings, stored user by user.

    Users and items are numbered from 0; `user_ids` and `item_ids` keep the labels of the source.
    Build one with `Ratings.from_arrays`, which checks its input, or with one of the loaders.

    Parameters
    ----------
    name : str
        What the table is called in messages.
    user_ids : array of shape (n_users,)
        The source's label of each user.
    item_ids : array of shape (n_items,)
        The source's label of each item.
    offsets : int64 array of shape (n_users + 1,)
        The ratings of user u are those from ``offsets[u]`` up to ``offsets[u + 1]``.
    items : int32 array of shape (n_ratings,)
        The rated items, ascending within a user.
    values : float64 array of shape (n_ratings,)
        The ratings themselves.
    """

    name: str
    user_ids: NDArray[Any]
    item_ids: NDArray[Any]
    offsets: NDArray[np.int64]
    items: NDArray[np.int32]
    values: NDArray[np.float64]

    def __post_init__(self) -> None:
        self._freeze()

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._freeze()  # numpy forgets the read-only flag when an array is pickled

    def __repr__(self) -> str:
        return (
            f"<Ratings {self.name}: {self.n_users:,} users, {self.n_items:,} items, "
            f"{self.n_ratings:,} ratings>"
        )

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
        """Build a table from three columns of equal length, in any order.

        Parameters
        ----------
        users, items : array-like of shape (n_ratings,)
            Labels, numbers or strings. They are numbered in ascending order of the label.
        values : array-like of shape (n_ratings,)
            The ratings: finite numbers.
        name : str
            What the table is called in messages.
        bounds : (low, high), optional
            The smallest and the largest rating allowed.

        Returns
        -------
        Ratings

        Raises
        ------
        DataError
            If there is no rating, a rating is not finite, larger than `LARGEST_RATING` or outside
            the bounds, or a user rated an item twice. Rows are counted from 1.
        """
        user_labels, item_labels = np.asarray(users), np.asarray(items)
        try:
            scores = np.asarray(values, dtype=np.float64)
        except (TypeError, ValueError, OverflowError) as error:
            raise DataError(f"{name}: ratings must be numbers ({error})") from error
        if not user_labels.shape == item_labels.shape == scores.shape or scores.ndim != 1:
            raise DataError(f"{name}: users, items and ratings must be columns of one length")
        if scores.size == 0:
            raise DataError(f"{name}: there are no ratings")
        check_values(scores, lambda row: f"{name}, row {row + 1}", bounds)
        user_ids, user_codes = _numbered(user_labels, name)
        item_ids, item_codes = _numbered(item_labels, name)
        # One integer per (user, item) sorts faster than two keys, and shows duplicates as
        # neighbours.
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

    @property
    def nbytes(self) -> int:
        """Memory that the arrays of the table take, in bytes."""
        return sum(getattr(self, field).nbytes for field in _ARRAYS)

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
        """SHA-256 of the table's contents, whatever file it was read from, as 64 hex digits."""
        digest = hashlib.sha256()
        for field in _ARRAYS:
            array = getattr(self, field)
            digest.update(f"{field} {array.dtype.str} {array.shape};".encode())
            digest.update(np.ascontiguousarray(array).data)
        return digest.hexdigest()

    def _of(self, user: int) -> slice:
        if not 0 <= user < self.n_users:
            raise IndexError(f"{self.name}: no user {user}; the last is {self.n_users - 1}")
        return slice(self.offsets[user], self.offsets[user + 1])

    def _freeze(self) -> None:
        for value in self.__dict__.values():
            if isinstance(value, np.ndarray):
                value.flags.writeable = False


LARGEST_RATING = 1e15
"""Size of a rating: beyond it whole numbers run into each other, and squares soon overflow."""


def check_values(
    values: NDArray[np.float64],
    place: Callable[[int], str],
    bounds: tuple[float, float] | None = None,
) -> None:
    """Refuse ratings that are not finite, too large or outside the bounds, naming the first row.

    Parameters
    ----------
    values : array of shape (n_ratings,)
        The ratings.
    place : callable
        Names a row, counted from 0, in messages.
    bounds : (low, high), optional
        The smallest and the largest rating allowed; by default `LARGEST_RATING` both ways.
    """
    bad = np.flatnonzero(~np.isfinite(values))
    if bad.size:
        raise DataError(f"{place(bad[0])}: the rating is not a finite number")
    low, high = bounds or (-LARGEST_RATING, LARGEST_RATING)
    bad = np.flatnonzero((values < low) | (values > high))
    if bad.size:
        raise DataError(
            f"{place(bad[0])}: the rating {values[bad[0]]:g} is outside {low:g} to {high:g}"
        )


def _numbered(labels: NDArray[Any], name: str) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """Return the different labels, ascending, and the number of each row's label.

    Labels that are Python objects, such as text of many lengths, are numbered first: an array of
    text takes as much memory for every row as for its longest.
    """
    if labels.dtype != object:
        ids, codes = np.unique(labels, return_inverse=True)
        return ids, codes
    first: dict[Any, int] = {}
    try:
        codes = np.fromiter((first.setdefault(label, len(first)) for label in labels), np.intp)
        distinct = np.array(list(first))
    except (TypeError, ValueError) as error:
        raise DataError(f"{name}: labels must be numbers or text ({error})") from error
    mixed = len({isinstance(label, str) for label in first}) > 1  # 1 and "1" would become one
    if mixed or distinct.dtype == object or distinct.ndim != 1:
        raise DataError(f"{name}: labels must be all numbers or all text")
    ids, ranks = np.unique(distinct, return_inverse=True)
    return ids, ranks[codes]


def _read_only(array: NDArray[Any]) -> NDArray[Any]:
    array.flags.writeable = False
    return array
