"""Tables, figures and files of the studies."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pandas as pd
from benchmarks.harness import save_figure
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from rankpursuit.experiments.methods import METRICS
from rankpursuit.reporting.figures import figure_style
from rankpursuit.writing import write_atomically

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "results"
DATA_TITLES = {"jester": "Jester", "movielens": "MovieLens"}

Array = NDArray[np.float64]


def write_csv(path: Path, frame: pd.DataFrame) -> None:
    """Write a data frame with six significant digits."""
    write_atomically(path, frame.to_csv(index=False, float_format="%.6g").encode())


def draw_panels(
    path: Path, height: float, xlabel: str, panels: Mapping[str, Callable[[Axes], None]]
) -> None:
    """Write a figure of errors, with a panel for each title and one legend."""
    with figure_style():
        figure = Figure(figsize=(10.5, height))
        all_axes = figure.subplots(1, len(panels), squeeze=False)[0]
        for axes, (title, draw) in zip(all_axes, panels.items(), strict=True):
            draw(axes)
            axes.set(title=title, xlabel=xlabel)
        all_axes[0].set_ylabel(METRICS["disagreement"].label.replace(" (", "\n("))
        all_axes[-1].legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
        save_figure(figure, path)
