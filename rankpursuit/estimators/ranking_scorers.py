"""Scorers that ranking software has, for model selection: NDCG, MAP, MRR, Kendall's tau.

All of them request `groups`. To have scikit-learn pass these on, switch its metadata routing on,
and give them once to the outermost call:

>>> import numpy as np, sklearn
>>> from sklearn.model_selection import GridSearchCV, GroupKFold
>>> from sklearn.pipeline import make_pipeline
>>> from sklearn.preprocessing import StandardScaler
>>> from rankpursuit import RankRLS, ndcg_scorer
>>> rng = np.random.default_rng(0)
>>> X, queries = rng.normal(size=(60, 2)), np.repeat(np.arange(6), 10)
>>> y = X[:, 0] + 10 * queries
>>> with sklearn.config_context(enable_metadata_routing=True):
...     search = GridSearchCV(
...         make_pipeline(StandardScaler(), RankRLS()),
...         {"rankrls__alpha": [0.1, 1000.0]},
...         scoring=ndcg_scorer(k=5),
...         cv=GroupKFold(3),
...     ).fit(X, y, groups=queries)
>>> search.best_params_, search.best_estimator_[-1].n_groups_
({'rankrls__alpha': 0.1}, 6)

Without the routing, scikit-learn uses the groups to split and does not pass them on to the ranker
or to the scorer. These scorers then refuse to score, and the search says so.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from numpy.typing import ArrayLike, NDArray
from sklearn import config_context
from sklearn.metrics import make_scorer

from rankpursuit.estimators._kernels import Array
from rankpursuit.estimators._scored import scored_part
from rankpursuit.estimators._scorer_docs import documented
from rankpursuit.metrics import (
    Discount,
    Gain,
    Variant,
    kendall_tau,
    mean_average_precision,
    mean_reciprocal_rank,
    ndcg_error,
)


@documented
def ndcg_scorer(
    k: int | None = 10,
    *,
    gain: Gain = "linear",
    discount: Discount = "standard",
    empty: float | None = 1.0,
    grouped: bool = True,
) -> Any:
    """Make a scorer of NDCG@k, for ``GridSearchCV`` and ``cross_validate``.

    {left_out}

    Parameters
    ----------
    k : int or None, default 10
        Places that count; None for all.
    gain : {"linear", "exponential"}, default "linear"
        What a point is worth: its score above the lowest of its group, or ``2^score - 1`` as in
        LETOR and LightGBM.
    discount : {"standard", "letor"}, default "standard"
        See :func:`rankpursuit.metrics.ndcg_error`.
    empty : float or None, default 1
        What a group counts whose points are all worth nothing; None leaves it out. LightGBM
        counts it as 1, figures published for LETOR as 0.
    {grouped}

    Returns
    -------
    {scorer}

    See Also
    --------
    map_scorer, mrr_scorer, kendall_scorer, group_scorer : Other scorers.

    Examples
    --------
    >>> import numpy as np, sklearn
    >>> from sklearn.model_selection import cross_validate, GroupKFold
    >>> from rankpursuit import RankRLS, map_scorer, ndcg_scorer
    >>> rng = np.random.default_rng(0)
    >>> X, queries = rng.normal(size=(60, 2)), np.repeat(np.arange(6), 10)
    >>> grades = np.clip(np.round(X[:, 0] + rng.normal(size=60)), 0, 2)
    >>> with sklearn.config_context(enable_metadata_routing=True):
    ...     results = cross_validate(
    ...         RankRLS(),
    ...         X,
    ...         grades,
    ...         scoring={"ndcg": ndcg_scorer(gain="exponential"), "map": map_scorer()},
    ...         cv=GroupKFold(3),
    ...         params={"groups": queries},
    ...     )
    >>> results["test_ndcg"].round(2), results["test_map"].round(2)
    (array([0.83, 0.71, 0.73]), array([0.75, 0.72, 0.78]))
    """
    error_of_empty = None if empty is None else 1.0 - empty
    metric = partial(_ndcg, k=k, gain=gain, discount=discount, empty=error_of_empty)
    return _scorer(metric, grouped)


@documented
def map_scorer(
    k: int | None = None,
    *,
    threshold: float = 0.0,
    empty: float | None = None,
    grouped: bool = True,
) -> Any:
    """Make a scorer of mean average precision, for ``GridSearchCV`` and ``cross_validate``.

    {left_out}

    Parameters
    ----------
    k : int or None, default None
        Places that count; None for all.
    {threshold}
    empty : float or None, default None
        What a group without a relevant point counts; None leaves it out. Figures published for
        LETOR count it as 0, LightGBM as 1.
    {grouped}

    Returns
    -------
    {scorer}

    See Also
    --------
    rankpursuit.metrics.mean_average_precision : What is computed.
    ndcg_scorer : Has an example.

    Examples
    --------
    >>> import sklearn
    >>> from rankpursuit import RankRLS, map_scorer
    >>> X, y, queries = [[0.0], [1.0], [2.0], [3.0]], [0, 1, 1, 0], [5, 5, 6, 6]
    >>> model = RankRLS(kernel="linear").fit(X, [0, 1, 2, 3], queries)
    >>> with sklearn.config_context(enable_metadata_routing=True):
    ...     map_scorer()(model, X, y, groups=queries)
    0.75
    """
    metric = partial(mean_average_precision, k=k, threshold=threshold, empty=empty)
    return _scorer(metric, grouped)


@documented
def mrr_scorer(
    k: int | None = None,
    *,
    threshold: float = 0.0,
    empty: float | None = None,
    grouped: bool = True,
) -> Any:
    """Make a scorer of the mean reciprocal rank, for ``GridSearchCV`` and ``cross_validate``.

    {left_out}

    Parameters
    ----------
    k : int or None, default None
        A group whose first relevant point is below place k counts 0; None for all places.
    {threshold}
    empty : float or None, default None
        What a group without a relevant point counts; None leaves it out.
    {grouped}

    Returns
    -------
    {scorer}

    See Also
    --------
    rankpursuit.metrics.mean_reciprocal_rank : What is computed.
    ndcg_scorer : Has an example.

    Examples
    --------
    >>> import sklearn
    >>> from rankpursuit import RankRLS, mrr_scorer
    >>> X, y, queries = [[0.0], [1.0], [2.0], [3.0]], [0, 1, 1, 0], [5, 5, 6, 6]
    >>> model = RankRLS(kernel="linear").fit(X, [0, 1, 2, 3], queries)
    >>> with sklearn.config_context(enable_metadata_routing=True):
    ...     mrr_scorer()(model, X, y, groups=queries)
    0.75
    """
    metric = partial(mean_reciprocal_rank, k=k, threshold=threshold, empty=empty)
    return _scorer(metric, grouped)


@documented
def kendall_scorer(
    *, variant: Variant = "b", empty: float | None = None, grouped: bool = True
) -> Any:
    """Make a scorer of Kendall's tau, for ``GridSearchCV`` and ``cross_validate``.

    {left_out}

    Parameters
    ----------
    variant : {"a", "b"}, default "b"
        How ties count, see :func:`rankpursuit.metrics.kendall_tau`.
    empty : float or None, default None
        What a group counts in which no two scores differ; None leaves it out.
    {grouped}

    Returns
    -------
    {scorer}

    See Also
    --------
    rankpursuit.metrics.kendall_tau : What is computed.
    ndcg_scorer : Has an example.

    Examples
    --------
    >>> import sklearn
    >>> from rankpursuit import RankRLS, kendall_scorer
    >>> X, y, queries = [[0.0], [1.0], [2.0], [3.0]], [0, 1, 1, 0], [5, 5, 6, 6]
    >>> model = RankRLS(kernel="linear").fit(X, [0, 1, 2, 3], queries)
    >>> with sklearn.config_context(enable_metadata_routing=True):
    ...     kendall_scorer()(model, X, y, groups=queries)
    0.0
    """
    return _scorer(partial(kendall_tau, variant=variant, empty=empty), grouped)


def _ndcg(scores: Array, prediction: Array, groups: NDArray | None = None, **options: Any) -> Any:
    return 1.0 - ndcg_error(scores, prediction, groups, **options)


def _scorer(metric: Callable[..., Any], grouped: bool) -> Any:
    """Make a scorer that requests `groups` if they are to count."""
    metric([1.0, 0.0], [1.0, 0.0])  # refuses options that are wrong now, not in every fold
    with config_context(enable_metadata_routing=True):
        scorer = make_scorer(_score, metric=metric, grouped=grouped)
        return scorer.set_score_request(groups=grouped)


def _score(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    groups: ArrayLike | None = None,
    *,
    metric: Callable[..., Any],
    grouped: bool,
) -> float:
    if grouped:
        require_groups(groups)
    return float(metric(*scored_part(y_true, y_pred, groups)))


def require_groups(groups: ArrayLike | None) -> None:
    """Raise a ValueError that tells how to pass groups on if a scorer got none."""
    if groups is None:
        raise ValueError(
            "groups did not reach the scorer: call "
            "sklearn.set_config(enable_metadata_routing=True), and pass groups= to the search, or "
            "params={'groups': ...} to cross_validate; grouped=False makes a scorer for test sets "
            "that are one ranking each"
        )
