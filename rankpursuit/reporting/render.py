"""Tables, and their output as plain text, Markdown, LaTeX and CSV."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path
from typing import Any, Literal

import pandas as pd
from tabulate import SEPARATING_LINE, DataRow, Line, TableFormat, tabulate

from rankpursuit.writing import write_atomically

Blocks = dict[str, dict[str, tuple["Value", ...]]]
"""Values by heading and row name, ``blocks[heading][row] = (value, ...)``."""

_TEXT_ROW = DataRow("", "  ", "")
_TEXT = TableFormat(None, Line("", "-", "  ", ""), None, None, _TEXT_ROW, _TEXT_ROW, 0, None)
_OF_GROUP = ("paper", "second", "diff.")  # columns that belong to the group before them


@dataclass(frozen=True)
class Value:
    """A value of a table: its text, in bold if it is the best, and the numbers behind it."""

    text: str
    spread: str = ""  # text that follows, never in bold, such as a standard deviation
    best: bool = False
    numbers: dict[str, float] = field(default_factory=dict)
    """Each quantity in full precision, for CSV."""
    outcome: str = ""  # outcome of a claim, which sets its colour on a web page


EMPTY = Value("–")  # noqa: RUF001  (a dash, where there is no result)


@dataclass(frozen=True)
class Table:
    """A table, in blocks of rows that share the columns."""

    id: str  # such as ``jester_crrp-errors``; unique among the tables of all experiments
    title: str  # such as ``Sparsity``
    columns: tuple[str, ...]  # names of the columns, without that of the row names
    blocks: Blocks
    notes: tuple[str, ...] = ()
    align: Literal["r", "l"] = "r"  # ``"l"`` if the cells are sentences
    subject: str = ""  # the data, such as ``Jester, supervised``
    number: int | None = None  # number of the published table that it reproduces
    wide: bool = False  # whether it spans two columns in LaTeX

    @property
    def caption(self) -> str:
        """Title and subject."""
        return " on ".join(filter(None, (self.title, self.subject)))

    @property
    def heading(self) -> str:
        """Caption, and the number of the published table."""
        return f"{self.caption} (Table {self.number} of the paper)" if self.number else self.caption

    def rows(self, heading: str, write: Callable[[Value], str]) -> list[list[str]]:
        """Return the header and the rows of a block as text."""
        rows = [[name, *map(write, row)] for name, row in self.blocks[heading].items()]
        return [[heading, *self.columns], *rows]


def signed(value: float, decimals: int) -> str:
    """Format a number with its sign; no sign if it rounds to zero."""
    text = f"{value:+.{decimals}f}"
    return text.replace("-", "−") if float(text) else text[1:]  # noqa: RUF001  (a minus sign)


def to_text(tables: Sequence[Table], width: int | None = None) -> str:
    """Return tables for a terminal of some width (default: unlimited); a star marks the best."""
    return "\n\n".join(_text(table, width) for table in tables) + "\n"


def _text(table: Table, width: int | None) -> str:
    lines: list[list[str]] = []
    for heading in table.blocks:
        header, *rows = table.rows(heading, lambda one: "*" * one.best + one.text + one.spread)
        lines += [*[[""] * len(header)] * bool(lines), header, [SEPARATING_LINE], *rows]
    cells = [line for line in lines if len(line) > 1]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    parts = [list(range(len(widths)))]
    if width and table.align == "l":  # sentences: break cells into lines, the longest first
        while sum(widths) + 2 * (len(widths) - 1) > width and max(widths) > 12:
            widths[widths.index(max(widths))] -= 1
        wrapped = (
            zip_longest(*map(textwrap.wrap, line, widths), fillvalue="")
            if len(line) > 1
            else [line]
            for line in lines
        )
        lines = [list(line) for of_line in wrapped for line in of_line]
    elif width:
        parts = _fold_columns(table.columns, widths, width)
    sides = "l" + table.align * len(table.columns)
    folded = [
        _tabulate(
            [line if len(line) == 1 else [line[at] for at in part] for line in lines],
            "".join(sides[at] for at in part),
            _TEXT,
        )
        for part in parts
    ]
    title = textwrap.wrap(table.heading, width) if width else [table.heading]
    notes = [
        textwrap.fill(note, width or 100, initial_indent="  ", subsequent_indent="    ")
        for note in table.notes
    ]
    return "\n".join([*title, "=" * max(map(len, title)), "\n\n".join(folded), "", *notes])


def _fold_columns(columns: Sequence[str], widths: list[int], width: int) -> list[list[int]]:
    """Return sets of columns that fit a width, each with the row names; groups stay whole."""
    groups: list[list[int]] = []
    for at, name in enumerate(columns, start=1):
        if name in _OF_GROUP:
            groups[-1].append(at)
        else:
            groups.append([at])
    parts: list[list[int]] = []
    for group in groups:
        if parts and sum(widths[at] + 2 for at in (*parts[-1], *group)) - 2 <= width:
            parts[-1] += group
        else:
            parts.append([0, *group])
    return parts


def to_markdown(tables: Sequence[Table]) -> str:
    """Return tables in GitHub's Markdown, each under a heading; the best is in bold."""
    lines = []
    for table in tables:
        lines.append(f"### {table.heading}\n")
        for heading in table.blocks:
            header, *rows = table.rows(
                heading,
                lambda one: (f"**{one.text}**" if one.best else one.text) + one.spread,
            )
            sides = "l" + table.align * len(table.columns)
            lines.append(markdown_columns(header, rows, sides) + "\n")
        notes = "\n".join("- " + re.sub(r"([*_<])", r"\\\1", note) for note in table.notes)
        lines.append(f"{notes}\n")
    return "\n".join(lines)


