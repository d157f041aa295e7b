"""What the estimators share: kernels, input checks, and functions that are kernel expansions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.metrics.pairwise import linear_kernel, polynomial_kernel
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from rankpursuit.estimators._validation import check_number, check_whole
from rankpursuit.kernels import gaussian_stack, squared_distances
from rankpursuit.metrics import pairwise_accuracy
from rankpursuit.preferences import GroupPreferences

Array = NDArray[np.float64]
RandomState = int | np.random.Generator | np.random.RandomState | None
Kernel = str | Callable[[Array, Array], ArrayLike]


class KernelEstimator(RegressorMixin, BaseEstimator):
    """Base of all estimators: a function over a kernel.

    Parameters
    ----------
    kernel : {"rbf", "linear", "poly", "precomputed"} or callable, default "rbf"
        "rbf" is ``exp(-gamma |x - y|^2)``, "poly" ``(gamma x'y + coef0)^degree``. A callable
        takes two matrices of points, one point a row, and returns the matrix of their kernel
        values. With "precomputed", `X` holds kernel values: of the training points with each
        other in `fit`, of new points with the training points in `predict`.
    gamma : float, optional
        Default: 1 / number of features.
    degree : int, default 3
    coef0 : float, default 1
    """

    kernel: Kernel
    gamma: float | None
    degree: int
    coef0: float

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags

    def _check_parameters(self) -> None:
        """Raise a ValueError for a parameter out of its range."""
        if self.gamma is not None:
            check_number("gamma", self.gamma, low=0.0, open_low=True)
        check_whole("degree", self.degree, low=1)
        check_number("coef0", self.coef0, low=0.0)

    def _check_training(
        self, X: ArrayLike, y: ArrayLike, groups: ArrayLike | None, *, min_samples: int = 1
    ) -> tuple[Array, Array, NDArray]:
        """Check the parameters and the training data; one group if there are no groups."""
        self._check_parameters()
        X, y = validate_data(
            self, X, y, y_numeric=True, dtype=np.float64, ensure_min_samples=min_samples
        )
        return X, np.asarray(y, dtype=np.float64), self._check_groups(groups, X)

    def _check_groups(self, groups: ArrayLike | None, X: Array) -> NDArray:
        if self.kernel == "precomputed" and X.shape[0] != X.shape[1]:
            raise ValueError(
                "X must be square with kernel='precomputed': the kernel of the training points "
                f"with each other; got the shape {X.shape}"
            )
        if groups is None:
            return np.zeros(len(X), dtype=np.intp)
        labels = column_or_1d(groups)
        if len(labels) != len(X):
            raise ValueError(
                f"groups must have one label for each of the {len(X)} samples; got {len(labels)}"
            )
        return labels

    def _kernel(self, X: Array, Y: Array, kernel: Kernel | None = None) -> Array:
        """Kernel values of the points `X` with the points `Y`, shape (len(X), len(Y))."""
        kernel = self.kernel if kernel is None else kernel
        if len(Y) == 0:  # a model without a basis function
            return np.empty((len(X), 0))
        gamma = 1.0 / X.shape[1] if self.gamma is None else self.gamma
        if callable(kernel):
            values = np.asarray(kernel(X, Y), dtype=np.float64)
            if values.shape != (len(X), len(Y)):
                raise ValueError(
                    "kernel must return one value for each pair of points, of the shape "
                    f"{(len(X), len(Y))}; got {values.shape}"
                )
            return values
        if kernel == "rbf":
            return gaussian_stack(squared_distances(X, Y), [gamma])[0]
        if kernel == "linear":
            return linear_kernel(X, Y)
        if kernel == "poly":
            return polynomial_kernel(X, Y, degree=self.degree, gamma=gamma, coef0=self.coef0)
        raise ValueError(
            f"kernel must be 'rbf', 'linear', 'poly', 'precomputed' or a callable; got {kernel!r}"
        )

    def _training_kernel(self, X: Array, columns: NDArray[np.intp]) -> Array:
        """Kernel values of the training points with some of them, shape (n, len(columns))."""
        return X[:, columns] if self.kernel == "precomputed" else self._kernel(X, X[columns])

    def _new_points(self, X: ArrayLike) -> Array:
        check_is_fitted(self)
        return validate_data(self, X, dtype=np.float64, reset=False)


class ExpansionEstimator(KernelEstimator):
    """Base of the estimators with one function ``f(x) = sum_j coef_j k(x_j, x)``."""

    basis_: NDArray[np.intp]
    coef_: Array

    def _keep(self, X: Array, basis: NDArray[np.intp], coef: Array) -> Self:
        """Keep the expansion over the training points `basis`."""
        self.basis_, self.coef_ = basis, coef
        self.X_basis_ = None if self.kernel == "precomputed" else X[basis]
        return self

    def _basis_kernel(self, X: ArrayLike) -> Array:
        """Values of the basis functions at new points, shape (m, len(basis_))."""
        X = self._new_points(X)
        return X[:, self.basis_] if self.X_basis_ is None else self._kernel(X, self.X_basis_)

    def predict(self, X: ArrayLike) -> Array:
        """Predict the utility of new points.

        Parameters
        ----------
        X : array-like of shape (m, n_features), or (m, n) kernel values if precomputed

        Returns
        -------
        ndarray of shape (m,)
        """
        return self._basis_kernel(X) @ self.coef_


class RankerMixin:
    """A ranker is scored by the pairs that it puts in the right order."""

    def score(self, X: ArrayLike, y: ArrayLike, groups: ArrayLike | None = None) -> float:
        """Pairwise accuracy: the share of pairs with different scores in the right order.

        Parameters
        ----------
        X : array-like of shape (m, n_features)
        y : array-like of shape (m,)
            True scores.
        groups : array-like of shape (m,), optional
            Only pairs inside a group count.

        Returns
        -------
        float
            Between 0 and 1; a pair tied in the prediction counts half.
        """
        return float(pairwise_accuracy(y, self.predict(X), groups))  # type: ignore[attr-defined]


def random_generator(random_state: RandomState) -> np.random.Generator | np.random.RandomState:
    """Return a generator as it is; make one of anything else that scikit-learn takes."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    return check_random_state(random_state)


def group_preferences(groups: NDArray) -> GroupPreferences:
    """All pairs inside each group; a ValueError if that is no pair at all."""
    preferences = GroupPreferences(groups)
    if preferences.n_pairs == 0:
        raise ValueError(
            "groups leave no pair to learn from: every group has one sample only; "
            "give at least one group two samples, or pass no groups to compare all samples"
        )
    return preferences


def all_points(X: Any) -> NDArray[np.intp]:
    """Return the indices of all training points."""
    return np.arange(len(X))
