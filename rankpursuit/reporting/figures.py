"""The figures of a run, in one style, and how they are saved."""

from __future__ import annotations

import io
import itertools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import cycle
from pathlib import Path
from typing import Any, Literal, NamedTuple

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.lines import Line2D
from numpy.typing import NDArray

from rankpursuit.experiments.methods import METRICS, N_BASIS, Axis
from rankpursuit.experiments.methods import WIDTH as KERNEL_WIDTH
from rankpursuit.reporting.published import published_tables
from rankpursuit.reporting.results import Results, title_of
from rankpursuit.reporting.statistics import proposed_algorithm
from rankpursuit.reporting.tables import SYNTHETIC_NOTE, published_cells
from rankpursuit.writing import replacing, write_atomically

# Style. People with any of the common colour deficiencies can tell the colours apart; markers and
# lines repeat the distinction, so that nothing is lost in grey.

INK = "#1f2933"  # text and axes; on a web page, the colour of the text around it
GRID = "#d0d5db"
WIDTH = 9.3  # inches, the same for all figures, so that their type has one size on a page
BLOW_UP = 2.0  # errors of more than this many times the median may leave the panel

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
    "legend.handlelength": 3.2,
    "lines.linewidth": 1.5,
    "svg.fonttype": "none",
    "svg.hashsalt": "rankpursuit",
    "figure.constrained_layout.use": True,
    **dict.fromkeys(["text.color", "axes.edgecolor", "axes.labelcolor"], INK),
    **dict.fromkeys(["xtick.color", "ytick.color"], INK),
}


class Look(NamedTuple):
    """Colour, marker and dashes (none: solid) of an algorithm."""

    color: str
    marker: str
    dashes: tuple[float, ...] = ()

    @property
    def line(self) -> Literal["-"] | tuple[float, tuple[float, ...]]:
        """Line style of matplotlib."""
        return (0, self.dashes) if self.dashes else "-"


# The look of each method of the paper in every figure; other algorithms get free ones.
LOOKS = {
    "rls": Look("#6f7782", "o", (1, 1)),
    "kernel_matching_pursuit": Look("#bd8000", "s", (5, 2)),
    "rank_svm": Look("#2f96cc", "^", (6, 1.5, 1, 1.5)),
    "rank_rls": Look("#1b74b3", "D", (10, 2)),
    "sparse_rank_rls": Look("#c4659b", "v", (1, 2.5)),
    "ranking_pursuit": Look("#d1500a", "P"),
    "semi_supervised_ranking_pursuit": Look("#00906a", "X", (3, 1)),
    "combined_ranking_regression_pursuit": Look("#8a5cb5", "*", (6, 1, 1, 1, 1, 1)),
}


def looks(results: Results) -> dict[str, Look]:
    """Return the look of each algorithm."""
    labels = list(results.declared)
    free = cycle([LOOKS[name] for name in LOOKS if name not in labels] or LOOKS.values())
    return {label: LOOKS[label] if label in LOOKS else next(free) for label in labels}


@contextmanager
def figure_style() -> Iterator[None]:
    """Draw in the style of the project, whatever the user's own settings are."""
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(_SETTINGS)
        yield


def metric_title(metric: str, *, lines: int = 1) -> str:
    """Return the label of an axis of errors, with its unit, in one line or two."""
    title = METRICS[metric].label
    return title.replace(" (", "\n(") if lines == 2 else title


def to_svg(figure: Figure) -> str:
    """Return a figure as SVG with its text as text: the same bytes for the same figure."""
    buffer = io.StringIO()
    with figure_style():
        figure.savefig(buffer, format="svg", metadata=_NO_METADATA, transparent=True)
    return buffer.getvalue()


def save(figure: Figure, path: Path) -> None:
    """Write ``path.svg`` and ``path.png``, on white, and ``path-dark.svg`` for dark pages."""
    options: dict[str, dict[str, Any]] = {
        "svg": {"metadata": _NO_METADATA},
        "png": {"metadata": {"Software": None}, "dpi": 150},
    }
    for kind, own in options.items():
        with figure_style(), replacing(path.with_name(f"{path.name}.{kind}")) as file:
            figure.savefig(file, format=kind, facecolor="white", **own)
    dark = to_svg(figure).replace(INK, "#e4e7eb").replace(GRID, "#3a444f")
    write_atomically(path.with_name(f"{path.name}-dark.svg"), dark.encode())


# Parts of several figures


def _of_metric(frame: pd.DataFrame, metric: str) -> pd.DataFrame:
    return frame[frame["metric"] == metric]


def _shown(results: Results, rows: pd.DataFrame) -> tuple[list[str], list[str]]:
    """Return the groups and the labels of algorithms that have rows, in the order of the run."""
    groups, labels = set(rows["group"]), set(rows["algorithm"])
    return (
        [group for group in results.groups if group in groups],
        [label for label in results.algorithms if label in labels],
    )


