"""Gradient boosting, with its trees' size, its rate and its number of trees chosen."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from itertools import product
from typing import Any, Self

import numpy as np
from letor_search import Fitted, searched
from ranking_data import Queries

STAGES = range(20, 301, 20)
RATES = (0.03, 0.1)


class _Boosted(ABC):
    """A boosted ranker, which takes its rows query by query and can stop after fewer trees."""

    def __init__(self, model: Any) -> None:
        self._model = model

    def fit(self, X: np.ndarray, y: np.ndarray, groups: np.ndarray) -> Self:
        """Fit to rows in any order."""
        order = np.argsort(groups, kind="stable")
        _, sizes = np.unique(groups, return_counts=True)
        self._model.fit(X[order], y[order].astype(int), group=sizes)
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Predict with all trees."""
        return np.asarray(self._model.predict(X), dtype=float)

    @abstractmethod
    def staged(self, X: np.ndarray, stages: Sequence[int]) -> list[np.ndarray]:
        """Predict with the first trees only, for several numbers of them in rising order."""

    @property
    @abstractmethod
    def size(self) -> int:
        """Bytes of the model as its package writes it."""


class _LightGBM(_Boosted):
    def staged(self, X: np.ndarray, stages: Sequence[int]) -> list[np.ndarray]:
        values, found, before = np.zeros(len(X)), [], 0
        for trees in stages:  # by the trees between two stages, so that each is used once
            part = {"start_iteration": before, "num_iteration": trees - before}
            values = values + self._model.predict(X, raw_score=True, **part)
            found.append(values)
            before = trees
        return found

    @property
    def size(self) -> int:
        return len(self._model.booster_.model_to_string())


class _XGBoost(_Boosted):
    def staged(self, X: np.ndarray, stages: Sequence[int]) -> list[np.ndarray]:
        return [self._model.predict(X, iteration_range=(0, trees)) for trees in stages]

    @property
    def size(self) -> int:
        return len(self._model.get_booster().save_raw())


def lightgbm(train: Queries) -> Fitted:
    """Fit LightGBM's lambdarank."""
    from lightgbm import LGBMRanker

    def build(**parameters: Any) -> _LightGBM:
        return _LightGBM(LGBMRanker(**parameters, n_jobs=1, verbose=-1, random_state=0))

    return searched(train, build, _grid("num_leaves", (7, 31)), STAGES)


def xgboost(train: Queries) -> Fitted:
    """Fit XGBoost's rank:ndcg."""
    from xgboost import XGBRanker

    def build(**parameters: Any) -> _XGBoost:
        return _XGBoost(XGBRanker(**parameters, objective="rank:ndcg", n_jobs=1, random_state=0))

    return searched(train, build, _grid("max_depth", (3, 6)), STAGES)


def _grid(size: str, values: Sequence[int]) -> list[dict[str, Any]]:
    return [{size: one, "learning_rate": rate} for one, rate in product(values, RATES)]
