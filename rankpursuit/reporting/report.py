"""The report: one self-contained web page of runs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape
from matplotlib.figure import Figure
from tqdm import tqdm

from rankpursuit import __version__
from rankpursuit.experiments.registry import METRICS
from rankpursuit.reporting import figures as fig
from rankpursuit.reporting import notes
from rankpursuit.reporting import tables as tab
from rankpursuit.reporting.claims import MARKS, Outcome, published_tables
from rankpursuit.reporting.results import Results, title_of
from rankpursuit.writing import check_output, write_atomically


class Summary(NamedTuple):
    """The first section of the report."""

    setups: Sequence[tab.SetUp] = ()  # of the paper's tables
    highlights: Sequence[tuple[str, str]] = ()  # sentences; the first part is in bold
    inferred_changes: Sequence[str] = ()  # options in which the inferred set-up differs

    @property
    def outcomes(self) -> list[Outcome]:
        """Outcomes of at least one claim under any set-up."""
        return [outcome for outcome in MARKS if any(one.counts[outcome] for one in self.setups)]


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
    sections = []
    for number, run in enumerate(progress, start=1):
        id = re.sub(r"[^a-z0-9]+", "-", f"run {number} {run.name}".lower()).strip("-")
        sections.append((id, run, list(fig.draw_figures(run))))
    page = (
        _environment()
        .get_template("report.html")
        .render(
            title=_page_title(results),
            version=__version__,
            summary=summarise(results, inferred),
            runs=sections,
            places={run.table: id for id, run, _ in reversed(sections)},
            titles={number: table.title for number, table in published_tables().items()},
        )
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, page.encode())
    if figures is not None:
        for _, run, drawn in sections:
            folder = Path(figures) / run.name
            folder.mkdir(parents=True, exist_ok=True)
            for one in drawn:
                fig.save(one.figure, folder / one.name)


def _page_title(results: Sequence[Results]) -> str:
    """Return the name of the paper, or of the experiments if none has the paper's ratings."""
    of_paper = any(run.is_of_paper for run in results)
    names = [run.name for run in results]
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    name = "Semi-supervised Ranking Pursuit" if of_paper else ", ".join(names[:3]) + more
    return f"{name}: results" + ", with SYNTHETIC ratings" * any(x.is_synthetic for x in results)


def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("rankpursuit.reporting"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {"drawing": inline_svg, "powers": _powers}
    environment.globals |= {"marks": MARKS, "notes": notes, "tables": tab, "finding": finding}
    return environment


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
        changed = any(notes.config_changes(run) for run in by_table.values())
        title = "These runs" if changed else "The text's set-up"
        setups.append(tab.SetUp(title, list(by_table.values())))
        if inferred:
            setups.append(tab.SetUp("The inferred set-up", inferred))
    of_data = {run.experiment.data.name: run for run in reversed(by_table.values())}
    lowest = sorted((notes.data_title(run), run) for run in of_data.values())
    return Summary(
        setups=setups,
        highlights=list(_lowest_errors([*lowest, *((run.name, run) for run in others)])),
        inferred_changes=sorted(
            {key.split(".")[-1] for run in inferred for key in notes.config_changes(run)}
        ),
    )


def finding(run: Results) -> list[str]:
    """Return sentences on the agreement of a run with its published table, if it has one."""
    sentences = []
    cells = tab.published_cells(run).dropna(subset="measured")
    for metric, own in cells.groupby("metric", sort=False):
        task = f"{METRICS[metric].task}: " if len(run.metrics) > 1 else ""
        mean, digits = own["difference"].mean(), METRICS[metric].decimals
        offset = f"{abs(mean):.{digits}f} {'lower' if mean < 0 else 'higher'}"
        sentences.append(
            f"{task}{own['within'].sum()} of {len(own)} published errors are reproduced, within "
            f"{tab.tolerance_text([metric])}; measured errors are on average {offset} than "
            "published."
        )
    return sentences


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


def inline_svg(figure: Figure, name: str) -> Markup:
    """Return a figure to embed in a page, in the colours of the page's text.

    Declarations, metadata and the fixed size are removed, the width becomes the variable
    ``--natural``, and identifiers get a prefix that makes them unique on the page.
    """
    svg, name = fig.to_svg(figure), str(escape(name))
    svg = svg[svg.index("<svg") :].replace("<svg", '<svg role="img" aria-hidden="true"', 1)
    svg = re.sub(r"<(metadata|style).*?</\1>", "", svg, flags=re.DOTALL)
    svg = re.sub(r' xmlns(:xlink)?="[^"]*"', "", svg)
    svg = re.sub(r"(<svg[^>]*?) width=\"([^\"]*)\"", r'\1 style="--natural: \2"', svg, count=1)
    svg = re.sub(r"(<svg[^>]*?) height=\"[^\"]*\"", r"\1", svg, count=1)
    svg = re.sub(r'\bid="', f'id="{name}-', svg)
    svg = svg.replace('xlink:href="#', f'href="#{name}-').replace("url(#", f"url(#{name}-")
    return Markup(svg.replace(fig.INK, "currentColor").replace(fig.GRID, "var(--line)"))
