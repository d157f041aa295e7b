"""Tables in LaTeX: each by itself, to be input into a paper, and all in a document."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from rankpursuit.reporting.table import Part, Table

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

_NOT_OF_A_LABEL = re.compile(r"[^A-Za-z0-9_.-]")
"""LaTeX escapes nothing in a label."""

_PACKAGES = r"\usepackage{adjustbox, array, booktabs}"

_PREAMBLE = rf"""\documentclass{{article}}
\usepackage[utf8]{{inputenc}}
\usepackage[a4paper, margin=2cm]{{geometry}}
{_PACKAGES}
\begin{{document}}
"""

_COLUMN = r">{\raggedright\arraybackslash}p{%.3f\linewidth}"
_SENTENCES = 0.84
"""Share of the line that columns of sentences have; the rest is for the gaps between them."""
_SHORTEST, _LONGEST = 12, 60
"""Characters of a column's longest cell between which it grows wider."""


def to_latex(tables: Sequence[Table]) -> str:
    """Return a LaTeX document that compiles as it is."""
    return latex_document(latex_table(table) for table in tables)


def latex_document(parts: Iterable[str]) -> str:
    """Return a document with the packages that tables need."""
    body = "\n\n".join(parts)
    return f"{_PREAMBLE}\n{body}\n\\end{{document}}\n"


def latex_files(tables: Sequence[Table]) -> dict[str, str]:
    """Return a file for each table, without a preamble, by its name.

    The names are those of the tables, with nothing in them that LaTeX or a file system minds.
    """
    return {f"{_safe(table.id)}.tex": f"% {_PACKAGES}\n{latex_table(table)}\n" for table in tables}


def latex_table(table: Table) -> str:
    """Return one table, in the environment of that name.

    One that is wider than the line, or leaves no room for its notes, is made smaller.
    """
    n_columns = len(table.columns)
    align, size = "l" + "r" * n_columns, r"\small"
    if table.align == "l":
        align, size = "".join(_COLUMN % share for share in _shares(table)), r"\footnotesize"
    gap = rf"\setlength{{\tabcolsep}}{{{3 if n_columns > 7 else 5}pt}}"
    between = "\n\\addlinespace\n" if table.align == "l" else "\n"
    rows = "\n\\midrule\n".join(_latex_part(part, table.columns, between) for part in table.parts)
    notes = "\\par\n".join(_latex_words(note) for note in table.notes)
    return "\n".join(
        [
            r"\begin{table}[htbp]",
            rf"\centering{size}{gap}\setlength{{\belowcaptionskip}}{{6pt}}",
            rf"\caption{{{_latex_words(table.title)}}}",
            rf"\label{{tab:{_safe(table.id)}}}",
            r"\begin{adjustbox}{max width=\linewidth, max totalheight=0.8\textheight}",
            rf"\begin{{tabular}}{{{align}}}",
            r"\toprule",
            rows,
            r"\bottomrule",
            r"\end{tabular}",
            r"\end{adjustbox}",
            rf"\par\smallskip\begin{{minipage}}{{\linewidth}}\footnotesize {notes}\end{{minipage}}",
            r"\end{table}",
        ]
    )


def _shares(table: Table) -> list[float]:
    """Return the share of the line of each column of sentences, more for longer ones."""
    rows = [["", *table.columns]]
    for part in table.parts:
        rows += [[name, *(cell.text for cell in row)] for name, row in part.rows.items()]
    longest = [max(map(len, column)) for column in zip(*rows, strict=True)]
    roots = [min(max(length, _SHORTEST), _LONGEST) ** 0.5 for length in longest]
    return [_SENTENCES * root / sum(roots) for root in roots]


def _safe(name: str) -> str:
    return re.sub(_NOT_OF_A_LABEL, "-", name)


def _latex_part(part: Part, columns: Sequence[str], between: str) -> str:
    head = f"{_latex_row([part.heading, *columns])}\n\\midrule\n"
    lines = []
    for name, row in part.rows.items():
        words = []
        for cell in row:
            text = _latex_words(cell.text)
            words.append((rf"\textbf{{{text}}}" if cell.best else text) + _latex_words(cell.rest))
        lines.append(" & ".join([_latex_words(name), *words]) + r" \\")
    return head + between.join(lines)


def _latex_row(words: Sequence[str]) -> str:
    return " & ".join(_latex_words(word) for word in words) + r" \\"


def _latex_words(text: str) -> str:
    """Escape what LaTeX would take as commands; ``2^-3`` becomes a power, ``20-40`` a range."""
    powers = re.split(r"(\d\^-?\d+)", text)
    for at, piece in enumerate(powers):
        if at % 2:
            base, exponent = piece.split("^")
            powers[at] = f"${base}^{{{exponent}}}$"
        else:
            words = "".join(_SPECIAL.get(character, character) for character in piece)
            words = re.sub(r"(?<=\d)-(?=\d)", "--", words)
            powers[at] = re.sub(r'"([^"]*)"', r"``\1''", words)
    return "".join(powers)
