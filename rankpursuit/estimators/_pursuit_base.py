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
from rankpursuit.estimators._dictionary import Dictionary, draw_candidates
from rankpursuit.estimators._kernels import POSITIVE_DEFINITE, Array, gamma_in_use
from rankpursuit.kernels import GaussianColumns
from rankpursuit.preferences import Preferences
from rankpursuit.solvers import count_basis, pursue, ridge_rows
from rankpursuit.solvers.pursuit import (
    Fitting,
    GramSums,
    PursuitPath,
    positive_part,
    prefers_sums,
    ridge_paths,
    sum_rows,
)
from rankpursuit.solvers.pursuit.blocks import Columns

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
    _dtypes: ClassVar[list[type]] = [np.float64, np.float32]

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.repeat and self.fitting != "basic":
            raise ValueError(
                f"repeat must be False with fitting={self.fitting!r}; only 'basic' fitting may "
                "gain from choosing a function again"
            )

    def _learn(self, X: Array, scores: Array, preferences: Preferences) -> Self:
        self.__dict__.pop("_tally", None)  # of blocks that were learned before
        candidates = draw_candidates(len(X), self.n_candidates, self.random_state)
        n_steps = count_basis(self.n_basis, len(candidates))
        if not self._precomputed and prefers_sums(len(X), len(candidates), preferences):
            gamma = gamma_in_use(self.kernel, self.gamma, X)
            dictionary = Dictionary.of(X, candidates, gamma)
            sums = self._sum(dictionary, X, scores, preferences)
            self._keep_sums(dictionary, sums, n_steps)
        else:
            X = np.asarray(X, dtype=np.float64)
            kernel = self._training_kernel(X, candidates)[None]
            preferences = preferences.slim(len(candidates))
            rows, target = preferences.root(kernel), preferences.root(scores)
            if self.ridge > 0.0:
                rows, target = ridge_rows(rows, target, kernel[:, candidates], [self.ridge])
            path = pursue(rows, target, n_steps, fitting=self.fitting, repeat=self.repeat)
            chosen, coef = self._keep_path(path)
            self._keep(X, candidates[chosen], coef)
        warn_of_early_end(len(self.basis_), n_steps)
        return self

    def _keep_path(self, path: PursuitPath) -> tuple[NDArray[np.intp], Array]:
        """Keep the path of a pursuit; return which candidates it chose, and its coefficients."""
        reached = int(path.n_steps[0])
        self.cost_ = path.cost[0, : reached + 1]
        self.staged_coef_ = path.coefficients()[0, :reached, :reached]
        coef = self.staged_coef_[-1] if reached else np.empty(0)
        return path.selected[0, :reached], coef

    def _columns(self, dictionary: Dictionary) -> Columns:
        """Kernel values with the candidates, into an array that is there."""
        points, gamma = dictionary.points, dictionary.gamma
        if isinstance(self.kernel, str) and self.kernel == "rbf" and gamma is not None:
            return GaussianColumns(points, gamma)

        def columns(X: NDArray[np.floating], out: Array) -> None:
            out[:] = self._kernel(np.asarray(X, dtype=np.float64), points, gamma)

        return columns

    def _sum(
        self,
        dictionary: Dictionary,
        X: NDArray[np.floating],
        scores: Array,
        preferences: Preferences,
    ) -> GramSums:
        """All that the pursuit needs of some rows."""
        sums = sum_rows(self._columns(dictionary), len(dictionary.points), X, scores, preferences)
        if not np.isfinite(sums.gram).all():
            raise ValueError("X leads to kernel values that are not finite; scale the features")
        return sums

    def _penalty(self, dictionary: Dictionary) -> Array | None:
        """Return the kernel of the candidates as `ridge` takes it, shape (1, N, N), if it does."""
        if self.ridge == 0.0:
            return None
        kernel = self._kernel(dictionary.points, dictionary.points, dictionary.gamma)[None]
        definite = isinstance(self.kernel, str) and self.kernel in POSITIVE_DEFINITE
        return kernel if definite else positive_part(kernel)

    def _keep_sums(self, dictionary: Dictionary, sums: GramSums, n_steps: int) -> None:
        """Follow the path of some sums, and keep it."""
        path = ridge_paths(
            sums,
            self._penalty(dictionary),
            [self.ridge],
            n_steps,
            fitting=self.fitting,
            repeat=self.repeat,
        )
        chosen, self.coef_ = self._keep_path(path)
        self.basis_, self.X_basis_ = dictionary.rows[chosen], dictionary.points[chosen]
        self.gamma_ = dictionary.gamma

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


def warn_of_early_end(reached: int, asked: int) -> None:
    """Tell that a path ended before it had as many basis functions as were asked for."""
    if reached < asked:
        warnings.warn(
            f"the dictionary ran out after {reached} of {asked} basis functions: no other "
            "function is linearly independent and lowers the cost; the model uses what there is",
            ConvergenceWarning,
            stacklevel=4,
        )
