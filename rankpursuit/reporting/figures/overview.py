"""Every published error against the measured one, of all runs in one picture."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from rankpursuit.experiments.methods import METHODS, METRICS
from rankpursuit.reporting.figures.agreement import measured_beside_published
from rankpursuit.reporting.figures.style import INK, LOOKS, Look, figure_style, looks
from rankpursuit.reporting.published import published_tables
from rankpursuit.reporting.results import Results

_COLUMNS = 3
_PANEL = 2.3
"""Width of a panel in inches."""


def overview(runs: Sequence[Results]) -> Figure | None:
    """Draw measured against published errors, a panel for each table and metric.

    A point is a method in a group of users. On the diagonal, what was measured is what was
    published; below it, the error is lower. None if no run reproduces a published table.

    Parameters
    ----------
    runs : sequence of Results
    """
    found = list(_panels(runs))
    if not found:
        return None
    n_rows = -(-len(found) // _COLUMNS)
    with figure_style():
        figure = Figure(figsize=(_PANEL * _COLUMNS, 0.9 + _PANEL * n_rows))
        axes = list(figure.subplots(n_rows, _COLUMNS, squeeze=False).flat)
        for axis, (title, run, cells) in zip(axes, found, strict=False):
            _scatter(axis, run, cells)
            axis.set_title(title)
        for axis in axes[len(found) :]:
            axis.axis("off")
        figure.supxlabel("Published error", color=INK)
        figure.supylabel("Measured error", color=INK)
        _legend(figure, {label for _, _, cells in found for label in cells["algorithm"]})
    return figure


def _panels(runs: Sequence[Results]) -> Iterator[tuple[str, Results, pd.DataFrame]]:
    """Yield title, run and cells of each panel."""
    for run in runs:
        for metric in run.metrics:
            cells = measured_beside_published(run, metric).dropna(subset="published")
            if len(cells) and run.table is not None:
                alone = published_tables()[run.table].title
                what = METRICS[metric].task if len(run.metrics) > 1 else alone
                yield f"Table {run.table}\n{what}", run, cells


def _scatter(axis: Axes, run: Results, cells: pd.DataFrame) -> None:
    both = cells[["published", "mean"]].to_numpy()
    margin = 0.08 * (both.max() - both.min()) or 0.08 * both.max()
    ends = (both.min() - margin, both.max() + margin)
    axis.plot(ends, ends, color=INK, linewidth=1)
    for label, look in looks(run).items():
        of = cells[cells["algorithm"] == label]
        axis.plot(of["published"], of["mean"], look.marker, **_open(look))
    axis.set(xlim=ends, ylim=ends, aspect="equal")
    axis.locator_params(nbins=3)


def _legend(figure: Figure, labels: set[str]) -> None:
    """Name the methods; every algorithm of a published table is one."""
    handles = [
        Line2D([], [], ls="none", marker=one.marker, label=METHODS[label].title, **_open(one))
        for label, one in LOOKS.items()
        if label in labels
    ]
    figure.legend(handles=handles, loc="outside upper center", ncols=4, handlelength=1)


def _open(look: Look) -> dict[str, Any]:
    """Return how markers are drawn that may coincide: as outlines."""
    return {"mec": look.color, "mfc": "none", "mew": 1.5}
