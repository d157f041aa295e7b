"""Parameters chosen by NDCG@10 over folds of queries, for models of any kind."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from ranking_data import Queries
from sklearn.model_selection import GroupKFold

from rankpursuit.metrics import ndcg_error

FOLDS = 5


@dataclass(frozen=True)
class Fitted:
    """A fitted ranker: how it predicts, how many bytes it takes, and what was chosen."""

    predict: Callable[[np.ndarray], np.ndarray]
    size: int
    about: str


def searched(
    train: Queries,
    build: Callable[..., Any],
    grid: list[dict[str, Any]],
    stages: Sequence[int] = (),
) -> Fitted:
    """Fit with the parameters that have the highest NDCG@10 over five folds of queries.

    Parameters
    ----------
    train : Queries
    build : callable
        Makes a model with ``fit(X, y, groups)`` and ``predict(X)`` of some parameters.
    grid : list of dict
        The parameters to try.
    stages : sequence of int
        Numbers of trees to try of each, for models with ``staged(X, stages)`` that take
        `n_estimators`.
    """
    scores = np.zeros((len(grid), max(1, len(stages))))
    most = {"n_estimators": max(stages)} if stages else {}
    for inside, outside in GroupKFold(FOLDS).split(train.X, train.y, train.groups):
        held_out = train.X[outside]
        for number, parameters in enumerate(grid):
            model = build(**parameters, **most)
            model.fit(train.X[inside], train.y[inside], train.groups[inside])
            found = model.staged(held_out, stages) if stages else [model.predict(held_out)]
            scores[number] += _ndcg(train.y[outside], np.array(found), train.groups[outside])
    best, at = np.unravel_index(scores.argmax(), scores.shape)
    chosen = grid[best] | ({"n_estimators": stages[at]} if stages else {})
    model = build(**chosen).fit(train.X, train.y, train.groups)
    about = ", ".join(f"{key} {value:g}" for key, value in chosen.items())
    return Fitted(model.predict, getattr(model, "size", 0), about)


def _ndcg(y: np.ndarray, predictions: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """NDCG@10 of a stack of predictions, as ``scoring="ndcg@10"`` has it."""
    return 1.0 - np.asarray(ndcg_error(y, predictions, groups, k=10, gain="shifted"))
