"""``rp-report``: one web page of results."""

from __future__ import annotations

from pathlib import Path

import click

from rankpursuit.cli._common import Command, echo
from rankpursuit.cli._results import load_all, results_argument


@click.command(cls=Command, short_help="Write one web page of results, with figures.")
@results_argument
@click.option(
    "--output",
    "-o",
    type=click.Path(dir_okay=False, path_type=Path),
    default=Path("report.html"),
    show_default=True,
    help="The page to write.",
)
@click.option(
    "--figures",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Also write the figures there, as SVG for light and dark pages, and as PNG.",
)
def main(results: tuple[Path, ...], output: Path, figures: Path | None) -> None:
    r"""Write one web page of RESULTS, folders that rp-run wrote.

    A summary, verdicts on the paper's claims, tables, tests, figures and provenance:
    self-contained, for any browser, online or not. Runs that are not finished are shown as far as
    they are complete, and the page says what is missing.

    Without RESULTS, uses your own run in results/ of each table of the paper if it is complete,
    otherwise the reference in results/reference/.

    \b
    Examples:
      rp-report
      rp-report results/demo --figures figures
    """
    from rankpursuit.reporting.report import write_report

    write_report(load_all(results), output, figures)
    echo(f"report: {output}")
    if figures is not None:
        echo(f"figures: {figures}")
