"""Checking that a data set is the one of the paper: checksums, counts, range."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass

from rankpursuit.datasets.data_set import DataSet
from rankpursuit.datasets.download import file_sha256
from rankpursuit.datasets.locate import find_files
from rankpursuit.datasets.named import load_named


@dataclass(frozen=True)
class Check:
    """One thing that was checked."""

    what: str
    expected: str
    found: str

    @property
    def passed(self) -> bool:
        """Whether what was found is what was expected."""
        return self.found == self.expected


def verify(data_set: DataSet, path: str | os.PathLike[str] | None = None) -> Iterator[Check]:
    """Check the files of a data set, and then the table that they hold, one thing after the other.

    An unpacked file has no published checksum; its table has one all the same, computed over users,
    items and ratings, and equal for the official archive and for what was unpacked from it.

    Parameters
    ----------
    data_set : DataSet
        The data set.
    path : path, optional
        Where to find it; by default in the usual places.

    Yields
    ------
    Check
    """
    published = {file.name: file.sha256 for file in data_set.files}
    for file in find_files(data_set, path):
        if file.name in published:
            yield Check(f"SHA-256 of {file}", published[file.name], file_sha256(file))
    table = load_named(data_set.name, path)
    low, high = data_set.bounds
    yield Check("users", f"{data_set.n_users:,}", f"{table.n_users:,}")
    yield Check("items", f"{data_set.n_items:,}", f"{table.n_items:,}")
    yield Check("ratings", f"{data_set.n_ratings:,}", f"{table.n_ratings:,}")
    found = f"{table.values.min():g} to {table.values.max():g}"
    yield Check("range of ratings", f"{low:g} to {high:g}", found)
    yield Check("SHA-256 of the table", data_set.table_sha256, table.checksum())
