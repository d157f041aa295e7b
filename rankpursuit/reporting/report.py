"""The report: one self-contained web page of runs."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, get_args

import pandas as pd
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape
from matplotlib.figure import Figure
from tqdm import tqdm

from rankpursuit import __version__
from rankpursuit.experiments.methods import METRICS
from rankpursuit.reporting import figures as fig
from rankpursuit.reporting import tables as tab
from rankpursuit.reporting.claims import Outcome, Verdict, judge_claims
from rankpursuit.reporting.published import (
    is_within,
    published_tables,
    published_tolerance,
)
from rankpursuit.reporting.render import Table
from rankpursuit.reporting.results import Results, title_of
from rankpursuit.reporting.statistics import best_method, compare_columns, errors_by
from rankpursuit.text import counted
from rankpursuit.writing import check_output, write_atomically

TITLE = "Semi-supervised Ranking Pursuit: what was measured"


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
    finding: Sequence[str] = ()
    warnings: Sequence[str] = ()
    notes: Sequence[str] = ()  # hold for all its tables
    topics: Sequence[Topic] = ()
    provenance: Sequence[tuple[str, str]] = ()


class Summary(NamedTuple):
    """The first section of the report: what was run, what was found, and a figure of it."""

    tried: Sequence[str] = ()
    found: Sequence[str] = ()
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
    title = TITLE + ", with SYNTHETIC ratings" * any(run.is_synthetic for run in results)
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
    size, config = tab.size_note(results), tab.config_note(results)
    warnings = tab.warnings(results)
    full = tab.is_full_size(results)
    figures = list(fig.draw_figures(results))

    def drawn(*kinds: str) -> list[fig.CaptionedFigure]:
        return [one for one in figures if one.name.split("-")[0] in kinds]

    topics = (
        Topic("Errors", [tab.error_table(results, compare=True)], drawn("sparsity")),
        Topic("How sparse the solutions are", [tab.sparsity_table(results)]),
        Topic(
            "Parameters and their effect",
            [table for table in (tab.parameter_table(results),) if table.blocks],
            drawn("basis", "width"),
        ),
        Topic("Significance tests", tab.wilcoxon_tables(results)),
    )
    provenance = pd.json_normalize(results.provenance, sep=" ").iloc[0].items()
    return RunSection(
        name=results.name,
        title=tab.title_of_run(results),
        table=results.table,
        finding=finding(results),
        warnings=warnings if full else (size, *warnings),
        notes=(size, config) if full else (config,),
        topics=[topic for topic in topics if topic.tables or topic.figures],
        provenance=[(str(key), str(value)) for key, value in provenance],
    )


# Sentences from the data


def summarise(runs: Sequence[Results]) -> Summary:
    """Return the summary of some runs: the first of each published table, and the others."""
    by_table: dict[int, Results] = {}
    others = []
    for run in runs:
        if run.table is None or by_table.setdefault(run.table, run) is not run:
            others.append(run)
    reproduced = list(by_table.values())
    cells = pd.concat([_deviations(run) for run in reproduced]) if reproduced else pd.DataFrame()
    found = []
    if len(cells):
        lower = int((cells["rounded"] < 0).sum())
        found = [f"{_count_near(cells)} {lower} of the {len(cells)} are lower than published."]
    return Summary(
        tried=[
            f"{tab.title_of_run(run)}: {counted(len(run.methods), 'method')}"
            + f", {counted(len(run.baselines), 'baseline')}" * bool(run.baselines)
            + f", {tab.measured_size(run)} in each group of users."
            for run in (*reproduced, *others)
        ],
        found=[
            *found,
            *(sentence for run in others for sentence in _best(run)),
            *_against_baselines(runs),
        ],
        figure=fig.overview(reproduced),
    )


def finding(run: Results) -> list[str]:
    """Return sentences on how near a run came to its published table, if it has one."""
    sentences = []
    for metric, cells in _deviations(run).groupby("metric", sort=False):
        task = f"{METRICS[metric].task}: " if len(run.metrics) > 1 else ""
        mean = cells["difference"].mean()
        size = f"{abs(mean):.{METRICS[metric].decimals}f} {'lower' if mean < 0 else 'higher'}"
        sentences.append(
            f"{task}{_count_near(cells)} On average, the error is {size} than published."
        )
    return sentences


def _deviations(run: Results) -> pd.DataFrame:
    """Return the differences, measured minus published, of the distinct cells of a table."""
    frames = []
    for metric in run.metrics:
        cells = tab.published_cells(run, metric, distinct=True)
        off = (cells["mean"] - cells["published"]).astype(float)
        near = is_within(off, published_tolerance(metric)) if len(off) else False
        rounded = off.round(METRICS[metric].decimals)
        frames.append(cells.assign(metric=metric, difference=off, near=near, rounded=rounded))
    return pd.concat(frames)


def _count_near(cells: pd.DataFrame) -> str:
    within = ", ".join(
        f"{published_tolerance(metric):g} in {METRICS[metric].title}"
        for metric in cells["metric"].unique()
    )
    count = f"{int(cells['near'].sum())} of {len(cells)}"
    return f"{count} published errors are reproduced (within {within})."


def _best(run: Results) -> Iterator[str]:
    """Yield which method of a run has the lowest error."""
    for metric in run.metrics:
        rows = run.repeats[run.repeats["metric"] == metric]
        means = rows.pivot_table(index="group", columns="algorithm", values="test_error").mean()
        means = means[[label for label in means.index if label in run.methods]]
        if len(means):
            best, title = str(means.idxmin()), METRICS[metric].title
            figure = f"{means[best]:.{METRICS[metric].decimals}f} ({title_of(best)})"
            yield f"{run.name}: the lowest {title}, mean over groups, is {figure}."


def _against_baselines(runs: Sequence[Results]) -> Iterator[str]:
    """Yield a sentence on how often a baseline has a lower error than every method, if any."""
    rows = []
    for run in runs:
        metric, table = run.metrics[0], tab.published_table(run)
        if table is not None and any(metric == one for one, _ in table.printed_before):
            continue  # the same errors as in an earlier table
        for group, label in itertools.product(run.groups, run.baselines):
            best = best_method(run, metric, group)
            found = best and compare_columns(errors_by(run, metric, group), label, best)
            if found:
                rows.append((title_of(label), found.mean < 0, found.mean < 0 and found.significant))
    if rows:
        counts = pd.DataFrame(rows, columns=["title", "lower", "significant"])
        parts = (
            f"{title} in {int(own['lower'].sum())} of {len(own)} groups of users (significantly in "
            f"{int(own['significant'].sum())})"
            for title, own in counts.groupby("title", sort=False)
        )
        yield (
            "Baselines that are not in the paper have a lower error than its best method as "
            f"follows: {', '.join(parts)}; Wilcoxon's test over repeats."
        )


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
