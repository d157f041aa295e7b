"""Tables as a LaTeX document."""

from __future__ import annotations

import re
from collections.abc import Sequence

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

_PREAMBLE = r"""\documentclass{article}
\usepackage[utf8]{inputenc}
\usepackage[a4paper, margin=2cm]{geometry}
\usepackage{array}
\usepackage{booktabs}
\begin{document}
"""

_COLUMN = r">{\raggedright\arraybackslash}p{%.2f\linewidth}"


def to_latex(tables: Sequence[Table]) -> str:
    """Return a LaTeX document that compiles as it is; each table can be copied out of it.

    A table needs the package booktabs; one with sentences in its cells also array.
    """
    body = "\n\n".join(_latex(table) for table in tables)
    return f"{_PREAMBLE}\n{body}\n\\end{{document}}\n"


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
            rf"\label{{tab:{re.sub(_NOT_OF_A_LABEL, '-', table.id)}}}",
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
