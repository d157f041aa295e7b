"""What a choice of parameters is judged by: metrics by name, scorers and functions, over stacks."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import config_context
from sklearn.base import BaseEstimator, RegressorMixin

from rankpursuit.estimators._constraints import Function
from rankpursuit.estimators._kernels import Array
from rankpursuit.metrics import (
    disagreement_error,
    kendall_tau,
    mean_average_precision,
    mean_reciprocal_rank,
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


def _ndcg(*told: Any, k: int | None = None) -> Any:
    return 1.0 - ndcg_error(*told, k=k)


_TOP_METRICS: dict[str, Metric] = {
    "map": mean_average_precision,
    "mrr": mean_reciprocal_rank,
    "ndcg": _ndcg,
}
"""Metrics of all places, or of the first k by the name with ``@k`` behind it."""

_METRICS: dict[str, Metric] = {
    "disagreement": lambda *told: -disagreement_error(*told),
    "kendall": kendall_tau,
    "neg_mean_squared_error": lambda scores, values, groups: -squared_error(scores, values),
    "pairwise_accuracy": pairwise_accuracy,
    "r2": _r2,
    **_TOP_METRICS,
}
"""Metrics by name, all for stacks of predictions."""

_TOP = re.compile(r"(\w+)@([1-9]\d*)")


def metric_named(name: str) -> Metric | None:
    """Return the metric of this name, None if there is none."""
    found = _TOP.fullmatch(name)
    if found and found[1] in _TOP_METRICS:
        return partial(_TOP_METRICS[found[1]], k=int(found[2]))
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


class _Predicts(RegressorMixin, BaseEstimator):
    """What a scorer of scikit-learn takes for a fitted model: one that has its predictions."""

    def __init__(self, predictions: Array) -> None:
        self.predictions = predictions

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def predict(self, X: Array) -> Array:
        """Return the predictions, which are of these points."""
        return self.predictions


def _of_scorer(scorer: Any) -> Metric:
    """Return the metric of a scorer, for one prediction; groups go to scorers that request them."""
    requests = scorer.get_metadata_routing()
    asks = bool(requests.consumes("score", ["groups"]))

    def metric(scores: Array, prediction: Array, groups: NDArray | None) -> float:
        told = {"groups": groups} if asks and groups is not None else {}
        with config_context(enable_metadata_routing=True):
            return float(scorer(_Predicts(prediction), np.empty((len(scores), 0)), scores, **told))

    return metric


def _of_three(metric: Metric) -> Metric:
    """Return a function that takes scores, predictions and groups; a ValueError for others."""
    try:
        inspect.signature(metric).bind(None, None, None)
    except TypeError:
        raise ValueError(
            "scoring must take three arguments: scores, predictions, and groups, which are None if "
            f"there are none; {getattr(metric, '__name__', type(metric).__name__)} does not"
        ) from None
    except ValueError:  # functions written in C may not tell
        pass
    return metric


class Judge:
    """A metric over stacks of predictions, one call a stack where the metric can do that.

    Parameters
    ----------
    scoring : str, scorer or callable
    """

    def __init__(self, scoring: Any) -> None:
        self._takes_stacks: bool | None = None
        if isinstance(scoring, str):
            metric = metric_named(scoring)
            assert metric is not None
            self._metric, self._takes_stacks = metric, True
        elif hasattr(scoring, "set_score_request"):
            self._metric, self._takes_stacks = _of_scorer(scoring), False
        else:
            self._metric = _of_three(scoring)

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
