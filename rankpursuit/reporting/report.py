"""The report: one self-contained web page of runs."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import pandas as pd
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape
from matplotlib.figure import Figure
from tqdm import tqdm

from rankpursuit import __version__
from rankpursuit.experiments.methods import METRICS
from rankpursuit.reporting import figures as fig
from rankpursuit.reporting import tables as tab
from rankpursuit.reporting.claims import MARKS, Outcome, Verdict, judge_claims
from rankpursuit.reporting.published import published_tables
from rankpursuit.reporting.results import Results, title_of
from rankpursuit.writing import check_output, write_atomically

TITLE = "Semi-supervised Ranking Pursuit: results"
_FILLS = {  # what the fill of a missing rating is over, by `fill_over` of the protocol
    "user": "all ratings",
    "items": "the items at hand",
    "set": "the items at hand, training and test items apart",
}


class SetUp(NamedTuple):
    """Runs of the paper's tables with one set-up, and how they agree with the paper."""

    title: str
    runs: Sequence[Results]  # one for each table
    cells: pd.DataFrame  # the distinct cells of the tables, see `published_cells`
    verdicts: Sequence[Verdict]

    @property
    def counts(self) -> Counter[Outcome]:
        """Number of claims with each outcome."""
        return Counter(verdict.outcome for verdict in self.verdicts)


class Summary(NamedTuple):
    """The first section of the report."""

    setups: Sequence[SetUp] = ()  # of the paper's tables
    story: Sequence[tuple[str, str]] = ()  # sentences, each with its beginning, in bold
    inferred_changes: Sequence[str] = ()  # options of the inferred set-up that the text's has not

    @property
    def outcomes(self) -> list[Outcome]:
        """Outcomes of at least one claim under any set-up."""
        return [outcome for outcome in MARKS if any(one.counts[outcome] for one in self.setups)]

    @property
    def runs(self) -> dict[str, Sequence[Results]]:
        """Runs of each set-up, by its title."""
        return {setup.title: setup.runs for setup in self.setups}


def write_report(
    results: Sequence[Results],
    path: str | Path,
    figures: str | Path | None = None,
    inferred: Sequence[Results] = (),
) -> None:
    """Write the report of some runs, in the order of the paper's tables.

    The folder `figures` gets the figures as SVG and PNG. `inferred` are runs of the paper's tables
    with the inferred set-up, for the summary and the claims.
    """
    path = Path(path)
    check_output(path)
    results = sorted(results, key=lambda run: (run.table is None, run.table or 0, run.name))
    progress = tqdm(results, desc="report", unit="run", disable=None, leave=False)
    drawn = [list(fig.draw_figures(run)) for run in progress]
    page = render_report(results, drawn, summarise(results, inferred))
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, page.encode())
    for run, own in zip(results, drawn, strict=True) if figures is not None else ():
        folder = Path(figures or "") / run.name
        folder.mkdir(parents=True, exist_ok=True)
        for one in own:
            fig.save(one.figure, folder / one.name)


