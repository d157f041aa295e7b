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
    function_of,
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
    shown,
)
from rankpursuit.estimators._kernels import Array
from rankpursuit.estimators._scaling import check_coefficients, shifted
from rankpursuit.preferences import Preferences
from rankpursuit.solvers import count_basis, pursue, ridge_rows
from rankpursuit.solvers.pursuit import Fitting

MOST_STAGED = 50_000_000
"""Coefficients, over all steps, that a pursuit with repeated choices keeps: 400 MB."""
LARGEST_RIDGE = 1e60
"""A larger one counts as this: beside any kernel value in use it leaves no coefficient but zero."""

DICTIONARY_CONSTRAINTS: Constraints = {
    "n_basis": NUMBER_OF_BASIS,
    "n_candidates": (Whole(1), NONE),
    "random_state": SEED,
}


@parameters
class Pursuit(LeastSquaresEstimator):
    """Base of the pursuits with one function."""

    n_basis: int | float | None = field(default=None, kw_only=False)
    fitting: Fitting = "backfit"
    repeat: bool = False
    ridge: float = 1.0
    n_candidates: int | None = 1000
    random_state: RandomState = None

    _constraints: ClassVar[Constraints] = {
        **DICTIONARY_CONSTRAINTS,
        "n_basis": (*NUMBER_OF_BASIS, NONE),
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

    def _solve(self, X: Array, scores: Array, exponent: int, preferences: Preferences) -> Self:
        n_points = len(X)
        candidates = draw_candidates(n_points, self.n_candidates, self.random_state)
        n_steps = count_basis(self.n_basis, len(candidates))
        if self.repeat and n_steps * len(candidates) > MOST_STAGED:
            raise ValueError(
                f"n_basis={shown(n_steps)} steps with repeat=True, times {len(candidates)} "
                f"candidates, must be at most {MOST_STAGED} coefficients; lower n_basis or "
                "n_candidates"
            )
        kernel, of_kernel = self._training_kernel(X, candidates, symmetric=self.ridge > 0.0)
        kernel = kernel[None]
        preferences = preferences.slim(len(candidates))
        rows, target = preferences.root(kernel), preferences.root(scores)
        if self.ridge > 0.0:
            ridge = min(shifted(float(self.ridge), -of_kernel), LARGEST_RIDGE)
            rows, target = ridge_rows(rows, target, kernel[:, candidates], [ridge])
        path = pursue(rows, target, n_steps, fitting=self.fitting, repeat=self.repeat)
        reached = int(path.n_steps[0])
        warn_of_early_end(reached, n_steps)
        chosen, staged = path.expansion(0)
        self.staged_coef_ = np.array(shifted(staged, exponent - of_kernel), order="C")
        check_coefficients(self.staged_coef_)
        self.cost_ = np.array(shifted(path.cost[0, : reached + 1], 2 * exponent))
        coef = self.staged_coef_[-1] if reached else np.empty(0)
        return self._keep(X, candidates[chosen], coef)

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
            yield function_of(kernel, coef)


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
