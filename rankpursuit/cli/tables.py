"""``rp-tables``: the tables of runs, in Markdown, LaTeX, CSV and plain text."""

from __future__ import annotations

from pathlib import Path

import click

from rankpursuit.cli._common import Command


@click.command(cls=Command)
@click.argument("results", nargs=-1, type=click.Path(path_type=Path))
@click.option(
    "--format",
    "format_",
    type=click.Choice(["md", "tex", "csv", "text"]),
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
@click.version_option(package_name="rankpursuit")
def main(
    results: tuple[Path, ...],
    format_: str | None,
    compare: bool,
    control: str | None,
    output: Path | None,
) -> None:
    r"""Make the tables of RESULTS, folders that rp-run wrote; by default, all in results/.

    Writes tables.md, tables.tex and tables.csv beside each of the RESULTS, and prints errors,
    sparsity and the verdicts on the paper's claims. The files also have the chosen parameters and
    Wilcoxon's tests, over repeats and over users.

    \b
    Examples:
      rp-tables
      rp-tables results/jester_crrp --compare
      rp-tables results/jester_crrp --format md
      rp-tables results/jester_* --control rank_rls --output tables
    """
    from rankpursuit.cli._results import load_all
    from rankpursuit.reporting.claims import claims_table, judge_claims
    from rankpursuit.reporting.documents import all_tables, main_tables, write_tables
    from rankpursuit.reporting.render import FORMATS, to_text

    runs = load_all(results)
    if format_ and output is None:
        click.echo(FORMATS[format_](all_tables(runs, compare=compare, control=control)), nl=False)
        return
    formats = [format_] if format_ else ["md", "tex", "csv"]
    if output is None:
        written = []
        for run in runs:
            tables = all_tables([run], compare=compare, control=control, beside=runs)
            written += write_tables(tables, run.folder, formats)
    else:
        tables = all_tables(runs, compare=compare, control=control)
        written = write_tables(tables, output, formats)
    shown = [table for run in runs for table in main_tables(run, compare=compare)]
    verdicts = judge_claims(runs)
    click.echo(to_text([*shown, claims_table(verdicts, brief=True)] if verdicts else shown))
    for path in written:
        click.echo(f"wrote {path}")
