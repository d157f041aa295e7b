"""A small experiment with every algorithm, for tests of the runner."""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path
from typing import Any

from rankpursuit.experiments.config import load_experiment, parse_experiment
from rankpursuit.experiments.evaluate import ratings_of
from rankpursuit.experiments.plan import make_plan
from rankpursuit.experiments.runner import Run
from rankpursuit.experiments.session import run_session

CONFIGS = Path(__file__).parents[1] / "configs"
OF_THE_PAPER = (
    "jester_supervised",
    "jester_semi_supervised",
    "movielens_supervised",
    "movielens_semi_supervised",
    "jester_crrp",
)
USERS = 24
"""Test users and hold-out users of each group, of the parts that are run of the paper."""

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


class Silent:
    """A progress that tells nothing, and remembers what it was told at the start."""

    def start(self, n_users: int, n_done: int) -> None:
        self.n_users, self.n_done = n_users, n_done

    def add(self, result: Any, *, earlier: bool) -> None:
        pass


def run_of(config: dict[str, Any], *, only=(), repeats=None, groups=None) -> Run:
    """Return a run of a config, or of a part of it."""
    experiment = parse_experiment(config)
    plan = make_plan(
        ratings_of(experiment.data),
        experiment.protocol,
        seed=experiment.seed,
        repeats=repeats or experiment.repeats,
        groups=groups or experiment.protocol.groups,
    )
    return Run(experiment, plan, tuple(only) or tuple(experiment.algorithms))


def run_small_experiment(folder: Path) -> Path:
    """Run the whole small experiment into a folder."""
    return _run(run_of(small_config()), folder)


def run_part_of_the_paper(name: str, folder: Path) -> Path:
    """Run an experiment of the paper, on the real data, with a few of its users, into a folder."""
    few = [f"protocol.{key}={USERS}" for key in ("test_users", "holdout_users")]
    experiment = load_experiment(CONFIGS / f"{name}.yaml", [*few, "repeats=1"])
    return _run(run_of(experiment.resolved()), folder)


def _run(run: Run, folder: Path) -> Path:
    failures = run_session(run, run, folder, data_checksum="data", progress=Silent())
    assert failures == []
    return folder
