"""The paper's point in one picture: how much error for how many basis functions."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from rankpursuit.reporting.figures.dodge import dodged
from rankpursuit.reporting.figures.rows import drawn, rows_of
from rankpursuit.reporting.figures.style import (
    INK,
    Look,
    add_legend,
    figure_style,
    looks,
    metric_title,
    panels,
)
from rankpursuit.reporting.results import Results

_MARKER = (5.0, 0.06)
"""Width of a marker in percentage points, and its height as a share of the panel's."""


def error_against_sparsity(results: Results, metric: str) -> Figure | None:
    """Draw the test error against the share of the training points used, a panel a group.

    A marker is the mean over the repeats, a bar the standard deviation. Markers that would cover
    each other stand side by side. None if there is nothing to draw.
    """
    rows = rows_of(results, results.repeats, metric)
    if rows.empty:
        return None
    groups, labels = drawn(results, rows)
    look = looks(results)
    with figure_style():
        figure, axes = panels(len(groups), share_y=False)
        for axis, group in zip(axes, groups, strict=True):
            _points(axis, rows[rows["group"] == group], labels, look)
            axis.set_xlim(-6, 114)
            axis.set_xticks(range(0, 101, 25))
            axis.set_title(f"{group} ratings")
        axes[0].set_ylabel("Test " + metric_title(metric, lines=2))
        figure.supxlabel("Training points used as basis functions (%)", color=INK)
        add_legend(figure, results, labels, lines=False)
    return figure


def _points(axis: Axes, rows: pd.DataFrame, labels: list[str], look: dict[str, Look]) -> None:
    """Draw the points of a group."""
    by_label = rows.groupby("algorithm")[["basis_share", "test_error"]]
    means, spreads = by_label.mean(), by_label.std().fillna(0.0)
    there = [label for label in labels if label in means.index]
    means, spreads = means.loc[there], spreads.loc[there]
    share, error = 100 * means["basis_share"].to_numpy(), means["test_error"].to_numpy()
    half = spreads["test_error"].to_numpy()
    height = ((error + half).max() - (error - half).min()) or abs(error[0])
    width_of, height_of = _MARKER
    moves = dodged(list(zip(share, error, strict=True)), (width_of, height_of * height))
    for place, label in enumerate(there):
        axis.errorbar(
            share[place] + moves[place],
            error[place],
            xerr=_inside(share[place], 100 * spreads["basis_share"].iloc[place]),
            yerr=half[place],
            color=look[label].color,
            marker=look[label].marker,
            markersize=8,
            elinewidth=1,
            capsize=2,
        )


def _inside(mean: float, spread: float) -> np.ndarray:
    """Return the lengths of a bar that does not leave 0 to 100%."""
    return np.array([[min(spread, mean)], [min(spread, max(100 - mean, 0.0))]])
