"""What the pursuits share: their parameters, the dictionary, and staged predictions."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from dataclasses import field, replace
from functools import partial
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import ConvergenceWarning

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
from rankpursuit.estimators._dictionary import Dictionary, draw_candidates
from rankpursuit.estimators._docs import documented
from rankpursuit.estimators._expansion_estimator import LeastSquaresEstimator
from rankpursuit.estimators._flat_kernels import spread_out, warn_of_flat_kernel
from rankpursuit.estimators._kernels import (
    Array,
    check_kernel_values,
    check_symmetric,
    gamma_in_use,
)
from rankpursuit.estimators._parameters import RandomState, parameters
from rankpursuit.estimators._predictions import function_of
from rankpursuit.estimators._scaled_sums import ScaledSums
from rankpursuit.estimators._scaling import check_coefficients, exponent_of, shifted
from rankpursuit.kernels import GaussianColumns
from rankpursuit.preferences import Preferences
from rankpursuit.solvers import count_basis, pursue, ridge_rows
from rankpursuit.solvers.pursuit import (
    Columns,
    Fitting,
    PursuitPath,
    choose_form,
    is_exact,
    ridge_paths,
)

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
    _dtypes: ClassVar[list[type]] = [np.float64, np.float32]

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.repeat and self.fitting != "basic":
            raise ValueError(
                f"repeat must be False with fitting={self.fitting!r}; only 'basic' fitting may "
                "gain from choosing a function again"
            )

    def _solve(self, X: Array, scores: Array, exponent: int, preferences: Preferences) -> Self:
        self.__dict__.pop("_tally", None)  # of blocks that were learned before
        candidates = draw_candidates(len(X), self.n_candidates, self.random_state)
        n_steps = self._count_steps(len(candidates))
        form = choose_form(len(X), len(candidates), preferences, self.fitting)
        if form != "rows" and not self._precomputed:
            gamma = gamma_in_use(self.kernel, self.gamma, X)
            dictionary = Dictionary.of(X, candidates, gamma)
            sums = self._sum(dictionary, X, scores, preferences)
            sums = replace(sums, of_scores=sums.of_scores + exponent)
            path, of_kernel = self._path_of(dictionary, sums, n_steps)
            if form == "sums" or is_exact(path):
                return self._keep_sums(dictionary, path, n_steps, of_kernel, sums.of_scores)
        return self._follow_rows(X, scores, exponent, preferences, candidates, n_steps)

    def _count_steps(self, n_candidates: int) -> int:
        """Return the number of steps; a ValueError if their coefficients would be too many."""
        n_steps = count_basis(self.n_basis, n_candidates)
        if self.repeat and n_steps * n_candidates > MOST_STAGED:
            raise ValueError(
                f"n_basis={shown(n_steps)} steps with repeat=True, times {n_candidates} "
                f"candidates, must be at most {MOST_STAGED} coefficients; lower n_basis or "
                "n_candidates"
            )
        return n_steps

    def _follow_rows(
        self,
        X: Array,
        scores: Array,
        exponent: int,
        preferences: Preferences,
        candidates: NDArray[np.intp],
        n_steps: int,
    ) -> Self:
        """Follow the path of all rows at once, and keep it."""
        X = np.asarray(X, dtype=np.float64)
        kernel, of_kernel = self._training_kernel(X, candidates, symmetric=self.ridge > 0.0)
        kernel = kernel[None]
        preferences = preferences.slim(len(candidates))
        rows, target = preferences.root(kernel), preferences.root(scores)
        if self.ridge > 0.0:
            ridge = self._divided_ridge(of_kernel)
            rows, target = ridge_rows(rows, target, kernel[:, candidates], [ridge])
        path = pursue(rows, target, n_steps, fitting=self.fitting, repeat=self.repeat)
        chosen, coef = self._keep_path(path, n_steps, of_kernel, exponent)
        return self._keep(X, candidates[chosen], coef)

    def _sum(
        self,
        dictionary: Dictionary,
        X: NDArray[np.floating],
        scores: Array,
        preferences: Preferences,
    ) -> ScaledSums:
        """All that the pursuit needs of some rows."""
        columns, n_candidates = self._columns(dictionary), len(dictionary.points)
        check = partial(check_kernel_values, self.kernel)
        return ScaledSums.of_rows(columns, n_candidates, X, scores, preferences, check)

    def _columns(self, dictionary: Dictionary) -> Columns:
        """Kernel values with the candidates, into an array that is there."""
        points, gamma = dictionary.points, dictionary.gamma
        if isinstance(self.kernel, str) and self.kernel == "rbf" and gamma is not None:
            return GaussianColumns(points, gamma)

        def columns(X: NDArray[np.floating], out: Array) -> None:
            out[:] = self._kernel(np.asarray(X, dtype=np.float64), points, gamma)

        return columns

    def _path_of(
        self, dictionary: Dictionary, found: ScaledSums, n_steps: int
    ) -> tuple[PursuitPath, int]:
        """Follow the path of some sums; return it, and the exponent of its kernel."""
        penalty, ridge, of_kernel = None, 0.0, found.of_kernel
        if self.ridge > 0.0:
            penalty = self._penalty(dictionary)
            of_kernel = max(of_kernel, exponent_of(penalty))
            penalty, ridge = shifted(penalty, -of_kernel), self._divided_ridge(of_kernel)
        sums = found.at(of_kernel, found.of_scores)
        path = ridge_paths(
            sums, penalty, [ridge], n_steps, fitting=self.fitting, repeat=self.repeat
        )
        return path, of_kernel

    def _keep_sums(
        self,
        dictionary: Dictionary,
        path: PursuitPath,
        n_steps: int,
        of_kernel: int,
        of_scores: int,
    ) -> Self:
        """Keep the path of some sums."""
        self._warn_if_flat(dictionary)
        chosen, coef = self._keep_path(path, n_steps, of_kernel, of_scores)
        self._keep(dictionary.points, chosen, coef)
        self.basis_, self.gamma_ = dictionary.rows[chosen], dictionary.gamma
        return self

    def _warn_if_flat(self, dictionary: Dictionary) -> None:
        some = dictionary.points[spread_out(len(dictionary.points))]
        values = self._kernel(some, some, dictionary.gamma)
        warn_of_flat_kernel(self.kernel, dictionary.gamma, values, np.arange(len(some)))

    def _penalty(self, dictionary: Dictionary) -> Array:
        """Return the kernel of the candidates as `ridge` takes it, shape (1, N, N)."""
        kernel = self._kernel(dictionary.points, dictionary.points, dictionary.gamma)
        if callable(self.kernel):
            check_symmetric(kernel)
        return kernel[None]

    def _divided_ridge(self, of_kernel: int) -> float:
        """Return the ridge of a kernel that was divided by two to the power of `of_kernel`."""
        return float(min(shifted(float(self.ridge), -of_kernel), LARGEST_RIDGE))

    def _keep_path(
        self, path: PursuitPath, n_steps: int, of_kernel: int, of_scores: int
    ) -> tuple[NDArray[np.intp], Array]:
        """Keep the path of a pursuit; return which candidates it chose, and its coefficients."""
        reached = int(path.n_steps[0])
        if self.n_basis is not None:
            warn_of_early_end(reached, n_steps)
        chosen, staged = path.expansion(0)
        staged = np.array(shifted(staged, of_scores - of_kernel), order="C")
        check_coefficients(staged)
        self.staged_coef_ = staged
        self.cost_ = np.array(shifted(path.cost[0, : reached + 1], 2 * of_scores))
        return chosen, staged[-1] if reached else np.empty(0)

    @documented
    def staged_predict(self, X: ArrayLike) -> Iterator[Array]:
        """Predict with 1, 2, ... basis functions.

        Parameters
        ----------
        {X_new}

        Yields
        ------
        ndarray of shape (m,)
        """
        staged = self._of_fit("staged_coef_")
        kernel = self._basis_kernel(X)
        for coef in staged:
            yield function_of(kernel, coef)


def warn_of_early_end(reached: int, asked: int) -> None:
    """Tell, where the package was called, that a path has fewer functions than were asked for."""
    if reached < asked:
        warnings.warn(
            f"the dictionary ran out after {reached} of {asked} basis functions: no other "
            "function is linearly independent and lowers the cost; the model uses what there is",
            ConvergenceWarning,
            stacklevel=_frames_of_package(),
        )


def _frames_of_package() -> int:
    """Count the calls from the user's to the one that asks."""
    frame, number = sys._getframe(1), 1
    package = __name__.partition(".")[0]
    while frame.f_back is not None and frame.f_globals["__name__"].partition(".")[0] == package:
        frame, number = frame.f_back, number + 1
    return number
