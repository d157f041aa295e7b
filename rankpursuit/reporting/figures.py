"""The figures of a run, in one style, and how they are saved."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import cycle
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from rankpursuit.experiments.registry import METHODS, METRICS, N_BASIS, Axis
from rankpursuit.experiments.registry import WIDTH as KERNEL_WIDTH
from rankpursuit.reporting.notes import SYNTHETIC_NOTE
from rankpursuit.reporting.results import Results
from rankpursuit.reporting.statistics import mean_ranks
from rankpursuit.writing import replacing

# Style. The colours are distinguishable with the common colour-vision deficiencies; markers and
# line styles repeat the distinction for greyscale.

INK = "#1f2933"  # text and axes; on a web page, the colour of the text around it
GRID = "#d0d5db"
WIDTH = 3.7  # inches: three figures side by side on a desktop screen, one on a phone
BLOW_UP = 2.0  # errors above this multiple of the median are cut off

_NO_METADATA = dict.fromkeys(["Date", "Creator", "Format", "Type"])
_SETTINGS: Any = {
    "font.family": ["DejaVu Sans", "sans-serif"],
    "font.size": 10,
    **dict.fromkeys(["axes.titlesize", "axes.labelsize", "figure.labelsize"], 10),
    **dict.fromkeys(["legend.fontsize", "xtick.labelsize", "ytick.labelsize"], 10),
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.grid": True,
    "grid.color": GRID,
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "legend.handlelength": 2.2,
    "legend.handletextpad": 0.4,
    "legend.columnspacing": 1.0,
    "lines.linewidth": 1.5,
    "svg.fonttype": "none",
    "svg.hashsalt": "rankpursuit",
    "figure.constrained_layout.use": True,
    **dict.fromkeys(["text.color", "axes.edgecolor", "axes.labelcolor"], INK),
    **dict.fromkeys(["xtick.color", "ytick.color"], INK),
}


class Look(NamedTuple):
    """Colour, marker and line style of an algorithm."""

    color: str
    marker: str
    line: Any = "-"


# The look of each method and baseline in every figure; other algorithms get free ones.
STYLES = {
    "rls": Look("#6f7782", "o", (0, (1, 1))),
    "kernel_matching_pursuit": Look("#bd8000", "s", (0, (5, 2))),
    "rank_svm": Look("#2f96cc", "^", (0, (6, 1.5, 1, 1.5))),
    "rank_rls": Look("#1b74b3", "D", (0, (10, 2))),
    "sparse_rank_rls": Look("#c4659b", "v", (0, (1, 2.5))),
    "ranking_pursuit": Look("#d1500a", "P"),
    "semi_supervised_ranking_pursuit": Look("#00906a", "X", (0, (3, 1))),
    "combined_ranking_regression_pursuit": Look("#8a5cb5", "*", (0, (6, 1, 1, 1, 1, 1))),
    "mean_rating": Look("#7d7a1e", ">", (0, (2, 1, 1, 1))),
    "linear_rank_rls": Look("#a0603a", "<", (0, (8, 1, 2, 1))),
}


def looks(results: Results) -> dict[str, Look]:
    """Return the look of each algorithm."""
    labels = list(results.declared)
    free = cycle([STYLES[name] for name in STYLES if name not in labels] or STYLES.values())
    return {label: STYLES[label] if label in STYLES else next(free) for label in labels}


@contextmanager
def figure_style() -> Iterator[None]:
    """Draw in the style of the project, ignoring the user's settings."""
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(_SETTINGS)
        yield


def to_svg(figure: Figure) -> str:
    """Return a figure as SVG with its text as text: the same bytes for the same figure."""
    buffer = io.StringIO()
    with figure_style():
        figure.savefig(buffer, format="svg", metadata=_NO_METADATA, transparent=True)
    return buffer.getvalue()


def save(figure: Figure, path: Path) -> None:
    """Write ``path.svg`` and ``path.png``."""
    for kind, metadata in (("svg", _NO_METADATA), ("png", {"Software": None})):
        with figure_style(), replacing(path.with_name(f"{path.name}.{kind}")) as file:
            figure.savefig(file, format=kind, facecolor="white", dpi=150, metadata=metadata)


class CaptionedFigure(NamedTuple):
    """A figure, the name of its files and its caption."""

    name: str
    caption: str
    figure: Figure


# Figures of one run: a panel for each group of users, one below the other


