"""What a cross-validation works on: checked data with its splits, and the axes of a grid."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankpursuit.estimators._comparisons import group_labels
from rankpursuit.estimators._kernels import Array
from rankpursuit.estimators._scaling import exponent_of, shifted
from rankpursuit.kernels import squared_distances
from rankpursuit.solvers.folds import Indices, Split

Axis = NDArray[Any]
Gammas = NDArray[np.floating] | Sequence[None]
Numbers = Sequence[float] | NDArray[np.floating]

WIDTHS = 4.0 ** np.arange(-3, 3)
"""The gammas of a grid by default, as multiples of "scale"."""

PENALTIES = (0.01, 0.1, 1.0, 10.0, 100.0)
"""The ridges or alphas of a grid by default."""


@dataclass(frozen=True)
class Problem:
    """Checked training data, features scaled, with its splits and a seed for all that is drawn."""

    X: Array
    y: Array
    labels: NDArray | None
    splits: list[Split]
    seed: int
    _distances: dict[str, Any] = field(default_factory=dict, repr=False)

    @cached_property
    def exponent(self) -> int:
        """Power of two by which scores are divided, to compute with their squares."""
        return exponent_of(self.y[~np.isnan(self.y)])

    @cached_property
    def scores(self) -> Array:
        """Scores of a size to compute with."""
        return shifted(self.y, -self.exponent)

    @property
    def compared(self) -> NDArray:
        """Groups; one if there are none."""
        return group_labels(self.labels, len(self.y))

    def squared_distances(self, rows: Indices, columns: Indices) -> Array:
        """Squared distances of some points to others; kept, for the next width, until others."""
        asked, kept = (rows, columns), self._distances
        if not ("of" in kept and all(map(np.array_equal, kept["of"], asked))):
            kept["of"], kept["are"] = asked, squared_distances(self.X[rows], self.X[columns])
        return kept["are"]

    @property
    def least_train(self) -> int:
        """Size of the smallest training part."""
        return min(len(split.train) for split in self.splits)


def checked_kernels(kernels: Array) -> Array:
    """Return kernel values whose squares can be summed; a ValueError otherwise."""
    if exponent_of(kernels):
        raise ValueError(
            f"the largest kernel value is {np.abs(kernels).max():.3g}, too far from 1 to compare "
            "penalties: set scale=True, or scale the features or the kernel"
        )
    return kernels


def columns_at_most(asked: int | None, default: int, available: int, more: str) -> int:
    """Return the largest number of basis functions; a ValueError if there are fewer to choose from.

    Parameters
    ----------
    asked : int or None
        None: the default, or all that are available if they are fewer.
    default, available : int
    more : str
        What to do to have more.
    """
    if asked is None:
        return min(default, available)
    if asked > available:
        raise ValueError(
            f"n_basis={asked} is more than the {available} candidates of the smallest training "
            f"part; lower n_basis or {more}"
        )
    return int(asked)
