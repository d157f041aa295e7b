"""Tables as Markdown, LaTeX, CSV and plain text."""

from __future__ import annotations

import csv
import io
import re
import textwrap
from collections.abc import Callable, Sequence

from rankpursuit.reporting.table import Cell, Part, Table

_SPECIAL = {
    "\\": r"\textbackslash{}",
    **{character: f"\\{character}" for character in "&%$#_{}"},
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "±": r"$\pm$",
    "−": "$-$",  # noqa: RUF001
    "–": "--",  # noqa: RUF001
    "<": "$<$",
    ">": "$>$",
}

_PREAMBLE = r"""\documentclass{article}
\usepackage[utf8]{inputenc}
\usepackage[a4paper, margin=2cm]{geometry}
\usepackage{array}
\usepackage{booktabs}
\begin{document}
"""


_COLUMN = r">{\raggedright\arraybackslash}p{%.2f\linewidth}"


def to_text(tables: Sequence[Table]) -> str:
    """Return tables for the terminal; a star marks the best."""
    return "\n\n".join(_text(table) for table in tables) + "\n"


def to_markdown(tables: Sequence[Table]) -> str:
    """Return tables in Markdown (with GitHub's tables), each under a heading."""
    return "\n".join(_markdown(table) for table in tables)


def to_latex(tables: Sequence[Table]) -> str:
    """Return a LaTeX document that compiles as it is; each table can be copied out of it.

    A table needs the package booktabs; one with sentences in its cells also array.
    """
    body = "\n\n".join(_latex(table) for table in tables)
    return f"{_PREAMBLE}\n{body}\n\\end{{document}}\n"


def to_csv(tables: Sequence[Table]) -> str:
    """Return every number of the tables, a line each, in full precision."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["table", "part", "row", "column", "quantity", "value"])
    for table in tables:
        for part in table.parts:
            for name, cells in part.rows.items():
                for at, cell in enumerate(cells):
                    column = _full_name(table.columns, at)
                    for quantity, value in cell.numbers.items():
                        writer.writerow([table.id, part.heading, name, column, quantity, value])
    return text.getvalue()


FORMATS: dict[str, Callable[[Sequence[Table]], str]] = {
    "md": to_markdown,
    "tex": to_latex,
    "csv": to_csv,
    "text": to_text,
}
"""Every format by its name, which is also the ending of its files."""


def _full_name(columns: Sequence[str], at: int) -> str:
    """Name a column by its group, also where that stands over several columns."""
    return next(columns[i] for i in range(at, -1, -1) if columns[i] not in ("paper", "diff."))


def _text(table: Table) -> str:
    lines = [[part.heading, *table.columns] for part in table.parts]
    cells = [
        [[name, *(_plain(cell) for cell in row)] for name, row in part.rows.items()]
        for part in table.parts
    ]
    every = lines + [row for rows in cells for row in rows]
    widths = [max(len(row[at]) for row in every) for at in range(len(table.columns) + 1)]
    blocks = []
    for head, rows in zip(lines, cells, strict=True):
        rule = "  ".join("-" * width for width in widths)
        block = [_aligned(head, widths, table.align), rule]
        blocks.append("\n".join(block + [_aligned(row, widths, table.align) for row in rows]))
    notes = [
        textwrap.fill(note, 100, initial_indent="  ", subsequent_indent="    ")
        for note in table.notes
    ]
    return "\n".join([table.title, "=" * len(table.title), "\n\n".join(blocks), "", *notes])


def _plain(cell: Cell) -> str:
    return f"{'*' if cell.best else ''}{cell.text}{cell.rest}"


def _aligned(row: Sequence[str], widths: Sequence[int], align: str) -> str:
    first, *others = row
    sign = ">" if align == "r" else "<"
    words = [f"{first:<{widths[0]}}"]
    words += [f"{word:{sign}{width}}" for word, width in zip(others, widths[1:], strict=True)]
    return "  ".join(words).rstrip()


def _markdown(table: Table) -> str:
    rule = "| --- |" + (" ---: |" if table.align == "r" else " --- |") * len(table.columns)
    blocks = [f"### {table.title}\n"]
    for part in table.parts:
        lines = [_bars([part.heading, *table.columns]), rule]
        for name, row in part.rows.items():
            words = [f"**{cell.text}**{cell.rest}" if cell.best else _plain(cell) for cell in row]
            lines.append(_bars([name, *words]))
        blocks.append("\n".join(lines) + "\n")
    blocks.append("\n".join(f"- {_escape_markdown(note)}" for note in table.notes) + "\n")
    return "\n".join(blocks)


def _bars(words: Sequence[str]) -> str:
    return "| " + " | ".join(word.replace("|", "\\|") for word in words) + " |"


def _escape_markdown(text: str) -> str:
    return re.sub(r"([*_<])", r"\\\1", text)


def _latex(table: Table) -> str:
    n_columns = len(table.columns)
    align, size = "r" * n_columns, r"\small"
    if table.align == "l":  # the last column has sentences
        align, size = "l" + _COLUMN % 0.14 * (n_columns - 2) + _COLUMN % 0.30, r"\footnotesize"
    gap = rf"\setlength{{\tabcolsep}}{{{3 if n_columns > 7 else 5}pt}}"
    rows = "\n\\midrule\n".join(_latex_part(part, table.columns) for part in table.parts)
    notes = "\\par\n".join(_latex_words(note) for note in table.notes)
    return "\n".join(
        [
            r"\begin{table}[htbp]",
            rf"\centering{size}{gap}\setlength{{\belowcaptionskip}}{{6pt}}",
            rf"\caption{{{_latex_words(table.title)}}}",
            rf"\label{{tab:{table.id}}}",
            rf"\begin{{tabular}}{{l{align}}}",
            r"\toprule",
            rows,
            r"\bottomrule",
            r"\end{tabular}",
            rf"\par\smallskip\begin{{minipage}}{{\linewidth}}\footnotesize {notes}\end{{minipage}}",
            r"\end{table}",
        ]
    )


def _latex_part(part: Part, columns: Sequence[str]) -> str:
    lines = [_latex_row([part.heading, *columns]), r"\midrule"]
    for name, row in part.rows.items():
        words = []
        for cell in row:
            text = _latex_words(cell.text)
            words.append((rf"\textbf{{{text}}}" if cell.best else text) + _latex_words(cell.rest))
        lines.append(" & ".join([_latex_words(name), *words]) + r" \\")
    return "\n".join(lines)


def _latex_row(words: Sequence[str]) -> str:
    return " & ".join(_latex_words(word) for word in words) + r" \\"


def _latex_words(text: str) -> str:
    """Escape what LaTeX would take as commands; ``2^-3`` becomes a power."""
    powers = re.split(r"(\d\^-?\d+)", text)
    for at, piece in enumerate(powers):
        if at % 2:
            base, exponent = piece.split("^")
            powers[at] = f"${base}^{{{exponent}}}$"
        else:
            powers[at] = "".join(_SPECIAL.get(character, character) for character in piece)
    return "".join(powers)
