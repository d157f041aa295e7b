"""Several functions, one for each view, over parts of the points or features or other kernels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from rankpursuit.estimators._base import OneWidth
from rankpursuit.estimators._constraints import (
    Choice,
    Constraints,
    Instance,
    Whole,
    check_parameter,
)
from rankpursuit.estimators._docs import documented
from rankpursuit.estimators._expansion import Expansion
from rankpursuit.estimators._fitting import Ranker
from rankpursuit.estimators._kernels import (
    VIEW_KERNEL,
    Array,
    Kernel,
    KernelFunction,
    KernelName,
    gamma_in_use,
)
from rankpursuit.estimators._parameters import parameters
from rankpursuit.estimators._predictions import SINGLE_OR_DOUBLE, function_of, in_blocks
from rankpursuit.estimators._scaling import check_coefficients, check_predictions, shifted
from rankpursuit.estimators.model_file import Model
from rankpursuit.solvers.coregularised import CoregularisedPath, Views

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

    def _keep(
        self,
        X: Array,
        path: CoregularisedPath,
        points: list[NDArray[np.intp]],
        exponents: list[int],
    ) -> None:
        """Keep the functions of a path, copies in one piece each; see `ExpansionEstimator`."""
        reached = int(path.n_steps[0, 0])
        chosen = path.selected[0, 0, :reached]
        staged = [
            shifted(path.coefficients(view)[0, 0, :reached, :reached], exponent)
            for view, exponent in enumerate(exponents)
        ]
        check_coefficients(*staged)
        self.staged_coef_ = [np.array(own, order="C") for own in staged]
        self.coef_ = [own[-1] if reached else np.empty(0) for own in self.staged_coef_]
        self.basis_ = [own[chosen[:, view]] for view, own in enumerate(points)]
        self.X_basis_ = None
        if not self._precomputed:
            self.X_basis_ = [np.array(X[basis], order="C") for basis in self.basis_]

    @documented
    def view_predict(self, X: ArrayLike) -> Array:
        """Predict with the function of each view apart.

        Parameters
        ----------
        {X_new}

        Returns
        -------
        ndarray of shape (m, n_views)
            In single precision if `X` is, and in double otherwise.
        """
        X = self._new_points(X, SINGLE_OR_DOUBLE)
        return in_blocks(X, self._n_functions, self._view_values, self.n_views)

    @documented
    def predict(self, X: ArrayLike) -> Array:
        """Predict with the mean of the views' functions.

        Parameters
        ----------
        {X_new}

        Returns
        -------
        {predictions}
        """
        X = self._new_points(X, SINGLE_OR_DOUBLE)
        return in_blocks(X, self._n_functions, lambda part: _mean_of_views(self._view_values(part)))

    @documented
    def staged_predict(self, X: ArrayLike) -> Iterator[Array]:
        """Predict with 1, 2, ... basis functions in each view.

        Parameters
        ----------
        {X_new}

        Yields
        ------
        ndarray of shape (m,)
        """
        staged = self._of_fit("staged_coef_")
        kernels = self._kernels_at(self._new_points(X))
        for coefs in zip(*staged, strict=True):
            yield _mean_of_views(_side_by_side(kernels, coefs))

    def expansions(self) -> list[Expansion]:
        """Return the functions of the views, whose mean is the prediction.

        Returns
        -------
        list of Expansion
        """
        check_is_fitted(self)
        functions = []
        for view, (coef, gamma) in enumerate(zip(self.coef_, self.gamma_, strict=True)):
            features = self.view_features_[view]
            points = None if self.X_basis_ is None else self.X_basis_[view][:, features]
            function = self._expansion(self._kernel_of(view), points, coef, gamma)
            functions.append(replace(function, features=features))
        return functions

    def _learned(self) -> Model:
        arrays: dict[str, NDArray] = {}
        for view, (basis, coef) in enumerate(zip(self.basis_, self.coef_, strict=True)):
            arrays |= {f"basis_{view}": basis, f"coef_{view}": coef}
            arrays[f"features_{view}"] = self.view_features_[view]
            if self.X_basis_ is not None:
                arrays[f"X_basis_{view}"] = self.X_basis_[view]
        return Model({"gamma": self.gamma_}, arrays)

    def _recall(self, model: Model) -> None:
        def of_views(name: str) -> list[NDArray]:
            return [model.arrays[f"{name}_{view}"] for view in range(self.n_views)]

        self.basis_, self.coef_ = of_views("basis"), of_views("coef")
        self.view_features_ = of_views("features")
        self.X_basis_ = None if self._precomputed else of_views("X_basis")
        self.gamma_ = model.description["gamma"]

    @property
    def _n_functions(self) -> int:
        return sum(map(len, self.coef_))

    def _view_values(self, X: Array) -> Array:
        return _side_by_side(self._kernels_at(X), self.coef_)

    def _kernels_at(self, X: Array) -> list[Array]:
        if self.X_basis_ is None:
            return [X[:, basis] for basis in self.basis_]
        return [self._kernel_at(X, points, view) for view, points in enumerate(self.X_basis_)]


def _mean_of_views(values: Array) -> Array:
    """Mean of the views' values of shape (m, M); a ValueError if one is not finite."""
    with np.errstate(over="ignore", invalid="ignore"):
        return check_predictions(values.mean(axis=1))


def _side_by_side(kernels: Sequence[Array], coefs: Sequence[Array]) -> Array:
    """Values of the views' functions, shape (m, M)."""
    both = zip(kernels, coefs, strict=True)
    return np.column_stack([function_of(kernel, coef) for kernel, coef in both])
