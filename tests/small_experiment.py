"""A small experiment with every algorithm, for tests of the runner."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

SHARES = [0.25, 0.5, 1.0]
LAMBDAS = [0.125, 1, 8]
CONFIG: dict[str, Any] = {
    "name": "small",
    "data": {"name": "synthetic", "n_users": 120, "n_items": 60, "seed": 3},
    "protocol": {
        "groups": [[15, 30], [31, 60]],
        "test_user_bounds": [20, 60],
        "reference_users": 10,
        "test_users": 12,
        "holdout_users": 12,
        "scored_share": 0.5,
    },
    "kernel": {"widths": [0.01, 4, 16, 64]},
    "metrics": ["disagreement", "squared_error"],
    "repeats": 2,
    "seed": 7,
    "algorithms": {
        "rls": {"lambda": LAMBDAS},
        "kernel_matching_pursuit": {"n_basis": SHARES},
        "rank_svm": {"C": [0.01, 0.1], "loss": "squared_hinge"},
        "rank_rls": {"lambda": LAMBDAS},
        "sparse_rank_rls": {"n_basis": [0.4, 0.8], "lambda": LAMBDAS},
        "ranking_pursuit": {"n_basis": SHARES},
        "ranking_pursuit_backfit": {
            "method": "ranking_pursuit",
            "n_basis": [1, 2, 3],
            "fitting": "backfit",
        },
        "semi_supervised_ranking_pursuit": {"n_basis": SHARES, "nu": [0.5, 2]},
        "combined_ranking_regression_pursuit": {"n_basis": SHARES, "beta": [0.2, 0.5]},
    },
}


def small_config(**changes: Any) -> dict[str, Any]:
    """Return a copy of the config with some keys changed."""
    return deepcopy(CONFIG) | changes
