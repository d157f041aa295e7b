"""Scorers for scikit-learn, metrics of a search by name, its table of scores, and the choice.

Unless ``grouped=False``, scorers request `groups`, and pass them to `predict` of an estimator that
takes them. They skip unscored points, marked by NaN. For scikit-learn to pass groups on, enable its
metadata routing and pass them to the outermost call, as in the example of :func:`ndcg_scorer`.
Without routing, scikit-learn uses the groups for splitting only; these scorers then raise an error.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn import config_context
from sklearn.linear_model import LinearRegression
from sklearn.utils.metadata_routing import MetadataRequest, get_routing_for_object

from rankpursuit.estimators._checks import PASS_GROUPS, Array, Constraint, scored_part
from rankpursuit.estimators.tables import pop_column
from rankpursuit.metrics import (
    Gain,
    Ties,
    disagreement_error,
    kendall_tau,
    mean_average_precision,
    mean_reciprocal_rank,
    ndcg_error,
    pairwise_accuracy,
    squared_error,
)
from rankpursuit.preferences import check_labels

Metric = Callable[..., Any]
"""A function of scores (m,), predictions (m,) and groups (m,) or None; higher is better."""
Selection = Literal["best", "sparsest"]
Table = dict[str, NDArray[Any]]


def group_scorer(*, ties: Ties = "untied", grouped: bool = True) -> Any:
    """Make a scorer of the pairwise accuracy within groups, the `score` of every ranker.

    Parameters
    ----------
    ties : {"untied", "half", "all"}, default "untied"
        Which pairs count, see :func:`rankpursuit.metrics.disagreement_error`: by default those
        whose true scores differ. With "all" and scores with many ties, a model that predicts a
        constant may win.
    grouped : bool, default True
        Whether each group is a separate ranking. False: the whole test set is one ranking.

    Returns
    -------
    callable
        A scikit-learn scorer; if `grouped`, it requests `groups` and raises a ValueError
        without them.
    """
    return _scorer(_agreement, grouped, ties=ties)


def ndcg_scorer(
    k: int | None = 10,
    *,
    gain: Gain = "linear",
    empty: float | None = 1.0,
    grouped: bool = True,
) -> Any:
    """Make a scorer of ``NDCG@k``, for ``GridSearchCV`` and ``cross_validate``.

    Parameters
    ----------
    k : int or None, default 10
        Number of ranks that count; None for all.
    gain : {"linear", "exponential", "shifted"}, default "linear"
        See :func:`rankpursuit.metrics.ndcg_error`.
    empty : float or None, default 1
        Value of a group without any gain; None skips it. LightGBM counts 1, figures published for
        LETOR count 0.
    grouped : bool, default True
        See :func:`group_scorer`.

    Examples
    --------
    >>> import numpy as np, sklearn
    >>> from sklearn.model_selection import cross_validate, GroupKFold
    >>> from rankpursuit import RankRLS, map_scorer, ndcg_scorer
    >>> rng = np.random.default_rng(0)
    >>> X, queries = rng.normal(size=(60, 2)), np.repeat(np.arange(6), 10)
    >>> grades = np.clip(np.round(X[:, 0] + rng.normal(size=60)), 0, 2)
    >>> scoring = {"ndcg": ndcg_scorer(gain="exponential"), "map": map_scorer()}
    >>> with sklearn.config_context(enable_metadata_routing=True):
    ...     results = cross_validate(
    ...         RankRLS(), X, grades, scoring=scoring, cv=GroupKFold(3), params={"groups": queries}
    ...     )
    >>> results["test_ndcg"].round(3), results["test_map"].round(3)
    (array([0.83 , 0.714, 0.731]), array([0.748, 0.72 , 0.775]))
    """
    error_of_empty = None if empty is None else 1.0 - empty
    return _scorer(ndcg, grouped, k=k, gain=gain, empty=error_of_empty)


def map_scorer(
    k: int | None = None,
    *,
    threshold: float = 0.0,
    empty: float | None = None,
    grouped: bool = True,
) -> Any:
    """Make a scorer of the mean average precision.

    Parameters
    ----------
    k, threshold, empty : optional
        See :func:`rankpursuit.metrics.mean_average_precision`.
    grouped : bool, default True
        See :func:`group_scorer`.
    """
    return _scorer(mean_average_precision, grouped, k=k, threshold=threshold, empty=empty)


def mrr_scorer(
    k: int | None = None,
    *,
    threshold: float = 0.0,
    empty: float | None = None,
    grouped: bool = True,
) -> Any:
    """Make a scorer of the mean reciprocal rank.

    Parameters
    ----------
    k, threshold, empty : optional
        See :func:`rankpursuit.metrics.mean_reciprocal_rank`.
    grouped : bool, default True
        See :func:`group_scorer`.
    """
    return _scorer(mean_reciprocal_rank, grouped, k=k, threshold=threshold, empty=empty)


def kendall_scorer(*, empty: float | None = None, grouped: bool = True) -> Any:
    """Make a scorer of Kendall's tau.

    Parameters
    ----------
    empty : optional
        See :func:`rankpursuit.metrics.kendall_tau`.
    grouped : bool, default True
        See :func:`group_scorer`.
    """
    return _scorer(kendall_tau, grouped, empty=empty)


def _agreement(*data: Any, ties: Ties) -> Any:
    return 1.0 - disagreement_error(*data, ties=ties)


def ndcg(*data: Any, **options: Any) -> Any:
    """Return the NDCG, one minus its error."""
    return 1.0 - ndcg_error(*data, **options)


def _scorer(metric: Callable[..., Any], grouped: bool, **options: Any) -> _Scorer:
    """Make a scorer that requests `groups` if they are to count."""
    metric([1.0, 0.0], [1.0, 0.0], **options)  # check the options now, not in every fold
    return _Scorer(metric, grouped, options)


@dataclass(eq=False)
class _Scorer:
    """Scorer by a function of scores, predictions and groups, with its options.

    Unlike a scorer of scikit-learn, it passes the groups to `predict`, for ``scale="group"``.
    """

    metric: Callable[..., Any]
    grouped: bool
    options: dict[str, Any]

    def get_metadata_routing(self) -> MetadataRequest:
        """Return the request for groups in a call of the scorer, which scikit-learn asks for."""
        request = MetadataRequest(owner=self)
        request.score.add_request(param="groups", alias=self.grouped)
        return request

    def __call__(
        self, estimator: Any, X: ArrayLike, y_true: ArrayLike, groups: ArrayLike | None = None
    ) -> float:
        label = getattr(estimator, "group_column_", None)
        if self.grouped and groups is None and label is not None:
            X, groups = pop_column(X, label)
        if self.grouped and groups is None:
            raise ValueError(
                f"groups did not reach the scorer, which compares points within them; {PASS_GROUPS}"
                "; or use grouped=False if each test set is one ranking"
            )
        routing = get_routing_for_object(estimator)
        takes_groups = groups is not None and routing.consumes("predict", ["groups"])
        prediction = estimator.predict(X, **({"groups": groups} if takes_groups else {}))
        return float(self.metric(*scored_part(y_true, prediction, groups), **self.options))


# Metrics of a search, by name, for stacks of predictions


def _r2(scores: Array, predictions: Array, groups: NDArray | None) -> Any:
    variance = float(np.var(scores))
    if variance == 0.0:
        return np.full(predictions.shape[:-1], np.nan)
    return 1.0 - squared_error(scores, predictions) / variance


_TOP_METRICS: dict[str, Metric] = {
    "map": mean_average_precision,
    "mrr": mean_reciprocal_rank,
    "ndcg": ndcg,
}
"""Metrics of the whole ranking, or of its top k with the suffix ``@k``."""
_METRICS: dict[str, Metric] = {
    "disagreement": lambda *data: -disagreement_error(*data),
    "kendall": kendall_tau,
    "neg_mean_squared_error": lambda scores, values, groups: -squared_error(scores, values),
    "pairwise_accuracy": pairwise_accuracy,
    "r2": _r2,
    **_TOP_METRICS,
}


def metric_named(name: str) -> Metric | None:
    """Return the metric of this name, or None."""
    top = re.fullmatch(r"(\w+)@([1-9]\d*)", name)
    if top and top[1] in _TOP_METRICS:
        return partial(_TOP_METRICS[top[1]], k=int(top[2]))
    return _METRICS.get(name)


METRIC_NAME = Constraint(
    f"one of {', '.join(map(repr, [*_METRICS, *(f'{name}@10' for name in _TOP_METRICS)]))} "
    "(or another number of ranks)",
    lambda value: isinstance(value, str) and metric_named(value) is not None,
)


def stacked_metric(scoring: Any) -> Metric:
    """Return a function that scores predictions (..., m), given scores (m,) and groups.

    A scorer gets the groups if it requests them; a callable is called for each point of the grid.
    """
    if isinstance(scoring, str):
        metric = metric_named(scoring)
        assert metric is not None
        return metric
    score_one = scoring
    if hasattr(scoring, "get_metadata_routing"):
        asks = bool(scoring.get_metadata_routing().consumes("score", ["groups"]))
        identity = LinearRegression()  # a fitted model that predicts its only feature
        identity.coef_, identity.intercept_ = np.ones(1), 0.0

        def score_one(scores: Array, prediction: Array, groups: NDArray | None) -> float:
            passed = {"groups": groups} if asks and groups is not None else {}
            with config_context(enable_metadata_routing=True):
                return scoring(identity, prediction[:, None], scores, **passed)

    else:
        try:
            inspect.signature(scoring).bind(None, None, None)
        except TypeError:
            raise ValueError(
                "scoring must take three arguments: scores, predictions, and groups (None if there "
                f"are none); {scoring!r} does not"
            ) from None

    def score_each(scores: Array, predictions: Array, groups: NDArray | None) -> Array:
        values = [
            float(score_one(scores, prediction, groups))
            for prediction in predictions.reshape(-1, predictions.shape[-1])
        ]
        return np.reshape(values, predictions.shape[:-1])

    return score_each


# Scores of a grid, and the choice

SIMPLER = {"n_basis": 1, "ridge": 1, "alpha": -1, "C": 1, "gamma": 1, "nu": -1}
"""Axes in order of importance for simplicity: 1 if smaller values are simpler, -1 if larger."""
TIED = 1e-12
"""Relative difference up to which means are tied, so that rounding does not decide."""

_ABSENT = object()
"""Stands for the value of a parameter that a grid does not have."""


def score_table(points: Sequence[Mapping[str, Any]], scores: Array) -> Table:
    """Return a table with one row per point and one column per parameter and statistic.

    `scores`, (k, number of points), are those of k folds; higher is better. A fold whose scores are
    all NaN does not count. A parameter that a point does not have is NaN, or None for objects.
    """
    counted = scores[~np.isnan(scores).all(axis=1)]
    if len(counted) == 0:
        raise ValueError(
            "scoring is undefined in every fold: no test set has different scores (within a "
            "group, if there are groups); use fewer folds or another metric"
        )
    names = dict.fromkeys(name for point in points for name in point)
    mean, std = counted.mean(axis=0), counted.std(axis=0)
    lowered = -np.nan_to_num(mean, nan=-np.inf, neginf=-np.inf)
    return {
        **{
            f"param_{name}": _column([point.get(name, _ABSENT) for point in points])
            for name in names
        },
        "mean_test_score": mean,
        "std_test_score": std,
        "standard_error": std / np.sqrt(max(1, len(counted) - 1)),  # 0 if only one fold counts
        "rank_test_score": 1 + np.searchsorted(np.sort(lowered), lowered),
        **{f"split{place}_test_score": fold for place, fold in enumerate(scores)},
    }


def _column(values: list[Any]) -> NDArray[Any]:
    """Return values as an array of numbers or strings, or else of objects."""
    given = [value for value in values if value is not _ABSENT]
    for kinds in (str, int | float | np.number):
        if all(isinstance(value, kinds) and not isinstance(value, bool) for value in given):
            absent = None if kinds is str and len(given) < len(values) else np.nan
            return np.array([absent if value is _ABSENT else value for value in values])
    column = np.empty(len(values), dtype=object)
    column[:] = [None if value is _ABSENT else value for value in values]
    return column


def choose_row(table: Mapping[str, NDArray[Any]], selection: Selection) -> int:
    """Return the row of the best point, or of the simplest within one standard error of it.

    Ties go to the simpler point: fewer functions, then the smaller ridge, which shrinks their
    coefficients less, the larger weight of other penalties, and the smoother kernel.
    """
    mean = np.where(np.isnan(table["mean_test_score"]), -np.inf, table["mean_test_score"])

    def simplest(least: float) -> int:
        rows = np.flatnonzero(mean >= least - TIED * abs(least))
        keys = [
            SIMPLER[name] * column[rows]
            for name in reversed(SIMPLER)
            if (column := table.get(f"param_{name}")) is not None and column.dtype.kind in "iuf"
        ]
        return int(rows[np.lexsort([-mean[rows], *keys])[0]])

    best = simplest(mean.max())
    return best if selection == "best" else simplest(mean[best] - table["standard_error"][best])


# Groups are labels, one per sample. Sizes are never guessed, since an array may be either.


def sizes_from_groups(groups: ArrayLike) -> NDArray[np.intp]:
    """Convert labels to sizes of consecutive groups, as used by LightGBM.

    Parameters
    ----------
    groups : array-like of shape (n_samples,)
        Label or query id of each sample; the samples of a group must be consecutive.

    Returns
    -------
    ndarray of shape (n_groups,)

    Examples
    --------
    >>> from rankpursuit import sizes_from_groups
    >>> sizes_from_groups(["b", "b", "a", "a", "a", "c"])
    array([2, 3, 1])
    """
    labels = check_labels(groups)
    if not len(labels):
        return np.empty(0, dtype=np.intp)
    starts = np.concatenate([[0], np.flatnonzero(labels[1:] != labels[:-1]) + 1])
    _, first, codes = np.unique(labels[starts], return_index=True, return_inverse=True)
    again = np.flatnonzero(first[codes] != np.arange(len(starts)))
    if len(again):
        start = int(starts[again[0]])
        raise ValueError(
            f"the samples of a group must be consecutive; {labels.tolist()[start]!r} occurs again "
            f"at sample {start}: sort the samples by group, for instance by "
            "numpy.argsort(groups, kind='stable')"
        )
    return np.diff(starts, append=len(labels))
