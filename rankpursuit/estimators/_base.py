"""What the estimators share: parameters of a kernel, input checks, and kernel expansions.

The parameters of an estimator are the fields of a dataclass: each is declared once, in the class
that brings it in, and scikit-learn finds the explicit constructor that it asks for.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Self, TypeVar, dataclass_transform

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_is_fitted, check_non_negative, validate_data

import rankpursuit
from rankpursuit.errors import ModelFileError
from rankpursuit.estimators._constraints import Constraints, check_parameter
from rankpursuit.estimators._flat_kernels import warn_of_flat_kernel
from rankpursuit.estimators._kernels import (
    GAMMA,
    KERNEL_CONSTRAINTS,
    NOT_NEGATIVE_ONLY,
    POSITIVE_DEFINITE,
    Array,
    Gamma,
    Kernel,
    check_symmetric,
    gamma_in_use,
    kernel_values,
)
from rankpursuit.estimators._scaling import (
    check_coefficients,
    check_predictions,
    check_scores,
    exponent_of,
    overflow_found_later,
    shifted,
)
from rankpursuit.estimators.model_file import Model, write_model
from rankpursuit.preferences import Preferences

Class = TypeVar("Class")

_BLOCK = 1 << 22
"""Kernel values of a prediction that are in memory at a time: 32 MB of them."""
SINGLE_OR_DOUBLE = (np.float64, np.float32)
"""Types of points to predict that stay as they are."""
RandomState = int | np.random.Generator | np.random.RandomState | None


@dataclass_transform(eq_default=False, kw_only_default=True, field_specifiers=(field,))
def parameters(cls: type[Class]) -> type[Class]:
    """Make the fields of a class parameters of its constructor, by keyword if not said."""
    return dataclass(eq=False, repr=False, kw_only=True)(cls)


@dataclass(frozen=True)
class Expansion:
    """A function ``sum_j coef_j k(x_j, x)``.

    Attributes
    ----------
    kernel : str or callable
    points : ndarray of shape (n_basis, n_features) or None
        The points x_j; None with a precomputed kernel.
    coef : ndarray of shape (n_basis,)
    gamma : float or None
    degree : int
    coef0 : float
    features : ndarray or None
        The features that it sees; None: all.
    """

    kernel: Kernel
    points: Array | None
    coef: Array
    gamma: float | None
    degree: int
    coef0: float
    features: NDArray[np.intp] | None = None


@parameters
class KernelEstimator(RegressorMixin, BaseEstimator):
    """Base of all estimators: functions over a kernel."""

    kernel: Kernel = "rbf"
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
        tags.input_tags.sparse = self._takes_sparse
        tags.input_tags.positive_only = bool(self._kernels_of_histograms())
        return tags

    @property
    def _precomputed(self) -> bool:
        return isinstance(self.kernel, str) and self.kernel == "precomputed"

    @property
    def _is_linear(self) -> bool:
        return isinstance(self.kernel, str) and self.kernel == "linear"

    @property
    def _positive_definite(self) -> bool:
        """Whether the kernel is known to be positive semi-definite on any points."""
        if self.kernel in ("poly", "polynomial"):
            return self.coef0 >= 0.0
        return isinstance(self.kernel, str) and self.kernel in POSITIVE_DEFINITE

    @property
    def _takes_sparse(self) -> bool:
        """Whether X may be sparse."""
        return False

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
        return self._check_for_kernel(_validated(self, X, ensure_min_samples=min_samples))

    def _check_scored(
        self, X: ArrayLike, y: ArrayLike, *, min_samples: int = 1, reset: bool = True
    ) -> tuple[Array, Array]:
        """Check the parameters, and training points with their scores.

        Without `reset`, the points must have the features of those before.
        """
        self._check_parameters()
        options = {"y_numeric": True, "ensure_min_samples": min_samples, "reset": reset}
        X, y = _validated(self, X, y, **options)
        y = np.asarray(y, dtype=np.float64)  # from strings, which may say "nan"
        if np.isnan(y).any():
            raise ValueError("y contains NaN; leave points without a score out")
        return self._check_for_kernel(X), check_scores(y)

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

    def _expansion(
        self, kernel: Kernel, points: Array | None, coef: Array, gamma: float | None
    ) -> Expansion:
        return Expansion(kernel, points, coef, gamma, self.degree, self.coef0)

    @abstractmethod
    def predict(self, X: ArrayLike) -> Array:
        """Predict the utility of new points."""

    @abstractmethod
    def expansions(self) -> list[Expansion]:
        """Return the functions that were learned, whose mean is the prediction."""

    @abstractmethod
    def _learned(self) -> Model:
        """Return what `predict` needs of what was learned."""

    @abstractmethod
    def _recall(self, model: Model) -> None:
        """Take what `predict` needs."""

    def save(self, path: str | Path) -> None:
        """Write the fitted model to a file: its basis points and coefficients, without pickle.

        What only fitting needs is left out: prefixes of the path, costs, and parameters that are
        no plain values. `rankpursuit.load_model` reads the file.

        Parameters
        ----------
        path : path

        Raises
        ------
        ModelFileError
            If the kernel is a function of one's own, which a file cannot hold, or the file cannot
            be written.
        """
        check_is_fitted(self)
        if any(map(callable, self._kernels_in_use())):
            raise ModelFileError(f"{path}: a kernel that is a callable cannot be saved in a file")
        learned = self._learned()
        names = getattr(self, "feature_names_in_", None)
        description = {
            "class": type(self).__name__,
            "rankpursuit": rankpursuit.__version__,
            "parameters": plain_parameters(self.get_params(deep=False)),
            "n_features_in": int(self.n_features_in_),
            "feature_names_in": None if names is None else list(names),
        }
        write_model(Model(description | learned.description, learned.arrays), path)

    def _new_points(self, X: ArrayLike, dtype: Any = np.float64) -> Any:
        """Check points to predict; those in single precision stay so if `dtype` admits it."""
        check_is_fitted(self)
        return _validated(self, X, reset=False, dtype=dtype)


def _validated(
    estimator: KernelEstimator, *data: ArrayLike, dtype: Any = None, **options: Any
) -> Any:
    """Return the data as scikit-learn checks them, of a type that is told or the estimator takes.

    Its sum of all entries, a quick test for NaN, may overflow where every entry is finite.
    """
    sparse = estimator._takes_sparse
    if sp.issparse(data[0]) and not sparse:
        raise TypeError(
            "Sparse data was passed for X, which only RLS, RankRLS, SparseRankRLS and RankSVM "
            "take, with kernel='linear'; pass X.toarray()"
        )
    with np.errstate(over="ignore", invalid="ignore"):
        try:
            return validate_data(
                estimator,
                *data,
                dtype=estimator._dtypes if dtype is None else dtype,
                accept_sparse="csr" if sparse else False,
                **options,
            )
        except OverflowError:
            raise ValueError("X or y contains a whole number too large for a float") from None


@parameters
class OneWidth(KernelEstimator):
    """Base of the estimators whose kernel has one gamma, if it has any."""

    gamma: Gamma = "scale"

    _constraints: ClassVar[Constraints] = {"gamma": GAMMA}


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

    def predict(self, X: ArrayLike) -> Array:
        """Predict the utility of new points, block by block.

        Parameters
        ----------
        X : array-like of shape (m, n_features), or (m, n) kernel values if precomputed

        Returns
        -------
        ndarray of shape (m,)
            In single precision if `X` is, and in double otherwise.
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


