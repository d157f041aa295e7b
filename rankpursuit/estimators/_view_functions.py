"""Several functions, one for each view, over parts of the points or features or other kernels."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from rankpursuit.estimators._base import OneWidth, parameters
from rankpursuit.estimators._constraints import (
    Choice,
    Constraints,
    Instance,
    Whole,
    check_parameter,
)
from rankpursuit.estimators._fitting import Ranker
from rankpursuit.estimators._kernels import (
    VIEW_KERNEL,
    Array,
    Kernel,
    KernelFunction,
    KernelName,
    gamma_in_use,
)
from rankpursuit.metrics import pairwise_accuracy
from rankpursuit.solvers.coregularised.views import Views

ViewKernels = list[KernelName | KernelFunction] | tuple[KernelName | KernelFunction, ...]


@parameters
class FunctionsOfViews(Ranker, OneWidth):
    """Base of the estimators with one function for each view, whose mean is the prediction."""

    n_views: int = 2
    views: Views | ViewKernels = "points"

    _constraints: ClassVar[Constraints] = {
        "n_views": (Whole(1),),
        "views": (Choice.of(Views), Instance((list, tuple), "a list of kernels")),
    }

    def _kernels_in_use(self) -> tuple[Kernel, ...]:
        if isinstance(self.views, list | tuple):
            return tuple(self.views)
        return super()._kernels_in_use()

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if not isinstance(self.views, str):
            if len(self.views) != self.n_views:
                raise ValueError(
                    f"views holds {len(self.views)} kernels, but n_views is {self.n_views}; "
                    "give one kernel for each view"
                )
            for number, kernel in enumerate(self.views):
                check_parameter(f"views[{number}]", kernel, VIEW_KERNEL)

    def _kernel_of(self, view: int) -> Kernel:
        return self.kernel if isinstance(self.views, str) else self.views[view]

    def _gammas(self, X: Array) -> list[float | None]:
        """Gamma of each view, of the features that it sees."""
        return [
            gamma_in_use(self._kernel_of(view), self.gamma, X[:, features])
            for view, features in enumerate(self.view_features_)
        ]

    def _kernel_at(self, X: Array, points: Array, view: int) -> Array:
        """Values at the points `X` of one view's functions, shape (len(X), len(points))."""
        features = self.view_features_[view]
        kernel, gamma = self._kernel_of(view), self.gamma_[view]
        return self._kernel(X[:, features], points[:, features], gamma, kernel)

    def view_predict(self, X: ArrayLike) -> Array:
        """Predict with the function of each view apart.

        Parameters
        ----------
        X : array-like of shape (m, n_features), or (m, n) kernel values if precomputed

        Returns
        -------
        ndarray of shape (m, n_views)
        """
        return np.column_stack(
            [kernel @ coef for kernel, coef in zip(self._kernels(X), self.coef_, strict=True)]
        )

    def predict(self, X: ArrayLike) -> Array:
        """Predict with the mean of the views' functions.

        Parameters
        ----------
        X : array-like of shape (m, n_features), or (m, n) kernel values if precomputed

        Returns
        -------
        ndarray of shape (m,)
        """
        return self.view_predict(X).mean(axis=1)

    def staged_predict(self, X: ArrayLike) -> Iterator[Array]:
        """Predict with 1, 2, ... basis functions in each view.

        Parameters
        ----------
        X : array-like of shape (m, n_features), or (m, n) kernel values if precomputed

        Yields
        ------
        ndarray of shape (m,)
        """
        kernels = self._kernels(X)
        for coefs in zip(*self.staged_coef_, strict=True):
            views = [kernel @ coef for kernel, coef in zip(kernels, coefs, strict=True)]
            yield np.mean(views, axis=0)

    def _kernels(self, X: ArrayLike) -> list[Array]:
        X = self._new_points(X)
        if self.X_basis_ is None:
            return [X[:, basis] for basis in self.basis_]
        return [self._kernel_at(X, points, view) for view, points in enumerate(self.X_basis_)]

    def score(self, X: ArrayLike, y: ArrayLike, groups: ArrayLike | None = None) -> float:
        """Pairwise accuracy on the scored points.

        Parameters
        ----------
        X : array-like of shape (m, n_features), or (m, n) kernel values if precomputed
        y : array-like of shape (m,)
            True scores; points with NaN are passed over.
        groups : array-like of shape (m,), optional
            Only pairs inside a group count. Default: all pairs.

        Returns
        -------
        float
            Between 0 and 1; a pair tied in the prediction counts half.
        """
        y = np.asarray(y, dtype=np.float64)
        scored = ~np.isnan(y)
        groups = None if groups is None else np.asarray(groups)[scored]
        return float(pairwise_accuracy(y[scored], self.predict(X)[scored], groups))
