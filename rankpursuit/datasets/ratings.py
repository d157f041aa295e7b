"""The ratings table."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from rankpursuit.errors import DataError
from rankpursuit.preferences import check_labels

ARRAYS = ("user_ids", "item_ids", "offsets", "items", "values")
LARGEST_RATING = 1e15  # beyond it integers are not exact, and squares soon overflow


@dataclass(frozen=True, eq=False, repr=False)
class Ratings:
    """A table of ratings, stored user by user; its arrays must not be modified.

    Users and items are numbered from 0; `user_ids` and `item_ids` keep the labels of the source.
    Build one with `Ratings.from_arrays`, which checks its input, or with one of the loaders.

    Parameters
    ----------
    name : str
        Name of the table in messages.
    user_ids, item_ids : array of shape (n_users,) and (n_items,)
        Labels of the users and the items in the source.
    offsets : int64 array of shape (n_users + 1,)
        The ratings of user u are ``values[offsets[u] : offsets[u + 1]]``.
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

    def __repr__(self) -> str:
        return f"<Ratings {self.name}: {self.size_text}>"

    @property
    def size_text(self) -> str:
        """Numbers of users, items and ratings, as text."""
        return f"{self.n_users:,} users, {self.n_items:,} items, {self.n_ratings:,} ratings"

    @classmethod
    def from_arrays(
        cls, users: ArrayLike, items: ArrayLike, values: ArrayLike, *, name: str = "ratings"
    ) -> Ratings:
        """Build a table from three columns of equal length, in any order, without duplicates.

        Parameters
        ----------
        users, items : array-like of shape (n_ratings,)
            Labels, numbers or strings; they are numbered in ascending order.
        values : array-like of shape (n_ratings,)
            The ratings: finite numbers.
        name : str
            Name of the table in messages.
        """
        # NumPy converts a list of numbers and strings to strings, so the items are checked first.
        user_labels, item_labels = (
            np.asarray(labels, dtype=None if hasattr(labels, "dtype") else object)
            for labels in (users, items)
        )
        try:
            scores = np.asarray(values, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise DataError(f"{name}: ratings must be numbers ({error})") from error
        if not user_labels.shape == item_labels.shape == scores.shape or scores.ndim != 1:
            raise DataError(f"{name}: users, items and ratings must be 1-d and of equal length")
        if scores.size == 0:
            raise DataError(f"{name}: there are no ratings")
        bad = np.flatnonzero(~(np.abs(scores) <= LARGEST_RATING))
        if bad.size:
            reason = f"not a finite number of at most {LARGEST_RATING:g} in absolute value"
            raise DataError(f"{name}, row {bad[0] + 1}: the rating {scores[bad[0]]:g} is {reason}")
        user_ids, user_codes = _encode_labels(user_labels, name)
        item_ids, item_codes = _encode_labels(item_labels, name)
        # One integer per (user, item) sorts faster than two keys.
        keys = user_codes.astype(np.int64) * len(item_ids) + item_codes
        order = np.argsort(keys, kind="stable")
        same = np.flatnonzero(np.diff(keys[order]) == 0)
        if same.size:
            first, second = order[same[0]], order[same[0] + 1]
            raise DataError(
                f"{name}: user {user_labels[first]} rated item {item_labels[first]} twice, in rows "
                f"{first + 1} and {second + 1}; remove one of them"
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
        return np.diff(self.offsets)

    @cached_property
    def medians(self) -> NDArray[np.float64]:
        """Median of each user's ratings, shape (n_users,)."""
        owners = np.repeat(np.arange(self.n_users), self.counts)
        ascending = self.values[np.lexsort((self.values, owners))]
        lower = ascending[self.offsets[:-1] + (self.counts - 1) // 2]
        upper = ascending[self.offsets[:-1] + self.counts // 2]
        return (lower + upper) / 2

    @cached_property
    def means(self) -> NDArray[np.float64]:
        """Mean of each user's ratings, shape (n_users,)."""
        return np.add.reduceat(self.values, self.offsets[:-1]) / self.counts

    @cached_property
    def table(self) -> sp.csr_array:
        """The ratings as a matrix of users and items; a rating of 0 is stored too."""
        shape = self.n_users, self.n_items
        return sp.csr_array((self.values, self.items, self.offsets), shape=shape)

    def user_items(self, user: int) -> NDArray[np.int32]:
        """Items that `user` rated, ascending, shape (n,)."""
        return self.items[self._rows(user)]

    def user_ratings(self, user: int) -> NDArray[np.float64]:
        """Ratings of `user`, shape (n,), in the order of `user_items`."""
        return self.values[self._rows(user)]

    def checksum(self) -> str:
        """SHA-256 of the contents, independent of the file format, as 64 hex digits."""
        return self._checksum

    @cached_property
    def _checksum(self) -> str:
        digest = hashlib.sha256()
        for field in ARRAYS:
            array = getattr(self, field)
            digest.update(f"{field} {array.dtype.str} {array.shape};".encode())
            digest.update(np.ascontiguousarray(array).data)
        return digest.hexdigest()

    def _rows(self, user: int) -> slice:
        return slice(self.offsets[user], self.offsets[user + 1])


def _encode_labels(labels: NDArray[Any], name: str) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """Return the distinct labels, ascending, and the index of each row's label."""
    if labels.dtype != object:
        ids, codes = np.unique(labels, return_inverse=True)
        return ids, codes
    # Convert distinct labels only: in an array of strings, each row takes the longest length.
    import pandas as pd

    try:
        codes, distinct = pd.factorize(labels)
        converted = check_labels(distinct)
    except (TypeError, ValueError):
        converted = labels
    if converted.dtype == object or codes.min() < 0:
        limits = "integers of up to 64 bits, or 53 among floats; strings without a null at the end"
        raise DataError(
            f"{name}: labels must be all numbers or all strings, none missing ({limits})"
        )
    ids, ranks = np.unique(converted, return_inverse=True)
    return ids, ranks[codes]
