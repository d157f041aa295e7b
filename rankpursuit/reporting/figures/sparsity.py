"""The paper's point in one picture: how much error for how many basis functions."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from rankpursuit.reporting.figures.rows import drawn, rows_of
from rankpursuit.reporting.figures.style import (
    INK,
    add_legend,
    figure_style,
    looks,
    metric_title,
    panels,
)
from rankpursuit.reporting.results import Results


def error_against_sparsity(results: Results, metric: str) -> Figure | None:
    """Draw the test error against the share of the training points used, a panel a group.

    A marker is the mean over the repeats, a bar the standard deviation. None if there is nothing
    to draw.
    """
    rows = rows_of(results, results.repeats, metric)
    if rows.empty:
        return None
    groups, labels = drawn(results, rows)
    look = looks(results)
    with figure_style():
        figure, axes = panels(len(groups))
        for axis, group in zip(axes, groups, strict=True):
            for label in labels:
                of = rows[(rows["group"] == group) & (rows["algorithm"] == label)]
                if of.empty:
                    continue
                share, error = 100 * of["basis_share"].to_numpy(), of["test_error"].to_numpy()
                axis.errorbar(
                    share.mean(),
                    error.mean(),
                    xerr=_inside(share.mean(), _spread(share)),
                    yerr=_spread(error),
                    color=look[label].color,
                    marker=look[label].marker,
                    markersize=8,
                    elinewidth=1,
                    capsize=2,
                )
            axis.set_xlim(-4, 106)
            axis.set_xticks(range(0, 101, 25))
            axis.set_title(f"{group} ratings")
        axes[0].set_ylabel("Test " + metric_title(metric, lines=2))
        figure.supxlabel("Training points used as basis functions (%)", color=INK, fontsize=10)
        add_legend(figure, results, labels, lines=False)
    return figure


def _inside(mean: float, spread: float) -> list[list[float]]:
    """Return the lengths of a bar that does not leave 0 to 100%."""
    return [[min(spread, mean)], [min(spread, max(100 - mean, 0.0))]]


def _spread(values: np.ndarray) -> float:
    return float(np.std(values, ddof=1)) if len(values) > 1 else 0.0
