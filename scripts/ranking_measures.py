"""What rankers are judged by: measures of each query."""

from __future__ import annotations

from collections.abc import Callable, Collection

import numpy as np
from ranking_data import Queries

from rankpursuit.metrics import disagreement_error, mean_average_precision, ndcg_error

MEASURES: dict[str, Callable[[np.ndarray, np.ndarray], float]] = {
    "ndcg": lambda y, f: 1.0 - float(ndcg_error(y, f, k=10, gain="exponential")),
    "map": lambda y, f: float(mean_average_precision(y, f)),
    "error": lambda y, f: float(disagreement_error(y, f, ties="untied")),
}
"""NDCG@10 with gains 2^grade - 1, average precision (relevant: above 0), pairwise error."""


def per_query(
    test: Queries, predictions: np.ndarray, measures: Collection[str] = tuple(MEASURES)
) -> dict[str, list[float]]:
    """Return measures of each query whose documents have different grades, query by query."""
    found: dict[str, list[float]] = {name: [] for name in measures}
    for query in np.unique(test.groups):
        own = test.groups == query
        y, f = test.y[own], predictions[own]
        if y.max() > y.min():
            for name in measures:
                found[name].append(MEASURES[name](y, f))
    return found
