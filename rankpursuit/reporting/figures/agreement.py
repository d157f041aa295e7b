"""What was published beside what was measured."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from rankpursuit.reporting.figures.rows import drawn, rows_of
from rankpursuit.reporting.figures.style import INK, figure_style, looks, metric_title, panels
from rankpursuit.reporting.published import published_tables
from rankpursuit.reporting.results import Results

_APART = 0.15
"""How far the two points of a method stand above and below its line."""


def published_against_measured(results: Results, metric: str) -> Figure | None:
    """Draw the published and the measured error of every cell of a table, a panel a group.

    Parameters
    ----------
    results : Results
    metric : str

    Returns
    -------
    Figure or None
        The bars are the standard deviation over repeats; None if no published cell was measured.
    """
    cells = measured_beside_published(results, metric)
    if cells.empty:
        return None
    groups, labels = drawn(results, cells)
    names = results.algorithms
    with figure_style():
        figure, axes = panels(len(groups), height=1.6 + 0.38 * len(labels), share_x=False)
        for axis, group in zip(axes, groups, strict=True):
            _pairs(axis, results, cells[cells["group"] == group], labels[::-1])
            axis.set_yticks(range(len(labels)), [names[label] for label in reversed(labels)])
            axis.locator_params(axis="x", nbins=5)
            axis.set_title(f"{group} ratings")
        figure.supxlabel("Test " + metric_title(metric), color=INK)
        handles = [
            Line2D([], [], ls="none", marker="o", color=INK, label="measured ± standard deviation"),
            Line2D([], [], ls="none", marker="D", mfc="none", mec=INK, label="published"),
        ]
        figure.legend(handles=handles, loc="outside upper center", ncols=2)
    return figure


def _pairs(axis: Axes, results: Results, cells: pd.DataFrame, order: Sequence[str]) -> None:
    """Draw the cells of a group, the measured error above the published one."""
    look = looks(results)
    for _, cell in cells.iterrows():
        place, color = order.index(cell["algorithm"]), look[cell["algorithm"]].color
        above, below = place + _APART, place - _APART
        axis.plot([cell["mean"], cell["published"]], [above, below], color=color, lw=1, ls=":")
        axis.errorbar(cell["mean"], above, xerr=cell["std"], color=color, marker="o", capsize=3)
        axis.plot(cell["published"], below, marker="D", ms=7, mfc="none", mec=color, mew=1.5)


def measured_beside_published(results: Results, metric: str) -> pd.DataFrame:
    """Return the cells that were measured, with the published figure if there is one.

    Returns
    -------
    DataFrame
        Columns ``group``, ``algorithm``, ``mean``, ``std`` and ``published``; no rows if none of
        the cells was published.
    """
    errors = rows_of(results, results.repeats, metric).groupby(["group", "algorithm"])["test_error"]
    measured = errors.agg(["mean", "std"]).fillna({"std": 0.0}).reset_index()
    table = published_tables().get(results.table) if results.table is not None else None
    measured["published"] = [
        np.nan if table is None else table.value(metric, label, group)
        for group, label in zip(measured["group"], measured["algorithm"], strict=True)
    ]
    measured = measured.astype({"published": float})
    return measured if measured["published"].notna().any() else measured.iloc[:0]
