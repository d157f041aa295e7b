"""Tables as Markdown, LaTeX, CSV and plain text."""

from __future__ import annotations

import csv
import io
import re
import textwrap
from collections.abc import Callable, Sequence

from rankpursuit.reporting.columns import markdown_columns, text_columns
from rankpursuit.reporting.latex import to_latex
from rankpursuit.reporting.table import Cell, Format, Part, Table

_FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""What a cell begins with that spreadsheets compute."""


def to_text(tables: Sequence[Table]) -> str:
    """Return tables for the terminal; a star marks the best."""
    return "\n\n".join(_text(table) for table in tables) + "\n"


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
    return next(columns[i] for i in range(at, -1, -1) if columns[i] not in ("paper", "diff."))


def _text(table: Table) -> str:
    parts = [_words(table, part, lambda cell: f"*{cell.text}") for part in table.parts]
    notes = [
        textwrap.fill(note, 100, initial_indent="  ", subsequent_indent="    ")
        for note in table.notes
    ]
    lines = [table.title, "=" * len(table.title), text_columns(parts, _sides(table)), "", *notes]
    return "\n".join(lines)


def _markdown(table: Table) -> str:
    parts = [_words(table, part, lambda cell: f"**{cell.text}**") for part in table.parts]
    blocks = [f"{markdown_columns(head, rows, _sides(table))}\n" for head, rows in parts]
    notes = "\n".join(f"- {_escape_markdown(note)}" for note in table.notes)
    return "\n".join([f"### {table.title}\n", *blocks, f"{notes}\n"])


def _words(
    table: Table, part: Part, best: Callable[[Cell], str]
) -> tuple[list[str], list[list[str]]]:
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
