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

_PREAMBLE = r"""\documentclass{article}
\usepackage[utf8]{inputenc}
\usepackage[a4paper, margin=2cm]{geometry}
\usepackage{array}
\usepackage{booktabs}
\begin{document}
"""

_COLUMN = r">{\raggedright\arraybackslash}p{%.2f\linewidth}"


def to_latex(tables: Sequence[Table]) -> str:
    """Return a LaTeX document that compiles as it is."""
    return latex_document(latex_table(table) for table in tables)


def latex_document(parts: Iterable[str]) -> str:
    """Return a document with what tables need: the packages booktabs and array."""
    body = "\n\n".join(parts)
    return f"{_PREAMBLE}\n{body}\n\\end{{document}}\n"


def latex_files(tables: Sequence[Table]) -> dict[str, str]:
    """Return a file for each table, without a preamble, by its name.

    The names are those of the tables, with nothing in them that LaTeX or a file system minds.
    """
    needs = {"r": "booktabs", "l": "booktabs, array"}
    return {
        f"{_safe(table.id)}.tex": f"% \\usepackage{{{needs[table.align]}}}\n{latex_table(table)}\n"
        for table in tables
    }


def latex_table(table: Table) -> str:
    """Return one table, in the environment of that name."""
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
            rf"\label{{tab:{_safe(table.id)}}}",
            rf"\begin{{tabular}}{{l{align}}}",
            r"\toprule",
            rows,
            r"\bottomrule",
            r"\end{tabular}",
            rf"\par\smallskip\begin{{minipage}}{{\linewidth}}\footnotesize {notes}\end{{minipage}}",
            r"\end{table}",
        ]
    )


def _safe(name: str) -> str:
    return re.sub(_NOT_OF_A_LABEL, "-", name)


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
