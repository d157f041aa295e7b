"""The tasks that are timed, and how."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from bench_file import is_met

from rankpursuit.errors import DataNotFoundError
from rankpursuit.experiments.config import Experiment, load_experiment, ratings_of
from rankpursuit.experiments.problem import Problem
from rankpursuit.experiments.protocol import build_task, draw_users

CONFIGS = Path(__file__).parents[1] / "configs"
_SYNTHETIC = "data={name: synthetic, n_users: 3000, n_items: 100}"

HEADERS = ["ours, ms a task", "instead, ms", "ratio", "spread", "goal", "met"]


def load(name: str, *overrides: str) -> Experiment:
    """Return an experiment of the paper, on synthetic ratings if its data is not here."""
    experiment = load_experiment(CONFIGS / f"{name}.yaml", overrides)
    try:
        ratings_of(experiment.data)
    except DataNotFoundError:
        return load_experiment(CONFIGS / f"{name}.yaml", [*overrides, _SYNTHETIC])
    return experiment


def problems_of(experiment: Experiment, n_tasks: int) -> list[Problem]:
    """Return problems of one hold-out task each, of the middle group, with all widths."""
    ratings, key = ratings_of(experiment.data), task_key(experiment)
    users = draw_users(ratings, experiment.protocol, **key)[:n_tasks]
    return [
        Problem.of(
            [build_task(ratings, experiment.protocol, user=int(user), **key)],
            experiment.kernel.widths,
            experiment.kernel.parameter,
        )
        for user in users
    ]


def task_key(experiment: Experiment) -> dict[str, Any]:
    """Return what the tasks of a benchmark have in common."""
    group = experiment.protocol.groups[1]
    return {"seed": experiment.seed, "group": group, "repeat": 0, "role": "holdout"}


def alternate(rounds: int, *functions: Callable[[], Any]) -> list[np.ndarray]:
    """Time functions in turn, round after round; return the seconds of each round."""
    seconds: list[list[float]] = [[] for _ in functions]
    for _ in range(rounds):
        for function, taken in zip(functions, seconds, strict=True):
            begun = time.perf_counter()
            function()
            taken.append(time.perf_counter() - begun)
    return [np.array(taken) for taken in seconds]


def row(
    title: str, ours: np.ndarray, others: np.ndarray, ratios: np.ndarray, n_tasks: int, goal: str
) -> list[Any]:
    """Return a row of a table: seconds of each round as times of a task, and their ratio."""
    scale = 1e3 / n_tasks
    return [
        title,
        np.median(ours) * scale,
        np.median(others) * scale,
        np.median(ratios),
        f"{ratios.min():.3g} to {ratios.max():.3g}",
        goal,
        is_met(goal, float(np.median(ratios))) if goal else "",
    ]
