"""Scorers for model selection in scikit-learn."""

from __future__ import annotations

from typing import Any, get_args

import numpy as np
from numpy.typing import ArrayLike
from sklearn import config_context
from sklearn.metrics import make_scorer
from sklearn.utils.validation import column_or_1d

from rankpursuit.estimators._comparisons import group_labels
from rankpursuit.estimators._lost_groups import warn_of_scores_across_groups
from rankpursuit.estimators._scorer_docs import documented
from rankpursuit.metrics import Ties, disagreement_error


def _accuracy(
    y_true: ArrayLike, y_pred: ArrayLike, groups: ArrayLike | None = None, *, ties: Ties
) -> float:
    """One minus the disagreement error of the points that have a score."""
    if groups is None:
        warn_of_scores_across_groups()
    scores = column_or_1d(y_true, dtype=np.float64)
    labels, scored = group_labels(groups, len(scores)), ~np.isnan(scores)
    prediction = np.asarray(y_pred)[scored]
    return 1.0 - float(disagreement_error(scores[scored], prediction, labels[scored], ties=ties))


@documented
def group_scorer(*, ties: Ties = "half") -> Any:
    """Make a scorer that compares points only inside their groups, for ``GridSearchCV``.

    The score is one minus the normalised disagreement error, of the points that have a score: NaN
    marks one that has none. With scikit-learn's metadata routing switched on, and
    ``estimator.set_fit_request(groups=True)``, the `groups` given to ``GridSearchCV.fit`` reach
    the splitter, the estimator and this scorer alike. Without the routing they reach the splitter
    alone: all points of a test set are then compared, and a warning tells.

    Parameters
    ----------
    ties : {"half", "all", "untied"}, default "half"
        How tied pairs count, see :func:`rankpursuit.metrics.disagreement_error`. With "all" and
        scores with many ties, a model that predicts a constant may win.

    Returns
    -------
    {scorer}

    Examples
    --------
    >>> import numpy as np, sklearn
    >>> from sklearn.model_selection import GridSearchCV, GroupKFold
    >>> from rankpursuit import RankRLS, group_scorer
    >>> rng = np.random.default_rng(0)
    >>> X, groups = rng.normal(size=(60, 2)), np.repeat(np.arange(6), 10)
    >>> y = X[:, 0] + 10 * groups
    >>> with sklearn.config_context(enable_metadata_routing=True):
    ...     search = GridSearchCV(
    ...         RankRLS().set_fit_request(groups=True),
    ...         {"alpha": [0.1, 10.0]},
    ...         scoring=group_scorer(),
    ...         cv=GroupKFold(3),
    ...     ).fit(X, y, groups=groups)
    >>> search.best_params_
    {'alpha': 0.1}
    """
    if ties not in get_args(Ties):
        raise ValueError(
            f"ties must be one of {', '.join(map(repr, get_args(Ties)))}; got {ties!r}"
        )
    with config_context(enable_metadata_routing=True):
        return make_scorer(_accuracy, ties=ties).set_score_request(groups=True)
