"""How all figures look: one colour, marker and line for each algorithm, and how they are saved.

The colours are told apart by people with any of the common colour deficiencies; markers and lines
say the same again, so that nothing is lost in grey.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from typing import Any, Literal

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.lines import Line2D

from rankpursuit.experiments.methods import METRICS
from rankpursuit.reporting.results import Results
from rankpursuit.writing import replacing, write_atomically

Share = bool | Literal["row", "col"]

INK = "#1f2933"
"""Colour of text and axes; on a web page it becomes the colour of the text around it."""
GRID = "#d0d5db"
"""Colour of the lines in the background."""
WIDTH = 9.3
"""Width of a figure in inches: the same for all, so that their type has one size on a page."""

_ON_DARK = {INK: "#e4e7eb", GRID: "#3a444f"}

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


@dataclass(frozen=True)
class Look:
    """Colour, marker and dashes of a method (none: solid); no two methods share any of them."""

    color: str
    marker: str
    dashes: tuple[float, ...] = ()

    @property
    def line(self) -> Literal["-"] | tuple[float, tuple[float, ...]]:
        """The line, as matplotlib writes it."""
        return (0, self.dashes) if self.dashes else "-"


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
"""Look of each method of the paper; other algorithms take those that are free."""

_NO_METADATA = dict.fromkeys(["Date", "Creator", "Format", "Type"])


@contextmanager
def figure_style() -> Iterator[None]:
    """Draw in the style of the project, whatever the user's own settings are."""
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(_SETTINGS)
        yield


def looks(results: Results) -> dict[str, Look]:
    """Return the look of each algorithm; a method of the paper has the same look everywhere."""
    own = {label: LOOKS[label] for label in results.algorithms if label in LOOKS}
    every = list(LOOKS.values())
    free = cycle([look for look in every if look not in own.values()] or every)
    return {label: own[label] if label in own else next(free) for label in results.algorithms}


def metric_title(metric: str, *, lines: int = 1) -> str:
    """Return what an axis of errors is called, with its unit, in one line or two."""
    title = METRICS[metric].label
    return title.replace(" (", "\n(") if lines == 2 else title


def panels(
    n_columns: int,
    *,
    n_rows: int = 1,
    height: float = 3.2,
    share_x: Share = True,
    share_y: Share = True,
) -> tuple[Figure, list[Axes]]:
    """Return a figure with panels side by side.

    Parameters
    ----------
    n_columns, n_rows : int
    height : float
        Height of a row in inches.
    share_x, share_y : bool or {"row", "col"}
        Which panels have the same axis: those that are to be compared along it.
    """
    figure = Figure(figsize=(max(WIDTH, 3.1 * n_columns), height * n_rows))
    grid = figure.subplots(n_rows, n_columns, sharex=share_x, sharey=share_y, squeeze=False)
    return figure, list(grid.flat)


def add_legend(figure: Figure, results: Results, labels: list[str], *, lines: bool) -> None:
    """Put one legend for all panels above them."""
    look, names = looks(results), results.algorithms
    handles = [
        Line2D(
            [],
            [],
            color=look[label].color,
            marker=look[label].marker,
            linestyle=look[label].line if lines else "none",
            label=names[label],
        )
        for label in labels
    ]
    figure.legend(handles=handles, loc="outside upper center", ncols=min(len(handles), 4))


def mark_synthetic(figure: Figure) -> None:
    """Say on top of a figure, be it over its legend, that its ratings are made up."""
    text = "SYNTHETIC ratings: drawn from a model, nobody gave them"
    if figure.legends:
        figure.legends[0].set_title(text, FontProperties(size=10, weight="bold"))
        figure.legends[0].get_title().set_color(INK)
    else:
        figure.suptitle(text, fontsize=10, weight="bold", color=INK)


def to_svg(figure: Figure) -> str:
    """Return a figure as SVG with its text as text: the same bytes for the same figure."""
    buffer = io.StringIO()
    with figure_style():
        figure.savefig(buffer, format="svg", metadata=_NO_METADATA, transparent=True)
    return buffer.getvalue()


def on_dark(svg: str) -> str:
    """Return a drawing for a dark page: text, axes and grid in light colours, no background."""
    for light, dark in _ON_DARK.items():
        svg = svg.replace(light, dark)
    return svg


def save(figure: Figure, path: Path) -> list[Path]:
    """Write ``path.svg`` and ``path.png``, on white, and ``path-dark.svg``; return all."""
    options: dict[str, dict[str, Any]] = {
        "svg": {"metadata": _NO_METADATA},
        "png": {"metadata": {"Software": None}, "dpi": 150},
    }
    paths = []
    for kind, own in options.items():
        paths.append(path.with_name(f"{path.name}.{kind}"))
        with figure_style(), replacing(paths[-1]) as file:
            figure.savefig(file, format=kind, facecolor="white", **own)
    paths.append(path.with_name(f"{path.name}-dark.svg"))
    write_atomically(paths[-1], on_dark(to_svg(figure)).encode())
    return paths
