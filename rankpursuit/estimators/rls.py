"""Regularised least squares, on points and on pairs."""

from __future__ import annotations

from typing import Self

from numpy.typing import ArrayLike

from rankpursuit.estimators._base import (
    ExpansionEstimator,
    Kernel,
    RandomState,
    RankerMixin,
    all_points,
    group_preferences,
    random_generator,
)
from rankpursuit.estimators._validation import check_number
from rankpursuit.preferences import Pointwise
from rankpursuit.solvers import count_basis, rls_path, sparse_rls_path


class RLS(ExpansionEstimator):
    """Regularised least squares, also known as kernel ridge regression.

    Solves ``(K + alpha I) a = s``.

    Parameters
    ----------
    alpha : float, default 1
        Weight of the regulariser, the paper's lambda.
    kernel, gamma, degree, coef0
        The kernel; see :class:`~rankpursuit.estimators._base.KernelEstimator`.

    Attributes
    ----------
    basis_ : ndarray of shape (n,)
        All training points.
    coef_ : ndarray of shape (n,)
    """

    def __init__(
        self,
        alpha: float = 1.0,
        *,
        kernel: Kernel = "rbf",
        gamma: float | None = None,
        degree: int = 3,
        coef0: float = 1.0,
    ) -> None:
        self.alpha = alpha
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_number("alpha", self.alpha, low=0.0, open_low=True)

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
        kernel = self._training_kernel(X, all_points(X))
        coef = rls_path(kernel[None], y, [self.alpha], Pointwise(len(y)))[0, 0]
        return self._keep(X, all_points(X), coef)


class RankRLS(RankerMixin, RLS):
    """Regularised least squares on the differences of all pairs inside a group.

    Solves ``(L K + alpha I) a = L s``, with the Laplacian L of the preference graph.

    Parameters
    ----------
    alpha : float, default 1
        Weight of the regulariser, the paper's lambda.
    kernel, gamma, degree, coef0
        The kernel; see :class:`~rankpursuit.estimators._base.KernelEstimator`.

    Attributes
    ----------
    basis_ : ndarray of shape (n,)
        All training points.
    coef_ : ndarray of shape (n,)
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
        kernel = self._training_kernel(X, all_points(X))
        coef = rls_path(kernel[None], y, [self.alpha], group_preferences(groups))[0, 0]
        return self._keep(X, all_points(X), coef)


class SparseRankRLS(RankerMixin, ExpansionEstimator):
    """RankRLS on a random subset of regressors.

    Solves ``(K_R' L K_R + alpha K_RR) a = K_R' L s`` for a random subset R of the points.

    Parameters
    ----------
    n_basis : int or float, default 0.5
        Size of the subset: a number of points, or a share of them in (0, 1].
    alpha : float, default 1
        Weight of the regulariser, the paper's lambda.
    kernel, gamma, degree, coef0
        The kernel; see :class:`~rankpursuit.estimators._base.KernelEstimator`.
    random_state : int, Generator, RandomState or None
        Draws the subset.

    Attributes
    ----------
    basis_ : ndarray of shape (n_basis,)
        The subset.
    coef_ : ndarray of shape (n_basis,)
    """

    def __init__(
        self,
        n_basis: int | float = 0.5,
        alpha: float = 1.0,
        *,
        kernel: Kernel = "rbf",
        gamma: float | None = None,
        degree: int = 3,
        coef0: float = 1.0,
        random_state: RandomState = None,
    ) -> None:
        self.n_basis = n_basis
        self.alpha = alpha
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.random_state = random_state

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_number("alpha", self.alpha, low=0.0, open_low=True)

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
        size = min(len(y), count_basis(self.n_basis, len(y)))
        subset = random_generator(self.random_state).permutation(len(y))[:size]
        columns = self._training_kernel(X, subset)
        coef = sparse_rls_path(
            columns[None], columns[None, subset], y, [self.alpha], group_preferences(groups)
        )[0, 0]
        return self._keep(X, subset, coef)