def markdown_columns(header: Sequence[str], rows: Sequence[Sequence[Any]], sides: str) -> str:
    """Return a table in GitHub's Markdown; `sides` has ``l`` or ``r`` for each column."""
    header, *rows = ([str(word).replace("|", r"\|") for word in row] for row in (header, *rows))
    return _tabulate(rows, sides, "pipe", headers=header)


def _tabulate(
    rows: Sequence[Sequence[str]], sides: str, tablefmt: str | TableFormat, **options: Any
) -> str:
    align = [{"l": "left", "r": "right"}[side] for side in sides]
    return str(tabulate(rows, tablefmt=tablefmt, colalign=align, disable_numparse=True, **options))


def to_csv(tables: Sequence[Table]) -> str:
    """Return every number of the tables in full precision, one per line."""
    rows = []
    for table in tables:
        for heading, block in table.blocks.items():
            for name, values in block.items():
                column = ""
                for own, value in zip(table.columns, values, strict=True):
                    column = column if own in _OF_GROUP and column else own
                    words = table.id, heading, name, column
                    rows += [(*words, quantity, x) for quantity, x in value.numbers.items()]
    columns = ["table", "part", "row", "column", "quantity", "value"]
    return pd.DataFrame(rows, columns=columns).to_csv(index=False)


_PACKAGES = r"\usepackage{adjustbox, array, booktabs}"
_PREAMBLE = rf"""\documentclass{{article}}
\usepackage[utf8]{{inputenc}}
\usepackage[a4paper, margin=2cm]{{geometry}}
{_PACKAGES}
\begin{{document}}
"""
_LATEX = str.maketrans(
    {
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
)


def to_latex(tables: Sequence[Table]) -> str:
    """Return a complete LaTeX document."""
    body = "\n\n".join(map(_latex_table, tables))
    return f"{_PREAMBLE}\n{body}\n\\end{{document}}\n"


def _latex_table(table: Table) -> str:
    """Return a table in LaTeX, scaled down if it is too large."""
    environment = "table*" if table.wide else "table"
    align, size, between = "l" + "r" * len(table.columns), r"\small", "\n"
    if table.align == "l":
        column = r">{\raggedright\arraybackslash}p{%.3f\linewidth}"
        align = "".join(column % fraction for fraction in _latex_widths(table))
        size, between = r"\footnotesize", "\n\\addlinespace\n"
    gap = 3 if len(table.columns) > 7 else 5
    blocks = []
    for heading, rows in table.blocks.items():
        header = " & ".join(map(_escape_latex, (heading, *table.columns)))
        lines = [
            " & ".join([_escape_latex(name), *map(_latex_value, values)]) + r" \\"
            for name, values in rows.items()
        ]
        blocks.append(f"{header} \\\\\n\\midrule\n{between.join(lines)}")
    body = "\n\\midrule\n".join(blocks)
    notes = "\\par\n".join(map(_escape_latex, table.notes))
    return rf"""\begin{{{environment}}}[htbp]
\centering{size}\setlength{{\tabcolsep}}{{{gap}pt}}\setlength{{\belowcaptionskip}}{{6pt}}
\caption{{{_escape_latex(table.caption)}}}
\label{{tab:{table.id}}}
\begin{{adjustbox}}{{max width=\linewidth, max totalheight=0.8\textheight}}
\begin{{tabular}}{{{align}}}
\toprule
{body}
\bottomrule
\end{{tabular}}
\end{{adjustbox}}
\par\smallskip\begin{{minipage}}{{\linewidth}}\footnotesize {notes}\end{{minipage}}
\end{{{environment}}}"""


def _latex_widths(table: Table) -> list[float]:
    """Return the fraction of the line for each column of sentences, more for longer ones."""
    rows = [row for name in table.blocks for row in table.rows(name, lambda value: value.text)]
    longest = [max(map(len, column)) for column in zip(*rows, strict=True)]
    roots = [min(max(length, 12), 60) ** 0.5 for length in longest]
    return [0.84 * root / sum(roots) for root in roots]  # the rest is for the gaps


def _latex_value(value: Value) -> str:
    text = _escape_latex(value.text)
    return (rf"\textbf{{{text}}}" if value.best else text) + _escape_latex(value.spread)


def _escape_latex(text: str) -> str:
    """Escape special characters; ``2^-3`` becomes a power, ``20-40`` a range."""
    text = text.translate(_LATEX)
    text = re.sub(r"(\d)\\textasciicircum\{\}(-?\d+)", r"$\1^{\2}$", text)
    text = re.sub(r"(?<=\d)-(?=\d)", "--", text)
    return re.sub(r'"([^"]*)"', r"``\1''", text)


FORMATS = {"md": to_markdown, "tex": to_latex, "csv": to_csv, "text": to_text}


def write_tables(tables: Sequence[Table], folder: Path, formats: Iterable[str]) -> list[Path]:
    r"""Write ``tables.md`` and so on; for LaTeX also ``tables/*.tex``, one table each."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for name in formats:
        paths.append(folder / f"tables.{'txt' if name == 'text' else name}")
        write_atomically(paths[-1], FORMATS[name](tables).encode())
    if "tex" in formats:
        (folder / "tables").mkdir(exist_ok=True)
        for table in tables:
            text = f"% {_PACKAGES}\n{_latex_table(table)}\n"
            write_atomically(folder / "tables" / f"{table.id}.tex", text.encode())
    return paths
