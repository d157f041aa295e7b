"""``rp-report``: one web page of what was measured."""

from __future__ import annotations

from pathlib import Path

import click

from rankpursuit.cli._common import Command


@click.command(cls=Command)
@click.argument("folders", metavar="RESULTS...", nargs=-1, required=True, type=click.Path())
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
    help="Also write the figures there, as SVG and PNG.",
)
@click.version_option(package_name="rankpursuit")
def main(folders: tuple[str, ...], output: Path, figures: Path | None) -> None:
    r"""Write one self-contained web page of the runs in RESULTS, folders that rp-run wrote.

    A folder that holds folders of results, such as results/, stands for all of them. Runs that
    are not finished are shown with what there is, and the page says what is missing.

    \b
    Examples:
      rp-report results/ -o report.html
      rp-report results/demo --figures figures
    """
    from rankpursuit.reporting.report import write_report
    from rankpursuit.reporting.results import find_results, load_results

    places = [place for folder in folders for place in find_results(folder) or [Path(folder)]]
    write_report([load_results(place) for place in places], output, figures)
    click.echo(f"report: {output}")
    if figures is not None:
        click.echo(f"figures: {figures}")
