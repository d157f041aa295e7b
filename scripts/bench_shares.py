"""What a whole task is made of: the metric, and the bare library calls under it."""

from __future__ import annotations

from typing import Any

import numpy as np
from bench_floor import floor_seconds
from bench_timing import alternate, problems_of, row, task_key

from rankpursuit.experiments.config import Experiment
from rankpursuit.experiments.evaluate import ratings_of
from rankpursuit.experiments.methods import predict_grid
from rankpursuit.experiments.problem import Problem
from rankpursuit.experiments.tasks import build_task
from rankpursuit.metrics import disagreement_error

N_TASKS = 6


def share_rows(title: str, experiment: Experiment, rounds: int) -> list[list[Any]]:
    """Return the share of the metric, and how far whole tasks are above their floor."""
    problems = problems_of(experiment, N_TASKS)
    grids = [
        (p, predict_grid(p, spec, slice(p.n_train, None)).values)
        for p in problems
        for spec in experiment.algorithms.values()
    ]

    def whole() -> None:
        for problem in problems:
            _evaluate(experiment, problem.task.user)

    def metric() -> None:
        for problem, values in grids:
            disagreement_error(problem.test_scores, values, ties=experiment.ties)

    def floor() -> None:
        floors.append(sum(floor_seconds(problem, experiment) for problem in problems))

    floors: list[float] = []
    wholes, metrics, _ = alternate(rounds, whole, metric, floor)
    above = wholes / floors
    return [
        row(f"metric of a {title} task", metrics, wholes, metrics / wholes, N_TASKS, "below 0.15"),
        row(f"{title} task over its floor", np.array(floors), wholes, above, N_TASKS, "at most 3"),
    ]


def _evaluate(experiment: Experiment, user: int) -> None:
    """Build a task, and fit, predict and judge every algorithm over its grid."""
    task = build_task(
        ratings_of(experiment.data), experiment.protocol, user=user, **task_key(experiment)
    )
    problem = Problem.of(task, experiment.kernel.widths, experiment.kernel.parameter)
    for spec in experiment.algorithms.values():
        grid = predict_grid(problem, spec, slice(problem.n_train, None))
        disagreement_error(problem.test_scores, grid.values, ties=experiment.ties)
