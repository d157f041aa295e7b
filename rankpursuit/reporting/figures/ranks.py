"""Average ranks with the critical difference of Nemenyi's test."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from scipy.stats import studentized_range

from rankpursuit.reporting.figures.rows import rows_of
from rankpursuit.reporting.figures.style import INK, figure_style, looks
from rankpursuit.reporting.results import Results
from rankpursuit.reporting.statistics import SIGNIFICANT


def critical_difference(n_algorithms: int, n_blocks: int, level: float = SIGNIFICANT) -> float:
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
    rows = rows_of(results, results.repeats, metric)
    table = rows.pivot_table(index=["group", "repeat"], columns="algorithm", values="test_error")
    labels = [label for label in results.algorithms if label in table]
    return table[labels].dropna().rank(axis=1)


def average_ranks(results: Results, metric: str) -> Figure | None:
    """Draw the average ranks over groups and repeats, and the critical difference.

    A bar at the right joins algorithms that Nemenyi's test cannot tell apart. None if there are
    fewer than two algorithms, or fewer than two groups and repeats in which all were run.
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
            axis.plot([1, mean], [place, place], color=look[label].color, linewidth=1)
            axis.plot(mean, place, color=look[label].color, marker=look[label].marker, ms=8)
            axis.annotate(
                f"{mean:.2f}", (mean, place), xytext=(9, 0), textcoords="offset points", va="center"
            )
        for number, (first, last) in enumerate(cliques(means.to_numpy(), difference)):
            at = n_algorithms + 0.7 + 0.2 * number
            axis.plot([at, at], [first - 0.2, last + 0.2], color=INK, linewidth=3.5)
        _bar(axis, difference)
        axis.set_ylim(n_algorithms - 0.5, -1.7)
        axis.set_yticks(range(n_algorithms), [names[label] for label in means.index])
        axis.set_xticks(range(1, n_algorithms + 1))
        axis.grid(False, axis="y")
        axis.set_xlabel(f"Average rank over {n_blocks} pairs of group and repeat (1 is best)")
    return figure


def cliques(means: np.ndarray, difference: float) -> list[tuple[int, int]]:
    """Return first and last place of each longest run of sorted ranks within the difference.

    Examples
    --------
    >>> cliques(np.array([1.0, 1.5, 2.2, 4.0]), 1.0)
    [(0, 1), (1, 2)]
    """
    found: list[tuple[int, int]] = []
    for first, mean in enumerate(means):
        last = int(np.searchsorted(means, mean + difference, side="right")) - 1
        if last > first and (not found or last > found[-1][1]):
            found.append((first, last))
    return found


def _bar(axis: Axes, difference: float) -> None:
    axis.errorbar(1 + difference / 2, -1, xerr=difference / 2, color=INK, capsize=4)
    axis.annotate(
        f"critical difference {difference:.2f}",
        (1 + difference, -1),
        xytext=(8, 0),
        textcoords="offset points",
        va="center",
    )
