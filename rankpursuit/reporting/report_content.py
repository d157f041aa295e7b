"""What the report says of a run: verdicts, tables, figures, provenance."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from rankpursuit.reporting.completeness import missing, size_run, smaller_than_paper
from rankpursuit.reporting.figures import CaptionedFigure, draw_figures
from rankpursuit.reporting.figures.style import metric_title
from rankpursuit.reporting.html import Cell, HtmlTable
from rankpursuit.reporting.results import Results

_PARAMETERS = ["width", "lambda", "C", "nu", "beta", "n_basis"]


@dataclass(frozen=True)
class Verdict:
    """What the results say about a claim of the paper."""

    id: str
    sentence: str
    verdict: str
    numbers: str


@dataclass(frozen=True, eq=False)
class Section:
    """A run, as the report shows it.

    Attributes
    ----------
    name, title : str
    size : str
        How much was run.
    warnings : list of str
        Smaller than the paper's, and what is missing.
    verdicts : list of Verdict
    tables : list of HtmlTable
    figures : list of CaptionedFigure
    provenance : dict
        Names and values, as text.
    """

    name: str
    title: str
    size: str
    warnings: list[str]
    verdicts: list[Verdict] = field(default_factory=list)
    tables: list[HtmlTable] = field(default_factory=list)
    figures: list[CaptionedFigure] = field(default_factory=list)
    provenance: dict[str, str] = field(default_factory=dict)


def section_of(results: Results) -> Section:
    """Assemble what the report says of a run."""
    users, repeats = size_run(results)
    small = smaller_than_paper(results)
    published = published_cells(results)
    return Section(
        name=results.name,
        title=results.name.replace("_", " ")
        + (f" (Table {results.table})" if results.table else ""),
        size=f"{users} test users, {repeats} {'repeat' if repeats == 1 else 'repeats'}",
        warnings=([small] if small else []) + missing(results),
        verdicts=verdicts_of(results),
        tables=[
            *(error_table(results, metric, published) for metric in results.metrics),
            *tests_of(results),
            *(sparsity_table(results, metric) for metric in results.metrics),
            *(parameter_table(results, metric) for metric in results.metrics),
        ],
        figures=list(draw_figures(results, published)),
        provenance=dict(_flat(results.provenance)),
    )


# Where the published figures, the claims and the tests plug in.


def published_cells(results: Results) -> pd.DataFrame | None:
    """Return the published cells: columns metric, group, method, published."""
    return None


def verdicts_of(results: Results) -> list[Verdict]:
    """Return a verdict on each claim that the results are about."""
    return []


def tests_of(results: Results) -> list[HtmlTable]:
    """Return the tables of the significance tests."""
    return []


def error_table(results: Results, metric: str, published: pd.DataFrame | None) -> HtmlTable:
    """Return the errors: mean and standard deviation over repeats, with the published figures."""
    rows = _rows(results, metric)
    means = rows.groupby(["algorithm", "group"])["test_error"].mean()
    digits = 3 if metric == "disagreement" else 2
    known: dict[tuple[str, str], float] = {}
    if published is not None:
        of_metric = published[published["metric"] == metric]
        keys = zip(of_metric["method"], of_metric["group"], strict=True)
        known = dict(zip(keys, of_metric["published"], strict=True))

    def cell(label: str, group: str, part: pd.DataFrame) -> list[Cell]:
        mean, spread = part["test_error"].mean(), part["test_error"].std()
        text = f"{mean:.{digits}f}"
        if len(part) > 1:
            text += f" ± {spread:.{digits}f}"
        best = bool(mean <= means.xs(group, level="group").min())
        found = [Cell(text, mean, best)]
        if known:
            value = known.get((label, group))
            found.append(Cell("-") if value is None else Cell(f"{value:.{digits}f}", value))
        return found

    heads = ["{}", "{} published"] if known else ["{}"]
    notes = [
        "Mean ± standard deviation over repeats; the best of a group is bold.",
        *(["Published figures from the paper's table."] if known else []),
    ]
    return _by_group(results, rows, f"Test {metric_title(metric)}", heads, cell, notes)


def sparsity_table(results: Results, metric: str) -> HtmlTable:
    """Return the share of the training points that each algorithm uses."""
    rows = _rows(results, metric)

    def cell(label: str, group: str, part: pd.DataFrame) -> list[Cell]:
        share, number = 100 * part["basis_share"].mean(), part["basis_functions"].mean()
        return [Cell(f"{share:.0f}% ({number:.1f})", share)]

    title = f"Sparsity, tuned for the {metric_title(metric)}"
    note = "Share of the training points used, and their number; means over users and repeats."
    return _by_group(results, rows, title, ["{}"], cell, [note])


def parameter_table(results: Results, metric: str) -> HtmlTable:
    """Return the hyperparameters that the hold-out users chose in each repeat."""
    rows = _rows(results, metric)
    columns = [name for name in _PARAMETERS if name in rows and rows[name].notna().any()]
    body: list[list[Cell | str]] = []
    for label, title in results.algorithms.items():
        for group in results.groups:
            part = rows[(rows["algorithm"] == label) & (rows["group"] == group)]
            for _, row in part.sort_values("repeat").iterrows():
                edge = row.get("on_edge")
                body.append(
                    [
                        title,
                        group,
                        Cell(str(row["repeat"]), row["repeat"]),
                        *(_number(row[name]) for name in columns),
                        edge if isinstance(edge, str) else "",
                    ]
                )
    header = ["algorithm", "group", "repeat", *columns, "on the edge of its grid"]
    note = "n_basis is a share of the training points, or a number; an edge may hide better values."
    title = f"Chosen hyperparameters, tuned for the {metric_title(metric)}"
    return HtmlTable(title, header, body, [note])


def _rows(results: Results, metric: str) -> pd.DataFrame:
    rows = results.repeats
    return rows[(rows["metric"] == metric) & rows["algorithm"].isin(list(results.algorithms))]


def _by_group(
    results: Results,
    rows: pd.DataFrame,
    title: str,
    heads: list[str],
    cell: Callable[[str, str, pd.DataFrame], list[Cell]],
    notes: list[str],
) -> HtmlTable:
    """Return a table of algorithms by groups; a cell without results is a dash."""
    body: list[list[Cell | str]] = []
    for label, name in results.algorithms.items():
        line: list[Cell | str] = [name]
        for group in results.groups:
            part = rows[(rows["algorithm"] == label) & (rows["group"] == group)]
            line += cell(label, group, part) if len(part) else [Cell("-")] * len(heads)
        body.append(line)
    header = ["algorithm", *(head.format(group) for group in results.groups for head in heads)]
    return HtmlTable(title, header, body, notes)


def _number(value: float) -> Cell:
    return Cell("") if pd.isna(value) else Cell(f"{value:.4g}", float(value))


def _flat(mapping: dict[str, Any], above: str = "") -> Iterator[tuple[str, str]]:
    for key, value in mapping.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{above}{key} ")
        else:
            yield f"{above}{key}", str(value)
