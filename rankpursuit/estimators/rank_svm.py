"""RankSVM."""

from __future__ import annotations

import warnings
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning

from rankpursuit.estimators._base import (
    ExpansionEstimator,
    Kernel,
    RankerMixin,
    all_points,
    group_preferences,
)
from rankpursuit.estimators._validation import check_choice, check_number
from rankpursuit.solvers import OrderedPairs, rank_svm_path
from rankpursuit.solvers.rank_svm import Loss


class RankSVM(RankerMixin, ExpansionEstimator):
    """Ranking support vector machine: a hinge loss on every pair inside a group.

    Minimises ``a' K a / 2 + C sum max(0, 1 - (f_i - f_j))`` over the pairs in which i has a
    higher score than j. Time and memory grow with the number of pairs, but no kernel of pairs
    is ever formed.

    Parameters
    ----------
    C : float, default 1
        Weight of the loss.
    loss : {"hinge", "squared_hinge"}, default "hinge"
    kernel, gamma, degree, coef0
        The kernel; see :class:`~rankpursuit.estimators._base.KernelEstimator`.
    tol : float, default 1e-3
        Relative duality gap at which the solution is good enough.

    Attributes
    ----------
    basis_ : ndarray of shape (n_basis,)
        The training points with a coefficient other than zero.
    coef_ : ndarray of shape (n_basis,)
    duality_gap_ : float
        Relative duality gap of the solution.
    """

    def __init__(
        self,
        C: float = 1.0,
        *,
        loss: Loss = "hinge",
        kernel: Kernel = "rbf",
        gamma: float | None = None,
        degree: int = 3,
        coef0: float = 1.0,
        tol: float = 1e-3,
    ) -> None:
        self.C = C
        self.loss = loss
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.tol = tol

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_number("C", self.C, low=0.0, open_low=True)
        check_number("tol", self.tol, low=0.0, open_low=True)
        check_choice("loss", self.loss, ("hinge", "squared_hinge"))

    def fit(self, X: ArrayLike, y: ArrayLike, groups: ArrayLike | None = None) -> Self:
        """Fit to the order of scores inside each group; ties produce no pair.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
        y : array-like of shape (n,)
        groups : array-like of shape (n,), optional
            Only points with the same label are compared. Default: all points.
        """
        X, y, groups = self._check_training(X, y, groups, min_samples=2)
        pairs = OrderedPairs.of_scores(y, group_preferences(groups).pairs())
        kernel = self._training_kernel(X, all_points(X))
        path = rank_svm_path(kernel[None], pairs, [self.C], loss=self.loss, tol=self.tol)
        self.duality_gap_ = float(path.gap[0, 0])
        if self.duality_gap_ > self.tol:
            warnings.warn(
                f"RankSVM stopped at a relative duality gap of {self.duality_gap_:.1e}, above "
                f"tol={self.tol:g}; scale the features or lower C",
                ConvergenceWarning,
                stacklevel=2,
            )
        coef = path.coefficients[0, 0]
        support = np.flatnonzero(coef)
        return self._keep(X, support, coef[support])
