"""Paired comparisons: Wilcoxon's signed-rank test, Holm's correction, effect sizes, intervals.

Everything works on differences of two methods' errors, on the same repeats or the same users.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import bootstrap, rankdata, wilcoxon

SIGNIFICANT = 0.05
"""The paper's threshold of significance."""

LEAST_PAIRS = 6
"""With fewer pairs, no two-sided p is significant: the least of five pairs is 2 / 2^5 = 0.0625."""

_MOST_EXACT = 50
_DRAWS_AT_ONCE = 1_000_000  # bounds the memory of the bootstrap
_DECIMALS = 12  # differences that agree so far are tied: 0.3 - 0.2 is 0.2 - 0.1


@dataclass(frozen=True, eq=False)
class Comparison:
    """Two methods on the same repeats or users.

    Attributes
    ----------
    differences : array of shape (n_pairs,)
        Errors of the first method minus those of the second.
    """

    differences: NDArray[np.float64]

    @property
    def n_pairs(self) -> int:
        """Number of pairs."""
        return int(self.differences.size)

    @property
    def n_zero(self) -> int:
        """Number of pairs without a difference, which the test leaves out."""
        return int(np.count_nonzero(_rounded(self.differences) == 0))

    @property
    def mean(self) -> float:
        """Mean difference: negative if the first method has the lower error."""
        return float(self.differences.mean())

    @cached_property
    def interval(self) -> tuple[float, float]:
        """95% bootstrap interval of the mean difference."""
        return bootstrap_interval(self.differences)

    @cached_property
    def p_value(self) -> float:
        """Two-sided p of Wilcoxon's signed-rank test."""
        return signed_rank_p(self.differences)

    @property
    def effect(self) -> float:
        """Matched-pairs rank-biserial correlation, from -1 (the first always lower) to 1."""
        return rank_biserial(self.differences)

    @property
    def significant(self) -> bool:
        """Whether p is below `SIGNIFICANT`, with no correction for several tests."""
        return self.p_value < SIGNIFICANT


def compare(first: ArrayLike, second: ArrayLike) -> Comparison:
    """Compare the errors of two methods, pair by pair.

    Parameters
    ----------
    first, second : array of shape (n_pairs,)
        Errors on the same repeats or users, at least one.
    """
    return Comparison(np.asarray(first, dtype=float) - np.asarray(second, dtype=float))


def signed_rank_p(differences: ArrayLike) -> float:
    """Return the two-sided p of Wilcoxon's signed-rank test.

    Zeros are left out, as Wilcoxon did, and ties share the mean of their ranks. The distribution is
    exact with up to 50 differences and no ties among them, otherwise normal, its variance
    corrected for ties, with no continuity correction. Differences are rounded to 12 decimals first.

    Parameters
    ----------
    differences : array of shape (n_pairs,)

    Returns
    -------
    float
        1 if there is no difference at all.

    Examples
    --------
    >>> signed_rank_p([-1, -2, -3, -4, -5, -6])  # one of 2^6 signs, and its mirror image
    0.03125
    """
    kept = _rounded(differences)
    kept = kept[kept != 0]
    if kept.size == 0:
        return 1.0
    untied = np.unique(np.abs(kept)).size == kept.size
    method = "exact" if untied and kept.size <= _MOST_EXACT else "approx"
    return float(wilcoxon(kept, zero_method="wilcox", correction=False, method=method).pvalue)


def rank_biserial(differences: ArrayLike) -> float:
    """Return the matched-pairs rank-biserial correlation.

    The sum of the ranks of positive differences less that of negative ones, over the sum of all;
    zeros are left out, ties share the mean of their ranks. 0 if there is no difference at all.

    Parameters
    ----------
    differences : array of shape (n_pairs,)

    Examples
    --------
    >>> rank_biserial([1, 2, -3])  # (1 + 2 - 3) / 6
    0.0
    """
    kept = _rounded(differences)
    kept = kept[kept != 0]
    if kept.size == 0:
        return 0.0
    ranks = rankdata(np.abs(kept))
    return float(np.sum(np.sign(kept) * ranks) / ranks.sum())


def holm(p_values: ArrayLike) -> NDArray[np.float64]:
    """Return p-values corrected by Holm's step-down method.

    The k-th smallest of m is multiplied by m - k + 1; none gets smaller than the one before, none
    exceeds 1.

    Parameters
    ----------
    p_values : array of shape (n_tests,)

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03]).round(2).tolist()
    [0.03, 0.06, 0.06]
    """
    p_values = np.asarray(p_values, dtype=float)
    order = np.argsort(p_values, kind="stable")
    factors = np.arange(p_values.size, 0, -1)
    corrected = np.empty_like(p_values)
    corrected[order] = np.minimum(np.maximum.accumulate(p_values[order] * factors), 1.0)
    return corrected


def bootstrap_interval(
    differences: ArrayLike, *, confidence: float = 0.95, n_resamples: int = 2000, seed: int = 0
) -> tuple[float, float]:
    """Return the percentile bootstrap interval of the mean: the mean itself if all are equal.

    Parameters
    ----------
    differences : array of shape (n_pairs,)
        At least one.
    confidence : float
    n_resamples : int
    seed : int
        Seed of the resampling: the same differences give the same interval.
    """
    differences = np.asarray(differences, dtype=float)
    mean = float(differences.mean())
    if np.ptp(differences) == 0:
        return mean, mean
    found = bootstrap(
        (differences,),
        np.mean,
        n_resamples=n_resamples,
        batch=max(1, _DRAWS_AT_ONCE // differences.size),
        confidence_level=confidence,
        method="percentile",
        random_state=np.random.default_rng(seed),
    )
    low, high = found.confidence_interval
    return float(low), float(high)


def _rounded(differences: ArrayLike) -> NDArray[np.float64]:
    return np.round(np.asarray(differences, dtype=float), _DECIMALS)
