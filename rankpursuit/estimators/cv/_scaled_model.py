"""A model of scaled features inside another estimator: how it predicts, and how it is kept."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted

from rankpursuit.estimators._base import KernelEstimator
from rankpursuit.estimators._docs import documented
from rankpursuit.estimators._expansion import Expansion
from rankpursuit.estimators._kernels import Array
from rankpursuit.estimators._parameters import plain_parameters
from rankpursuit.estimators._predictions import SINGLE_OR_DOUBLE, in_blocks
from rankpursuit.estimators._scaling import overflow_found_later
from rankpursuit.estimators.model_file import Model


class HoldsScaledModel(KernelEstimator):
    """Base of the estimators that hand scaled features on to a model that they hold."""

    _estimator: ClassVar[type[KernelEstimator]]

    def _hold(self, model: KernelEstimator) -> None:
        """Take a fitted model."""
        self.best_estimator_ = model
        self.basis_, self.coef_ = model.basis_, model.coef_

    def _scaled(self, X: Array) -> Array:
        with overflow_found_later():
            return X if self.scaler_ is None else self.scaler_.transform(X)

    def _new_scaled(self, X: ArrayLike) -> Array:
        return self._scaled(self._new_points(X))

    @documented
    def predict(self, X: ArrayLike) -> Array:
        """Predict the utility of new points with the chosen model.

        Parameters
        ----------
        {X_new}

        Returns
        -------
        {predictions}
        """
        X, model = self._new_points(X, SINGLE_OR_DOUBLE), self.best_estimator_
        return in_blocks(X, X.shape[1], lambda part: model.predict(self._scaled(part)))

    def expansions(self) -> list[Expansion]:
        """Return the functions of the chosen model, of features as ``scaler_`` leaves them.

        Returns
        -------
        list of Expansion
        """
        check_is_fitted(self)
        return self.best_estimator_.expansions()

    def _learned(self) -> Model:
        model = self.best_estimator_._learned()
        description = {
            "best_params": self.best_params_,
            "best_score": self.best_score_,
            "model": model.description,
            "model_parameters": plain_parameters(self.best_estimator_.get_params(deep=False)),
        }
        scaling = {}
        if self.scaler_ is not None:
            scaling = {"scaler_scale": self.scaler_.scale_}
            if self.scaler_.mean_ is not None and self.scaler_.with_mean:
                scaling["scaler_mean"] = self.scaler_.mean_
        return Model(description, model.arrays | scaling)

    def _recall(self, model: Model) -> None:
        told = model.description
        self.best_params_, self.best_score_ = told["best_params"], told["best_score"]
        self.scaler_ = _recalled_scaler(model)
        inner = self._estimator(**told["model_parameters"])
        inner.n_features_in_ = self.n_features_in_
        inner.n_groups_ = None
        inner._recall(Model(told["model"], model.arrays))
        self._hold(inner)


def _recalled_scaler(model: Model) -> StandardScaler | None:
    scale, mean = (model.arrays.get(f"scaler_{part}") for part in ("scale", "mean"))
    if scale is None:
        return None
    scaler = StandardScaler(with_mean=mean is not None)
    scaler.mean_, scaler.scale_, scaler.var_ = mean, scale, np.square(scale)
    scaler.n_features_in_ = len(scale)
    return scaler
