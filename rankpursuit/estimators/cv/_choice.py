"""The choice of a point of a grid from the scores of its folds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Selection = Literal["best", "sparsest"]

SIMPLER = {"n_basis": 1, "ridge": -1, "alpha": -1, "gamma": 1, "nu": -1}
"""Axes by their say in what is simpler: 1 where a smaller value is, -1 where a larger one is."""

TIED = 1e-12
"""Means that differ by no more than this share are equal: rounding must not choose."""


@dataclass(frozen=True)
class ScoreTable:
    """Scores of every fold at every point of a grid.

    A fold without any score, because there is nothing to judge by in it, does not count.

    Parameters
    ----------
    axes : mapping
        Values of each axis of the grid, by its name, in the order of the axes of `scores`.
    scores : ndarray of shape (k, *lengths of the axes)
        Of k folds; more is better, NaN where there is no score.
    """

    axes: Mapping[str, NDArray]
    scores: Array

    @cached_property
    def _counted(self) -> Array:
        return self.scores[~np.isnan(self.scores).all(axis=tuple(range(1, self.scores.ndim)))]

    @cached_property
    def mean(self) -> Array:
        """Mean over the folds."""
        if len(self._counted) == 0:
            raise ValueError(
                "scoring has no value in any fold: no test part has scores that differ, inside a "
                "group if there are groups; use fewer folds or another metric"
            )
        return self._counted.mean(axis=0)

    @cached_property
    def standard_error(self) -> Array:
        """Standard error of the mean over the folds; zero if one fold only counts."""
        n_folds = len(self._counted)
        if n_folds < 2:
            return np.zeros(self.scores.shape[1:])
        return self._spread(ddof=1) / np.sqrt(n_folds)

    def _spread(self, ddof: int) -> Array:
        """Return the standard deviation over the folds, of scores whose squares may overflow."""
        largest = np.abs(self._counted[np.isfinite(self._counted)]).max(initial=0.0) or 1.0
        return largest * (self._counted / largest).std(axis=0, ddof=ddof)

    def choose(self, selection: Selection) -> tuple[int, ...]:
        """Return the place of the chosen point.

        Parameters
        ----------
        selection : {"best", "sparsest"}
            The highest mean, or the simplest of those within one standard error of it. Equal
            means go to the simpler point: fewer functions, then the larger penalty, then the
            smoother kernel.

        Returns
        -------
        tuple of int
        """
        mean = np.where(np.isnan(self.mean), -np.inf, self.mean)
        best = self._simplest(mean >= mean.max() - TIED * abs(mean.max()))
        if selection == "best":
            return best
        least = mean[best] - self.standard_error[best]
        return self._simplest(mean >= least - TIED * abs(least))

    def _simplest(self, admitted: NDArray[np.bool_]) -> tuple[int, ...]:
        places, names = np.argwhere(admitted), list(self.axes)
        keys = [
            SIMPLER[name] * self.axes[name][places[:, names.index(name)]].astype(np.float64)
            for name in SIMPLER
            if name in names
        ]
        keys.append(-self.mean[admitted])
        first = np.lexsort(keys[::-1])[0]
        return tuple(int(place) for place in places[first])

    def params_at(self, place: tuple[int, ...]) -> dict[str, Any]:
        """Return the parameters of a point of the grid."""
        return {
            name: values[index].item()
            for (name, values), index in zip(self.axes.items(), place, strict=True)
        }

    def results(self) -> dict[str, NDArray]:
        """Return a column for each axis and each figure, a row for each point of the grid."""
        mesh = np.meshgrid(*self.axes.values(), indexing="ij")
        lowered = -np.where(np.isnan(self.mean), -np.inf, self.mean)
        columns = {
            **{f"param_{name}": values for name, values in zip(self.axes, mesh, strict=True)},
            "mean_test_score": self.mean,
            "std_test_score": self._spread(ddof=0),
            "standard_error": self.standard_error,
            "rank_test_score": 1 + np.searchsorted(np.sort(lowered, axis=None), lowered),
            **{f"split{number}_test_score": fold for number, fold in enumerate(self.scores)},
        }
        return {name: values.ravel() for name, values in columns.items()}
