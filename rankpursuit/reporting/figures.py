"""The figures of a run, in one style, and how they are saved."""

from __future__ import annotations

import io
import itertools
from collections.abc import Callable, Iterator, Sequence
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

from rankpursuit.experiments.methods import METRICS, N_BASIS, Axis
from rankpursuit.experiments.methods import WIDTH as KERNEL_WIDTH
from rankpursuit.reporting.published import published_tables
from rankpursuit.reporting.results import Results, title_of
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
    """Colour, marker and line style of an algorithm."""

    color: str
    marker: str
    line: Any = "-"


# The look of each method and baseline in every figure; other algorithms get free ones.
LOOKS = {
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


class CaptionedFigure(NamedTuple):
    """A figure, the name of its files and its caption."""

    name: str
    caption: str
    figure: Figure


def _captioned(name: str, caption: str, figure: Figure, *, synthetic: bool) -> CaptionedFigure:
    """Add a caption; if the ratings are synthetic, say so in it and on the figure."""
    if synthetic:
        caption = f"{SYNTHETIC_NOTE} {caption}"
        legend = figure.legends[0]
        legend.set_title("SYNTHETIC ratings: drawn from a model, nobody gave them")
        legend.get_title().set(size=10, weight="bold", color=INK)
    return CaptionedFigure(name, caption, figure)


def _add_legend(figure: Figure, drawn: dict[str, Look], *, lines: bool) -> None:
    """Add one legend, of titles with their looks, for all panels above them."""
    handles = []
    for title, look in drawn.items():
        style: Any = {"color": look.color, "marker": look.marker, "ls": look.line if lines else ""}
        handles.append(Line2D([], [], label=title, **style))
    place: Any = {"loc": "outside upper center", "ncols": min(len(handles), 4)}
    figure.legend(handles=handles, **place, handlelength=None if lines else 1)


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
    drawn = set(pd.concat([cells for _, cells in found])["algorithm"])
    with figure_style():
        figure = Figure(figsize=(size * n_columns, 0.9 + size * n_rows))
        axes = list(figure.subplots(n_rows, n_columns, squeeze=False).flat)
        for axis in axes[len(found) :]:
            axis.axis("off")
        for axis, (title, cells) in zip(axes, found, strict=False):
            both = cells[["published", "mean"]].to_numpy()
            margin = 0.08 * (both.max() - both.min()) or 0.08 * both.max()
            ends = (both.min() - margin, both.max() + margin)
            axis.plot(ends, ends, color=INK, linewidth=1)
            for label, own in cells.groupby("algorithm"):
                look: Any = {"mec": LOOKS[label].color, "marker": LOOKS[label].marker}
                axis.plot(own["published"], own["mean"], **look, mfc="none", mew=1.5, ls="none")
            axis.set(xlim=ends, ylim=ends, aspect="equal", title=title)
            axis.locator_params(nbins=3)
        figure.supxlabel("Published error", color=INK)
        figure.supylabel("Measured error", color=INK)
        titles = {title_of(label): look for label, look in LOOKS.items() if label in drawn}
        _add_legend(figure, titles, lines=False)
    caption = (
        "Published against measured errors: a point is a method in one group of users. On the "
        "line, the two are equal; below it, the measured error is lower."
    )
    return _captioned("overview", caption, figure, synthetic=any(run.is_synthetic for run in runs))


# Figures of one run: a column of panels for each group of users


def _draw_panels(
    results: Results,
    rows: pd.DataFrame,
    roles: Sequence[str],
    draw: Callable[[Axes, pd.DataFrame, str, Look, int], None],
    *,
    lines: bool,
) -> tuple[Figure, dict[tuple[str, str], Axes]]:
    """Draw a row of panels for each role, and in each panel the rows of each algorithm."""
    groups = [group for group in results.groups if group in set(rows["group"])]
    labels = [label for label in results.algorithms if label in set(rows["algorithm"])]
    look = looks(results)
    figure = Figure(figsize=(max(WIDTH, 3.1 * len(groups)), 3.0 * len(roles)))
    grid = figure.subplots(len(roles), len(groups), squeeze=False, sharex=True, sharey="col")
    panels = dict(zip(itertools.product(roles, groups), grid.flat, strict=True))
    for (role, group), axis in panels.items():
        for place, label in enumerate(labels):
            own = rows[(rows["group"] == group) & (rows["algorithm"] == label)]
            own = own.dropna(subset=[role])
            if len(own):
                draw(axis, own, role, look[label], place)
    drawn = {results.algorithms[label]: look[label] for label in labels}
    _add_legend(figure, drawn, lines=lines)
    return figure, panels


def error_against_sparsity(results: Results, metric: str) -> Figure | None:
    """Draw the test error against the fraction of the training points used, a panel a group."""
    rows = results.repeats[results.repeats["metric"] == metric].dropna(subset="basis_share")
    if rows.empty:
        return None

    def draw(axis: Axes, own: pd.DataFrame, role: str, look: Look, place: int) -> None:
        means, stds = (100 * own["basis_share"]).agg(["mean", "std"]).fillna(0.0)
        half = own[role].std() if len(own) > 1 else 0.0
        ends = np.array([[min(stds, means)], [min(stds, max(100 - means, 0.0))]])  # in 0 to 100%
        style: Any = {"color": look.color, "marker": look.marker, "mfc": "none", "mew": 1.5}
        axis.errorbar(
            means, own[role].mean(), yerr=half, xerr=ends, **style, ms=8, elinewidth=1, capsize=2
        )

    with figure_style():
        figure, panels = _draw_panels(results, rows, ["test_error"], draw, lines=False)
        for (_, group), axis in panels.items():
            axis.set(xlim=(-6, 106), xticks=range(0, 101, 25), title=f"{group} ratings")
        next(iter(panels.values())).set_ylabel("Test " + metric_title(metric, lines=2))
        figure.supxlabel("Training points used as basis functions (%)", color=INK)
    return figure


_ROLES = {"holdout_error": "Hold-out", "test_error": "Test"}


def error_against_basis(results: Results, metric: str) -> Figure | None:
    """Draw hold-out and test error against the number of basis functions, a column a group."""
    curves, title = _mean_curves(results, metric, N_BASIS), "number"
    if len(curves) and curves["value"].max() <= 1:
        curves, title = curves.assign(value=100 * curves["value"]), "share of training points (%)"
    return _draw_curves(results, metric, curves, list(_ROLES), f"Basis functions: {title}")


def error_against_width(results: Results, metric: str) -> Figure | None:
    """Draw the hold-out error against the kernel width, as `error_against_basis` does."""
    curves = _mean_curves(results, metric, KERNEL_WIDTH)
    title = f"Kernel width {results.experiment.kernel.parameter} (no unit, log2 scale)"
    return _draw_curves(results, metric, curves, ["holdout_error"], title, log2=True)


def _mean_curves(results: Results, metric: str, axis: Axis) -> pd.DataFrame:
    curves = results.curves
    curves = curves[(curves["metric"] == metric) & (curves["axis"] == axis.column)]
    means = curves.groupby(["group", "algorithm", "value"], as_index=False)
    return means[[role for role in _ROLES if role in curves]].mean()


def _draw_curves(
    results: Results,
    metric: str,
    curves: pd.DataFrame,
    roles: Sequence[str],
    title: str,
    *,
    log2: bool = False,
) -> Figure | None:
    """Draw a row of panels for each role; a ring marks the lowest hold-out error."""
    roles = [role for role in roles if role in curves and curves[role].notna().any()]
    if not roles:
        return None

    def draw(axis: Axes, rows: pd.DataFrame, role: str, look: Look, place: int) -> None:
        every = max(1, len(rows) // 4)  # markers of coinciding lines are at different places
        style: Any = {"color": look.color, "ls": look.line, "marker": look.marker, "ms": 6}
        axis.plot(rows["value"], rows[role], **style, markevery=(2 * place % every, every))
        if rows["holdout_error"].notna().any():
            lowest = rows.loc[rows["holdout_error"].idxmin()]
            axis.plot(lowest["value"], lowest[role], "o", mfc="none", mec=look.color, ms=10 + place)

    with figure_style():
        figure, panels = _draw_panels(results, curves, roles, draw, lines=True)
        for (role, group), axis in panels.items():
            axis.set_title(f"{_ROLES[role]}, {group} ratings")
            _cut_blow_ups(axis, curves.loc[curves["group"] == group, roles].stack())
            if group == curves["group"].iloc[0]:
                axis.set_ylabel(metric_title(metric, lines=2).capitalize())
            if log2:
                first, last = np.log2([curves["value"].min(), curves["value"].max()]).round()
                axis.set_xscale("log", base=2)
                axis.set_xticks(2.0 ** np.arange(first, last + 1, 10))
        figure.supxlabel(title, color=INK)
    return figure


def _cut_blow_ups(axis: Axes, errors: pd.Series) -> None:
    """Let errors far beyond the others leave at the top, so that the others can be read."""
    usual = errors[errors <= BLOW_UP * errors.median()]
    if len(usual) < errors.count():
        margin = 0.06 * (usual.max() - usual.min()) or 0.06 * usual.max()
        axis.set_ylim(usual.min() - margin, usual.max() + margin)


# The function of each figure, which returns None if there is nothing to draw, and its caption.
_FIGURES: dict[str, tuple[Callable[[Results, str], Figure | None], str]] = {
    "sparsity": (
        error_against_sparsity,
        "Error against sparsity: further down is more accurate, further left is sparser. "
        "Means over repeats; bars are standard deviations. Each group has its own scale of errors.",
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
}


def draw_figures(results: Results) -> Iterator[CaptionedFigure]:
    """Draw every figure that the results allow, for every metric."""
    for metric in results.metrics:
        for name, (draw, caption) in _FIGURES.items():
            figure = draw(results, metric)
            if figure is not None:
                kind = f"{name}-{metric}"
                yield _captioned(kind, caption, figure, synthetic=results.is_synthetic)
