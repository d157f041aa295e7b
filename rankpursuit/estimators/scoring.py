"""Scorers for model selection in scikit-learn."""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike
from sklearn import config_context
from sklearn.metrics import make_scorer

from rankpursuit.metrics import disagreement_error


def _accuracy(y_true: ArrayLike, y_pred: ArrayLike, groups: ArrayLike | None = None) -> float:
    return 1.0 - float(disagreement_error(y_true, y_pred, groups))


def group_scorer() -> Any:
    """Make a scorer that compares points only inside their groups, for ``GridSearchCV``.

    The score is one minus the normalised disagreement error. With scikit-learn's metadata
    routing switched on, and ``estimator.set_fit_request(groups=True)``, the `groups` given to
    ``GridSearchCV.fit`` reach the splitter, the estimator and this scorer alike.

    Returns
    -------
    callable
        A scikit-learn scorer that requests `groups`.

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
    with config_context(enable_metadata_routing=True):
        return make_scorer(_accuracy).set_score_request(groups=True)
