"""All tables of runs, in order, for a document."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from rankpursuit.reporting.claims import Verdict, claims_table
from rankpursuit.reporting.latex import latex_document, latex_files
from rankpursuit.reporting.render import FORMATS
from rankpursuit.reporting.results import Results
from rankpursuit.reporting.table import Format, Table
from rankpursuit.reporting.tables import (
    error_table,
    experiment_title,
    parameter_table,
    sparsity_table,
)
from rankpursuit.reporting.wilcoxon_tables import wilcoxon_tables
from rankpursuit.writing import write_atomically


def main_tables(run: Results, *, compare: bool = False) -> list[Table]:
    """Return the tables to look at first: errors and sparsity."""
    return [error_table(run, compare=compare), sparsity_table(run)]


def all_tables(
    runs: Sequence[Results],
    verdicts: Sequence[Verdict] = (),
    *,
    compare: bool = False,
    control: str | None = None,
) -> list[Table]:
    """Return every table of runs, each with the claims about it.

    Parameters
    ----------
    runs : sequence of Results
    verdicts : sequence of Verdict
        On the claims about these runs; one about two of them stands with the first.
    compare : bool
        Whether errors stand beside the published ones.
    control : str, optional
        Label of the algorithm that the others are tested against.
    """
    tables = []
    for run in runs:
        tables += [*main_tables(run, compare=compare), parameter_table(run)]
        tables += wilcoxon_tables(run, control=control)
        own = [one for one in verdicts if next(r for r in runs if r in one.runs) is run]
        tables += verdict_tables(own, run)
    return tables


def verdict_tables(
    verdicts: Sequence[Verdict], run: Results | None = None, *, brief: bool = False
) -> list[Table]:
    """Return the table of claims, if there are any; that of a run has its name.

    A claim about a table that there are no results of is no row of it: a note names that table.
    """
    if not verdicts:
        return []
    table = claims_table([one for one in verdicts if not one.absent], brief=brief)
    left_out = (f"Left out, since it {one.reason}: {one.claim}" for one in verdicts if one.absent)
    table = replace(table, notes=(*table.notes, *left_out))
    if run is None:
        return [table]
    return [
        replace(table, id=f"{run.name}-{table.id}", title=f"{table.title}: {experiment_title(run)}")
    ]


def write_tables(tables: Sequence[Table], folder: Path, formats: Sequence[Format]) -> list[Path]:
    r"""Write ``tables.md`` and so on; return the paths.

    LaTeX also gets a file for each table in the folder ``tables``, to ``\input`` into a paper, and
    ``tables.tex`` is a document that does so.
    """
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for name in formats:
        text = _write_latex_files(tables, folder) if name == "tex" else FORMATS[name](tables)
        paths.append(folder / f"tables.{'txt' if name == 'text' else name}")
        write_atomically(paths[-1], text.encode())
    return paths


def _write_latex_files(tables: Sequence[Table], folder: Path) -> str:
    """Write each table to a file of its own; return the document that has them all."""
    (folder / "tables").mkdir(exist_ok=True)
    files = latex_files(tables)
    for name, text in files.items():
        write_atomically(folder / "tables" / name, text.encode())
    return latex_document(rf"\input{{tables/{name}}}" for name in files)
