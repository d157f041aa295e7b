"""Linear models: with a linear kernel, a weight for each feature instead of one for each point."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from rankpursuit.estimators._expansion import Expansion
from rankpursuit.estimators._expansion_estimator import ExpansionEstimator
from rankpursuit.estimators._kernels import Array, refuse_values
from rankpursuit.estimators._scaling import check_coefficients, exponent_of, shifted


class LinearModel(ExpansionEstimator):
    """Base of the estimators that with a linear kernel are solved in the weights of the features.

    The basis functions are then the features themselves: `basis_` numbers them, `coef_` holds their
    weights, and there are no basis points.
    """

    @property
    def _takes_sparse(self) -> bool:
        return self._is_linear

    def _scaled_points(self, X: Any) -> tuple[Any, int]:
        """Points whose products are of a size to compute with.

        Returns
        -------
        points : ndarray or csr_array of shape (n, d)
        exponent : int
            Their products are those of `X`, divided by two to this power; even.
        """
        self.gamma_ = None
        entries = X.data if sp.issparse(X) else X
        largest = max(entries.max(initial=0.0), -entries.min(initial=0.0))
        with np.errstate(over="ignore", under="ignore"):
            square = np.square(largest)
            if not np.isfinite(square * X.shape[1]):
                refuse_values(self.kernel)
        half = exponent_of(np.atleast_1d(square)) // 2
        points = sp.csr_array(X) if sp.issparse(X) else X
        if half and sp.issparse(X):
            points = points.copy()
            points.data = shifted(points.data, -half)
        elif half:
            points = shifted(points, -half)
        return points, 2 * half

    def _keep_weights(self, weights: Array, exponent: int) -> Self:
        """Keep weights of the scaled features, times two to a power."""
        self.coef_ = np.array(shifted(weights, exponent), order="C")
        check_coefficients(self.coef_)
        self.basis_, self.X_basis_ = np.arange(len(weights)), None
        return self

    def expansions(self) -> list[Expansion]:
        """Return the function that was learned.

        Returns
        -------
        list of one Expansion
            A linear function is an expansion over one point: its weights.
        """
        (function,) = super().expansions()
        if not self._is_linear or function.points is not None:
            return [function]
        return [self._expansion("linear", self.coef_[None], np.ones(1), None)]
