"""Two algorithms of a run compared, over repeats as in the paper, and over users."""

from __future__ import annotations

from functools import lru_cache
from typing import Literal

import pandas as pd

from rankpursuit.reporting.results import Results
from rankpursuit.reporting.statistics import Comparison, compare

Over = Literal["repeats", "users"]


@lru_cache(maxsize=32)  # rules and tests ask for the same few tables again and again
def errors_by(results: Results, metric: str, group: str, over: Over = "repeats") -> pd.DataFrame:
    """Return test errors with a column for each algorithm that has any; not to be changed.

    Parameters
    ----------
    results : Results
    metric, group : str
    over : {"repeats", "users"}
        What a row is: a repeat, or a test user of a repeat.
    """
    frame = results.repeats if over == "repeats" else results.users
    rows = frame[(frame["metric"] == metric) & (frame["group"] == group)]
    keys = ["repeat"] if over == "repeats" else ["repeat", "user"]
    values = "test_error" if over == "repeats" else "error"
    table = rows.pivot_table(index=keys, columns="algorithm", values=values)
    return table[[label for label in results.algorithms if label in table]]


def compare_columns(errors: pd.DataFrame, first: str, second: str) -> Comparison | None:
    """Compare two algorithms where both have results; None if that is nowhere.

    Parameters
    ----------
    errors : DataFrame
        From `errors_by`.
    first, second : str
        Labels of two algorithms. Differences are of the first minus the second.
    """
    if first not in errors or second not in errors:
        return None
    pairs = errors[[first, second]].dropna()
    return compare(pairs[first], pairs[second]) if len(pairs) else None


def proposed_algorithm(results: Results, metric: str) -> str:
    """Return the label of what the experiment is about, which the others are compared with.

    It is the last in the paper's order of those that have results, if any has.
    """
    there = set(results.repeats.loc[results.repeats["metric"] == metric, "algorithm"])
    labels = list(results.algorithms)
    return next((label for label in reversed(labels) if label in there), labels[-1])
