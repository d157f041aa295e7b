"""Cross-validation along paths beside a search that fits every point of the same grid."""

from __future__ import annotations

from typing import Any

import numpy as np
import sklearn
from bench_file import is_met
from bench_timing import alternate, row
from sklearn.model_selection import GridSearchCV, GroupKFold

from rankpursuit import RankingPursuit, RankingPursuitCV

GAMMAS, RIDGES, MOST = (0.05, 0.2), (1.0, 10.0), 20
SAME_SCORES = 1e-8


def cross_validation_rows(rounds: int) -> tuple[list[Any], list[Any]]:
    """Compare RankingPursuitCV with GridSearchCV on 300 points in 30 groups.

    Returns
    -------
    ratio, check : list
        A row of the times, and one of the mean scores over the whole grid, which differ by more
        than rounding if the choice does.
    """
    rng = np.random.default_rng(0)
    X, groups = rng.normal(size=(300, 10)), np.repeat(np.arange(30), 10)
    y = X[:, 0] + np.sin(2 * X[:, 1]) + 0.5 * rng.normal(size=300)
    along = RankingPursuitCV(MOST, gammas=GAMMAS, ridges=RIDGES, scale=False, n_candidates=None)
    shared = {name: getattr(along, name) for name in ("fitting", "group_weight", "n_candidates")}
    grid = {"gamma": GAMMAS, "ridge": RIDGES, "n_basis": range(1, MOST + 1)}
    search = GridSearchCV(RankingPursuit(**shared), grid, cv=GroupKFold(5))

    def ours() -> None:
        along.fit(X, y, groups)

    def theirs() -> None:
        with sklearn.config_context(enable_metadata_routing=True):
            search.fit(X, y, groups=groups)

    own, others = alternate(min(rounds, 3), ours, theirs)
    n_models = len(along.cv_results_["mean_test_score"])
    title = f"RankingPursuitCV / GridSearchCV, {n_models} models in 5 folds"
    apart = float(np.abs(_means(along) - _means(search)).max())
    if along.best_params_ != search.best_params_:
        apart = float("inf")
    checked = f"{title}: largest difference of the mean scores, if both choose the same"
    goal = f"at most {SAME_SCORES:g}"
    return (
        row(title, own, others, others / own, 1, "at least 20"),
        [checked, f"{apart:.1e}", goal, is_met(goal, apart)],
    )


def _means(search: Any) -> np.ndarray:
    """Mean scores of a grid in the order of its parameters."""
    found = search.cv_results_
    keys = [np.asarray(found[f"param_{name}"], float) for name in ("n_basis", "ridge", "gamma")]
    return np.asarray(found["mean_test_score"])[np.lexsort(keys)]
