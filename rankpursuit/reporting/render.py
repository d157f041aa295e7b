"""Tables as Markdown, LaTeX, CSV and plain text."""

from __future__ import annotations

import csv
import io
import re
import textwrap
from collections.abc import Callable, Sequence

from rankpursuit.reporting.columns import markdown_columns, text_columns
from rankpursuit.reporting.folding import fold_columns, fold_sentences
from rankpursuit.reporting.latex import to_latex
from rankpursuit.reporting.table import Cell, Format, Part, Table

_FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""What a cell begins with that spreadsheets compute."""
_BESIDE = ("paper", "diff.")
"""Columns that belong to the group before them."""
_WIDTH = 100
"""Characters of a line of notes where there is no terminal."""

Words = tuple[list[str], list[list[str]]]
"""The header and the rows of a part."""


def to_text(tables: Sequence[Table], width: int | None = None) -> str:
    """Return tables for the terminal; a star marks the best.

    Parameters
    ----------
    tables : sequence of Table
    width : int, optional
        Of the terminal: what is wider is folded. Default: nothing is.
    """
    return "\n\n".join(_text(table, width) for table in tables) + "\n"


def to_markdown(tables: Sequence[Table]) -> str:
    """Return tables in Markdown (with GitHub's tables), each under a heading."""
    return "\n".join(_markdown(table) for table in tables)


def to_csv(tables: Sequence[Table]) -> str:
    """Return every number of the tables, a line each, in full precision.

    A word that a spreadsheet would take for a formula has an apostrophe before it.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["table", "part", "row", "column", "quantity", "value"])
    for table in tables:
        for part in table.parts:
            for name, cells in part.rows.items():
                for at, cell in enumerate(cells):
                    column = _full_name(table.columns, at)
                    for quantity, value in cell.numbers.items():
                        words = [table.id, part.heading, name, column, quantity]
                        writer.writerow([*map(_no_formula, words), value])
    return text.getvalue()


FORMATS: dict[Format, Callable[[Sequence[Table]], str]] = {
    "md": to_markdown,
    "tex": to_latex,
    "csv": to_csv,
    "text": to_text,
}
"""What writes each format."""


def _no_formula(word: str) -> str:
    return f"'{word}" if word.startswith(_FORMULA) else word


def _full_name(columns: Sequence[str], at: int) -> str:
    """Name a column by its group, also where that stands over several columns."""
    return next(columns[i] for i in range(at, -1, -1) if columns[i] not in _BESIDE)


def _text(table: Table, width: int | None) -> str:
    parts = [_words(table, part, lambda cell: f"*{cell.text}") for part in table.parts]
    blocks = [
        text_columns(block, "l" + table.align * (len(block[0][0]) - 1))
        for block in _folded(table, parts, width)
        if block
    ]
    notes = [
        textwrap.fill(note, width or _WIDTH, initial_indent="  ", subsequent_indent="    ")
        for note in table.notes
    ]
    title = textwrap.wrap(table.title, width) if width else [table.title]
    lines = [*title, "=" * max(map(len, title)), "\n\n".join(blocks), "", *notes]
    return "\n".join(lines)


def _folded(table: Table, parts: list[Words], width: int | None) -> list[list[Words]]:
    """Return the blocks of columns that a table is printed in, and of each its parts."""
    if width is None or not parts:
        return [parts]
    rows = [[head, *below] for head, below in parts]
    if table.align == "l":  # the last column has sentences
        blocks = [fold_sentences(rows, width)]
    else:
        own = [at for at, name in enumerate(table.columns, start=1) if name not in _BESIDE]
        blocks = fold_columns(rows, width, own)
    return [
        [(list(part[0]), [list(row) for row in part[1:]]) for part in block] for block in blocks
    ]


def _markdown(table: Table) -> str:
    parts = [_words(table, part, lambda cell: f"**{cell.text}**") for part in table.parts]
    blocks = [f"{markdown_columns(head, rows, _sides(table))}\n" for head, rows in parts]
    notes = "\n".join(f"- {_escape_markdown(note)}" for note in table.notes)
    return "\n".join([f"### {table.title}\n", *blocks, f"{notes}\n"])


def _words(table: Table, part: Part, best: Callable[[Cell], str]) -> Words:
    """Return the header and the rows of a part; `best` writes the text of a cell that is best."""
    rows = [
        [name, *((best(cell) if cell.best else cell.text) + cell.rest for cell in row)]
        for name, row in part.rows.items()
    ]
    return [part.heading, *table.columns], rows


def _sides(table: Table) -> str:
    return "l" + table.align * len(table.columns)


def _escape_markdown(text: str) -> str:
    return re.sub(r"([*_<])", r"\\\1", text)
