"""The columns of a table: which there are, and that each of those wanted is there once."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rankpursuit.errors import DataError
from rankpursuit.visible import cut

MOST_COLUMNS = 10_000
"""Columns of a table."""


def check_columns(
    file: Path, header: Sequence[str], wanted: Sequence[str], *, numbered: bool = False
) -> None:
    """Refuse a table that lacks a wanted column, has it twice, or has too many columns.

    Parameters
    ----------
    file : Path
        For messages.
    header : sequence of str
        Names of the columns as they stand in the file.
    wanted : sequence of str
    numbered : bool
        Whether the names are the numbers of the columns, since the file has no header.

    Raises
    ------
    DataError
    """
    if len(header) > MOST_COLUMNS:
        raise DataError(f"{file}: has {len(header):,} columns, and {MOST_COLUMNS:,} is the most")
    for column in wanted:
        times = list(header).count(column)
        if not times and numbered:
            raise DataError(
                f"{file}: no column {cut(column, 100)}; it has {len(header)} of them, and no header"
            )
        if not times:
            raise DataError(
                f"{file}: no column {cut(column, 100)!r}; its columns are "
                f"{cut(', '.join(map(str, header)), 300)}; say which are the user, the item and "
                "the rating, or that there is no header"
            )
        if times > 1:
            raise DataError(
                f"{file}: {times} columns are called {column!r}; rename all but the one that counts"
            )
