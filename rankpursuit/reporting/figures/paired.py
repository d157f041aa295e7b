"""Differences between algorithms on the same users."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from rankpursuit.reporting.comparisons import proposed_algorithm
from rankpursuit.reporting.figures.rows import drawn, rows_of
from rankpursuit.reporting.figures.style import INK, Look, figure_style, looks, metric_title, panels
from rankpursuit.reporting.results import Results


def paired_differences(results: Results, metric: str, control: str | None = None) -> Figure | None:
    """Draw how far the control's error is from that of each algorithm on the same users.

    A marker is the mean over users, its bar the 95% interval of that mean (normal); it is filled
    where the interval leaves out zero. Differences are the control's error minus the other, as in
    the tables of tests: left of zero the control is better. None if no algorithm can be compared
    with the control.

    Parameters
    ----------
    results : Results
    metric : str
    control : str, optional
        Label of the control; `proposed_algorithm` if None.
    """
    control = control or proposed_algorithm(results, metric)
    differences = _differences(results, metric, control)
    if differences.empty:
        return None
    groups, labels = drawn(results, differences)
    look, names = looks(results), results.algorithms
    with figure_style():
        figure, axes = panels(len(groups), height=1.4 + 0.34 * len(labels))
        for axis, group in zip(axes, groups, strict=True):
            of_group = differences[differences["group"] == group]
            for place, label in enumerate(reversed(labels)):
                values = of_group.loc[of_group["algorithm"] == label, "difference"].to_numpy()
                if len(values):
                    _interval(axis, place, values, look[label])
            axis.axvline(0, color=INK, linewidth=1)
            axis.set_yticks(range(len(labels)), [names[label] for label in reversed(labels)])
            axis.set_ylim(-0.6, len(labels) - 0.4)
            axis.locator_params(axis="x", nbins=5)
            axis.set_title(f"{group} ratings")
        title = metric_title(metric).capitalize()
        figure.supxlabel(
            f"{title}: {names[control]} minus the method, on the same users\n"
            f"(left of zero, {names[control]} is better)",
            color=INK,
        )
    return figure


def _differences(results: Results, metric: str, control: str) -> pd.DataFrame:
    """Return the control's error minus the others', on the users that the control has."""
    users = rows_of(results, results.users, metric)
    key = ["group", "repeat", "user"]
    of_control = users.loc[users["algorithm"] == control, [*key, "error"]]
    others = users[users["algorithm"] != control]
    pairs = others.merge(of_control, on=key, suffixes=("", "_of_control"))
    return pairs.assign(difference=pairs["error_of_control"] - pairs["error"])


def _interval(axis: Axes, place: int, values: np.ndarray, look: Look) -> None:
    mean = values.mean()
    half = 1.96 * values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else 0.0
    axis.errorbar(
        mean,
        place,
        xerr=half,
        color=look.color,
        marker=look.marker,
        markersize=6.5,
        markerfacecolor=look.color if abs(mean) > half else "none",
        elinewidth=2,
        capsize=5,
        capthick=2,
    )
