"""Regularised least squares, on points and on pairs."""

from __future__ import annotations

from dataclasses import field
from typing import ClassVar, Self

import numpy as np

from rankpursuit.estimators._constraints import NUMBER_OF_BASIS, POSITIVE, SEED, Constraints
from rankpursuit.estimators._docs import documented
from rankpursuit.estimators._expansion_estimator import LeastSquaresEstimator
from rankpursuit.estimators._fitting import FitsOrder, FitsScores
from rankpursuit.estimators._kernels import Array
from rankpursuit.estimators._linear import LinearModel
from rankpursuit.estimators._parameters import RandomState, parameters, random_generator
from rankpursuit.estimators._scaling import shifted
from rankpursuit.preferences import Preferences
from rankpursuit.solvers import (
    count_basis,
    rls_path,
    rls_solution,
    rls_weights,
    sparse_rls_path,
    sparse_rls_weights,
)


@parameters
class _RegularisedLeastSquares(LinearModel, LeastSquaresEstimator):
    """Base of the methods with a function for each training point, or feature."""

    alpha: float = field(default=1.0, kw_only=False)

    _constraints: ClassVar[Constraints] = {"alpha": POSITIVE}

    def _solve(self, X: Array, scores: Array, exponent: int, preferences: Preferences) -> Self:
        if self._is_linear:
            points, of_kernel = self._scaled_points(X)
            alpha = shifted(float(self.alpha), -of_kernel)
            weights = rls_weights(points, scores, alpha, preferences)
            return self._keep_weights(weights, exponent - of_kernel // 2)
        basis = np.arange(len(X))
        kernel, of_kernel = self._training_kernel(X, basis)
        alpha = shifted(float(self.alpha), -of_kernel)
        if self._positive_definite:
            coef = rls_solution(kernel, scores, alpha, preferences)
        else:
            coef = rls_path(kernel[None], scores, [alpha], preferences)[0, 0]
        return self._keep(X, basis, shifted(coef, exponent - of_kernel))


@documented
class RLS(FitsScores, _RegularisedLeastSquares):
    """Regularised least squares, also known as kernel ridge regression.

    Solves ``(K + alpha I) a = s``.

    Parameters
    ----------
    {alpha, kernel_parameters}

    Attributes
    ----------
    basis_ : ndarray of shape (n,)
        All training points; with a linear kernel all features.
    coef_ : ndarray of shape (n,)
        Coefficients a; with a linear kernel the weights of the features.
    {X_basis_, input_attributes}

    See Also
    --------
    RankRLS : The same on the differences of pairs.
    KernelMatchingPursuit : A sparse expansion for the same scores.

    Notes
    -----
    {linear_note}

    With a kernel that is not positive definite, directions of the training points in which it is
    negative get no weight.

    Examples
    --------
    >>> import numpy as np
    >>> from rankpursuit import RLS
    >>> X = np.linspace(0.0, 3.0, 7)[:, None]
    >>> model = RLS(alpha=0.01).fit(X, np.sin(X[:, 0]))
    >>> model.predict([[0.25], [1.25]]).round(2)
    array([0.23, 0.94])
    """


@documented
@parameters
class RankRLS(FitsOrder, _RegularisedLeastSquares):
    """Regularised least squares on the differences of all pairs inside a group.

    Solves ``(L K + alpha I) a = L s``, with the Laplacian L of the preference graph.

    Parameters
    ----------
    {alpha, group_weight, kernel_parameters}

    Attributes
    ----------
    basis_ : ndarray of shape (n,)
        All training points; with a linear kernel all features.
    coef_ : ndarray of shape (n,)
        Coefficients a; with a linear kernel the weights of the features.
    {X_basis_, n_groups_, input_attributes}

    See Also
    --------
    SparseRankRLS : The same on a random subset of regressors.
    RankingPursuit : A sparse expansion for the same cost.
    RankSVM : A hinge loss on the same pairs.

    Notes
    -----
    {linear_note}

    With a kernel that is not positive definite, directions of the differences in which it is
    negative get no weight; "additive_chi2" has none.

    Examples
    --------
    >>> import numpy as np
    >>> from rankpursuit import RankRLS
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> model = RankRLS(kernel="linear").fit(X, [10.0, 11.0, 57.0, 58.0], groups=[0, 0, 1, 1])
    >>> model.predict(X).round(2)
    array([0. , 0.5, 1. , 1.5])

    Judgements instead of scores: two of three prefer the third sample to the first.

    >>> model = RankRLS(kernel="linear").fit(X, pairs=[(2, 0), (2, 0), (0, 2), (3, 2)])
    >>> model.predict(X).round(2)
    array([0.  , 0.21, 0.43, 0.64])
    """


@documented
@parameters
class SparseRankRLS(FitsOrder, LinearModel):
    """RankRLS on a random subset of regressors.

    Solves ``(K_R' L K_R + alpha K_RR) a = K_R' L s`` for a random subset R of the points.

    Parameters
    ----------
    n_basis : int or float, default 0.5
        Size of the subset: a number of points, or a share of them in (0, 1].
    {alpha, group_weight, kernel_parameters}
    random_state : int, Generator, RandomState or None, default None
        Draws the subset.

    Attributes
    ----------
    basis_ : ndarray of shape (n_basis,)
        The subset; with a linear kernel all features.
    {coef_, X_basis_, n_groups_, input_attributes}

    See Also
    --------
    RankRLS : The same with all points as regressors.
    RankingPursuit : Chooses its regressors one by one.

    Notes
    -----
    {linear_note}
    The weights are those of RankRLS among the combinations of the subset's points; a subset that
    has as many points as there are features usually leaves none out.

    A point of the subset whose kernel function depends, to working precision, on those of the
    points before it gets no weight. With a kernel that is not positive definite, negative
    eigenvalues of the subset's kernel count as 0.

    Examples
    --------
    >>> import numpy as np
    >>> from rankpursuit import SparseRankRLS
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> model = SparseRankRLS(n_basis=20, alpha=0.1, random_state=0).fit(X, X[:, 0] * X[:, 1])
    >>> model.basis_.shape, round(model.score(X, X[:, 0] * X[:, 1]), 2)
    ((20,), 0.94)
    """

    n_basis: int | float = field(default=0.5, kw_only=False)
    alpha: float = field(default=1.0, kw_only=False)
    random_state: RandomState = None

    _constraints: ClassVar[Constraints] = {
        "n_basis": NUMBER_OF_BASIS,
        "alpha": POSITIVE,
        "random_state": SEED,
    }

    def _solve(self, X: Array, scores: Array, exponent: int, preferences: Preferences) -> Self:
        n_points = X.shape[0]
        size = min(n_points, count_basis(self.n_basis, n_points))
        subset = random_generator(self.random_state).permutation(n_points)[:size]
        if self._is_linear:
            points, of_kernel = self._scaled_points(X)
            alpha = shifted(float(self.alpha), -of_kernel)
            weights = sparse_rls_weights(points, subset, scores, alpha, preferences)
            return self._keep_weights(weights, exponent - of_kernel // 2)
        columns, of_kernel = self._training_kernel(X, subset)
        alpha = shifted(float(self.alpha), -of_kernel)
        coef = sparse_rls_path(
            columns[None],
            columns[None, subset],
            scores,
            [alpha],
            preferences.slim(size),
        )[0, 0]
        return self._keep(X, subset, shifted(coef, exponent - of_kernel))
