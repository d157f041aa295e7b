"""What RankSVM is told, in the two forms that its solvers take."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from rankpursuit.estimators._kernels import Array
from rankpursuit.preferences import GroupPreferences
from rankpursuit.solvers import OrderedPairs
from rankpursuit.solvers.rank_svm import Compared, GroupedPairs, ListedPairs


class Order(Protocol):
    """Which points are preferred to which."""

    def listed(self) -> OrderedPairs:
        """Return the pairs one by one, for solvers of n x n systems."""

    def compared(self) -> Compared:
        """Return the pairs for solvers of linear functions."""


@dataclass(frozen=True)
class OrderOfScores:
    """Scores of the n points, and the groups inside which they count."""

    scores: Array
    groups: GroupPreferences

    def listed(self) -> OrderedPairs:
        """All pairs with different scores."""
        return OrderedPairs.of_scores(self.scores, self.groups.pairs(), self.groups.pair_weights())

    def compared(self) -> Compared:
        """All of them, without a list."""
        return GroupedPairs(self.scores, self.groups.codes, self.groups.point_weights)


@dataclass(frozen=True)
class OrderOfPairs:
    """Explicit pairs of n points, each once, with their weights."""

    n_points: int
    pairs: NDArray[np.intp]
    weights: Array

    def listed(self) -> OrderedPairs:
        """Return them for solvers of n x n systems."""
        return OrderedPairs(self.n_points, self.pairs, self.weights)

    def compared(self) -> Compared:
        """Return them for solvers of linear functions."""
        return ListedPairs(self.n_points, self.pairs, self.weights)
