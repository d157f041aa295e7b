"""Paired comparisons: Wilcoxon's signed-rank test, Holm's correction, bootstrap intervals.

All work on differences between the errors of two algorithms on the same repeats or users.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.stats import bootstrap, rankdata, studentized_range, wilcoxon

from rankpursuit.reporting.results import Results

Over = Literal["repeats", "users"]

SIGNIFICANT = 0.05  # the paper's threshold
MIN_PAIRS = 6  # no two-sided p of five pairs is significant: the least is 2 / 2^5 = 0.0625


@dataclass(frozen=True, eq=False)
class Comparison:
    """Errors of an algorithm minus those of another, on the same repeats or users."""

    differences: NDArray[np.float64]

    @property
    def n_pairs(self) -> int:
        """Number of pairs."""
        return int(self.differences.size)

    @property
    def mean(self) -> float:
        """Mean difference: negative if the first algorithm has the lower error."""
        return float(self.differences.mean())

    @cached_property
    def interval(self) -> tuple[float, float]:
        """95% bootstrap interval of the mean difference."""
        return bootstrap_interval(self.differences)

    @cached_property
    def p_value(self) -> float:
        """Two-sided p-value of Wilcoxon's signed-rank test."""
        return signed_rank_p(self.differences)

    @cached_property
    def equivalence_interval(self) -> tuple[float, float]:
        """90% bootstrap interval: within a margin, two one-sided tests at 5% show equivalence."""
        return bootstrap_interval(self.differences, 0.9)

    @cached_property
    def effect(self) -> float:
        """Rank-biserial correlation of the pairs: -1 if the first always has the lower error."""
        kept = _rounded_nonzero(self.differences)
        ranks = rankdata(np.abs(kept))
        return float(ranks @ np.sign(kept) / ranks.sum()) if kept.size else 0.0

    @property
    def significant(self) -> bool:
        """Return whether p is below `SIGNIFICANT`, without correction for multiple tests."""
        return self.p_value < SIGNIFICANT


def compare(first: ArrayLike, second: ArrayLike) -> Comparison:
    """Compare the errors of two algorithms on the same repeats or users, at least one."""
    return Comparison(np.asarray(first, dtype=float) - np.asarray(second, dtype=float))


def signed_rank_p(differences: ArrayLike) -> float:
    """Return the two-sided p-value of Wilcoxon's signed-rank test; 1 if all differences are 0.

    Differences are rounded to 12 decimals. Zeros are dropped, and ties get their mean rank. The
    distribution is exact for up to 50 differences without ties, otherwise normal, with its variance
    corrected for ties and no continuity correction.
    """
    kept = _rounded_nonzero(differences)
    if kept.size == 0:
        return 1.0
    untied = np.unique(np.abs(kept)).size == kept.size
    method = "exact" if untied and kept.size <= 50 else "approx"
    return float(wilcoxon(kept, zero_method="wilcox", correction=False, method=method).pvalue)


def _rounded_nonzero(differences: ArrayLike) -> NDArray[np.float64]:
    # So that 0.3 - 0.2 ties with 0.2 - 0.1, from which it differs in the last bits.
    rounded = np.round(np.asarray(differences, dtype=float), 12)
    return rounded[rounded != 0]


def mean_ranks(results: Results, metric: str) -> tuple[pd.Series, float] | None:
    """Return the mean rank of each method, ascending, and Nemenyi's critical difference at 5%.

    Methods are ranked by their error in each group and repeat that has all of them. None if there
    are fewer than three methods or `MIN_PAIRS` such cells.
    """
    errors = pd.concat([errors_by(results, metric, group) for group in results.groups])
    errors = errors[[label for label in results.methods if label in errors]].dropna()
    n_cells, n_methods = errors.shape
    if n_methods < 3 or n_cells < MIN_PAIRS:
        return None
    quantile = studentized_range.ppf(1 - SIGNIFICANT, n_methods, np.inf) / np.sqrt(2)
    difference = quantile * np.sqrt(n_methods * (n_methods + 1) / (6 * n_cells))
    return errors.round(12).rank(axis=1).mean().sort_values(kind="stable"), float(difference)


def holm(p_values: ArrayLike) -> NDArray[np.float64]:
    """Return p-values corrected by Holm's step-down method."""
    p_values = np.asarray(p_values, dtype=float)
    order = np.argsort(p_values, kind="stable")
    factors = np.arange(p_values.size, 0, -1)
    corrected = np.empty_like(p_values)
    corrected[order] = np.minimum(np.maximum.accumulate(p_values[order] * factors), 1.0)
    return corrected


def bootstrap_interval(differences: ArrayLike, level: float = 0.95) -> tuple[float, float]:
    """Return the percentile bootstrap interval of the mean."""
    differences = np.asarray(differences, dtype=float)
    if np.ptp(differences) == 0:
        mean = float(differences.mean())
        return mean, mean
    found = bootstrap(
        (differences,),
        np.mean,
        n_resamples=2000,
        batch=max(1, 1_000_000 // differences.size),  # bounds the memory
        method="percentile",
        confidence_level=level,
        random_state=np.random.default_rng(0),
    )
    low, high = found.confidence_interval
    return float(low), float(high)


@lru_cache(maxsize=32)  # rules and tests reuse a few tables
def errors_by(results: Results, metric: str, group: str, over: Over = "repeats") -> pd.DataFrame:
    """Return test errors, one row per repeat or test user, one column per algorithm; cached."""
    frame = results.repeats if over == "repeats" else results.users
    rows = frame[(frame["metric"] == metric) & (frame["group"] == group)]
    keys = ["repeat"] if over == "repeats" else ["repeat", "user"]
    values = "test_error" if over == "repeats" else "error"
    table = rows.pivot_table(index=keys, columns="algorithm", values=values)
    return table[[label for label in results.algorithms if label in table]]


def compare_columns(errors: pd.DataFrame, first: str, second: str) -> Comparison | None:
    """Compare two columns of `errors_by` in the rows that have both; None if there are none."""
    if first not in errors or second not in errors:
        return None
    pairs = errors[[first, second]].dropna()
    return compare(pairs[first], pairs[second]) if len(pairs) else None


def proposed_algorithm(results: Results) -> str:
    """Return the label of the proposed algorithm: the last in the paper's order with results."""
    return list(results.methods or results.algorithms)[-1]


def savings(results: Results, metric: str, label: str, other: str) -> pd.Series | None:
    """Return the fraction of basis functions that an algorithm saves per repeat, mean over groups.

    Uses repeats in which every group has both; None if there are none, or if the other has no basis
    functions.
    """
    rows = results.repeats[results.repeats["metric"] == metric]
    table = rows.pivot_table(
        index=["repeat", "group"], columns="algorithm", values="basis_functions"
    )
    if label not in table or other not in table or not (table[other].dropna() > 0).all():
        return None
    saved = (1 - table[label] / table[other]).unstack("group").reindex(columns=results.groups)
    means = saved.dropna().mean(axis=1)
    return means if len(means) else None
