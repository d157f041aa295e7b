"""``rp-tables``: the tables of runs, in Markdown, LaTeX, CSV and plain text."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import get_args

import click

from rankpursuit.cli._common import Command, echo, terminal_width
from rankpursuit.cli._results import load_all, load_beside, results_argument
from rankpursuit.reporting.table import Format


@click.command(cls=Command, short_help="Make the tables of results: text, Markdown, LaTeX, CSV.")
@results_argument
@click.option(
    "--format",
    "format_",
    type=click.Choice(get_args(Format)),
    help="Print all tables in this format instead; with --output, write only this one.",
)
@click.option("--compare", is_flag=True, help="Beside each error, the published one.")
@click.option(
    "--control", metavar="ALGORITHM", help="Test the others against it; default: the table's last."
)
@click.option(
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    help="Write the tables of all RESULTS to files in this folder, not beside each.",
)
def main(
    results: tuple[Path, ...],
    format_: Format | None,
    compare: bool,
    control: str | None,
    output: Path | None,
) -> None:
    r"""Make the tables of RESULTS, folders that rp-run wrote; by default, all in results/.

    Writes tables.md, tables.csv, tables.tex and tables/*.tex beside each of the RESULTS, and prints
    errors, sparsity and the verdicts on the paper's claims. Each of tables/*.tex is one table, to
    \input into a paper; tables.tex is a document with all of them. The files also have the chosen
    parameters and Wilcoxon's tests, over repeats and over users. Claims about two tables also use
    results in the folders beside RESULTS.

    \b
    Examples:
      rp-tables
      rp-tables results/jester_crrp --compare
      rp-tables results/jester_crrp --format md
      rp-tables results/jester_* --control rank_rls --output tables
    """
    from rankpursuit.reporting.claims import judge_claims
    from rankpursuit.reporting.documents import (
        all_tables,
        main_tables,
        verdict_tables,
        write_tables,
    )
    from rankpursuit.reporting.render import FORMATS, to_text

    runs = load_all(results)
    beside = load_beside(runs)
    verdicts = judge_claims(runs, beside=beside)
    tables_of = partial(all_tables, compare=compare, control=control)
    if format_ and output is None:
        echo(FORMATS[format_](tables_of(runs, verdicts)), nl=False)
        return
    formats: tuple[Format, ...] = (format_,) if format_ else ("md", "tex", "csv")
    written = []
    if output is None:
        for run in runs:
            own = [verdict for verdict in verdicts if run in verdict.runs]
            if not own:  # another run of its table came first
                own = judge_claims([run], beside=[*runs, *beside])
            written += write_tables(tables_of([run], own), run.folder, formats)
    else:
        written += write_tables(tables_of(runs, verdicts), output, formats)
    shown = [table for run in runs for table in main_tables(run, compare=compare)]
    echo(to_text([*shown, *verdict_tables(verdicts, brief=True)], terminal_width()))
    for run in beside:
        echo(f"for claims about two tables also read {run.folder.name}, beside them")
    for path in written:
        each = f", and each table in {path.parent / 'tables'}/" if path.suffix == ".tex" else ""
        echo(f"wrote {path}{each}")
