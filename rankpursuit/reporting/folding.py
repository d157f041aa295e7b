"""Tables folded to the width of a terminal: columns in blocks, sentences in several lines."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import zip_longest

Rows = Sequence[Sequence[str]]
"""The header and the rows of a part, each with the name of the row first."""

GAP = 2
"""Spaces between columns."""
_NARROWEST = 12
"""Characters of a column of sentences, however narrow the terminal is."""


def fold_columns(parts: Sequence[Rows], width: int, together: Sequence[int]) -> list[list[Rows]]:
    """Return blocks of columns that fit a width, each with the names of the rows.

    Parameters
    ----------
    parts : sequence of Rows
        With columns of the same widths.
    width : int
    together : sequence of int
        The first of each set of columns that are not parted; 0 is the column of names.

    Returns
    -------
    list of list of Rows
        For each block its columns of every part. A set that is too wide by itself is a block.
    """
    widths = _widths(parts)
    ends = [*together[1:], len(widths)]
    blocks: list[list[int]] = []
    left = 0
    for start, end in zip(together, ends, strict=True):
        needed = sum(widths[start:end]) + GAP * (end - start)
        if not blocks or needed > left:
            blocks.append([])
            left = width - widths[0]
        blocks[-1] += range(start, end)
        left -= needed
    return [
        [[[row[0], *(row[at] for at in block)] for row in part] for part in parts]
        for block in blocks
    ]


def fold_sentences(parts: Sequence[Rows], width: int) -> list[Rows]:
    """Return parts whose cells are broken into lines to fit a width.

    Columns become narrower one character at a time, always the one that costs the fewest lines.
    """
    widths = [min(room, width) for room in _widths(parts)]
    while sum(widths) + GAP * (len(widths) - 1) > width and max(widths) > _NARROWEST:
        narrower = [
            [*widths[:at], room - 1, *widths[at + 1 :]]
            for at, room in enumerate(widths)
            if room > _NARROWEST
        ]
        widths = min(narrower, key=lambda rooms: (_height(parts, rooms), max(rooms)))
    return [[line for row in part for line in _lines(row, widths)] for part in parts]


def _height(parts: Sequence[Rows], widths: Sequence[int]) -> int:
    """Return how many lines parts take in columns of some widths."""
    rows = (zip(row, widths, strict=True) for part in parts for row in part)
    return sum(max(_n_lines(cell, room) for cell, room in row) for row in rows)


@cache
def _n_lines(cell: str, width: int) -> int:
    return len(textwrap.wrap(cell, width))


def _lines(row: Sequence[str], widths: Sequence[int]) -> Iterator[list[str]]:
    """Yield a row as several lines, in which each cell goes on below itself."""
    cells = [textwrap.wrap(cell, room) for cell, room in zip(row, widths, strict=True)]
    for line in zip_longest(*cells, fillvalue=""):
        yield list(line)


def _widths(parts: Sequence[Rows]) -> list[int]:
    rows = [row for part in parts for row in part]
    return [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
