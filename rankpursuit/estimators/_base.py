"""What the estimators share: parameters of a kernel, input checks, and kernel expansions.

The parameters of an estimator are the fields of a dataclass: each is declared once, in the class
that brings it in, and scikit-learn finds the explicit constructor that it asks for.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self, TypeVar, dataclass_transform

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_is_fitted, check_non_negative, validate_data

from rankpursuit.estimators._constraints import Constraints, check_parameter
from rankpursuit.estimators._kernels import (
    KERNEL_CONSTRAINTS,
    NOT_NEGATIVE_ONLY,
    Array,
    Gamma,
    Kernel,
    gamma_in_use,
    kernel_values,
)
from rankpursuit.preferences import Preferences

Class = TypeVar("Class")
RandomState = int | np.random.Generator | np.random.RandomState | None


@dataclass_transform(eq_default=False, kw_only_default=True, field_specifiers=(field,))
def parameters(cls: type[Class]) -> type[Class]:
    """Make the fields of a class parameters of its constructor, by keyword if not said."""
    return dataclass(eq=False, repr=False, kw_only=True)(cls)


@parameters
class KernelEstimator(RegressorMixin, BaseEstimator):
    """Base of all estimators: functions over a kernel."""

    kernel: Kernel = "rbf"
    gamma: Gamma = None
    degree: int = 3
    coef0: float = 1.0
    kernel_params: Mapping[str, Any] | None = None

    _constraints: ClassVar[Constraints] = KERNEL_CONSTRAINTS
    _dtypes: ClassVar[list[type]] = [np.float64]
    """Kinds of numbers that training points may keep; others become the first."""

    @classmethod
    def constraints(cls) -> Constraints:
        """Return what each parameter may be, from all classes that bring parameters in."""
        declared = (vars(base).get("_constraints", {}) for base in reversed(cls.__mro__))
        return {name: admitted for part in declared for name, admitted in part.items()}

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._precomputed
        tags.input_tags.positive_only = bool(self._kernels_of_histograms())
        return tags

    @property
    def _precomputed(self) -> bool:
        return isinstance(self.kernel, str) and self.kernel == "precomputed"

    def _kernels_in_use(self) -> tuple[Kernel, ...]:
        return (self.kernel,)

    def _kernels_of_histograms(self) -> list[str]:
        names = [kernel for kernel in self._kernels_in_use() if isinstance(kernel, str)]
        return [name for name in names if name in NOT_NEGATIVE_ONLY]

    def _check_parameters(self) -> None:
        """Raise a ValueError for a parameter that is out of its range or does not fit another."""
        for name, admitted in self.constraints().items():
            check_parameter(name, getattr(self, name), admitted)
        if self.kernel_params is not None and not any(map(callable, self._kernels_in_use())):
            raise ValueError(
                "kernel_params are the keyword arguments of a kernel that is a callable; got "
                f"{dict(self.kernel_params)!r} with kernel={self.kernel!r}"
            )

    def _check_points(self, X: ArrayLike, *, min_samples: int = 1) -> Array:
        """Check the parameters, and training points that come without scores."""
        self._check_parameters()
        X = validate_data(self, X, dtype=self._dtypes, ensure_min_samples=min_samples)
        return self._check_for_kernel(X)

    def _check_scored(
        self, X: ArrayLike, y: ArrayLike, *, min_samples: int = 1
    ) -> tuple[Array, Array]:
        """Check the parameters, and training points with their scores."""
        self._check_parameters()
        X, y = validate_data(
            self, X, y, y_numeric=True, dtype=self._dtypes, ensure_min_samples=min_samples
        )
        return self._check_for_kernel(X), np.asarray(y, dtype=np.float64)

    def _check_for_kernel(self, X: Array) -> Array:
        if self._precomputed and X.shape[0] != X.shape[1]:
            raise ValueError(
                "X must be square with kernel='precomputed': the kernel of the training points "
                f"with each other; got the shape {X.shape}"
            )
        for name in self._kernels_of_histograms():
            check_non_negative(X, f"the kernel {name!r}")
        return X

    def _kernel(
        self, X: Array, Y: Array, gamma: float | None, kernel: Kernel | None = None
    ) -> Array:
        """Kernel values of the points `X` with the points `Y`, shape (len(X), len(Y))."""
        return kernel_values(
            self.kernel if kernel is None else kernel,
            X,
            Y,
            gamma=gamma,
            degree=self.degree,
            coef0=self.coef0,
            kernel_params=self.kernel_params,
        )

    @abstractmethod
    def predict(self, X: ArrayLike) -> Array:
        """Predict the utility of new points."""

    def _new_points(self, X: ArrayLike) -> Array:
        check_is_fitted(self)
        return validate_data(self, X, dtype=np.float64, reset=False)


class ExpansionEstimator(KernelEstimator):
    """Base of the estimators with one function ``f(x) = sum_j coef_j k(x_j, x)``."""

    def _training_kernel(self, X: Array, columns: NDArray[np.intp]) -> Array:
        """Kernel values of the training points with some of them, shape (n, len(columns))."""
        self.gamma_ = gamma_in_use(self.kernel, self.gamma, X)
        return X[:, columns] if self._precomputed else self._kernel(X, X[columns], self.gamma_)

    def _keep(self, X: Array, basis: NDArray[np.intp], coef: Array) -> Self:
        """Keep the expansion over the training points `basis`."""
        self.basis_, self.coef_ = basis, coef
        self.X_basis_ = None if self._precomputed else X[basis]
        return self

    def _basis_kernel(self, X: ArrayLike) -> Array:
        """Values of the basis functions at new points, shape (m, len(basis_))."""
        X = self._new_points(X)
        if self.X_basis_ is None:
            return X[:, self.basis_]
        return self._kernel(X, self.X_basis_, self.gamma_)

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


class LeastSquaresEstimator(ExpansionEstimator):
    """Base of the estimators that fit scores in the quadratic form of some preferences."""

    @abstractmethod
    def _learn(self, X: Array, scores: Array, preferences: Preferences) -> Self:
        """Fit to checked training data."""


def random_generator(random_state: RandomState) -> np.random.Generator | np.random.RandomState:
    """Return a generator as it is; make one of anything else that scikit-learn takes."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    return check_random_state(random_state)
