"""Average ranks with the critical difference of Nemenyi's test, drawn as Demsar (2006) does."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from scipy.stats import studentized_range

from rankpursuit.reporting.figures.rows import rows_of
from rankpursuit.reporting.figures.style import INK, WIDTH, figure_style, looks
from rankpursuit.reporting.results import Results
from rankpursuit.reporting.statistics import SIGNIFICANT

_ROW = 0.3
"""Height of a line of text in inches, the unit of the diagram's vertical axis."""


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
    """Draw the average ranks over groups and repeats on a line, and the critical difference.

    A thick bar joins algorithms that Nemenyi's test cannot tell apart. None if there are
    fewer than two algorithms, or fewer than two groups and repeats in which all were run.
    """
    ranks = rank_blocks(results, metric)
    n_blocks, n_algorithms = ranks.shape
    if n_blocks < 2 or n_algorithms < 2:
        return None
    means = ranks.mean().sort_values(kind="stable")
    difference = critical_difference(n_algorithms, n_blocks)
    joined = cliques(means.to_numpy(), difference)
    names, look = results.algorithms, looks(results)
    below = 0.6 + 0.35 * len(joined)
    depth = below + (n_algorithms + 1) // 2
    with figure_style():
        figure = Figure(figsize=(WIDTH, _ROW * (depth + 3.6)))
        axis = figure.subplots()
        axis.axis("off")
        _scale(axis, n_algorithms, difference, n_blocks)
        for number, (first, last) in enumerate(joined):
            ends = [means.iloc[first] - 0.06, means.iloc[last] + 0.06]
            axis.plot(ends, [0.55 + 0.35 * number] * 2, color=INK, linewidth=4)
        for place, (label, mean) in enumerate(means.items()):
            left = place < (n_algorithms + 1) // 2
            at = below + (place if left else n_algorithms - 1 - place)
            end = 0.9 if left else n_algorithms + 0.1
            axis.plot([mean, mean, end], [0, at, at], color=look[label].color, linewidth=1.2)
            axis.plot(end, at, color=look[label].color, marker=look[label].marker, ms=7)
            words = f"{names[label]} {mean:.2f}"
            side = "right" if left else "left"
            axis.text(end + (-0.1 if left else 0.1), at, words, ha=side, va="center")
        room = 0.32 * (n_algorithms - 1)
        axis.set_xlim(1 - room, n_algorithms + room)
        axis.set_ylim(depth - 0.4, -3.2)
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


def _scale(axis: Axes, n_algorithms: int, difference: float, n_blocks: int) -> None:
    """Draw the line of ranks, and above it the critical difference."""
    axis.plot([1, n_algorithms], [0, 0], color=INK, linewidth=1.2)
    for rank in range(1, n_algorithms + 1):
        axis.plot([rank, rank], [0, -0.3], color=INK, linewidth=1.2)
        axis.text(rank, -0.45, str(rank), ha="center", va="bottom")
    middle = (n_algorithms + 1) / 2
    title = f"Average rank over {n_blocks} pairs of group and repeat (1 is best)"
    axis.text(middle, -1.5, title, ha="center", va="bottom")
    axis.errorbar(1 + difference / 2, -2.6, xerr=difference / 2, color=INK, capsize=4)
    axis.text(1 + difference + 0.1, -2.6, f"critical difference {difference:.2f}", va="center")
