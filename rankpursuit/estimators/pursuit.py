"""The pursuits with one function: kernel matching pursuit, ranking pursuit, and their blend."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import ConvergenceWarning

from rankpursuit.estimators._base import (
    Array,
    ExpansionEstimator,
    Kernel,
    RandomState,
    RankerMixin,
    group_preferences,
    random_generator,
)
from rankpursuit.estimators._validation import (
    check_choice,
    check_number,
    check_whole,
)
from rankpursuit.preferences import Blend, Pointwise, Preferences
from rankpursuit.solvers import count_basis, pursue, ridge_rows
from rankpursuit.solvers.pursuit import FITTINGS, Fitting


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
            stacklevel=3,
        )


class KernelMatchingPursuit(ExpansionEstimator):
    """Kernel matching pursuit: a sparse expansion grown greedily by least squares on the scores.

    Parameters
    ----------
    n_basis : int or float, default 0.5
        Number of basis functions, or a share of the training points in (0, 1].
    fitting : {"basic", "backfit", "prefit"}, default "basic"
        "basic" never touches an earlier coefficient, "backfit" refits all of them after every
        step, "prefit" chooses each function by the cost after the refit.
    repeat : bool, default False
        Whether "basic" may choose a function again.
    ridge : float, default 0
        Weight of a penalty ``a' K a`` in the least-squares problem; the paper has none.
    n_candidates : int, optional
        Number of training points, drawn at random, whose functions make up the dictionary.
        Memory grows as samples times candidates. Default: all points.
    kernel, gamma, degree, coef0
        The kernel; see :class:`~rankpursuit.estimators._base.KernelEstimator`.
    random_state : int, Generator, RandomState or None
        Draws the candidates.

    Attributes
    ----------
    basis_ : ndarray of shape (n_basis,)
        The chosen training points, in the order in which they were chosen.
    coef_ : ndarray of shape (n_basis,)
    staged_coef_ : ndarray of shape (n_basis, n_basis)
        Row p holds the coefficients of the model with p + 1 basis functions.
    cost_ : ndarray of shape (n_basis + 1,)
        Training cost with 0, 1, 2, ... basis functions.
    """

    def __init__(
        self,
        n_basis: int | float = 0.5,
        *,
        fitting: Fitting = "basic",
        repeat: bool = False,
        ridge: float = 0.0,
        n_candidates: int | None = None,
        kernel: Kernel = "rbf",
        gamma: float | None = None,
        degree: int = 3,
        coef0: float = 1.0,
        random_state: RandomState = None,
    ) -> None:
        self.n_basis = n_basis
        self.fitting = fitting
        self.repeat = repeat
        self.ridge = ridge
        self.n_candidates = n_candidates
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.random_state = random_state

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice("fitting", self.fitting, FITTINGS)
        check_number("ridge", self.ridge, low=0.0)
        if self.n_candidates is not None:
            check_whole("n_candidates", self.n_candidates, low=1)

    def fit(self, X: ArrayLike, y: ArrayLike, groups: ArrayLike | None = None) -> Self:
        """Fit to scores.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
        y : array-like of shape (n,)
        groups : ignored
            A regression method does not compare points.
        """
        X, y, _ = self._check_training(X, y, groups)
        return self._pursue(X, y, Pointwise(len(y)))

    def _pursue(self, X: Array, y: Array, preferences: Preferences) -> Self:
        n_steps = count_basis(self.n_basis, len(y))
        candidates = draw_candidates(len(y), self.n_candidates, self.random_state)
        kernel = self._training_kernel(X, candidates)[None]
        rows, target = preferences.root(kernel), preferences.root(y)
        if self.ridge > 0.0:
            rows, target = ridge_rows(rows, target, kernel[:, candidates], self.ridge)
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
        X : array-like of shape (m, n_features)

        Yields
        ------
        ndarray of shape (m,)
        """
        kernel = self._basis_kernel(X)
        for coef in self.staged_coef_:
            yield kernel @ coef


