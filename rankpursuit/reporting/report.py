"""The report: one self-contained web page of runs."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, get_args

import pandas as pd
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape
from matplotlib.figure import Figure
from tqdm import tqdm

from rankpursuit import __version__
from rankpursuit.experiments.methods import METRICS
from rankpursuit.reporting import figures as fig
from rankpursuit.reporting import tables as tab
from rankpursuit.reporting.check import published_tolerances
from rankpursuit.reporting.claims import Outcome, Verdict, judge_claims
from rankpursuit.reporting.published import published_size, published_tables
from rankpursuit.reporting.render import Table
from rankpursuit.reporting.results import Results, title_of
from rankpursuit.reporting.statistics import proposed_algorithm
from rankpursuit.writing import check_output, write_atomically

TITLE = "Semi-supervised Ranking Pursuit: what was measured"

VERBS: dict[Outcome, tuple[str, str]] = {  # for one claim and for several
    "holds": ("holds", "hold"),
    "partly": ("holds partly", "hold partly"),
    "does not hold": ("does not hold", "do not hold"),
    "undecided": ("is undecided", "are undecided"),
}


class Topic(NamedTuple):
    """Tables and figures under a heading; the first of a run is open, others are folded."""

    title: str
    tables: Sequence[Table] = ()
    figures: Sequence[fig.CaptionedFigure] = ()


class RunSection(NamedTuple):
    """The section of the report about a run."""

    name: str
    title: str
    table: int | None = None
    finding: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()  # hold for all its tables
    topics: Sequence[Topic] = ()
    provenance: Sequence[tuple[str, str]] = ()


class Summary(NamedTuple):
    """The first section of the report: what was run, what was found, and a figure of it."""

    tried: tuple[str, ...] = ()
    found: tuple[str, ...] = ()
    figure: fig.CaptionedFigure | None = None


def write_report(
    results: Sequence[Results], path: str | Path, figures: str | Path | None = None
) -> None:
    """Write the report of some runs, in the order of the paper's tables.

    The folder `figures` gets the figures as SVG, for light and dark pages, and as PNG.
    """
    path = Path(path)
    check_output(path)
    results = sorted(results, key=lambda run: (run.table is None, run.table or 0, run.name))
    progress = tqdm(results, desc="report", unit="run", disable=None, leave=False)
    sections = [run_section(run) for run in progress]
    synthetic = any(run.is_synthetic for run in results)
    title = TITLE + ", with SYNTHETIC ratings" * synthetic
    page = render_report(sections, judge_claims(results), summarise(results), title)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, page.encode())
    if figures is not None:
        for section in sections:
            folder = Path(figures) / section.name
            folder.mkdir(parents=True, exist_ok=True)
            for drawn in (one for topic in section.topics for one in topic.figures):
                fig.save(drawn.figure, folder / drawn.name)


def render_report(
    sections: Sequence[RunSection],
    verdicts: Sequence[Verdict],
    summary: Summary = Summary(),  # noqa: B008
    title: str = TITLE,
) -> str:
    """Return the page: the summary, then the claims, then a section for each run."""
    counts = Counter(verdict.outcome for verdict in verdicts)
    names = (f"run {number} {one.name}".lower() for number, one in enumerate(sections, start=1))
    ids = (re.sub(r"[^a-z0-9]+", "-", name).strip("-") for name in names)
    by_id = dict(zip(ids, sections, strict=True))
    environment = Environment(
        loader=PackageLoader("rankpursuit.reporting"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {"drawing": _drawing, "powers": _powers}
    return environment.get_template("report.html").render(
        title=title,
        version=__version__,
        summary=summary,
        sections=by_id,
        places={section.table: id for id, section in reversed(by_id.items())},
        titles={number: table.title for number, table in published_tables().items()},
        verdicts=verdicts,
        in_abstract=[one for one in verdicts if "Abstract" in one.claim.sections],
        counts={outcome: counts[outcome] for outcome in get_args(Outcome)},
        verbs=VERBS,
        claim_notes=tab.claim_notes(),
    )


def _drawing(figure: Figure, name: str) -> Markup:
    return Markup(inline_svg(fig.to_svg(figure), str(escape(name))))


def _powers(text: str) -> Markup:
    """Return a text whose powers, such as ``2^-3``, are superscripts."""
    raised = re.sub(r"(\d)\^(-?\d+)", r"\1<sup>\2</sup>", str(escape(text)))
    return Markup(raised.replace("<sup>-", "<sup>&minus;"))


def run_section(results: Results) -> RunSection:
    """Return the section about a run."""
    size, readings, full = (
        tab.size_note(results),
        tab.readings_note(results),
        tab.is_full_size(results),
    )
    warnings = (*tab.synthetic_notes(results), *tab.missing_notes(results))
    in_paper = "" if results.table is None else f" (Table {results.table} of the paper)"
    figures = list(fig.draw_figures(results))

    def drawn(*kinds: str) -> list[fig.CaptionedFigure]:
        return [one for one in figures if one.name.split("-")[0] in kinds]

    topics = (
        Topic("Errors", [tab.error_table(results, compare=True)], drawn("sparsity")),
        Topic("How sparse the solutions are", [tab.sparsity_table(results)]),
        Topic(
            "Parameters and their effect", [tab.parameter_table(results)], drawn("basis", "width")
        ),
        Topic("Differences between methods", (), drawn("paired")),
        Topic("Significance tests", tab.wilcoxon_tables(results)),
    )
    return RunSection(
        name=results.name,
        title=tab.subject_of(results) + in_paper,
        table=results.table,
        finding=finding(results),
        warnings=warnings if full else (size, *warnings),
        notes=(size, readings) if full else (readings,),
        topics=[topic for topic in topics if topic.tables or topic.figures],
        provenance=list(_flatten(results.provenance)),
    )


def _flatten(mapping: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    for key, value in mapping.items():
        if isinstance(value, dict):
            yield from _flatten(value, f"{prefix}{key} ")
        else:
            yield f"{prefix}{key}", str(value)


# Sentences from the data


def summarise(runs: Sequence[Results]) -> Summary:
    """Return the summary of some runs: the first of each published table, and the others."""
    by_table: dict[int, Results] = {}
    others = []
    for run in runs:
        if run.table is None or by_table.setdefault(run.table, run) is not run:
            others.append(run)
    reproduced = list(by_table.values())
    cells = _deviations(reproduced)
    found = []
    if len(cells):
        lower = sum(
            round(one.difference, METRICS[one.metric].decimals) < 0 for one in cells.itertuples()
        )
        found = [f"{_count_near(cells)} {lower} of the {len(cells)} are lower than published."]
    return Summary(
        tried=tuple(_tried(reproduced, others)),
        found=(*found, *(sentence for run in others for sentence in _best(run))),
        figure=fig.overview(reproduced),
    )


def finding(run: Results) -> tuple[str, ...]:
    """Return sentences on how near a run came to its published table, if it has one."""
    sentences = []
    for metric, cells in _deviations([run]).groupby("metric", sort=False):
        task = f"{METRICS[metric].task}: " if len(run.metrics) > 1 else ""
        mean = cells["difference"].mean()
        size = f"{abs(mean):.{METRICS[metric].decimals}f} {'lower' if mean < 0 else 'higher'}"
        sentences.append(
            f"{task}{_count_near(cells)} On average, the error is {size} than published."
        )
    return tuple(sentences)


def _deviations(runs: Sequence[Results]) -> pd.DataFrame:
    """Return metric, difference (measured minus published) and tolerance of each cell."""
    tolerances = published_tolerances()
    rows = [
        (metric, difference, tolerances[run.table, metric])
        for run in runs
        for metric in run.metrics
        for difference in tab.published_cells(run, metric).eval("mean - published")
        if run.table is not None
    ]
    return pd.DataFrame(rows, columns=["metric", "difference", "tolerance"])


def _count_near(cells: pd.DataFrame) -> str:
    near = int((cells["difference"].abs() <= cells["tolerance"] + 1e-9).sum())
    return f"{near} of {len(cells)} published errors come out within sampling error."


def _tried(reproduced: Sequence[Results], others: Sequence[Results]) -> Iterator[str]:
    if reproduced:
        methods = {label for run in reproduced for label in run.algorithms}
        numbers = _join([str(run.table) for run in reproduced])
        tables = "Table" if len(reproduced) == 1 else "Tables"
        yield f"{tables} {numbers} of the paper, run again with {len(methods)} methods."
        small = [f"Table {run.table}" for run in reproduced if not tab.is_full_size(run)]
        if small:
            yield f"Smaller than the paper's {published_size()}: {_join(small)}."
        else:
            yield f"At the paper's size or more: {published_size()} in each group of users."
    for run in others:
        size = tab.measured_size(run)
        yield f"{run.name}: {len(run.algorithms)} methods, {size} in each group of users."


def _best(run: Results) -> Iterator[str]:
    """Yield which method of a run has the lowest error, and that of the proposed one."""
    for metric in run.metrics:
        rows = run.repeats[run.repeats["metric"] == metric]
        by_group = rows.groupby(["algorithm", "group"])["test_error"].mean()
        means = by_group.groupby("algorithm").mean()
        best, proposed = str(means.idxmin()), proposed_algorithm(run)
        title, digits = METRICS[metric].title, METRICS[metric].decimals
        text = f"{run.name}: the lowest {title}, mean over groups, is {means[best]:.{digits}f}"
        text += f" ({title_of(best)})"
        if proposed != best:
            text += f"; {title_of(proposed)} has {means[proposed]:.{digits}f}"
        yield f"{text}."


def _join(items: Sequence[str]) -> str:
    """Join items as English lists them."""
    return " and ".join([*[", ".join(items[:-1])] * (len(items) > 1), items[-1]])


def inline_svg(svg: str, name: str) -> str:
    """Return a drawing to embed in a page, in the colours of the page's text.

    Declarations, metadata and the fixed size are removed, its width becomes the variable
    ``--natural``, and identifiers get a prefix, since those of a page must differ.
    """
    svg = svg[svg.index("<svg") :].replace("<svg", '<svg role="img" aria-hidden="true"', 1)
    svg = re.sub(r"<(metadata|style).*?</\1>", "", svg, flags=re.DOTALL)
    svg = re.sub(r' xmlns(:xlink)?="[^"]*"', "", svg)
    svg = re.sub(r"(<svg[^>]*?) width=\"([^\"]*)\"", r'\1 style="--natural: \2"', svg, count=1)
    svg = re.sub(r"(<svg[^>]*?) height=\"[^\"]*\"", r"\1", svg, count=1)
    svg = re.sub(r'\bid="', f'id="{name}-', svg)
    svg = svg.replace('xlink:href="#', f'href="#{name}-').replace("url(#", f"url(#{name}-")
    return svg.replace(fig.INK, "currentColor").replace(fig.GRID, "var(--line)")
