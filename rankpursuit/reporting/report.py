"""The report: one self-contained web page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import get_args

from rankpursuit import __version__
from rankpursuit.reporting.claims import Outcome, Verdict, claims_table, judge_claims
from rankpursuit.reporting.figures import save
from rankpursuit.reporting.html import render, slug
from rankpursuit.reporting.report_content import Section, section_of
from rankpursuit.reporting.results import Results
from rankpursuit.writing import check_output, write_atomically

TITLE = "Semi-supervised Ranking Pursuit: what was measured"
_SYNTHETIC = "with SYNTHETIC ratings"


def write_report(
    results: Sequence[Results], path: str | Path, figures: str | Path | None = None
) -> None:
    """Write the report of some runs, in the order of the paper's tables.

    Parameters
    ----------
    results : sequence of Results
    path : path
        The page to write.
    figures : path, optional
        Folder that gets the figures as SVG and PNG, in a folder for each run.

    Raises
    ------
    OutputError
        If a file cannot be written, or something that is no regular file has its name.
    """
    path = Path(path)
    check_output(path)
    results = sorted(results, key=lambda run: (run.table is None, run.table or 0, run.name))
    sections = [section_of(run) for run in results]
    path.parent.mkdir(parents=True, exist_ok=True)
    title = f"{TITLE}, {_SYNTHETIC}" if any(run.is_synthetic for run in results) else TITLE
    write_atomically(path, render_report(sections, judge_claims(results), title).encode())
    if figures is not None:
        write_figures(sections, Path(figures))


def write_figures(sections: Sequence[Section], folder: Path) -> list[Path]:
    """Write the figures of each run as SVG and PNG into a folder of its name."""
    written = []
    for section in sections:
        place = folder / section.name
        place.mkdir(parents=True, exist_ok=True)
        for drawn in section.figures:
            written += save(drawn.figure, place / drawn.name)
    return written


def render_report(
    sections: Sequence[Section], verdicts: Sequence[Verdict], title: str = TITLE
) -> str:
    """Return the page: verdicts on top, then a section for each run."""
    counts = Counter(verdict.outcome for verdict in verdicts)
    return render(
        "report.html",
        title=title,
        version=__version__,
        sections={
            slug(f"run {number} {section.name}"): section
            for number, section in enumerate(sections, start=1)
        },
        verdicts=verdicts,
        counts={outcome: counts[outcome] for outcome in get_args(Outcome)},
        claims=claims_table(verdicts),
    )
