"""Pairs by the order of their points' values: sums over those whose margin is too small.

For values f of the points and a margin c, both classes find the pairs (i, j), i preferred to j,
with ``f_i - f_j < c``, and apply their Laplacian. Of the pairs inside groups nothing is listed:
they are counted by sorting.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from rankpursuit.preferences import GroupPreferences

Array = NDArray[np.float64]
Index = NDArray[np.intp]


class Violated(Protocol):
    """The pairs (i, j) of weights w_ij whose margin is too small.

    Attributes
    ----------
    count : float
        Sum of the weights.
    balance : ndarray of shape (n,)
        ``sum w_ij (e_i - e_j)``.
    degrees : ndarray of shape (n,)
        ``sum w_ij (e_i + e_j)``.
    """

    count: float
    balance: Array
    degrees: Array

    def laplacian(self, x: Array) -> Array:
        """``sum w_ij (e_i - e_j)(e_i - e_j)' x``, of the shape (n,) or (n, k) of `x`."""


class Compared(Protocol):
    """Pairs of n points, in each of which one is preferred."""

    def violated(self, values: Array, margin: float) -> Violated:
        """Pairs with ``f_i - f_j < margin`` for values f of shape (n,)."""

    def centred(self, X: Array) -> Array:
        """Points of shape (n, d) without a level that no comparison sees."""


class ListedPairs:
    """Explicit pairs.

    Parameters
    ----------
    n_points : int
    ordered : ndarray of shape (p, 2)
        In each row the preferred point and the other one.
    weights : ndarray of shape (p,)
        Positive.
    """

    def __init__(self, n_points: int, ordered: Index, weights: Array) -> None:
        self._ordered, self._weights = ordered, weights
        signs, starts = np.tile([1.0, -1.0], len(ordered)), np.arange(0, 2 * len(ordered) + 1, 2)
        self._differences = sp.csr_array(
            (signs, ordered.ravel(), starts), shape=(len(ordered), n_points)
        )

    def violated(self, values: Array, margin: float) -> Violated:
        """Pick the pairs by their differences."""
        which = np.flatnonzero(self._differences @ values < margin)
        return _Listed(self._differences[which], self._weights[which])

    def centred(self, X: Array) -> Array:
        """Points seen from their mean."""
        return X - X.mean(axis=0)


class _Listed:
    def __init__(self, differences: sp.csr_array, weights: Array) -> None:
        self._differences, self._weights = differences, weights
        self.count = float(weights.sum())
        self.balance = np.asarray(differences.T @ weights)
        self.degrees = np.asarray(abs(differences).T @ weights)

    def laplacian(self, x: Array) -> Array:
        scaled = (self._differences @ x).T * self._weights
        return np.asarray(self._differences.T @ scaled.T)


@dataclass(frozen=True)
class _Halves:
    """Blocks of points in two halves, each point of the upper one preferred to all of the lower.

    Attributes
    ----------
    points : ndarray of shape (m,)
        The points, block after block.
    block : ndarray of shape (m,)
        Number of each point's block.
    upper : ndarray of bool of shape (m,)
    first, last : ndarray of shape (m,)
        Where the block of a place begins and ends.
    """

    points: Index
    block: Index
    upper: NDArray[np.bool_]
    first: Index
    last: Index


class GroupedPairs:
    """All pairs of points of a group whose scores differ; the higher score is preferred.

    The distinct scores of a group have ranks. Two ranks have a highest binary digit in which they
    differ, so each pair belongs to one digit: there its points are in the same block, of one group
    and the same higher digits, in different halves. So one sort by value for each digit puts all
    pairs in order, and sums over them are running sums: O(n log n) for each of the at most
    log2(largest group) digits.

    Parameters
    ----------
    scores : ndarray of shape (n,)
    groups : ndarray of shape (n,)
        Number of each point's group, from 0.
    weights : ndarray of shape (n,)
        Weight of the pairs of each point's group; positive.
    """

    def __init__(self, scores: Array, groups: Index, weights: Array) -> None:
        self._weights = weights
        ranks = _ranks(scores, groups)
        digits = int(ranks.max(initial=0)).bit_length()
        self._digits = [_halves(ranks, groups, digit) for digit in range(digits)]
        self._groups = groups

    def violated(self, values: Array, margin: float) -> Violated:
        """Sort the points of each digit by their values, those of the lower halves moved up."""
        return _Sorted([_merged(halves, values, margin) for halves in self._digits], self._weights)

    def centred(self, X: Array) -> Array:
        """Points seen from the mean of their group."""
        return GroupPreferences(self._groups, "equal").root(X)


