"""What a whole task is made of: the metric, and the bare library calls under it."""

from __future__ import annotations

from typing import Any

import numpy as np
from bench_floor import floor_seconds
from bench_timing import alternate, plan_of, row

from rankpursuit.experiments.config import Experiment
from rankpursuit.experiments.evaluate import evaluate_unit, tasks_of
from rankpursuit.experiments.methods import predict_grid
from rankpursuit.experiments.plan import Cell, Unit
from rankpursuit.experiments.problem import Problem, in_stacks
from rankpursuit.metrics import disagreement_error

N_UNITS = 5


def share_rows(title: str, experiment: Experiment, rounds: int) -> list[list[Any]]:
    """Return the share of the metric, and how far whole tasks are above their floor.

    The tasks are those of whole units, evaluated as in a run.
    """
    units, labels = _units(experiment), tuple(experiment.algorithms)
    problems = [problem for unit in units for problem in _problems(experiment, unit)]
    n_tasks = sum(len(unit.users) for unit in units)
    grids = [
        (p.scores[p.of_task, p.n_train :], predict_grid(p, spec, slice(p.n_train, None)).values)
        for p in problems
        for spec in experiment.algorithms.values()
    ]

    def whole() -> None:
        for unit in units:
            evaluate_unit(experiment, unit, labels, {})

    def metric() -> None:
        for scores, values in grids:
            disagreement_error(scores, values, ties=experiment.ties)

    def floor() -> None:
        floors.append(sum(floor_seconds(problem, experiment) for problem in problems))

    floors: list[float] = []
    wholes, metrics, _ = alternate(rounds, whole, metric, floor)
    above = wholes / floors
    return [
        row(f"metric of a {title} task", metrics, wholes, metrics / wholes, n_tasks, "below 0.15"),
        row(f"{title} task over its floor", np.array(floors), wholes, above, n_tasks, "at most 3"),
    ]


def _units(experiment: Experiment) -> list[Unit]:
    """Hold-out units of the middle group, from its users with few ratings to those with many."""
    cell = Cell(0, experiment.protocol.groups[1])
    units = plan_of(experiment, 1).plan.units[cell, "holdout"]
    places = (np.arange(N_UNITS) + 0.5) * len(units) / N_UNITS
    return [units[int(place)] for place in places]


def _problems(experiment: Experiment, unit: Unit) -> list[Problem]:
    kernel = experiment.kernel
    return [
        Problem.of(tasks, kernel.widths, kernel.parameter)
        for tasks in in_stacks(tasks_of(experiment, unit), len(kernel.widths))
    ]
