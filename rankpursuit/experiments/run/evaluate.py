"""One unit of work: the errors of the algorithms on a chunk of users.

A pure function of its arguments and of the data set, which each process loads once: a unit gives
the same numbers on any machine, in any order, alone or among others.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

from rankpursuit.experiments.catalogue import (
    METHODS,
    METRICS,
    N_BASIS,
    WIDTH,
    AlgorithmSpec,
    Metric,
)
from rankpursuit.experiments.config import Experiment, ratings_of
from rankpursuit.experiments.methods import GridPredictions, predict_grid
from rankpursuit.experiments.run.plan import Unit
from rankpursuit.experiments.run.selection import Choice, criteria
from rankpursuit.experiments.tasks import Problem, Task, build_task, in_stacks

Array = NDArray[np.float64]
Choices = Mapping[str, Mapping[str, Choice]]
"""For each algorithm and each metric, the point of the grid chosen on the hold-out users."""
Job = tuple[tuple[Unit, ...], tuple[str, ...], dict[str, dict[str, Choice]]]
"""What `evaluate_units` needs besides the experiment: units, the algorithms, their choices."""


@dataclass(frozen=True)
class UserResult:
    """A test user's error with one algorithm, tuned for one metric.

    `n_basis` is the number of basis functions in use, `n_points` the number of training points
    that the algorithm could have used, `n_test` the number of test points.
    """

    user: int
    metric: str
    error: float
    n_basis: int
    n_points: int
    n_test: int


@dataclass
class AlgorithmResult:
    """What a unit gave for one algorithm.

    Attributes
    ----------
    sums : dict of str to ndarray
        For each metric the sum over the users of the errors: on hold-out users at every point of
        the grid, on test users along the chosen point's ``n_basis``.
    users : list of UserResult
        For test users only.
    seconds : float
    """

    sums: dict[str, Array] = field(default_factory=dict)
    users: list[UserResult] = field(default_factory=list)
    seconds: float = 0.0


@dataclass(frozen=True)
class UnitResult:
    """What a unit gave: a result or a reason for each algorithm.

    Attributes
    ----------
    unit : Unit
    results : dict of str to AlgorithmResult
    failures : dict of str to str
        For each algorithm that raised, which user it was, or which were together, and what it
        said.
    """

    unit: Unit
    results: dict[str, AlgorithmResult]
    failures: dict[str, str]


def evaluate_units(
    experiment: Experiment, units: tuple[Unit, ...], labels: tuple[str, ...], choices: Choices
) -> list[UnitResult]:
    """Evaluate algorithms on units of one cell and role, each as if it were alone."""
    return [evaluate_unit(experiment, unit, labels, choices) for unit in units]


def evaluate_unit(
    experiment: Experiment, unit: Unit, labels: tuple[str, ...], choices: Choices
) -> UnitResult:
    """Evaluate algorithms on the users of a unit.

    Parameters
    ----------
    experiment : Experiment
    unit : Unit
    labels : tuple of str
        The algorithms to evaluate.
    choices : mapping
        For a unit of test users, the choices for every label.
    """
    results = {label: AlgorithmResult() for label in labels}
    failures: dict[str, str] = {}
    widths = _widths(experiment, choices)
    with _threadpools().limit(limits=1):
        for tasks in in_stacks(tasks_of(experiment, unit), len(widths)):
            problem = Problem.of(tasks, widths, experiment.kernel.parameter)
            for label, result in results.items():
                if label in failures:
                    continue
                begun = time.perf_counter()
                try:
                    if unit.role == "holdout":
                        _add_holdout_users(experiment, label, problem, result)
                    else:
                        _add_test_users(experiment, label, problem, widths, choices[label], result)
                except Exception as error:  # a fault of one algorithm must not end the others
                    users = "user " if len(tasks) == 1 else "one of the users "
                    users += ", ".join(str(task.user) for task in tasks)
                    failures[label] = f"{users}: {type(error).__name__}: {error}"
                result.seconds += time.perf_counter() - begun
    done = {label: result for label, result in results.items() if label not in failures}
    return UnitResult(unit, done, failures)


def holdout_metrics(experiment: Experiment, label: str) -> set[str]:
    """Return the errors that hold-out users are needed for: reported, or to choose by."""
    method = experiment.algorithms[label].method
    chosen_by = {
        name
        for metric in experiment.metrics
        for name in criteria(method, experiment.tuning, metric)
    }
    return chosen_by.union(experiment.metrics)


def tasks_of(experiment: Experiment, unit: Unit) -> list[Task]:
    """Build the tasks of a unit's users."""
    return [
        build_task(
            ratings_of(experiment.data),
            experiment.protocol,
            seed=experiment.seed,
            group=unit.cell.group,
            repeat=unit.cell.repeat,
            role=unit.role,
            user=user,
        )
        for user in unit.users
    ]


