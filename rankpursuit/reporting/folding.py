"""Tables folded to the width of a terminal: columns in blocks, sentences in several lines."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

Rows = Sequence[Sequence[str]]
"""The header and the rows of a part, each with the name of the row first."""

GAP = 2
"""Spaces between columns."""
_NARROWEST = 20
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
    """Return parts whose last column is broken into lines, so that the table fits a width."""
    widths = _widths(parts)
    room = max(_NARROWEST, width - sum(widths[:-1]) - GAP * (len(widths) - 1))
    return [[line for row in part for line in _lines(row, room)] for part in parts]


def _lines(row: Sequence[str], room: int) -> Iterator[list[str]]:
    """Yield a row as several, of which the first has all cells and the others only sentences."""
    *cells, sentence = row
    for line in textwrap.wrap(sentence, room) or [""]:
        yield [*cells, line]
        cells = [""] * len(cells)


def _widths(parts: Sequence[Rows]) -> list[int]:
    rows = [row for part in parts for row in part]
    return [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