def _panels(n_columns: int, n_rows: int = 1, height: float = 3.2, **share: Any) -> Any:
    """Return a figure and its axes, panels side by side; `height` of a row is in inches."""
    figure = Figure(figsize=(max(WIDTH, 3.1 * n_columns), height * n_rows))
    grid = figure.subplots(n_rows, n_columns, squeeze=False, **({"sharex": True} | share))
    return figure, list(grid.flat)


def _add_legend(figure: Figure, results: Results, labels: list[str], *, lines: bool) -> None:
    """Add one legend for all panels above them."""
    handles = []
    for label in labels:
        look = looks(results)[label]
        style: Any = {"color": look.color, "marker": look.marker, "ls": look.line if lines else ""}
        handles.append(Line2D([], [], label=results.algorithms[label], **style))
    figure.legend(handles=handles, loc="outside upper center", ncols=min(len(handles), 4))


class CaptionedFigure(NamedTuple):
    """A figure, the name of its files and its caption."""

    name: str
    caption: str
    figure: Figure


def _captioned(name: str, caption: str, figure: Figure, *, synthetic: bool) -> CaptionedFigure:
    """Add a caption; if the ratings are synthetic, say so in it and on the figure."""
    if not synthetic:
        return CaptionedFigure(name, caption, figure)
    text = "SYNTHETIC ratings: drawn from a model, nobody gave them"
    with figure_style():
        if figure.legends:
            figure.legends[0].set_title(text, FontProperties(size=10, weight="bold"))
            figure.legends[0].get_title().set_color(INK)
        else:
            figure.suptitle(text, fontsize=10, weight="bold", color=INK)
    return CaptionedFigure(name, f"{SYNTHETIC_NOTE} {caption}", figure)


# Published against measured


