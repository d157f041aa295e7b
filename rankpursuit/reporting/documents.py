"""All tables of runs, in order, for a document."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rankpursuit.reporting.claims import claims_table, judge_claims
from rankpursuit.reporting.render import FORMATS, to_text
from rankpursuit.reporting.results import Results
from rankpursuit.reporting.table import Table
from rankpursuit.reporting.tables import error_table, parameter_table, sparsity_table
from rankpursuit.reporting.wilcoxon_tables import wilcoxon_tables


def main_tables(run: Results, *, compare: bool = False) -> list[Table]:
    """Return the tables to look at first: errors and sparsity."""
    return [error_table(run, compare=compare), sparsity_table(run)]


def all_tables(
    runs: Sequence[Results],
    *,
    compare: bool = False,
    control: str | None = None,
    beside: Sequence[Results] = (),
) -> list[Table]:
    """Return every table of runs, and at the end the claims about them.

    Parameters
    ----------
    runs : sequence of Results
    compare : bool
        Whether errors stand beside the published ones.
    control : str, optional
        Label of the algorithm that the others are tested against.
    beside : sequence of Results
        Further runs, for claims about two tables.
    """
    tables = []
    for run in runs:
        tables += [*main_tables(run, compare=compare), parameter_table(run)]
        tables += wilcoxon_tables(run, control=control)
    numbers = {run.table for run in runs}
    verdicts = [
        one for one in judge_claims([*runs, *beside]) if numbers.intersection(one.claim.tables)
    ]
    return [*tables, claims_table(verdicts)] if verdicts else tables


def write_tables(tables: Sequence[Table], folder: Path, formats: Sequence[str]) -> list[Path]:
    """Write ``tables.md`` and so on; return the paths."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for name in formats:
        path = folder / f"tables.{'txt' if name == 'text' else name}"
        path.write_text(FORMATS[name](tables), encoding="utf-8")
        paths.append(path)
    return paths


def summary(run: Results) -> str:
    """Return the errors of a run as a table for the terminal."""
    return to_text([error_table(run)]).rstrip()