def _draw_panels(
    results: Results,
    rows: pd.DataFrame,
    draw: Callable[[Axes, pd.DataFrame, Look, int], None],
    labels: tuple[str, str],
    *,
    lines: bool,
) -> tuple[Figure, dict[str, Axes]]:
    """Draw a panel for each group, and in it the rows of each algorithm; `labels` of x and y."""
    drawn = [label for label in results.algorithms if label in set(rows["algorithm"])]
    groups = [group for group in results.groups if group in set(rows["group"])]
    look = looks(results)
    figure = Figure(figsize=(WIDTH, 1.6 + 2.0 * len(groups)))
    grid = figure.subplots(len(groups), 1, squeeze=False, sharex=True)
    panels = dict(zip(groups, grid.flat, strict=True))
    for group, axis in panels.items():
        axis.set_title(f"{group} ratings")
        for place, label in enumerate(drawn):
            own = rows[(rows["group"] == group) & (rows["algorithm"] == label)]
            if len(own):
                draw(axis, own, look[label], place)
    handles = []
    for label in drawn:
        color, marker, line = look[label]
        style: Any = {"ls": line} if lines else {"ls": "", "mfc": "none", "mew": 1.5}
        name = results.algorithms[label]
        handles.append(Line2D([], [], color=color, marker=marker, label=name, **style))
    fits = all(len(results.algorithms[label]) <= len("SS Ranking Pursuit") for label in drawn)
    legend = figure.legend(handles=handles, loc="outside upper center", ncols=1 + fits)
    if results.is_synthetic:
        legend.set_title("SYNTHETIC ratings, drawn from a model")
        legend.get_title().set(size=10, weight="bold", color=INK)
    figure.supxlabel(labels[0], color=INK)
    figure.supylabel(labels[1], color=INK)
    return figure, panels


def critical_differences(results: Results, metric: str) -> Figure | None:
    """Draw the mean rank of each method, with bars as long as the critical difference."""
    found = mean_ranks(results, metric)
    if found is None:
        return None
    (ranks, difference), look = found, looks(results)
    with figure_style():
        figure = Figure(figsize=(WIDTH, 1.0 + 0.28 * len(ranks)))
        axis = figure.subplots()
        for place, (label, rank) in enumerate(ranks.items()):
            style: Any = {"color": look[label].color, "marker": look[label].marker, "capsize": 3}
            axis.errorbar(rank, -place, xerr=difference / 2, **style)
        axis.set_yticks(
            -np.arange(len(ranks)), [results.algorithms[label] for label in ranks.index]
        )
        axis.set(xlabel=f"Mean rank (bars: {difference:.2f})", xticks=range(1, 1 + len(ranks)))
        if results.is_synthetic:
            axis.set_title("SYNTHETIC ratings, drawn from a model", weight="bold")
    return figure


def error_against_sparsity(results: Results, metric: str) -> Figure | None:
    """Draw the test error against the fraction of the training points used."""
    rows = results.repeats[results.repeats["metric"] == metric].dropna(subset="basis_share")
    if rows.empty:
        return None

    def draw(axis: Axes, own: pd.DataFrame, look: Look, place: int) -> None:
        points = own[["basis_share", "test_error"]] * [100, 1]
        x, y = points.mean()
        if not METHODS[own["method"].iloc[0]].has_basis:
            ends: Any = {"color": look.color, "ls": look.line, "marker": look.marker, "mfc": "none"}
            axis.plot([0, 100], [y, y], **ends, lw=1)
            return
        x_spread, y_spread = points.std().fillna(0.0)  # NaN for a single repeat
        bars = [[min(x_spread, x)], [min(x_spread, max(100 - x, 0.0))]]  # end at 0 and 100%
        style: Any = {"color": look.color, "marker": look.marker, "mfc": "none", "mew": 1.5}
        axis.errorbar(x, y, y_spread, bars, **style, ms=8, elinewidth=1, capsize=2)

    titles = ("Training points used as basis functions (%)", f"Test {METRICS[metric].label}")
    with figure_style():
        figure, panels = _draw_panels(results, rows, draw, titles, lines=False)
        for axis in panels.values():
            axis.set(xlim=(-6, 106), xticks=range(0, 101, 25))
    return figure


def error_against_basis(results: Results, metric: str) -> Figure | None:
    """Draw the test error against the number of basis functions."""
    return _draw_curves(results, metric, N_BASIS, "test_error", "Basis functions")


