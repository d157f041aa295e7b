"""Which rows of a run's files a figure draws."""

from __future__ import annotations

import pandas as pd

from rankpursuit.reporting.results import Results


def rows_of(results: Results, frame: pd.DataFrame, metric: str) -> pd.DataFrame:
    """Return the rows of a metric and of the algorithms that the config declares.

    Parameters
    ----------
    results : Results
    frame : DataFrame
        One of the run's, with columns ``metric`` and ``algorithm``.
    metric : str
    """
    declared = frame["algorithm"].isin(list(results.algorithms))
    return frame[declared & (frame["metric"] == metric)]


def drawn(results: Results, rows: pd.DataFrame) -> tuple[list[str], list[str]]:
    """Return the groups and the labels of algorithms that have rows, in the order of the run."""
    groups, labels = set(rows["group"]), set(rows["algorithm"])
    return (
        [group for group in results.groups if group in groups],
        [label for label in results.algorithms if label in labels],
    )
