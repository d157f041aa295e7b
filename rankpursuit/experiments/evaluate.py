"""One unit of work: the errors of the algorithms on a chunk of users.

A pure function of its arguments and of the data set, which each process loads once: a unit gives
the same numbers on any machine, in any order, alone or among others.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

from rankpursuit.experiments.catalogue import (
    AXES,
    METHODS,
    METRICS,
    N_BASIS,
    WIDTH,
    AlgorithmSpec,
    Metric,
)
from rankpursuit.experiments.config import Experiment, Group, Role, Tuning, ratings_of
from rankpursuit.experiments.methods import GridPredictions, predict_grid
from rankpursuit.experiments.tasks import Problem, Task, build_task, in_stacks

Array = NDArray[np.float64]
_TIE = 1e-12


@dataclass(frozen=True, order=True)
class Cell:
    """One group of reference users in one repeat."""

    repeat: int
    group: Group


@dataclass(frozen=True)
class Unit:
    """A chunk, by its number, of the users of one cell and role."""

    cell: Cell
    role: Role
    chunk: int
    users: tuple[int, ...]


@dataclass(frozen=True)
class Choice:
    """The chosen point of a grid.

    Attributes
    ----------
    index : tuple of int
        Position along each axis of the grid: the width, then the method's own axes.
    values : dict of str to float
        Chosen value of each axis, by its key.
    holdout_error : float
    on_edge : tuple of str
        Axes, of more than one value, whose first or last value was chosen.
    """

    index: tuple[int, ...]
    values: dict[str, float]
    holdout_error: float
    on_edge: tuple[str, ...]


Choices = Mapping[str, Mapping[str, Choice]]
"""For each algorithm and each metric, the point of the grid chosen on the hold-out users."""


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


def grid_axes(spec: AlgorithmSpec, widths: tuple[float, ...]) -> dict[str, tuple[float, ...]]:
    """Return the axes of an algorithm's grid in order: the width, then the method's own."""
    own = {axis.key: getattr(spec, axis.key) for axis in METHODS[spec.method].axes}
    return {WIDTH.key: widths} | own


def criteria(method: str, tuning: Tuning, metric: str) -> tuple[str, ...]:
    """Return the errors by which a method's parameters are chosen, to report it on a metric."""
    return (metric,) if tuning == "reported" else METHODS[method].own


def joint_error(errors: Sequence[Array]) -> Array:
    """Return one error for several: the sum of them, each relative to its lowest."""
    if len(errors) == 1:
        return errors[0]
    return np.sum([error / error.min() for error in errors], axis=0)


def choose(
    errors: Array, axes: dict[str, tuple[float, ...]], *, wide_is_smooth: bool = True
) -> Choice:
    """Choose the point of the lowest error; see the module's rule for ties.

    Parameters
    ----------
    errors : ndarray, one axis for each of `axes`
        Mean hold-out errors.
    axes : dict of str to tuple of float
        Values along each axis, rising.
    wide_is_smooth : bool
        Whether a larger width is a smoother function, as with sigma and unlike gamma.

    Returns
    -------
    Choice
    """
    names = list(axes)
    tied = np.argwhere(errors <= errors.min() + _TIE)
    smaller = {key for key in names if AXES[key].simpler == "smaller"}
    smaller |= set() if wide_is_smooth else {WIDTH.key}
    deciding = sorted(names, key=lambda key: AXES[key].precedence)

    def simplicity(point: NDArray[np.intp]) -> tuple[int, ...]:
        position = dict(zip(names, point.tolist(), strict=True))
        return tuple(position[key] if key in smaller else -position[key] for key in deciding)

    index = tuple(min(tied, key=simplicity).tolist())
    at = dict(zip(names, index, strict=True))
    return Choice(
        index=index,
        values={axis: axes[axis][at[axis]] for axis in names},
        holdout_error=float(errors[index]),
        on_edge=tuple(
            axis for axis in names if len(axes[axis]) > 1 and at[axis] in (0, len(axes[axis]) - 1)
        ),
    )
