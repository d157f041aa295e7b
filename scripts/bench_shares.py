"""What a whole task is made of: the metric, and the bare library calls under it."""

from __future__ import annotations

from typing import Any

import numpy as np
from bench_floor import floor_seconds
from bench_timing import alternate, row

from rankpursuit.experiments.config import Experiment
from rankpursuit.experiments.evaluate import Cell, Unit, evaluate_unit, tasks_of
from rankpursuit.experiments.methods import predict_grid
from rankpursuit.experiments.problem import Problem, in_stacks
from rankpursuit.experiments.run.run import Run
from rankpursuit.metrics import disagreement_error

N_UNITS = 5
ABOVE_FLOOR = {False: "at most 2", True: "at most 3"}
"""How far a task may be above its floor, by whether it has unscored points."""


def share_rows(experiment: Experiment, rounds: int) -> list[list[Any]]:
    """Return the share of the metric, and how far whole tasks are above their floor.

    The tasks are those of whole units, evaluated as in a run.
    """
    whole, metric, floor = _seconds_of_a_task(experiment, rounds)
    kind, goal = experiment.name.replace("_", " "), ABOVE_FLOOR["semi" in experiment.name]
    return [
        row(f"{kind}: metric", metric, whole, metric / whole, 1, "below 0.15"),
        row(f"{kind}: whole task over its floor", floor, whole, whole / floor, 1, goal),
    ]


def _seconds_of_a_task(experiment: Experiment, rounds: int) -> np.ndarray:
    """Seconds, in each round, of a whole task, of its metric and of its floor."""
    units, labels = _units(experiment), tuple(experiment.algorithms)
    problems = [problem for unit in units for problem in _problems(experiment, unit)]
    grids = [
        (p.scores[p.task_index, p.n_train :], predict_grid(p, spec, slice(p.n_train, None)).values)
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
    return np.array([wholes, metrics, floors]) / sum(len(unit.users) for unit in units)


def _units(experiment: Experiment) -> list[Unit]:
    """Hold-out units of the middle group, from its users with few ratings to those with many."""
    cell = Cell(0, experiment.protocol.groups[1])
    units = Run.of(experiment, 1).plan.units[cell, "holdout"]
    places = (np.arange(N_UNITS) + 0.5) * len(units) / N_UNITS
    return [units[int(place)] for place in places]


def _problems(experiment: Experiment, unit: Unit) -> list[Problem]:
    kernel = experiment.kernel
    return [
        Problem.of(tasks, kernel.widths, kernel.parameter)
        for tasks in in_stacks(tasks_of(experiment, unit), len(kernel.widths))
    ]
