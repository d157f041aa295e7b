"""What a choice of parameters is judged by: metrics by name or as functions, over whole stacks."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankpursuit.estimators._constraints import Function
from rankpursuit.estimators._kernels import Array
from rankpursuit.metrics import (
    disagreement_error,
    ndcg_error,
    pairwise_accuracy,
    squared_error,
)

Metric = Callable[..., Any]
"""A function of scores (m,), predictions (..., m) and groups (m,) or None; more is better."""


def _r2(scores: Array, predictions: Array, groups: NDArray | None) -> Any:
    variance = float(np.var(scores))
    if variance == 0.0:
        return np.full(predictions.shape[:-1], np.nan)
    return 1.0 - squared_error(scores, predictions) / variance


_METRICS: dict[str, Metric] = {
    "disagreement": lambda *told: -disagreement_error(*told),
    "ndcg": lambda *told: 1.0 - ndcg_error(*told),
    "neg_mean_squared_error": lambda scores, values, groups: -squared_error(scores, values),
    "pairwise_accuracy": pairwise_accuracy,
    "r2": _r2,
}
"""Metrics by name, all for stacks of predictions."""

_TOP_METRICS: dict[str, Metric] = {"ndcg": lambda *told, k: 1.0 - ndcg_error(*told, k=k)}
"""Metrics of the first k places, by the name that stands before ``@k``."""

_TOP = re.compile(r"(\w+)@([1-9]\d*)")


def metric_named(name: str) -> Metric | None:
    """Return the metric of this name, None if there is none."""
    found = _TOP.fullmatch(name)
    if found and found[1] in _TOP_METRICS:
        top, k = _TOP_METRICS[found[1]], int(found[2])
        return lambda *told: top(*told, k=k)
    return _METRICS.get(name)


class MetricName:
    """The name of a metric."""

    def admits(self, value: Any) -> bool:
        """Say whether there is a metric of this name."""
        return isinstance(value, str) and metric_named(value) is not None

    def __str__(self) -> str:
        names = [*_METRICS, *(f"{name}@10" for name in _TOP_METRICS)]
        return f"one of {', '.join(map(repr, names))} (any number of places)"


SCORING = (MetricName(), Function())


class Judge:
    """A metric over stacks of predictions, one call a stack where the metric can do that.

    Parameters
    ----------
    scoring : str or callable
    """

    def __init__(self, scoring: str | Metric) -> None:
        self._takes_stacks: bool | None = None
        if isinstance(scoring, str):
            metric = metric_named(scoring)
            assert metric is not None
            self._metric, self._takes_stacks = metric, True
        else:
            self._metric = scoring

    def __call__(self, scores: Array, predictions: Array, groups: NDArray | None) -> Array:
        """Score the predictions of shape (..., m); the scores have the shape (...)."""
        stack = predictions.reshape(-1, predictions.shape[-1])
        if self._takes_stacks is None:
            self._takes_stacks = self._try_stacks(scores, stack[[0, -1]], groups)
        if self._takes_stacks:
            found = np.asarray(self._metric(scores, stack, groups), dtype=np.float64)
        else:
            found = np.array([float(self._metric(scores, one, groups)) for one in stack])
        return found.reshape(predictions.shape[:-1])

    def _try_stacks(self, scores: Array, pair: Array, groups: NDArray | None) -> bool:
        """Say whether the metric gives two predictions at once what it gives each of them."""
        alone = [float(self._metric(scores, one, groups)) for one in pair]
        try:
            together = np.asarray(self._metric(scores, pair, groups), dtype=np.float64)
        except Exception:  # a function of one prediction may fail on two in any way
            return False
        return together.shape == (2,) and np.allclose(together, alone, equal_nan=True)
