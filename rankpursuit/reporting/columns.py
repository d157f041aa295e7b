"""Words in columns: for the terminal, and as tables of GitHub's Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tabulate import SEPARATING_LINE, DataRow, Line, TableFormat, tabulate

_ROW = DataRow("", "  ", "")
_TERMINAL = TableFormat(
    lineabove=None,
    linebelowheader=Line("", "-", "  ", ""),
    linebetweenrows=None,
    linebelow=None,
    headerrow=_ROW,
    datarow=_ROW,
    padding=0,
    with_header_hide=None,
)
_SIDES = {"l": "left", "r": "right"}


def text_columns(parts: Sequence[tuple[Sequence[str], Sequence[Sequence[str]]]], sides: str) -> str:
    """Return parts of a table one below the other, with columns of the same widths.

    Parameters
    ----------
    parts : sequence of (header, rows)
    sides : str
        ``l`` or ``r`` for each column, such as ``"lrr"``.
    """
    lines: list[Sequence[str]] = []
    for header, rows in parts:
        lines += [[""] * len(header)] * bool(lines)
        lines += [header, [SEPARATING_LINE], *rows]
    return _tabulate(lines, sides, tablefmt=_TERMINAL)


def markdown_columns(header: Sequence[str], rows: Sequence[Sequence[Any]], sides: str) -> str:
    r"""Return a table of GitHub's Markdown, its bars escaped.

    Parameters
    ----------
    header : sequence of str
    rows : sequence of sequence
        What is no text is written as `str` writes it.
    sides : str
        ``l`` or ``r`` for each column, such as ``"lrr"``.

    Examples
    --------
    >>> print(markdown_columns(["a", "b"], [["x|y", 0.50]], "lr"))
    | a    |   b |
    |:-----|----:|
    | x\|y | 0.5 |
    """
    header, *rows = ([str(word).replace("|", r"\|") for word in row] for row in (header, *rows))
    return _tabulate(rows, sides, headers=header, tablefmt="pipe")


def _tabulate(rows: Sequence[Sequence[str]], sides: str, **options: Any) -> str:
    aligned = [_SIDES[side] for side in sides]
    text: str = tabulate(rows, colalign=aligned, disable_numparse=True, **options)
    return text
