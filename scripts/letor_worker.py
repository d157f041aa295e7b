"""One fit in a process of its own: its time, its memory, and what it gets right in each query."""

from __future__ import annotations

import resource
import sys
import time
import warnings
from multiprocessing import get_context
from typing import Any

import numpy as np
from letor_data import DATA_SETS, Queries
from letor_methods import METHODS

from rankpursuit.metrics import disagreement_error, mean_average_precision, ndcg_error


def measure(method: str, data: str, fold: str) -> dict[str, Any] | None:
    """Fit a method to a fold and judge it; None if a package that it needs is not installed."""
    with get_context("spawn").Pool(1) as pool:
        return pool.apply(_measure, (method, data, fold))


def _measure(method: str, data: str, fold: str) -> dict[str, Any] | None:
    warnings.simplefilter("ignore")
    split = next(one for one in DATA_SETS[data].folds() if one.name == fold)
    before = _peak()
    begun = time.perf_counter()
    try:
        fitted = METHODS[method].fit(split.train)
    except ImportError:
        return None
    seconds = time.perf_counter() - begun
    begun = time.perf_counter()
    predictions = fitted.predict(split.test.X)
    return {
        "fit_seconds": seconds,
        "predict_seconds": time.perf_counter() - begun,
        "memory_mb": _peak() - before,
        "size_kb": fitted.size / 1e3,
        "about": fitted.about,
        "queries": per_query(split.test, predictions),
    }


def per_query(test: Queries, predictions: np.ndarray) -> dict[str, list[float]]:
    """Return NDCG@10, average precision and pairwise error of each query with different grades."""
    found: dict[str, list[float]] = {"ndcg": [], "map": [], "error": []}
    for query in np.unique(test.groups):
        own = test.groups == query
        y, f = test.y[own], predictions[own]
        if y.max() > y.min():
            found["ndcg"].append(1.0 - float(ndcg_error(y, f, k=10, gain="exponential")))
            found["map"].append(float(mean_average_precision(y, f)))
            found["error"].append(float(disagreement_error(y, f, ties="untied")))
    return found


def _peak() -> float:
    """Most memory so far, in MB."""
    unit = 1e6 if sys.platform == "darwin" else 1e3
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit
