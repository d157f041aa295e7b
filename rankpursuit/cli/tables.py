"""``rp-tables``: the tables of runs, in Markdown, LaTeX, CSV and plain text."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import click

from rankpursuit.cli._common import (
    DEFAULT,
    Command,
    echo,
    load_all,
    results_argument,
    terminal_width,
)

_WIDTH = 120  # of tables that are not printed to a terminal


@click.command(cls=Command, short_help="Make the tables of results: text, Markdown, LaTeX, CSV.")
@results_argument
@click.option(
    "--format",
    "format_",
    type=click.Choice(["md", "tex", "csv", "text"]),
    help="Print all tables in this format; with --output, write only this format.",
)
@click.option("--all", "all_", is_flag=True, help="Print all tables, not only errors and verdicts.")
@click.option("--compare", is_flag=True, help="Add the published errors.")
@click.option(
    "--control",
    metavar="ALGORITHM",
    help="Reference method of the tests; default: the last in the config.",
)
@click.option("--wide", is_flag=True, help="LaTeX: tables that span two columns (table*).")
@click.option(
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    help="Write the tables of all RESULTS to files in this folder.",
)
def main(
    results: tuple[Path, ...],
    format_: str | None,
    all_: bool,
    compare: bool,
    control: str | None,
    wide: bool,
    output: Path | None,
) -> None:
    r"""Make the tables of RESULTS, folders that rp-run wrote.

    Writes tables.md, tables.csv, tables.tex and tables/*.tex into each of the RESULTS, and prints
    errors and the verdicts on the paper's claims; with two RESULTS, their errors side by side. Each
    of tables/*.tex is one table, to \input into a paper; tables.tex is a document with all of
    them. The files, and --all, also have sparsity, the chosen parameters, Wilcoxon tests over
    repeats and over users, and the claims in words. Claims about two tables need the RESULTS of
    both.

    Without RESULTS, uses for each table of the paper your run in results/ if it is complete,
    otherwise the reference run in results/reference/, and writes to results/tables/.

    \b
    Examples:
      rp-tables
      rp-tables results/jester_crrp --compare
      rp-tables results/mine results/other
      rp-tables results/jester_crrp --format md
      rp-tables results/jester_* --control rank_rls --output tables
    """
    from rankpursuit.reporting.claims import judge_claims
    from rankpursuit.reporting.render import FORMATS, to_text, write_tables
    from rankpursuit.reporting.tables import all_tables, claims_table, error_table, side_by_side

    runs = load_all(results)
    tables_of = partial(all_tables, compare=compare, control=control, wide=wide)
    if format_ and output is None:
        echo(FORMATS[format_](tables_of(runs)), nl=False)
        return
    folders = {output or DEFAULT / "tables": runs}
    if results and output is None:
        folders = {run.folder: [run] for run in runs}
    written = []
    for folder, own in folders.items():
        formats = [format_] if format_ else ["md", "tex", "csv"]
        written += write_tables(tables_of(own, others=runs), folder, formats)
    if all_:
        shown = tables_of(runs)
    elif len(results) == len(runs) == 2:
        shown = [side_by_side(*runs)]
    else:
        verdicts = judge_claims(runs)
        shown = [error_table(run, compare=compare) for run in runs]
        shown += [claims_table(verdicts)] if verdicts else []
    echo(to_text(shown, terminal_width() or _WIDTH))
    for path in written:
        each = f", and each table in {path.parent / 'tables'}/" if path.suffix == ".tex" else ""
        echo(f"wrote {path}{each}")