def error_against_width(results: Results, metric: str) -> Figure | None:
    """Draw the hold-out error against the kernel width."""
    title = f"Kernel width {results.experiment.kernel.parameter} (log2 scale)"
    return _draw_curves(results, metric, KERNEL_WIDTH, "holdout_error", title)


def _draw_curves(
    results: Results, metric: str, axis_of_grid: Axis, error: str, title: str
) -> Figure | None:
    """Draw mean errors along an axis of the grids; a ring marks the lowest hold-out error."""
    curves, errors = results.curves, ["holdout_error", "test_error"]
    curves = curves[(curves["metric"] == metric) & (curves["axis"] == axis_of_grid.column)]
    keys = ["group", "algorithm", "value"]
    curves = curves.reindex(columns=[*keys, *errors]).groupby(keys, as_index=False)[errors].mean()
    curves = curves.dropna(subset=error)
    if curves.empty:
        return None
    if axis_of_grid is N_BASIS and curves["value"].max() <= 1:
        curves, title = curves.assign(value=100 * curves["value"]), f"{title} (% of points)"

    def draw(axis: Axes, rows: pd.DataFrame, look: Look, place: int) -> None:
        every = max(1, len(rows) // 4)  # so that coinciding lines have markers at different places
        style: Any = {"color": look.color, "ls": look.line, "marker": look.marker, "ms": 6}
        axis.plot(rows["value"], rows[error], **style, markevery=(2 * place % every, every))
        if rows["holdout_error"].notna().any():
            lowest = rows.loc[rows["holdout_error"].idxmin()]
            ring: Any = {"mfc": "none", "mec": look.color, "ms": 10 + place, "clip_on": False}
            axis.plot(lowest["value"], lowest[error], "o", **ring)

    with figure_style():
        kind = "Test" if error == "test_error" else "Hold-out"
        titles = (title, f"{kind} {METRICS[metric].label}")
        figure, panels = _draw_panels(results, curves, draw, titles, lines=True)
        for group, axis in panels.items():
            _cut_blow_ups(axis, curves.loc[curves["group"] == group, error])
            if axis_of_grid is KERNEL_WIDTH:
                first, last = np.log2([curves["value"].min(), curves["value"].max()]).round()
                axis.set_xscale("log", base=2)
                axis.set_xticks(2.0 ** np.arange(first, last + 1, 10))
    return figure


def _cut_blow_ups(axis: Axes, errors: pd.Series) -> None:
    """Cut off errors far above the others, so that the others can be read."""
    usual = errors[errors <= BLOW_UP * errors.median()]
    if len(usual) < errors.count():
        margin = 0.06 * (usual.max() - usual.min()) or 0.06 * usual.max()
        axis.set_ylim(usual.min() - margin, usual.max() + margin)


# The function of each figure, which returns None if there is nothing to draw, and its caption.
_FIGURES: dict[str, tuple[Callable[[Results, str], Figure | None], str]] = {
    "sparsity": (
        error_against_sparsity,
        "Error against sparsity: further down is more accurate, further left is sparser. "
        "Means over repeats; bars are standard deviations. A line across is a method without basis "
        "functions.",
    ),
    "ranks": (
        critical_differences,
        "Critical-difference diagram: mean rank of each method by its error in all groups and "
        "repeats, the best first. Bars are as long as the critical difference of Nemenyi's test at "
        "5%: methods whose bars do not overlap differ significantly. Repeats share users, so that "
        "the test is too sure.",
    ),
    "basis": (
        error_against_basis,
        "Test error against the number of basis functions, the other parameters as chosen on the "
        "hold-out users. Means over repeats; a ring marks the lowest hold-out error.",
    ),
    "width": (
        error_against_width,
        "Hold-out error against the kernel width, the other parameters as chosen. Means over "
        "repeats; a ring marks the lowest error. Errors above "
        f"{BLOW_UP:g} times the median are outside the panel.",
    ),
}


def draw_figures(results: Results) -> Iterator[CaptionedFigure]:
    """Draw every figure that the results allow, for every metric."""
    synthetic = f"{SYNTHETIC_NOTE} " * results.is_synthetic
    for metric in results.metrics:
        for name, (draw, caption) in _FIGURES.items():
            figure = draw(results, metric)
            if figure is not None:
                yield CaptionedFigure(f"{name}-{metric}", synthetic + caption, figure)