def overview(runs: Sequence[Results]) -> CaptionedFigure | None:
    """Draw measured against published errors, a panel for each table and metric, if any."""
    found = []
    for run in runs:
        for metric in run.metrics:
            cells = published_cells(run, metric)
            if len(cells) and run.table is not None:
                alone = published_tables()[run.table].title
                title = METRICS[metric].task if len(run.metrics) > 1 else alone
                found.append((f"Table {run.table}\n{title}", cells))
    if not found:
        return None
    n_columns, size = 3, 2.3
    n_rows = -(-len(found) // n_columns)
    drawn = pd.concat([cells for _, cells in found])["algorithm"].unique()
    styles: dict[str, dict[str, Any]] = {
        label: {"marker": look.marker, "ls": "none", "mec": look.color, "mfc": "none", "mew": 1.5}
        for label, look in LOOKS.items()
        if label in drawn
    }
    with figure_style():
        figure = Figure(figsize=(size * n_columns, 0.9 + size * n_rows))
        axes = list(figure.subplots(n_rows, n_columns, squeeze=False).flat)
        for axis, (title, cells) in zip(axes, found, strict=False):
            both = cells[["published", "mean"]].to_numpy()
            margin = 0.08 * (both.max() - both.min()) or 0.08 * both.max()
            ends = (both.min() - margin, both.max() + margin)
            axis.plot(ends, ends, color=INK, linewidth=1)
            for label, style in styles.items():
                own = cells[cells["algorithm"] == label]
                if len(own):
                    axis.plot(own["published"], own["mean"], **style)
            axis.set(xlim=ends, ylim=ends, aspect="equal", title=title)
            axis.locator_params(nbins=3)
        for axis in axes[len(found) :]:
            axis.axis("off")
        figure.supxlabel("Published error", color=INK)
        figure.supylabel("Measured error", color=INK)
        handles = [Line2D([], [], label=title_of(one), **styles[one]) for one in styles]
        figure.legend(handles=handles, loc="outside upper center", ncols=4, handlelength=1)
    caption = (
        "Published against measured errors: a point is a method in one group of users. On the "
        "line, the two are equal; below it, the measured error is lower."
    )
    return _captioned("overview", caption, figure, synthetic=any(run.is_synthetic for run in runs))


# Error against sparsity


def error_against_sparsity(results: Results, metric: str) -> Figure | None:
    """Draw the test error against the fraction of the training points used, a panel a group."""
    rows = _of_metric(results.repeats, metric).dropna(subset="basis_share")
    if rows.empty:
        return None
    groups, labels = _shown(results, rows)
    with figure_style():
        figure, axes = _panels(len(groups), sharey=False)
        for axis, group in zip(axes, groups, strict=True):
            _draw_points(axis, rows[rows["group"] == group], looks(results))
            axis.set_xlim(-6, 114)
            axis.set_xticks(range(0, 101, 25))
            axis.set_title(f"{group} ratings")
        axes[0].set_ylabel("Test " + metric_title(metric, lines=2))
        figure.supxlabel("Training points used as basis functions (%)", color=INK)
        _add_legend(figure, results, labels, lines=False)
    return figure


def _draw_points(axis: Axes, rows: pd.DataFrame, look: dict[str, Look]) -> None:
    by_label = rows.groupby("algorithm")[["basis_share", "test_error"]]
    labels = [label for label in look if label in by_label.groups]
    means, stds = by_label.mean().loc[labels], by_label.std().fillna(0.0).loc[labels]
    percent, error = 100 * means["basis_share"].to_numpy(), means["test_error"].to_numpy()
    half = stds["test_error"].to_numpy()
    height = ((error + half).max() - (error - half).min()) or abs(error[0])
    marker_size = 5.0, 0.06 * height  # in percentage points, and in the unit of the error
    moves = separate(list(zip(percent, error, strict=True)), marker_size)
    for at, label in enumerate(labels):
        spread = 100 * stds["basis_share"].iloc[at]
        ends = [[min(spread, percent[at])], [min(spread, max(100 - percent[at], 0.0))]]
        own = {"color": look[label].color, "marker": look[label].marker, "yerr": half[at]}
        x, xerr = percent[at] + moves[at], np.array(ends)  # inside 0 to 100%
        axis.errorbar(x, error[at], xerr=xerr, **own, markersize=8, elinewidth=1, capsize=2)


def separate(
    points: Sequence[tuple[float, float]], size: tuple[float, float]
) -> NDArray[np.float64]:
    """Return sideways moves, multiples of the width, after which no two points cover each other."""
    width, height = size
    steps = sorted(range(-len(points), len(points) + 1), key=lambda step: (abs(step), step))
    placed: list[tuple[float, float]] = []
    for x, y in points:
        near = [a for a, b in placed if abs(y - b) < height]
        candidates = (x + step * width for step in steps)
        free = (at for at in candidates if all(abs(at - a) >= width * (1 - 1e-9) for a in near))
        placed.append((next(free), y))
    return np.array([at - x for (at, _), (x, _) in zip(placed, points, strict=True)])


# Error along the grids


def error_against_basis(results: Results, metric: str) -> Figure | None:
    """Draw hold-out and test error against the number of basis functions, a column a group."""
    curves = _mean_curves(results, metric, N_BASIS)
    if curves.empty:
        return None
    title = "number"
    if curves["value"].max() <= 1:
        curves, title = curves.assign(value=100 * curves["value"]), "share of training points (%)"
    return _draw_curves(results, metric, curves, list(_ROLES), f"Basis functions: {title}")


def error_against_width(results: Results, metric: str) -> Figure | None:
    """Draw the hold-out error against the kernel width, as `error_against_basis` does."""
    curves = _mean_curves(results, metric, KERNEL_WIDTH)
    if curves.empty:
        return None
    title = f"Kernel width {results.experiment.kernel.parameter} (no unit, log2 scale)"
    first, last = np.log2([curves["value"].min(), curves["value"].max()]).round().astype(int)

    def scale(axis: Axes) -> None:
        axis.set_xscale("log", base=2)
        axis.set_xticks([2.0**power for power in range(first, last + 1, 10)])

    return _draw_curves(results, metric, curves, ["holdout_error"], title, scale)


_ROLES = {"holdout_error": "Hold-out", "test_error": "Test"}


def _mean_curves(results: Results, metric: str, axis: Axis) -> pd.DataFrame:
    curves = _of_metric(results.curves, metric)
    curves = curves[curves["axis"] == axis.column]
    columns = [role for role in _ROLES if role in curves]
    return curves.groupby(["group", "algorithm", "value"], as_index=False)[columns].mean()


def _draw_curves(
    results: Results,
    metric: str,
    curves: pd.DataFrame,
    roles: list[str],
    title: str,
    scale: Callable[[Axes], None] = lambda axis: None,
) -> Figure:
    """Draw a row of panels for each role and a column for each group."""
    roles = [role for role in roles if role in curves and curves[role].notna().any()]
    groups, labels = _shown(results, curves)
    look = looks(results)
    with figure_style():
        figure, axes = _panels(len(groups), len(roles), height=2.9, sharey="col")
        rings: dict[Axes, list[Line2D]] = {axis: [] for axis in axes}
        for axis, (role, group) in zip(axes, itertools.product(roles, groups), strict=True):
            of_group = curves[curves["group"] == group].dropna(subset=[role])
            for place, label in enumerate(labels):
                rows = of_group[of_group["algorithm"] == label]
                if len(rows):
                    rings[axis].append(_draw_line(axis, rows, role, look[label], place))
            axis.set_title(f"{_ROLES[role]}, {group} ratings")
            scale(axis)
        for axis, group in zip(axes, groups, strict=False):
            _cut_blow_ups(axis, curves.loc[curves["group"] == group, roles].stack())
        for axis in axes[:: len(groups)]:
            axis.set_ylabel(metric_title(metric, lines=2).capitalize())
        for axis in axes:
            _widen_rings(axis, rings[axis])
        figure.supxlabel(title, color=INK)
        _add_legend(figure, results, labels, lines=True)
    return figure


def _draw_line(axis: Axes, rows: pd.DataFrame, role: str, look: Look, place: int) -> Line2D:
    """Draw a line and return its ring; markers of coinciding lines are at different places."""
    every = max(1, len(rows) // 4)
    style: Any = {"color": look.color, "linestyle": look.line, "marker": look.marker}
    marked = (2 * place % every, every)
    axis.plot(rows["value"], rows[role], **style, markersize=6, markevery=marked)
    lowest = rows.loc[rows["holdout_error"].idxmin()]
    return axis.plot(lowest["value"], lowest[role], "o", mfc="none", mec=look.color)[0]


def _widen_rings(axis: Axes, rings: Sequence[Line2D]) -> None:
    """Make a ring wider than those before it that it would coincide with."""
    to_panel = axis.transScale + axis.transLimits
    placed: list[np.ndarray] = []
    for ring in rings:
        at = to_panel.transform(np.asarray(ring.get_xydata()))[0]
        near = sum(bool(np.all(np.abs(at - other) < 0.05)) for other in placed)
        ring.set_markersize(10 + 2.5 * near)
        placed.append(at)


def _cut_blow_ups(axis: Axes, errors: pd.Series) -> None:
    """Let errors far beyond the others leave at the top, so that the others can be read."""
    usual = errors[errors <= BLOW_UP * errors.median()]
    if len(usual) < errors.count():
        margin = 0.06 * (usual.max() - usual.min()) or 0.06 * usual.max()
        axis.set_ylim(usual.min() - margin, usual.max() + margin)


# Differences between algorithms


def paired_differences(results: Results, metric: str, control: str | None = None) -> Figure | None:
    """Draw the error of the control (default: `proposed_algorithm`) minus that of the others.

    The 95% intervals of the mean over users are normal.
    """
    control = control or proposed_algorithm(results)
    users, key = _of_metric(results.users, metric), ["group", "repeat", "user"]
    of_control = users.loc[users["algorithm"] == control, [*key, "error"]]
    others = users[users["algorithm"] != control]
    pairs = others.merge(of_control, on=key, suffixes=("", "_of_control"))
    if pairs.empty:
        return None
    differences = pairs["error_of_control"] - pairs["error"]
    by_cell = differences.groupby([pairs["group"], pairs["algorithm"]])
    found = {cell: values.to_numpy() for cell, values in by_cell}
    groups, labels = _shown(results, pairs)
    look, name = looks(results), results.algorithms[control]
    bars: Any = {"markersize": 6.5, "elinewidth": 2, "capsize": 5, "capthick": 2}
    with figure_style():
        figure, axes = _panels(len(groups), height=1.4 + 0.34 * len(labels), sharey=True)
        for axis, group in zip(axes, groups, strict=True):
            for place, label in enumerate(reversed(labels)):
                if (group, label) in found:
                    values, color = found[group, label], look[label].color
                    mean, n = values.mean(), len(values)
                    half = 1.96 * values.std(ddof=1) / np.sqrt(n) if n > 1 else 0.0
                    own = {"marker": look[label].marker, "color": color}
                    filled = color if abs(mean) > half else "none"
                    axis.errorbar(mean, place, xerr=half, mfc=filled, **own, **bars)
            axis.axvline(0, color=INK, linewidth=1)
            names = [results.algorithms[label] for label in reversed(labels)]
            axis.set_yticks(range(len(labels)), names)
            axis.set_ylim(-0.6, len(labels) - 0.4)
            axis.locator_params(axis="x", nbins=5)
            axis.set_title(f"{group} ratings")
        figure.supxlabel(
            f"{metric_title(metric).capitalize()}: {name} minus the method, on the same users\n"
            f"(left of zero, {name} is better)",
            color=INK,
        )
    return figure


# The function of each figure, which returns None if there is nothing to draw, and its caption.
_FIGURES: dict[str, tuple[Callable[[Results, str], Figure | None], str]] = {
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
}


def draw_figures(results: Results) -> Iterator[CaptionedFigure]:
    """Draw every figure that the results allow, for every metric."""
    for metric in results.metrics:
        for name, (draw, caption) in _FIGURES.items():
            figure = draw(results, metric)
            if figure is not None:
                kind = f"{name}-{metric}"
                yield _captioned(kind, caption, figure, synthetic=results.is_synthetic)
