"""Estimators with one function: kernel values to learn from, what is kept of it, predictions."""

from __future__ import annotations

from abc import abstractmethod
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from rankpursuit.estimators._base import OneWidth
from rankpursuit.estimators._docs import documented
from rankpursuit.estimators._expansion import Expansion
from rankpursuit.estimators._flat_kernels import warn_of_flat_kernel
from rankpursuit.estimators._kernels import Array, check_symmetric, gamma_in_use
from rankpursuit.estimators._predictions import SINGLE_OR_DOUBLE, function_of, in_blocks
from rankpursuit.estimators._scaling import (
    check_coefficients,
    exponent_of,
    overflow_found_later,
    shifted,
)
from rankpursuit.estimators.model_file import Model
from rankpursuit.preferences import Preferences


class ExpansionEstimator(OneWidth):
    """Base of the estimators with one function ``f(x) = sum_j coef_j k(x_j, x)``."""

    def _training_kernel(
        self, X: Array, columns: NDArray[np.intp], *, symmetric: bool = True
    ) -> tuple[Array, int]:
        """Kernel values of the training points with some of them, of a size to compute with.

        Parameters
        ----------
        X : ndarray of shape (n, n_features)
        columns : ndarray of shape (r,)
            Indices of these points.
        symmetric : bool
            Whether the method needs a kernel that is symmetric.

        Returns
        -------
        kernel : ndarray of shape (n, r)
        exponent : int
            The kernel is the one returned times two to this power.
        """
        self.gamma_ = gamma_in_use(self.kernel, self.gamma, X)
        kernel = X[:, columns] if self._precomputed else self._kernel(X, X[columns], self.gamma_)
        if symmetric and (self._precomputed or callable(self.kernel)):
            check_symmetric(kernel[columns])
        warn_of_flat_kernel(self.kernel, self.gamma_, kernel, columns)
        exponent = exponent_of(kernel)
        return shifted(kernel, -exponent), exponent

    def _keep(self, X: Array, basis: NDArray[np.intp], coef: Array) -> Self:
        """Keep the expansion over the training points `basis`.

        Copies, in one piece each: a model that is saved and loaded then computes with arrays of
        the same layout, to the same last digit.
        """
        check_coefficients(coef)
        self.basis_, self.coef_ = np.array(basis, order="C"), np.array(coef, order="C")
        self.X_basis_ = None if self._precomputed else np.array(X[basis], order="C")
        return self

    def _basis_kernel(self, X: ArrayLike) -> Array:
        """Values of the basis functions at new points, shape (m, len(basis_))."""
        return self._values_at(self._new_points(X))

    def _values_at(self, X: Array) -> Array:
        if self.X_basis_ is None:
            return X[:, self.basis_]
        return self._kernel(X, self.X_basis_, self.gamma_)

    @documented
    def predict(self, X: ArrayLike) -> Array:
        """Predict the utility of new points, block by block.

        Parameters
        ----------
        {X_new}

        Returns
        -------
        {predictions}
        """
        X = self._new_points(X, SINGLE_OR_DOUBLE)
        if (weights := self._weights()) is not None:
            return in_blocks(X, len(weights), lambda part: function_of(part, weights))
        return in_blocks(
            X, len(self.coef_), lambda part: function_of(self._values_at(part), self.coef_)
        )

    def _weights(self) -> Array | None:
        """Return the weights of the features, shape (d,), if the function is linear in them."""
        if not self._is_linear:
            return None
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            return self.coef_ if self.X_basis_ is None else self.coef_ @ self.X_basis_

    def expansions(self) -> list[Expansion]:
        """Return the function that was learned.

        Returns
        -------
        list of one Expansion
        """
        check_is_fitted(self)
        return [self._expansion(self.kernel, self.X_basis_, self.coef_, self.gamma_)]

    def _learned(self) -> Model:
        arrays = {"basis": self.basis_, "coef": self.coef_}
        if self.X_basis_ is not None:
            arrays["X_basis"] = self.X_basis_
        return Model({"gamma": self.gamma_}, arrays)

    def _recall(self, model: Model) -> None:
        self.basis_, self.coef_ = model.arrays["basis"], model.arrays["coef"]
        self.X_basis_ = model.arrays.get("X_basis")
        self.gamma_ = model.description["gamma"]


class LeastSquaresEstimator(ExpansionEstimator):
    """Base of the estimators that fit scores in the quadratic form of some preferences."""

    def _learn(self, X: Array, scores: Array, preferences: Preferences) -> Self:
        """Fit to checked training data, to scores of a size to compute with."""
        exponent = exponent_of(scores)
        with overflow_found_later():
            return self._solve(X, shifted(scores, -exponent), exponent, preferences)

    @abstractmethod
    def _solve(self, X: Array, scores: Array, exponent: int, preferences: Preferences) -> Self:
        """Fit to scores that are those given divided by two to the power of `exponent`."""
