"""The report: one self-contained web page."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from importlib.resources import files
from pathlib import Path

from rankpursuit import __version__
from rankpursuit.experiments.export import write_atomically
from rankpursuit.reporting.figures import save, to_svg
from rankpursuit.reporting.html import (
    HtmlTable,
    figure_html,
    paragraphs,
    slug,
    table_html,
)
from rankpursuit.reporting.report_content import Section, Verdict, section_of
from rankpursuit.reporting.results import Results

TITLE = "Semi-supervised Ranking Pursuit: what was measured"


def write_report(
    results: Sequence[Results], path: str | Path, figures: str | Path | None = None
) -> None:
    """Write the report of some runs.

    Parameters
    ----------
    results : sequence of Results
    path : path
        The page to write.
    figures : path, optional
        Folder that gets the figures as SVG and PNG, in a folder for each run.
    """
    sections = [section_of(run) for run in results]
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, render_report(sections).encode())
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


def render_report(sections: Sequence[Section]) -> str:
    """Return the page: verdicts on top, then a section for each run."""
    names = [slug(f"{number} {section.name}") for number, section in enumerate(sections, start=1)]
    ids = [f"run-{name}" for name in names]
    links = "".join(
        f'<li><a href="#{name}">{escape(section.title)}</a>: {escape(section.size)}</li>'
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
{_summary(sections)}
{body}
</main>
<script>
{_asset("page.js")}</script>
</body>
</html>
"""


def _summary(sections: Sequence[Section]) -> str:
    """Return what is to be known first: what is too small or incomplete, and the verdicts."""
    parts = ['<section id="summary"><h2>Summary</h2>']
    unfinished = [section for section in sections if section.warnings]
    if unfinished:
        lines = "".join(
            f"<li><b>{escape(section.title)}</b>: {escape(' '.join(section.warnings))}</li>"
            for section in unfinished
        )
        parts.append(f'<div class="warning" role="note"><ul>{lines}</ul></div>')
    verdicts = [(section, verdict) for section in sections for verdict in section.verdicts]
    if verdicts:
        rows = [[v.id, s.title, v.sentence, v.verdict, v.numbers] for s, v in verdicts]
        header = ["claim", "run", "the paper says", "verdict", "numbers"]
        counts = _counts([verdict for _, verdict in verdicts])
        parts.append(f'<p class="counts">{counts}</p>')
        parts.append(table_html(HtmlTable("Verdicts on the paper's claims", header, rows)))
    return "\n".join([*parts, "</section>"])


def _counts(verdicts: Sequence[Verdict]) -> str:
    words = sorted({verdict.verdict for verdict in verdicts})
    number = {word: sum(verdict.verdict == word for verdict in verdicts) for word in words}
    return "; ".join(f"<b>{number[word]}</b> {escape(word)}" for word in words)


def _section(name: str, section: Section) -> str:
    tables = "\n".join(table_html(table) for table in section.tables)
    figures = "\n".join(
        figure_html(f"{name}-{drawn.name}", drawn.caption, to_svg(drawn.figure))
        for drawn in section.figures
    )
    provenance = "".join(
        f"<dt>{escape(key)}</dt><dd>{escape(value)}</dd>"
        for key, value in section.provenance.items()
    )
    return f"""<section id="{name}"><h2>{escape(section.title)}</h2>
<p>{escape(section.size)}</p>{paragraphs(section.warnings, "warning")}
{tables}
<h3>Figures</h3>
{figures or "<p>Nothing to draw yet.</p>"}
<details><summary>Provenance</summary><dl>{provenance}</dl></details>
</section>"""


def _asset(name: str) -> str:
    return files("rankpursuit.reporting").joinpath(name).read_text(encoding="utf-8")
