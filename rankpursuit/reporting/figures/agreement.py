"""What was published beside what was measured."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from rankpursuit.reporting.figures.rows import drawn, rows_of
from rankpursuit.reporting.figures.style import INK, figure_style, looks, metric_title, panels
from rankpursuit.reporting.results import Results


def published_against_measured(
    results: Results, metric: str, published: pd.DataFrame
) -> Figure | None:
    """Draw the published and the measured error of every cell of a table, a panel a group.

    Parameters
    ----------
    results : Results
    metric : str
    published : DataFrame
        Columns ``metric``, ``group``, ``method`` (as the algorithm's label) and ``published``.

    Returns
    -------
    Figure or None
        The bars are the standard deviation over repeats; None if no cell was measured.
    """
    cells = _cells(results, metric, published)
    if cells.empty:
        return None
    groups, labels = drawn(results, cells)
    look, names = looks(results), results.algorithms
    with figure_style():
        figure, axes = panels(len(groups), height=1.6 + 0.32 * len(labels))
        for axis, group in zip(axes, groups, strict=True):
            for _, cell in cells[cells["group"] == group].iterrows():
                place, color = labels[::-1].index(cell["algorithm"]), look[cell["algorithm"]].color
                axis.plot([cell["published"], cell["mean"]], [place] * 2, color=color, lw=1, ls=":")
                axis.errorbar(
                    cell["mean"], place, xerr=cell["std"], color=color, marker="o", capsize=2
                )
                axis.plot(
                    cell["published"], place, marker="D", ms=7, mfc="none", mec=color, mew=1.5
                )
            axis.set_yticks(range(len(labels)), [names[label] for label in reversed(labels)])
            axis.set_title(f"{group} ratings")
        figure.supxlabel("Test " + metric_title(metric), color=INK, fontsize=10)
        handles = [
            Line2D(
                [], [], ls="none", marker="o", color=INK, label="measured, with standard deviation"
            ),
            Line2D([], [], ls="none", marker="D", mfc="none", mec=INK, label="published"),
        ]
        figure.legend(handles=handles, loc="outside upper center", ncols=2)
    return figure


def _cells(results: Results, metric: str, published: pd.DataFrame) -> pd.DataFrame:
    """Return the cells that were measured, with the published figure if there is one."""
    errors = rows_of(results, results.repeats, metric).groupby(["group", "algorithm"])["test_error"]
    measured = errors.agg(["mean", "std"]).fillna({"std": 0.0}).reset_index()
    known = published.loc[published["metric"] == metric, ["group", "method", "published"]]
    known = known.rename(columns={"method": "algorithm"})
    cells = measured.merge(known, on=["group", "algorithm"], how="left")
    return cells if np.isfinite(cells["published"]).any() else cells.iloc[:0]
