"""The figures of a run, and all of them at once with their captions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import pandas as pd
from matplotlib.figure import Figure

from rankpursuit.reporting.coverage import SYNTHETIC_NOTE
from rankpursuit.reporting.figures.agreement import published_against_measured
from rankpursuit.reporting.figures.curves import BLOW_UP, error_against_basis, error_against_width
from rankpursuit.reporting.figures.paired import paired_differences
from rankpursuit.reporting.figures.ranks import average_ranks, critical_difference
from rankpursuit.reporting.figures.sparsity import error_against_sparsity
from rankpursuit.reporting.figures.style import figure_style, mark_synthetic, save, to_svg
from rankpursuit.reporting.results import Results
from rankpursuit.reporting.statistics import SIGNIFICANT

__all__ = [
    "CaptionedFigure",
    "average_ranks",
    "critical_difference",
    "draw_figures",
    "error_against_basis",
    "error_against_sparsity",
    "error_against_width",
    "paired_differences",
    "published_against_measured",
    "save",
    "to_svg",
]

_Draw = Callable[[Results, str], Figure | None]

_FIGURES: dict[str, tuple[_Draw, str]] = {
    "sparsity": (
        error_against_sparsity,
        "Error against sparsity: further down is more accurate, further left is sparser. "
        "Means over repeats; bars are standard deviations.",
    ),
    "basis": (
        error_against_basis,
        "Error against the number of basis functions, the other parameters as chosen on the "
        "hold-out users. Means over repeats; a ring marks the lowest hold-out error.",
    ),
    "width": (
        error_against_width,
        "Hold-out error against the kernel width, the other parameters as chosen. Means over "
        "repeats; a ring marks the lowest. A line that leaves at the top goes on beyond "
        f"{BLOW_UP:g} times the median error.",
    ),
    "paired": (
        paired_differences,
        "Differences on the same user; right of zero the control is better. Boxes hold the middle "
        "half of the users, whiskers nine tenths; markers are means with 95% intervals.",
    ),
    "ranks": (
        average_ranks,
        "Average ranks over groups and repeats. Bars at the right join algorithms closer than the "
        f"critical difference of Nemenyi's test at {SIGNIFICANT:.0%} (its constant from "
        "scipy.stats.studentized_range). Repeats of a group draw from the same users, so this "
        "test is a guide, not a proof.",
    ),
}


@dataclass(frozen=True, eq=False)
class CaptionedFigure:
    """A figure, the name of its files and what it shows."""

    name: str
    caption: str
    figure: Figure


def draw_figures(
    results: Results, published: pd.DataFrame | None = None
) -> Iterator[CaptionedFigure]:
    """Draw every figure that the results allow, for every metric.

    Parameters
    ----------
    results : Results
    published : DataFrame, optional
        Published cells, see `published_against_measured`.
    """
    for drawn in _draw_each(results, published):
        if results.is_synthetic:
            with figure_style():
                mark_synthetic(drawn.figure)
            drawn = replace(drawn, caption=f"{SYNTHETIC_NOTE} {drawn.caption}")
        yield drawn


def _draw_each(results: Results, published: pd.DataFrame | None) -> Iterator[CaptionedFigure]:
    for metric in results.metrics:
        if published is not None:
            figure = published_against_measured(results, metric, published)
            caption = "Published against measured, for every cell of the table."
            if figure is not None:
                yield CaptionedFigure(f"published-{metric}", caption, figure)
        for name, (draw, caption) in _FIGURES.items():
            figure = draw(results, metric)
            if figure is not None:
                yield CaptionedFigure(f"{name}-{metric}", caption, figure)