def _widths(experiment: Experiment, choices: Choices) -> tuple[float, ...]:
    """All widths on hold-out users; on test users those that were chosen for some algorithm."""
    chosen = {
        choice.values[WIDTH.key] for of_label in choices.values() for choice in of_label.values()
    }
    return tuple(sorted(chosen)) or experiment.kernel.widths


def _add_holdout_users(
    experiment: Experiment, label: str, problem: Problem, result: AlgorithmResult
) -> None:
    """Add the errors of a problem's users at every point of the grid."""
    spec = experiment.algorithms[label]
    predictions = _predictions(experiment, spec, problem)
    for metric in sorted(holdout_metrics(experiment, label)):
        errors = _errors(experiment, spec, problem, predictions, METRICS[metric])
        for of_width in problem.of_width:
            result.sums[metric] = result.sums.get(metric, 0.0) + errors[of_width]


def _add_test_users(
    experiment: Experiment,
    label: str,
    problem: Problem,
    widths: tuple[float, ...],
    choices: Mapping[str, Choice],
    result: AlgorithmResult,
) -> None:
    """Add the users' errors at the chosen point, and the errors along its number of functions."""
    spec = experiment.algorithms[label]
    for metric, choice in choices.items():
        alone = problem.at_width(widths.index(choice.values[WIDTH.key]))
        axes = [axis for axis in choice.values if axis != WIDTH.key]
        fixed = {axis: (choice.values[axis],) for axis in axes if axis != N_BASIS.key}
        chosen = spec.model_copy(update=fixed)
        predictions = _predictions(experiment, chosen, alone)
        # What is left of the grid has one point, or a line of them along n_basis.
        n_tasks = len(alone.tasks)
        lines = _errors(experiment, chosen, alone, predictions, METRICS[metric]).reshape(
            n_tasks, -1
        )
        sizes = predictions.over_grid(predictions.n_basis)
        at = choice.index[1 + axes.index(N_BASIS.key)] if N_BASIS.key in axes else 0
        for task, line, n_basis in zip(
            alone.tasks, lines, sizes.reshape(n_tasks, -1)[:, at], strict=True
        ):
            result.sums[metric] = result.sums.get(metric, 0.0) + line
            result.users.append(
                UserResult(
                    user=task.user,
                    metric=metric,
                    error=float(line[at]),
                    n_basis=int(n_basis),
                    n_points=predictions.n_points,
                    n_test=len(task.test),
                )
            )


def _predictions(experiment: Experiment, spec: AlgorithmSpec, problem: Problem) -> GridPredictions:
    """Predict the test points, and the training points too if their mean is needed."""
    rows = slice(0 if _is_shifted(experiment, spec) else problem.n_train, None)
    predictions = predict_grid(problem, spec, rows)
    if getattr(spec, "views", None) != "features":  # views of features have distances of their own
        _make_equal(predictions.values[..., -problem.n_test :], problem)
    return predictions


def _make_equal(values: Array, problem: Problem) -> None:
    """Give test points that are alike the prediction of the first of them."""
    unlike = problem.alike == np.arange(problem.n_test)
    for task in np.flatnonzero(~unlike.all(axis=1)):
        own = slice(*np.searchsorted(problem.of_task, [task, task + 1]))
        again = np.flatnonzero(~unlike[task])
        values[own, ..., again] = values[own, ..., problem.alike[task, again]]


def _is_shifted(experiment: Experiment, spec: AlgorithmSpec) -> bool:
    """Whether errors that depend on the level are of predictions shifted to the training mean."""
    return experiment.offset == "training_mean" and METHODS[spec.method].rank_only


def _errors(
    experiment: Experiment,
    spec: AlgorithmSpec,
    problem: Problem,
    predictions: GridPredictions,
    metric: Metric,
) -> Array:
    """Errors on the test points at every point of the grid, shape (w, *axes)."""
    values, n_scored = predictions.values, problem.n_scored
    test = values[..., -problem.n_test :]
    scores = problem.scores[problem.of_task]
    if metric.of_level and _is_shifted(experiment, spec):
        beside = (len(values), *[1] * (values.ndim - 2), -1)  # a row of numbers beside each kernel
        offset = scores[:, :n_scored].reshape(beside) - values[..., :n_scored]
        test = test + offset.mean(axis=-1, keepdims=True)
    options = {name: getattr(experiment, name) for name in metric.options}
    errors = metric.function(scores[:, problem.n_train :], test, **options)
    return predictions.over_grid(errors)


@lru_cache(maxsize=1)
def _threadpools() -> ThreadpoolController:
    """Find the libraries with threads of their own, once in each process."""
    return ThreadpoolController()
