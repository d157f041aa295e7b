"""The figure of growth.py: what was measured, and lines of the exponents that are the goals."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator
from study_figures import save_figure

from rankpursuit.reporting.figures.style import figure_style

_PANELS = {
    "s": ("Time of a fit", "seconds", "number of points (SS: unscored)"),
    "MB": ("Peak memory of a fit", "MB", "number of points"),
    "ms a task": ("Time per task", "milliseconds a task", "number of tasks"),
}
_LOOKS = (("#d1500a", "o"), ("#1b74b3", "s"))


def draw(path: Path, growths: Sequence[Any]) -> None:
    """Write the figure, a panel for each unit; the same bytes for the same numbers."""
    with figure_style():
        figure = Figure(figsize=(10.5, 5.2))
        for axes, unit in zip(figure.subplots(1, len(_PANELS)), _PANELS, strict=True):
            _draw_panel(axes, [growth for growth in growths if growth.curve.unit == unit])
            title, ylabel, xlabel = _PANELS[unit]
            axes.set(title=title, xlabel=xlabel, ylabel=ylabel)
        save_figure(figure, path)


def _draw_panel(axes: Axes, growths: Sequence[Any]) -> None:
    for growth, (color, marker) in zip(growths, _LOOKS, strict=False):
        curve, sizes = growth.curve, np.array(growth.curve.sizes, dtype=float)
        label = f"{curve.title}: {growth.exponent:.2f}"
        goal = growth.values[0] * (sizes / sizes[0]) ** curve.goal
        axes.loglog(sizes, growth.values, marker=marker, color=color, label=label)
        axes.loglog(sizes, goal, color=color, ls=":", label=f"goal: at most {curve.goal:g}")
    _mark_sizes(axes, {size for growth in growths for size in growth.curve.sizes})
    low, high = axes.get_ylim()
    if high < 10 * low:  # a flat curve: half a decade on either side shows that it is
        middle = np.sqrt(low * high)
        axes.set_ylim(middle / 10**0.5, middle * 10**0.5)
        axes.yaxis.set_minor_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.legend(
        loc="upper left",
        bbox_to_anchor=(-0.08, -0.28),
        title="exponents",
        title_fontsize=9,
        alignment="left",
    )


def _mark_sizes(axes: Axes, sizes: set[int]) -> None:
    axes.xaxis.set_major_locator(FixedLocator(sorted(sizes)))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda size, _: f"{size:,.0f}"))
    axes.tick_params(axis="x", rotation=45)