class RankingPursuit(RankerMixin, KernelMatchingPursuit):
    """Ranking pursuit: a sparse expansion grown greedily on the differences of pairs.

    Every step lowers ``(s - f)' L (s - f)``, the squared loss on all pairs inside a group.

    Parameters
    ----------
    n_basis : int or float, default 0.5
        Number of basis functions, or a share of the training points in (0, 1].
    fitting : {"basic", "backfit", "prefit"}, default "basic"
        "basic" never touches an earlier coefficient, "backfit" refits all of them after every
        step, "prefit" chooses each function by the cost after the refit.
    repeat : bool, default False
        Whether "basic" may choose a function again.
    ridge : float, default 0
        Weight of a penalty ``a' K a`` in the least-squares problem; the paper has none.
    n_candidates : int, optional
        Number of training points, drawn at random, whose functions make up the dictionary.
        Memory grows as samples times candidates. Default: all points.
    kernel, gamma, degree, coef0
        The kernel; see :class:`~rankpursuit.estimators._base.KernelEstimator`.
    random_state : int, Generator, RandomState or None
        Draws the candidates.

    Attributes
    ----------
    basis_ : ndarray of shape (n_basis,)
        The chosen training points, in the order in which they were chosen.
    coef_ : ndarray of shape (n_basis,)
    staged_coef_ : ndarray of shape (n_basis, n_basis)
        Row p holds the coefficients of the model with p + 1 basis functions.
    cost_ : ndarray of shape (n_basis + 1,)
        Training cost with 0, 1, 2, ... basis functions.
    """

    def fit(self, X: ArrayLike, y: ArrayLike, groups: ArrayLike | None = None) -> Self:
        """Fit to the order of scores inside each group.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
        y : array-like of shape (n,)
        groups : array-like of shape (n,), optional
            Only points with the same label are compared. Default: all points.
        """
        X, y, groups = self._check_training(X, y, groups, min_samples=2)
        return self._pursue(X, y, self._preferences(groups))

    def _preferences(self, groups: NDArray) -> Preferences:
        return group_preferences(groups)


class CombinedRankingRegressionPursuit(RankingPursuit):
    """Combined ranking and regression pursuit (CRRP).

    Every step lowers ``(s - f)' (beta I + (1 - beta) L) (s - f)``: kernel matching pursuit for
    beta = 1, ranking pursuit for beta = 0.

    Parameters
    ----------
    n_basis : int or float, default 0.5
        Number of basis functions, or a share of the training points in (0, 1].
    beta : float in [0, 1], default 0.5
        Weight of the regression part.
    fitting : {"basic", "backfit", "prefit"}, default "basic"
        "basic" never touches an earlier coefficient, "backfit" refits all of them after every
        step, "prefit" chooses each function by the cost after the refit.
    repeat : bool, default False
        Whether "basic" may choose a function again.
    ridge : float, default 0
        Weight of a penalty ``a' K a`` in the least-squares problem; the paper has none.
    n_candidates : int, optional
        Number of training points, drawn at random, whose functions make up the dictionary.
        Memory grows as samples times candidates. Default: all points.
    kernel, gamma, degree, coef0
        The kernel; see :class:`~rankpursuit.estimators._base.KernelEstimator`.
    random_state : int, Generator, RandomState or None
        Draws the candidates.

    Attributes
    ----------
    basis_ : ndarray of shape (n_basis,)
        The chosen training points, in the order in which they were chosen.
    coef_ : ndarray of shape (n_basis,)
    staged_coef_ : ndarray of shape (n_basis, n_basis)
        Row p holds the coefficients of the model with p + 1 basis functions.
    cost_ : ndarray of shape (n_basis + 1,)
        Training cost with 0, 1, 2, ... basis functions.
    """

    def __init__(
        self,
        n_basis: int | float = 0.5,
        *,
        beta: float = 0.5,
        fitting: Fitting = "basic",
        repeat: bool = False,
        ridge: float = 0.0,
        n_candidates: int | None = None,
        kernel: Kernel = "rbf",
        gamma: float | None = None,
        degree: int = 3,
        coef0: float = 1.0,
        random_state: RandomState = None,
    ) -> None:
        super().__init__(
            n_basis,
            fitting=fitting,
            repeat=repeat,
            ridge=ridge,
            n_candidates=n_candidates,
            kernel=kernel,
            gamma=gamma,
            degree=degree,
            coef0=coef0,
            random_state=random_state,
        )
        self.beta = beta

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_number("beta", self.beta, low=0.0, high=1.0)

    def _preferences(self, groups: NDArray) -> Preferences:
        return Blend(group_preferences(groups), self.beta)