class _Merged(NamedTuple):
    """Points in the order of their values inside each block: pairs are (upper, lower behind).

    Attributes
    ----------
    upper, lower : ndarray
        The points of each half, block after block.
    lower_behind : two ndarrays of the shape of `upper`
        From which to which of `lower` the partners of an upper point go.
    upper_before : two ndarrays of the shape of `lower`
        The other way round.
    """

    upper: Index
    lower: Index
    lower_behind: tuple[Index, Index]
    upper_before: tuple[Index, Index]


class _Sorted:
    def __init__(self, digits: list[_Merged], weights: Array) -> None:
        self._digits, self._weights = digits, weights
        preferred, other = np.zeros(len(weights)), np.zeros(len(weights))
        for upper, lower, (behind, end), (start, before) in digits:
            preferred[upper] += end - behind
            other[lower] += before - start
        self.balance = weights * (preferred - other)
        self.degrees = weights * (preferred + other)
        self.count = float(weights @ preferred)

    def laplacian(self, x: Array) -> Array:
        result = np.zeros_like(x)
        for upper, lower, behind, before in self._digits:
            result[upper] += _sums_between(x[lower], *behind)
            result[lower] += _sums_between(x[upper], *before)
        column = (slice(None),) + (None,) * (x.ndim - 1)
        result *= -self._weights[column]
        result += self.degrees[column] * x
        return result


def _sums_between(x: Array, start: Index, end: Index) -> Array:
    """Add up x[start], ..., x[end - 1] for each of many starts and ends."""
    sums = np.zeros((len(x) + 1, *x.shape[1:]))
    np.cumsum(x, axis=0, out=sums[1:])
    result = sums.take(end, axis=0)
    result -= sums.take(start, axis=0)
    return result


def _ranks(scores: Array, groups: Index) -> Index:
    """Rank of each score among the distinct ones of its group, from 0."""
    order = np.lexsort((scores, groups))
    sorted_scores, sorted_groups = scores[order], groups[order]
    new_group = np.diff(sorted_groups, prepend=-1) > 0
    step = new_group | (np.diff(sorted_scores, prepend=np.nan) != 0)
    number = np.cumsum(step)
    ranks = np.empty(len(scores), dtype=np.intp)
    ranks[order] = number - number[new_group][np.cumsum(new_group) - 1]
    return ranks


def _halves(ranks: Index, groups: Index, digit: int) -> _Halves:
    """Blocks of one binary digit of the ranks, without those that lack one of their halves."""
    higher = ranks >> (digit + 1)
    _, block = np.unique(groups * (higher.max(initial=0) + 1) + higher, return_inverse=True)
    upper = (ranks >> digit & 1).astype(np.bool_)
    sizes = np.bincount(block)
    n_upper = np.bincount(block, upper, len(sizes))
    points = np.flatnonzero(((n_upper > 0) & (n_upper < sizes))[block])
    points = points[np.argsort(block[points], kind="stable")]
    _, number, sizes = np.unique(block[points], return_inverse=True, return_counts=True)
    ends = np.cumsum(sizes)
    return _Halves(points, number, upper[points], (ends - sizes)[number], ends[number])


def _merged(halves: _Halves, values: Array, margin: float) -> _Merged:
    moved = values[halves.points] + np.where(halves.upper, 0.0, margin)
    order = np.lexsort((moved, halves.block))
    points, upper = halves.points[order], halves.upper[order]
    # How many of each half there are before each place, and before the end.
    n_upper = np.concatenate([[0], np.cumsum(upper)])
    n_lower = np.arange(len(n_upper)) - n_upper
    return _Merged(
        points[upper],
        points[~upper],
        (n_lower[:-1][upper], n_lower[halves.last[upper]]),
        (n_upper[halves.first[~upper]], n_upper[:-1][~upper]),
    )
