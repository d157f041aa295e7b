"""Rows of files in parts of whole queries."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rankpursuit.datasets.letor_lines import Rows, read_rows
from rankpursuit.errors import DataError


def whole_queries(files: list[Path], size: int) -> Iterator[Rows]:
    """Read parts of as many whole queries as `size` rows hold, but of one query at least.

    Raises
    ------
    DataError
        If a query comes again after another one, and where a file cannot be read.
    """
    waiting: list[Rows] = []
    for rows in _contiguous(files):
        waiting.append(rows)
        if sum(map(len, waiting)) > size:
            *parts, rest = _split(Rows.joined(waiting), size)
            yield from parts
            waiting = [rest]
    yield from _split(Rows.joined(waiting), size)


def _split(rows: Rows, size: int) -> Iterator[Rows]:
    """Split rows between queries; only the last part may end in the middle of one."""
    ends = _starts(rows)[1:]
    start = 0
    while len(rows) - start > size:
        next_end, beyond = np.searchsorted(ends, [start, start + size], side="right")
        if next_end == len(ends):
            break
        stop = int(ends[max(next_end, beyond - 1)])
        yield rows.part(start, stop)
        start = stop
    yield rows.part(start, len(rows))


def _contiguous(files: list[Path]) -> Iterator[Rows]:
    """Read rows, and refuse a query that comes again after another one."""
    met: set[int] = set()
    last: int | None = None
    for number, file in enumerate(files):
        for rows in read_rows(file, number):
            for start in _starts(rows):
                query = int(rows.queries[start])
                if query in met and query != last:
                    raise DataError(
                        f"{rows.origin(start, files)}: query {query} comes again after another "
                        "one; sort the rows by query, or load them all by load_letor"
                    )
                met.add(query)
                last = query
            yield rows


def _starts(rows: Rows) -> NDArray[np.intp]:
    """Return where the rows of a query begin."""
    return np.concatenate([[0], np.flatnonzero(np.diff(rows.queries)) + 1])
