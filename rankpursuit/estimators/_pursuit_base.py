"""What the pursuits share: their parameters, the dictionary, and staged predictions."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import field
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import ConvergenceWarning

from rankpursuit.estimators._base import (
    LeastSquaresEstimator,
    RandomState,
    parameters,
    random_generator,
)
from rankpursuit.estimators._constraints import (
    FLAG,
    NONE,
    NOT_NEGATIVE,
    NUMBER_OF_BASIS,
    SEED,
    Choice,
    Constraints,
    Whole,
)
from rankpursuit.estimators._kernels import Array
from rankpursuit.preferences import Preferences
from rankpursuit.solvers import count_basis, pursue, ridge_rows
from rankpursuit.solvers.pursuit import Fitting

DICTIONARY_CONSTRAINTS: Constraints = {
    "n_basis": NUMBER_OF_BASIS,
    "n_candidates": (Whole(1), NONE),
    "random_state": SEED,
}


@parameters
class Pursuit(LeastSquaresEstimator):
    """Base of the pursuits with one function."""

    n_basis: int | float = field(default=0.5, kw_only=False)
    fitting: Fitting = "basic"
    repeat: bool = False
    ridge: float = 0.0
    n_candidates: int | None = None
    random_state: RandomState = None

    _constraints: ClassVar[Constraints] = {
        **DICTIONARY_CONSTRAINTS,
        "fitting": (Choice.of(Fitting),),
        "repeat": FLAG,
        "ridge": NOT_NEGATIVE,
    }

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.repeat and self.fitting != "basic":
            raise ValueError(
                f"repeat must be False with fitting={self.fitting!r}; only 'basic' fitting may "
                "gain from choosing a function again"
            )

    def _learn(self, X: Array, scores: Array, preferences: Preferences) -> Self:
        n_points = len(X)
        n_steps = count_basis(self.n_basis, n_points)
        candidates = draw_candidates(n_points, self.n_candidates, self.random_state)
        kernel = self._training_kernel(X, candidates)[None]
        preferences = preferences.slim(len(candidates))
        rows, target = preferences.root(kernel), preferences.root(scores)
        if self.ridge > 0.0:
            rows, target = ridge_rows(rows, target, kernel[:, candidates], [self.ridge])
        path = pursue(rows, target, n_steps, fitting=self.fitting, repeat=self.repeat)
        reached = int(path.n_steps[0])
        warn_of_early_end(reached, n_steps)
        self.cost_ = path.cost[0, : reached + 1]
        self.staged_coef_ = path.coefficients()[0, :reached, :reached]
        coef = self.staged_coef_[-1] if reached else np.empty(0)
        return self._keep(X, candidates[path.selected[0, :reached]], coef)

    def staged_predict(self, X: ArrayLike) -> Iterator[Array]:
        """Predict with 1, 2, ... basis functions.

        Parameters
        ----------
        X : array-like of shape (m, n_features), or (m, n) kernel values if precomputed

        Yields
        ------
        ndarray of shape (m,)
        """
        kernel = self._basis_kernel(X)
        for coef in self.staged_coef_:
            yield kernel @ coef


def draw_candidates(
    n_points: int, n_candidates: int | None, random_state: RandomState
) -> NDArray[np.intp]:
    """Draw the training points whose kernel functions make up the dictionary, in rising order."""
    if n_candidates is None or n_candidates >= n_points:
        return np.arange(n_points)
    drawn = random_generator(random_state).choice(n_points, n_candidates, replace=False)
    return np.sort(drawn)


def warn_of_early_end(reached: int, asked: int) -> None:
    """Tell that a path ended before it had as many basis functions as were asked for."""
    if reached < asked:
        warnings.warn(
            f"the dictionary ran out after {reached} of {asked} basis functions: no other "
            "function is linearly independent and lowers the cost; the model uses what there is",
            ConvergenceWarning,
            stacklevel=4,
        )
