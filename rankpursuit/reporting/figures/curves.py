"""Errors along the grids: against the number of basis functions, and against the kernel width."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from rankpursuit.experiments.methods import N_BASIS, WIDTH, Axis
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

BLOW_UP = 2.0
"""Errors of more than so many times the median may leave the panel."""

_RING = "_lowest"
_ROLES = {"holdout_error": "Hold-out", "test_error": "Test"}


def error_against_basis(results: Results, metric: str) -> Figure | None:
    """Draw hold-out and test error against the number of basis functions, a column a group.

    Each line is the mean over the repeats, with the other parameters as chosen in each; a ring
    marks where the hold-out error is lowest. None if no algorithm has this axis.
    """
    curves = _curves(results, metric, N_BASIS)
    if curves.empty:
        return None
    shares = curves["value"].max() <= 1
    title = "share of training points (%)" if shares else "number"
    scale = 100 if shares else 1
    curves = curves.assign(value=curves["value"] * scale)
    return _draw(results, metric, curves, list(_ROLES), f"Basis functions: {title}")


def error_against_width(results: Results, metric: str) -> Figure | None:
    """Draw the hold-out error against the kernel width, a column a group.

    Each line is the mean over the repeats, with the other parameters as chosen in each; a ring
    marks where the hold-out error is lowest. None if there are no widths.
    """
    curves = _curves(results, metric, WIDTH)
    if curves.empty:
        return None
    title = f"Kernel width {results.experiment.kernel.parameter} (no unit, log2 scale)"
    first, last = np.log2([curves["value"].min(), curves["value"].max()]).round().astype(int)

    def scale(axes: Axes) -> None:
        axes.set_xscale("log", base=2)
        axes.set_xticks([2.0**power for power in range(first, last + 1, 10)])

    return _draw(results, metric, curves, ["holdout_error"], title, scale)


def _curves(results: Results, metric: str, axis: Axis) -> pd.DataFrame:
    """Return the means over the repeats of the curves along an axis."""
    curves = rows_of(results, results.curves, metric)
    curves = curves[curves["axis"] == axis.column]
    columns = [role for role in _ROLES if role in curves]
    return curves.groupby(["group", "algorithm", "value"], as_index=False)[columns].mean()


def _draw(
    results: Results,
    metric: str,
    curves: pd.DataFrame,
    roles: list[str],
    title: str,
    scale: Callable[[Axes], None] | None = None,
) -> Figure:
    """Draw a row of panels for each role and a column for each group."""
    roles = [role for role in roles if role in curves and curves[role].notna().any()]
    groups, labels = drawn(results, curves)
    look = looks(results)
    with figure_style():
        figure, axes = panels(len(groups), n_rows=len(roles), height=2.9, share_y="col")
        for number, axis in enumerate(axes):
            role, group = roles[number // len(groups)], groups[number % len(groups)]
            of_group = curves[curves["group"] == group]
            for place, label in enumerate(labels):
                rows = of_group[of_group["algorithm"] == label].dropna(subset=[role])
                _line(axis, rows, role, look[label], place)
            axis.set_title(f"{_ROLES[role]}, {group} ratings")
            if scale:
                scale(axis)
        for column, group in enumerate(groups):
            errors = curves.loc[curves["group"] == group, roles].stack()
            _cut_blow_ups(axes[column], errors)
        for row in range(len(roles)):
            axes[row * len(groups)].set_ylabel(metric_title(metric, lines=2).capitalize())
        for axis in axes:
            _rings(axis)
        figure.supxlabel(title, color=INK)
        add_legend(figure, results, labels, lines=True)
    return figure


def _line(axis: Axes, rows: pd.DataFrame, role: str, look: Look, place: int) -> None:
    """Draw a line; markers of lines that coincide stand at different places along them."""
    if rows.empty:
        return
    every = max(1, len(rows) // 4)
    axis.plot(
        rows["value"],
        rows[role],
        color=look.color,
        linestyle=look.line,
        marker=look.marker,
        markersize=6,
        markevery=(2 * place % every, every),
    )
    lowest = rows.loc[rows["holdout_error"].idxmin()]
    axis.plot(lowest["value"], lowest[role], "o", mfc="none", mec=look.color, label=_RING)


def _rings(axis: Axes) -> None:
    """Make a ring wider than those that it would coincide with."""
    placed: list[np.ndarray] = []
    to_panel = axis.transScale + axis.transLimits
    for line in axis.lines:
        if line.get_label() == _RING:
            at = to_panel.transform(np.asarray(line.get_xydata()))[0]
            near = sum(bool(np.all(np.abs(at - other) < 0.05)) for other in placed)
            line.set_markersize(10 + 2.5 * near)
            placed.append(at)


def _cut_blow_ups(axis: Axes, errors: pd.Series) -> None:
    """Let errors far beyond the others leave at the top, so that the others can be read."""
    usual = errors[errors <= BLOW_UP * errors.median()]
    if len(usual) < errors.count():
        margin = 0.06 * (usual.max() - usual.min()) or 0.06 * usual.max()
        axis.set_ylim(usual.min() - margin, usual.max() + margin)
