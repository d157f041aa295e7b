"""The report: one self-contained web page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import get_args

from tqdm import tqdm

from rankpursuit import __version__
from rankpursuit.reporting.claims import Outcome, Verdict, claims_table, judge_claims
from rankpursuit.reporting.figures import save
from rankpursuit.reporting.html import render, slug
from rankpursuit.reporting.published import published_tables
from rankpursuit.reporting.report_content import Section, section_of
from rankpursuit.reporting.report_story import Story, tell
from rankpursuit.reporting.results import Results
from rankpursuit.writing import check_output, write_atomically

TITLE = "Semi-supervised Ranking Pursuit: what was measured"
_SYNTHETIC = "with SYNTHETIC ratings"

COUNTED: dict[Outcome, tuple[str, str]] = {
    "holds": ("holds", "hold"),
    "partly": ("holds partly", "hold partly"),
    "does not hold": ("does not hold", "do not hold"),
    "undecided": ("is undecided", "are undecided"),
}
"""How one claim, and how several, of an outcome are told."""


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
        Folder that gets the figures as SVG, for light and dark pages, and as PNG, in a folder for
        each run.

    Raises
    ------
    OutputError
        If a file cannot be written, or something that is no regular file has its name.
    """
    path = Path(path)
    check_output(path)
    results = sorted(results, key=lambda run: (run.table is None, run.table or 0, run.name))
    shown = tqdm(results, desc="report", unit="run", disable=None, leave=False)
    sections = [section_of(run) for run in shown]
    path.parent.mkdir(parents=True, exist_ok=True)
    title = f"{TITLE}, {_SYNTHETIC}" if any(run.is_synthetic for run in results) else TITLE
    page = render_report(sections, judge_claims(results), tell(results), title)
    write_atomically(path, page.encode())
    if figures is not None:
        write_figures(sections, Path(figures))


def write_figures(sections: Sequence[Section], folder: Path) -> list[Path]:
    """Write the figures of each run, see `save`, into a folder of its name."""
    written = []
    for section in sections:
        place = folder / section.name
        place.mkdir(parents=True, exist_ok=True)
        for drawn in section.figures:
            written += save(drawn.figure, place / drawn.name)
    return written


def render_report(
    sections: Sequence[Section],
    verdicts: Sequence[Verdict],
    story: Story | None = None,
    title: str = TITLE,
) -> str:
    """Return the page: the story on top, then the claims, then a section for each run."""
    counts = Counter(verdict.outcome for verdict in verdicts)
    by_id = {
        slug(f"run {number} {section.name}"): section
        for number, section in enumerate(sections, start=1)
    }
    places = {section.table: id for id, section in reversed(by_id.items())}
    return render(
        "report.html",
        title=title,
        version=__version__,
        story=story or Story(),
        sections=by_id,
        places=places,
        titles={number: table.title for number, table in published_tables().items()},
        verdicts=verdicts,
        in_abstract=[one for one in verdicts if "Abstract" in one.claim.sections],
        counts={outcome: counts[outcome] for outcome in get_args(Outcome)},
        words=COUNTED,
        claim_notes=claims_table(verdicts).notes,
    )
