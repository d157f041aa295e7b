"""``rp-report``: one web page of results."""

from __future__ import annotations

from pathlib import Path

import click

from rankpursuit.cli._common import Command, echo, load_all, load_inferred, results_argument


@click.command(cls=Command, short_help="Write one web page of results, with figures.")
@results_argument
@click.option(
    "--output",
    "-o",
    type=click.Path(dir_okay=False, path_type=Path),
    default=Path("report.html"),
    show_default=True,
    help="File name of the page.",
)
@click.option(
    "--figures",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Also write the figures to this folder, as SVG and PNG.",
)
def main(results: tuple[Path, ...], output: Path, figures: Path | None) -> None:
    r"""Write one web page of RESULTS, folders that rp-run wrote.

    It begins with a summary, followed by the errors next to the published ones, the verdicts on
    the paper's claims, and the tables, tests, figures and provenance of each run. The page is
    self-contained and needs no network. Unfinished runs are shown as far as they are complete, with
    a list of what is missing.

    Without RESULTS, uses for each table of the paper your run in results/ if it is complete,
    otherwise the reference run in results/reference/, and compares them with the runs of the
    inferred set-up in the subfolders inferred/.

    \b
    Examples:
      rp-report
      rp-report results/demo --figures figures
    """
    from rankpursuit.reporting.report import write_report

    runs = load_all(results)
    write_report(runs, output, figures, inferred=[] if results else load_inferred())
    echo(f"report: {output}")
    if figures is not None:
        echo(f"figures: {figures}")
