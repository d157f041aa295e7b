"""The figure of growth.py: what was measured, and lines of the exponents that are the goals."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, LogFormatter, NullLocator
from study_figures import save_figure

from rankpursuit.reporting.figures import figure_style

_PANELS = {
    "s": ("Time of a fit", "seconds"),
    "MB": ("Peak memory of a fit", "MB"),
    "ms a task": ("Time per task", "milliseconds a task"),
}
_LOOKS = (("#d1500a", "o"), ("#1b74b3", "s"))


def draw(path: Path, growths: Sequence[Any]) -> None:
    """Write the figure, a panel for each unit; the same bytes for the same numbers."""
    units = [unit for unit in _PANELS if any(growth.curve.unit == unit for growth in growths)]
    with figure_style():
        figure = Figure(figsize=(3.5 * len(units), 5.2))
        for axes, unit in zip(figure.subplots(1, len(units)), units, strict=True):
            drawn = [growth for growth in growths if growth.curve.unit == unit]
            _draw_panel(axes, drawn)
            title, ylabel = _PANELS[unit]
            counted = " or ".join(dict.fromkeys(growth.curve.counted for growth in drawn))
            axes.set(title=title, xlabel=f"number of {counted}", ylabel=ylabel)
        save_figure(figure, path)


def _draw_panel(axes: Axes, growths: Sequence[Any]) -> None:
    for growth, (color, marker) in zip(growths, _LOOKS, strict=False):
        curve, sizes = growth.curve, np.array(growth.curve.sizes, dtype=float)
        label = f"{curve.title}: {growth.exponent:.2f}"
        goal = growth.values[0] * (sizes / sizes[0]) ** curve.goal
        axes.loglog(sizes, growth.values, marker=marker, color=color, label=label)
        axes.loglog(sizes, goal, color=color, ls=":", label=f"goal: at most {curve.goal:g}")
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.yaxis.set_minor_formatter(LogFormatter())
    _mark_sizes(axes, {size for growth in growths for size in growth.curve.sizes})
    low, high = axes.get_ylim()
    if high < 10 * low:  # a flat curve: half a decade on either side shows that it is
        middle = np.sqrt(low * high)
        axes.set_ylim(middle / 10**0.5, middle * 10**0.5)
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
