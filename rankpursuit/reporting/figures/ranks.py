"""Average ranks with the critical difference of Nemenyi's test."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from scipy.stats import studentized_range

from rankpursuit.reporting.figures.style import INK, Look, figure_style, looks
from rankpursuit.reporting.results import Results


def critical_difference(n_algorithms: int, n_blocks: int, level: float = 0.05) -> float:
    """Return the difference of average ranks from which on Nemenyi's test tells two apart.

    The constant is the quantile of the studentized range with infinitely many degrees of freedom,
    divided by the root of two (``scipy.stats.studentized_range``; Demsar 2006 prints it rounded).

    Examples
    --------
    >>> round(critical_difference(4, 14), 3)
    1.254
    """
    quantile = studentized_range.isf(level, n_algorithms, np.inf) / np.sqrt(2)
    return float(quantile * np.sqrt(n_algorithms * (n_algorithms + 1) / (6 * n_blocks)))


def rank_blocks(results: Results, metric: str) -> pd.DataFrame:
    """Return the rank of each algorithm in each group and repeat where all were run.

    Returns
    -------
    DataFrame
        A row for each group and repeat, a column for each algorithm; 1 is best, ties share.
    """
    rows = results.repeats[results.repeats["metric"] == metric]
    table = rows.pivot_table(index=["group", "repeat"], columns="algorithm", values="test_error")
    labels = [label for label in results.algorithms if label in table]
    return table[labels].dropna().rank(axis=1)


def average_ranks(results: Results, metric: str) -> Figure | None:
    """Draw the average ranks over groups and repeats, and the critical difference at 5%.

    A thick line joins algorithms that Nemenyi's test cannot tell apart. None if there are fewer
    than two algorithms, or fewer than two groups and repeats in which all were run.
    """
    ranks = rank_blocks(results, metric)
    n_blocks, n_algorithms = ranks.shape
    if n_blocks < 2 or n_algorithms < 2:
        return None
    means = ranks.mean().sort_values(kind="stable")
    difference = critical_difference(n_algorithms, n_blocks)
    names, look = results.algorithms, looks(results)
    with figure_style():
        figure = Figure(figsize=(7.5, 1.5 + 0.3 * n_algorithms))
        axis = figure.subplots()
        for place, (label, mean) in enumerate(means.items()):
            _algorithm(axis, place, mean, f"{names[label]} ({mean:.2f})", look[label])
        for place, (first, last) in enumerate(_cliques(means.to_numpy(), difference)):
            axis.plot([first, last], [-0.75 - 0.25 * place] * 2, color=INK, linewidth=3.5)
        top = -1.6 - 0.25 * len(_cliques(means.to_numpy(), difference))
        axis.errorbar(1 + difference / 2, top, xerr=difference / 2, color=INK, capsize=4)
        axis.text(1 + difference + 0.1, top, f"critical difference {difference:.2f}", va="center")
        axis.set_ylim(n_algorithms - 0.4, top - 0.5)
        axis.set_xlim(0.8, max(n_algorithms, 1 + difference) + 1.6)
        axis.set_xticks(range(1, n_algorithms + 1))
        axis.set_yticks([])
        axis.spines["left"].set_visible(False)
        axis.set_xlabel(f"Average rank over {n_blocks} pairs of group and repeat (1 is best)")
    return figure


def _algorithm(axis: Axes, place: int, mean: float, title: str, look: Look) -> None:
    axis.plot([mean, mean], [place, -0.6], color=look.color, linestyle=look.line, linewidth=1)
    axis.plot(mean, place, color=look.color, marker=look.marker, markersize=7)
    axis.annotate(title, (mean, place), xytext=(8, 0), textcoords="offset points", va="center")


def _cliques(means: np.ndarray, difference: float) -> list[tuple[float, float]]:
    """Return the first and last of each longest run of ranks within the difference."""
    found: list[tuple[float, float]] = []
    for first in means:
        last = means[means <= first + difference].max()
        if last > first and (not found or last > found[-1][1]):
            found.append((float(first), float(last)))
    return found