def render_report(
    runs: Sequence[Results], figures: Sequence[Sequence[fig.CaptionedFigure]], summary: Summary
) -> str:
    """Return the page: the summary, then the claims, then a section for each run."""
    names = (f"run {number} {run.name}".lower() for number, run in enumerate(runs, start=1))
    ids = [re.sub(r"[^a-z0-9]+", "-", name).strip("-") for name in names]
    environment = Environment(
        loader=PackageLoader("rankpursuit.reporting"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {"drawing": _drawing, "powers": _powers}
    environment.globals |= {"marks": MARKS, "tables": tab, "finding": finding}
    return environment.get_template("report.html").render(
        title=TITLE + ", with SYNTHETIC ratings" * any(run.is_synthetic for run in runs),
        version=__version__,
        summary=summary,
        runs=list(zip(ids, runs, figures, strict=True)),
        places={run.table: id for id, run in reversed(list(zip(ids, runs, strict=True)))},
        titles={number: table.title for number, table in published_tables().items()},
    )


def _drawing(figure: Figure, name: str) -> Markup:
    return Markup(inline_svg(fig.to_svg(figure), str(escape(name))))


def _powers(text: str) -> Markup:
    """Return a text whose powers, such as ``2^-3``, are superscripts."""
    raised = re.sub(r"(\d)\^(-?\d+)", r"\1<sup>\2</sup>", str(escape(text)))
    return Markup(raised.replace("<sup>-", "<sup>&minus;"))


# Sentences from the data


def summarise(runs: Sequence[Results], inferred: Sequence[Results] = ()) -> Summary:
    """Return the summary of some runs: the first of each published table, and the others."""
    by_table: dict[int, Results] = {}
    others = []
    for run in runs:
        if run.table is None or by_table.setdefault(run.table, run) is not run:
            others.append(run)
    setups = []
    if by_table:
        changed = any(tab.config_changes(run) for run in by_table.values())
        title = "These runs" if changed else "The text's set-up"
        setups.append(make_setup(title, list(by_table.values())))
        if inferred:
            setups.append(make_setup("The inferred set-up", inferred))
    of_data = {run.experiment.data.name: run for run in reversed(by_table.values())}
    lowest = sorted((tab.data_title(run), run) for run in of_data.values())
    return Summary(
        setups=setups,
        story=[
            *_why_different(setups),
            *_lowest_errors([*lowest, *((run.name, run) for run in others)]),
        ],
        inferred_changes=sorted(
            {key.split(".")[-1] for run in inferred for key in tab.config_changes(run)}
        ),
    )


def make_setup(title: str, runs: Sequence[Results]) -> SetUp:
    """Compare the runs of a set-up, one for each table, with the paper."""
    cells = pd.concat([tab.published_cells(run) for run in runs]).dropna(subset="measured")
    return SetUp(title, runs, cells, judge_claims(runs))


def finding(run: Results) -> list[str]:
    """Return sentences on how near a run came to its published table, if it has one."""
    sentences = []
    cells = tab.published_cells(run).dropna(subset="measured")
    for metric, own in cells.groupby("metric", sort=False):
        task = f"{METRICS[metric].task}: " if len(run.metrics) > 1 else ""
        sentences.append(
            f"{task}{own['within'].sum()} of {len(own)} published errors are reproduced, within "
            f"{tab.tolerance_text([metric])}; measured errors are {_offset(own)} than published."
        )
    return sentences


def _offset(cells: pd.DataFrame) -> str:
    """Return the mean difference of the cells of a metric, such as ``on average 0.008 lower``."""
    mean, digits = cells["difference"].mean(), METRICS[cells["metric"].iloc[0]].decimals
    return f"on average {abs(mean):.{digits}f} {'lower' if mean < 0 else 'higher'}"


def _why_different(setups: Sequence[SetUp]) -> Iterator[tuple[str, str]]:
    """Yield why MovieLens looked different, if the set-ups differ in the fill of its ratings."""
    parts = {}
    for setup in setups:
        runs = [run for run in setup.runs if run.experiment.data.name == "movielens"]
        cells = setup.cells[setup.cells["table"].isin([run.table for run in runs])]
        for fill in {run.experiment.protocol.fill_over for run in runs}:
            near = f"{cells['within'].sum()} of {len(cells)} errors are within tolerance"
            parts[fill] = f"over {_FILLS[fill]}, {near} ({_offset(cells)} than published)"
    if len(parts) == 2:
        yield (
            "MovieLens looked different because of the fill of missing ratings.",
            f"With the reference user's median {'; '.join(parts.values())}.",
        )


def _lowest_errors(runs: Sequence[tuple[str, Results]]) -> Iterator[tuple[str, str]]:
    """Yield the error of the best method of each run, and of the mean rating if it was run."""
    learned, without = [], []
    for name, run in runs:
        metric = run.metrics[0]
        rows = run.repeats[run.repeats["metric"] == metric]
        means = rows.pivot_table(index="group", columns="algorithm", values="test_error").mean()
        methods = means[[label for label in means.index if label in run.methods]]
        if methods.empty:
            continue
        best, digits = str(methods.idxmin()), METRICS[metric].decimals
        lowest, method = f"{means[best]:.{digits}f}", title_of(best)
        if "mean_rating" in means:
            mean = f"{means['mean_rating']:.{digits}f}"
            without.append(f"{mean} on {name} (best method: {lowest}, {method})")
        else:
            learned.append(f"{lowest} on {name} ({method}, {METRICS[metric].title})")
    if without:
        yield (
            "A baseline without learning,",
            f"the mean rating of an item, has an error of {'; '.join(without)}.",
        )
    if learned:
        yield "Lowest error, mean over groups:", f"{'; '.join(learned)}."


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