def in_blocks(X: Any, n_columns: int, function: Callable[[Any], Array], *shape: int) -> Array:
    """Values of a function at points, computed block by block, in double precision.

    Parameters
    ----------
    X : ndarray or sparse array of shape (m, n_features)
    n_columns : int
        Numbers that the function keeps for each point.
    function : callable
        Returns values of the shape (rows, *shape) for some rows of X.

    Returns
    -------
    ndarray of shape (m, *shape)
        Of the type of X.
    """
    n_points = X.shape[0]
    values = np.empty((n_points, *shape), dtype=X.dtype)
    together = max(1, _BLOCK // max(1, n_columns))
    for start in range(0, n_points, together):
        rows = slice(start, start + together)
        with np.errstate(over="ignore", under="ignore"):
            values[rows] = function(X[rows].astype(np.float64, copy=False))
    return check_predictions(values)


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


def function_of(kernel: Array, coefficients: Array) -> Array:
    """Values of an expansion, of shape (m,), from its kernel values of shape (m, n).

    Raises
    ------
    ValueError
        If a value is not finite.
    """
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        values = kernel @ coefficients
    return check_predictions(values)


def plain_parameters(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters that are numbers, text, None or lists of these."""
    plain = {name: _plain(value) for name, value in parameters.items()}
    return {name: value for name, value in plain.items() if _is_plain(value)}


def _plain(value: Any) -> Any:
    """Return numbers and arrays of numpy as Python has them, all else as it is."""
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return value.tolist() if isinstance(value, np.generic | np.ndarray) else value


def _is_plain(value: Any) -> bool:
    if isinstance(value, list):
        return all(map(_is_plain, value))
    return isinstance(value, str | bool | int | float | None)


def random_generator(random_state: RandomState) -> np.random.Generator | np.random.RandomState:
    """Return a generator as it is; make one of anything else that scikit-learn takes."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    return check_random_state(random_state)
