"""The figures of a run, and all of them at once with their captions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from matplotlib.figure import Figure

from rankpursuit.reporting.coverage import SYNTHETIC_NOTE
from rankpursuit.reporting.figures.agreement import published_against_measured
from rankpursuit.reporting.figures.curves import BLOW_UP, error_against_basis, error_against_width
from rankpursuit.reporting.figures.overview import overview
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
    "overview",
    "paired_differences",
    "published_against_measured",
    "save",
    "to_svg",
]

_Draw = Callable[[Results, str], Figure | None]

_FIGURES: dict[str, tuple[_Draw, str]] = {
    "published": (
        published_against_measured,
        "Published against measured, for every cell of the table. Each group has its own scale.",
    ),
    "sparsity": (
        error_against_sparsity,
        "Error against sparsity: further down is more accurate, further left is sparser. "
        "Means over repeats; bars are standard deviations. Points that would cover each other "
        "stand side by side. Each group has its own scale of errors.",
    ),
    "basis": (
        error_against_basis,
        "Error against the number of basis functions, the other parameters as chosen on the "
        "hold-out users. Means over repeats; a ring marks the lowest hold-out error. Each "
        "group has its own scale of errors.",
    ),
    "width": (
        error_against_width,
        "Hold-out error against the kernel width, the other parameters as chosen. Means over "
        "repeats; a ring marks the lowest. A line that leaves at the top goes on beyond "
        f"{BLOW_UP:g} times the median error.",
    ),
    "paired": (
        paired_differences,
        "Mean difference on the same users, and its 95% interval; the marker is filled where the "
        "interval leaves out zero. Users of all repeats count alike, though one person may be "
        "among those of two repeats.",
    ),
    "ranks": (
        average_ranks,
        "Average ranks over groups and repeats. Thick bars join algorithms closer than the "
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


def draw_figures(results: Results) -> Iterator[CaptionedFigure]:
    """Draw every figure that the results allow, for every metric."""
    for drawn in _draw_each(results):
        if results.is_synthetic:
            with figure_style():
                mark_synthetic(drawn.figure)
            drawn = replace(drawn, caption=f"{SYNTHETIC_NOTE} {drawn.caption}")
        yield drawn


def _draw_each(results: Results) -> Iterator[CaptionedFigure]:
    for metric in results.metrics:
        for name, (draw, caption) in _FIGURES.items():
            figure = draw(results, metric)
            if figure is not None:
                yield CaptionedFigure(f"{name}-{metric}", caption, figure)
