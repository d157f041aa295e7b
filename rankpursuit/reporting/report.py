"""The report: one self-contained web page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import get_args

from rankpursuit import __version__
from rankpursuit.experiments.run.export import write_atomically
from rankpursuit.reporting.claims import Outcome, Verdict, claims_table, judge_claims
from rankpursuit.reporting.figures import save, to_svg
from rankpursuit.reporting.html import (
    figure_html,
    paragraphs,
    slug,
    table_html,
)
from rankpursuit.reporting.report_content import Section, section_of
from rankpursuit.reporting.results import Results

TITLE = "Semi-supervised Ranking Pursuit: what was measured"


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
    """
    results = sorted(results, key=lambda run: (run.table is None, run.table or 0, run.name))
    sections = [section_of(run) for run in results]
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, render_report(sections, judge_claims(results)).encode())
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


def render_report(sections: Sequence[Section], verdicts: Sequence[Verdict]) -> str:
    """Return the page: verdicts on top, then a section for each run."""
    ids = [slug(f"run {number} {section.name}") for number, section in enumerate(sections, start=1)]
    links = "".join(
        f'<li><a href="#{name}">{escape(section.title)}</a></li>'
        for name, section in zip(ids, sections, strict=True)
    )
    body = "\n".join(_section(name, run) for name, run in zip(ids, sections, strict=True))
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="data:,">
<title>{escape(TITLE)}</title>
<style>
{_asset("page.css")}</style>
</head>
<body>
<header><h1>{escape(TITLE)}</h1>
<p>Made by rankpursuit {escape(__version__)}. Click a column's header to sort by it.</p></header>
<main>
<nav aria-label="Runs"><ul>{links}</ul></nav>
{_summary(sections, verdicts)}
{body}
</main>
<script>
{_asset("page.js")}</script>
</body>
</html>
"""


def _summary(sections: Sequence[Section], verdicts: Sequence[Verdict]) -> str:
    """Return what is to be known first: what is too small or incomplete, and the verdicts."""
    parts = ['<section id="summary"><h2>Summary</h2>']
    warned = [section for section in sections if section.warnings]
    if warned:
        lines = "".join(
            f"<li><b>{escape(section.name)}</b>: {escape(' '.join(section.warnings))}</li>"
            for section in warned
        )
        parts.append(f'<div class="warning" role="note"><ul>{lines}</ul></div>')
    if verdicts:
        counts = Counter(verdict.outcome for verdict in verdicts)
        text = ", ".join(f"{outcome}: {counts[outcome]}" for outcome in get_args(Outcome))
        parts.append(f"<p><b>Of {len(verdicts)} claims: {escape(text)}.</b></p>")
        parts.append(table_html(claims_table(verdicts)))
        parts.append(_evidence(verdicts))
    else:
        parts.append("<p>These runs are not about a table of the paper: no claims to judge.</p>")
    return "\n".join([*parts, "</section>"])


def _evidence(verdicts: Sequence[Verdict]) -> str:
    """Return the numbers behind the verdicts, to be opened."""
    blocks = []
    for verdict in verdicts:
        lines = "".join(
            f"<li>{'' if one.agrees else '<b>against:</b> '}{escape(one.text)}</li>"
            for one in verdict.evidence
        )
        if lines:
            title = f"{verdict.claim.id}: {verdict.outcome}, {verdict.reason}"
            blocks.append(f"<h4>{escape(title)}</h4><ul>{lines}</ul>")
    return _details("The numbers behind the verdicts", "".join(blocks)) if blocks else ""


def _section(name: str, section: Section) -> str:
    said = (*section.warnings, *section.notes)
    tables = [
        "\n".join(table_html(table, leave_out=said) for table in kind)
        for kind in (section.tables, section.more_tables)
    ]
    figures = "\n".join(
        figure_html(f"{name}-{drawn.name}", drawn.caption, to_svg(drawn.figure))
        for drawn in section.figures
    )
    provenance = "".join(
        f"<dt>{escape(key)}</dt><dd>{escape(value)}</dd>"
        for key, value in section.provenance.items()
    )
    return f"""<section id="{name}"><h2>{escape(section.title)}</h2>
{paragraphs(section.warnings, "warning")}{paragraphs(section.notes, "note")}
{tables[0]}
{_details("Significance tests", tables[1]) if tables[1] else ""}
<h3>Figures</h3>
{figures or "<p>Nothing to draw yet.</p>"}
{_details("Provenance", f"<dl>{provenance}</dl>")}
</section>"""


def _details(title: str, content: str) -> str:
    return f"<details><summary>{escape(title)}</summary>{content}</details>"


def _asset(name: str) -> str:
    return files("rankpursuit.reporting").joinpath(name).read_text(encoding="utf-8")
