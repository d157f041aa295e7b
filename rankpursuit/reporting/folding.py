"""Tables folded to the width of a terminal: columns in blocks, sentences in several lines."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
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
    """Return parts whose cells are broken into lines, the widest columns first, to fit a width."""
    widths = _widths(parts)
    while sum(widths) + GAP * (len(widths) - 1) > width and max(widths) > _NARROWEST:
        widths[widths.index(max(widths))] -= 1
    return [[line for row in part for line in _lines(row, widths)] for part in parts]


def _lines(row: Sequence[str], widths: Sequence[int]) -> Iterator[list[str]]:
    """Yield a row as several lines, in which each cell goes on below itself."""
    cells = [textwrap.wrap(cell, room) for cell, room in zip(row, widths, strict=True)]
    for line in zip_longest(*cells, fillvalue=""):
        yield list(line)


def _widths(parts: Sequence[Rows]) -> list[int]:
    rows = [row for part in parts for row in part]
    return [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
