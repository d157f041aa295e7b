"""What all estimators share: parameters of a kernel, input checks, and models in files."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.exceptions import NotFittedError
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, check_non_negative

import rankpursuit
from rankpursuit.errors import ModelFileError
from rankpursuit.estimators._constraints import Constraints, check_parameter
from rankpursuit.estimators._expansion import Expansion
from rankpursuit.estimators._kernels import (
    GAMMA,
    KERNEL_CONSTRAINTS,
    NOT_NEGATIVE_ONLY,
    POSITIVE_DEFINITE,
    Array,
    Gamma,
    Kernel,
    kernel_values,
)
from rankpursuit.estimators._parameters import parameters, plain_parameters
from rankpursuit.estimators._scaling import check_scores
from rankpursuit.estimators._validation import validated, validated_scores
from rankpursuit.estimators.model_file import Model, write_model


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
    @cache
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

    @property
    def _admitted(self) -> dict[str, Any]:
        """What training points may be."""
        return {"dtype": self._dtypes, "sparse": self._takes_sparse}

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
        X = validated(self, X, ensure_min_samples=min_samples, **self._admitted)
        return self._check_for_kernel(X)

    def _check_scored(
        self, X: ArrayLike, y: ArrayLike, *, min_samples: int = 1, reset: bool = True
    ) -> tuple[Array, Array]:
        """Check the parameters, and training points with their scores.

        Without `reset`, the points must have the features of those before.
        """
        self._check_parameters()
        X, y = validated_scores(self, X, y, min_samples=min_samples, reset=reset, **self._admitted)
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

    def _of_fit(self, name: str) -> Any:
        """Return an attribute that a model has from its fit and a file does not keep."""
        check_is_fitted(self)
        if not hasattr(self, name):
            raise NotFittedError(
                f"this {type(self).__name__} was read from a file, which holds what predict needs "
                "and nothing of the way to it; keep the fitted estimator itself, or fit it again"
            )
        return getattr(self, name)

    def _new_points(self, X: ArrayLike, dtype: Any = np.float64) -> Any:
        """Check points to predict; those in single precision stay so if `dtype` admits it."""
        check_is_fitted(self)
        return validated(self, X, reset=False, dtype=dtype, sparse=self._takes_sparse)


@parameters
class OneWidth(KernelEstimator):
    """Base of the estimators whose kernel has one gamma, if it has any."""

    gamma: Gamma = "scale"

    _constraints: ClassVar[Constraints] = {"gamma": GAMMA}
