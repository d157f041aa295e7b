"""One unit of work: errors of the algorithms on a chunk of users, and the choice of parameters.

A unit is a pure function of its arguments and of the data set, which each process loads once: it
gives the same numbers on any machine, in any order, alone or among others.

The point of a grid with the lowest mean hold-out error is chosen: over the hold-out users or, with
``tuning_on: user``, over folds of a test user's own scored items. Of points that tie, the simplest
model is chosen: fewer basis functions, then more regularisation (larger lambda, larger ridge,
smaller C, larger nu), then a smoother kernel (larger sigma, smaller gamma), then a larger beta.
`Axis.precedence` defines this order.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

from rankpursuit.experiments.config import Experiment, Tuning, ratings_of
from rankpursuit.experiments.grids import is_number
from rankpursuit.experiments.plugins import error_line
from rankpursuit.experiments.problem import Problem, batch_by_size
from rankpursuit.experiments.protocol import Group, Role, Task, build_task
from rankpursuit.experiments.registry import (
    METHODS,
    METRICS,
    N_BASIS,
    WIDTH,
    GridPredictions,
    GridValues,
    MethodOptions,
    find_axis,
    grid_axes,
    predict_grid,
)
from rankpursuit.metrics import merge_near_ties

Array = NDArray[np.float64]
threadpools = lru_cache(maxsize=1)(ThreadpoolController)  # of loaded libraries; slow to create
FOLDS = 5
"""Maximum number of folds with ``tuning_on: user``; a fold has at least two scored items."""


@dataclass(frozen=True, order=True)
class Cell:
    """One group of reference users in one repeat."""

    repeat: int
    group: Group


@dataclass(frozen=True)
class Unit:
    """Some users of one cell and role, evaluated together; `chunk` is the number of the unit."""

    cell: Cell
    role: Role
    chunk: int
    users: tuple[int, ...]


@dataclass(frozen=True)
class Choice:
    """The chosen point of a grid."""

    index: tuple[int, ...]
    """Position along each axis of the grid."""
    values: dict[str, Any]
    """Chosen value of each axis, by its key."""
    holdout_error: float
    on_edge: tuple[str, ...]
    """Axes with several numbers of which the first or last was chosen."""


Choices = Mapping[str, Mapping[str, Choice]]
"""For each algorithm and each metric, the point of the grid chosen on the hold-out users."""


class UserResult(NamedTuple):
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
    """Results of one algorithm on a unit."""

    sums: dict[str, Array] = field(default_factory=dict)
    """For each metric the sum of the errors over the users (after `Run.pooled`, the mean): on
    hold-out users at every point of the grid, on test users along the chosen ``n_basis``."""
    users: list[UserResult] = field(default_factory=list)
    """For test users only."""
    seconds: float = 0.0

    def add(self, metric: str, errors: Array) -> None:
        """Add the errors of one user."""
        self.sums[metric] = np.asarray(self.sums.get(metric, 0.0) + errors)


@dataclass(frozen=True)
class UnitResult:
    """Results of a unit: for each algorithm a result, or the users and message of its failure."""

    unit: Unit
    results: dict[str, AlgorithmResult]
    failures: dict[str, str]


def evaluate_unit(
    experiment: Experiment, unit: Unit, labels: tuple[str, ...], choices: Choices
) -> UnitResult:
    """Evaluate algorithms on the users of a unit.

    Test users need choices for every label, unless parameters are chosen for each user.
    """
    results = {label: AlgorithmResult() for label in labels}
    failures: dict[str, str] = {}
    tasks = tasks_of(experiment, unit)
    with threadpools().limit(limits=1):
        if unit.role == "holdout":
            _add_users(experiment, tasks, None, results, failures)
        elif experiment.tuning_on == "group":
            _add_users(experiment, tasks, choices, results, failures)
        else:
            for task in tasks:
                tuned = {label: AlgorithmResult() for label in labels}
                folds = task.folds(min(FOLDS, len(task.scored) // 2))
                _add_users(experiment, folds, None, tuned, failures)
                if failures and experiment.has_joint_choices:
                    reason = f"user {task.user}: parameters depend on {', '.join(failures)}"
                    failures = dict.fromkeys(labels, reason) | failures
                    break
                errors = {label: x.sums for label, x in tuned.items() if label not in failures}
                chosen = choose_parameters(experiment, errors)
                _add_users(experiment, [task], chosen, results, failures)
                for label, result in results.items():
                    result.seconds += tuned[label].seconds
    done = {label: result for label, result in results.items() if label not in failures}
    return UnitResult(unit, done, failures)


def _add_users(
    experiment: Experiment,
    tasks: Sequence[Task],
    choices: Choices | None,
    results: Mapping[str, AlgorithmResult],
    failures: dict[str, str],
) -> None:
    """Add the errors of users at the chosen points; without choices, over the whole grids."""
    kernel, widths = experiment.kernel, experiment.kernel.widths
    if choices is not None:  # only those that are chosen
        chosen = (x for by_metric in choices.values() for x in by_metric.values())
        widths = tuple(sorted({x.values[WIDTH.key] for x in chosen if WIDTH.key in x.values}))
        widths = widths or kernel.widths[:1]
    for stacked in batch_by_size(tasks, len(widths)):
        problem = Problem.of(stacked, widths, kernel.parameter)
        for label, result in results.items():
            if label in failures:
                continue
            begun = time.perf_counter()
            try:
                if choices is None:
                    _add_holdout_users(experiment, label, problem, result)
                else:
                    _add_test_users(experiment, label, problem, widths, choices[label], result)
            except (Exception, SystemExit) as error:  # the other algorithms continue
                users = "user " if len(stacked) == 1 else "one of the users "
                users += ", ".join(str(task.user) for task in stacked)
                failures[label] = f"{users}: {error_line(error)}"
            result.seconds += time.perf_counter() - begun


def tasks_of(experiment: Experiment, unit: Unit) -> list[Task]:
    """Build the tasks of a unit's users."""
    key: dict[str, Any] = {"seed": experiment.seed, "role": unit.role} | vars(unit.cell)
    ratings, protocol = ratings_of(experiment.data), experiment.protocol
    return [build_task(ratings, protocol, **key, user=user) for user in unit.users]


def _add_holdout_users(
    experiment: Experiment, label: str, problem: Problem, result: AlgorithmResult
) -> None:
    """Add the errors of a problem's users at every point of the grid."""
    options = experiment.algorithms[label]
    if not options.has_width:
        problem = problem.at_width(0)
    predictions = _predictions(experiment, options, problem)
    # The errors to report, and those to choose by.
    used = (criteria(options.method, experiment.tuning, x) for x in experiment.metrics)
    for metric in sorted(set(experiment.metrics).union(*used)):
        errors = _errors(experiment, options, problem, predictions, metric)
        for kernels in problem.kernel_index:
            result.add(metric, errors[kernels if options.has_width else kernels[0]])


def _add_test_users(
    experiment: Experiment,
    label: str,
    problem: Problem,
    widths: tuple[float, ...],
    choices: Mapping[str, Choice],
    result: AlgorithmResult,
) -> None:
    """Add the users' errors at the chosen point, and the errors along its number of functions.

    `widths` are those of the problem, among them the chosen ones.
    """
    for metric, choice in choices.items():
        alone = problem.at_width(widths.index(choice.values.get(WIDTH.key, widths[0])))
        point = {k: v for k, v in choice.values.items() if k not in (WIDTH.key, N_BASIS.key)}
        chosen = experiment.algorithms[label].at(point)
        predictions = _predictions(experiment, chosen, alone)
        # The rest of the grid has one point, or a line of points along n_basis.
        n_tasks = len(alone.tasks)
        lines = _errors(experiment, chosen, alone, predictions, metric).reshape(n_tasks, -1)
        sizes = np.broadcast_to(predictions.n_basis, predictions.values.shape[:-1])
        sizes = sizes.reshape(n_tasks, -1)
        position = dict(zip(choice.values, choice.index, strict=True)).get(N_BASIS.key, 0)
        for task, line, n_basis in zip(alone.tasks, lines, sizes[:, position], strict=True):
            result.add(metric, line)
            sizes_of_task = int(n_basis), predictions.n_points, len(task.test)
            user_result = UserResult(task.user, metric, float(line[position]), *sizes_of_task)
            result.users.append(user_result)


def _predictions(
    experiment: Experiment, options: MethodOptions, problem: Problem
) -> GridPredictions:
    """Predict the test points, and the training points too if their mean is needed."""
    rows = slice(0 if _is_shifted(experiment, options) else problem.n_train, None)
    predictions = predict_grid(problem, options, rows)
    values = np.require(predictions.values, requirements="W")  # a plug-in may give a view
    # Points with equal kernel values must have equal predictions, whatever the rounding: each gets
    # that of the first. This does not apply to views of features.
    if options.has_width and getattr(options, "views", None) != "features":
        tested = values[..., -problem.n_test :]
        unlike = problem.duplicate_of == np.arange(problem.n_test)
        for task in np.flatnonzero(~unlike.all(axis=1)):
            kernels = slice(*np.searchsorted(problem.task_index, [task, task + 1]))
            again = np.flatnonzero(~unlike[task])
            tested[kernels, ..., again] = tested[kernels, ..., problem.duplicate_of[task, again]]
    read_only = values.view()  # every metric gets the same ones
    read_only.flags.writeable = False
    return replace(predictions, values=read_only)


def _is_shifted(experiment: Experiment, options: MethodOptions) -> bool:
    """Return whether offset-sensitive metrics use predictions shifted to the training mean."""
    return experiment.offset == "training_mean" and METHODS[options.method].rank_only


def _errors(
    experiment: Experiment,
    options: MethodOptions,
    problem: Problem,
    predictions: GridPredictions,
    name: str,
) -> Array:
    """Return the errors on the test points at every point of the grid, shape (w, *axes)."""
    metric, values, n_scored = METRICS[name], predictions.values, problem.n_scored
    test = values[..., -problem.n_test :]
    if not metric.near_ties:
        test = merge_near_ties(test)
        test.flags.writeable = False
    scores = problem.scores[problem.task_index]
    if metric.offset_sensitive and _is_shifted(experiment, options):
        shape = (len(values), *[1] * (values.ndim - 2), -1)  # one row for each kernel
        offset = scores[:, :n_scored].reshape(shape) - values[..., :n_scored]
        test = test + offset.mean(axis=-1, keepdims=True)
    keywords = {key: getattr(experiment, key) for key in metric.options}
    errors = np.asarray(metric.function(scores[:, problem.n_train :], test, **keywords))
    if np.isnan(errors).any():
        raise ValueError(f"{name}: predictions are not finite numbers")
    return errors


def criteria(method: str, tuning: Tuning, metric: str) -> tuple[str, ...]:
    """Return the metrics by which a method's parameters are chosen if `metric` is reported."""
    return (metric,) if tuning == "reported" else METHODS[method].minimises


def joint_error(errors: Sequence[Array]) -> Array:
    """Return the sum of several errors, each relative to its lowest.

    If its lowest is zero, an error is taken relative to its mean.
    """
    if len(errors) == 1:
        return errors[0]
    return np.sum([error / (error.min() or error.mean() or 1.0) for error in errors], axis=0)


def choose_parameters(
    experiment: Experiment, errors: Mapping[str, Mapping[str, Array]]
) -> dict[str, dict[str, Choice]]:
    """Choose a point of the grid of each algorithm, for each metric to report.

    `errors` has the mean, or the sum, of the hold-out errors over the grid of each algorithm, by
    metric. Choices that depend on those of other algorithms need the errors of all of them.
    """
    kernel, algorithms = experiment.kernel, experiment.algorithms
    choices: dict[str, dict[str, Choice]] = {label: {} for label in errors}
    for metric in experiment.metrics:
        joint = {}
        for label, by_metric in errors.items():
            used = criteria(algorithms[label].method, experiment.tuning, metric)
            joint[label] = joint_error([by_metric[name] for name in used])
        if kernel.shared != "none":
            _keep_one_width(joint, algorithms, kernel.shared)
        # Algorithms with the size of another's model are chosen after it.
        for label in sorted(joint, key=lambda label: algorithms[label].n_basis_from is not None):
            options, error = algorithms[label], joint[label]
            axes = grid_axes(options, kernel.widths)
            if options.n_basis_from is not None:
                size = choices[options.n_basis_from][metric].values[N_BASIS.key]
                distance = np.abs(np.asarray(axes[N_BASIS.key], dtype=float) - size)
                other = np.arange(len(distance)) != distance.argmin()
                shape = [-1 if key == N_BASIS.key else 1 for key in axes]
                error = np.where(other.reshape(shape), np.inf, error)
            choice = choose(error, axes, wide_is_smooth=kernel.parameter == "sigma")
            holdout_error = float(errors[label][metric][choice.index])
            choices[label][metric] = replace(choice, holdout_error=holdout_error)
    return choices


def _keep_one_width(
    errors: dict[str, Array], algorithms: Mapping[str, MethodOptions], chosen_by: str
) -> None:
    """Set the errors to infinity at all widths except the jointly best one."""
    kept = {label: error for label, error in errors.items() if algorithms[label].has_width}
    by_width = [
        error.reshape(len(error), -1).min(axis=1)
        for label, error in kept.items()
        if chosen_by == "all" or METHODS[algorithms[label].method].rank_only
    ]
    best = joint_error(by_width).argmin()
    for label, error in kept.items():
        errors[label] = np.full_like(error, np.inf)
        errors[label][best] = error[best]


def choose(errors: Array, axes: Mapping[str, GridValues], *, wide_is_smooth: bool = True) -> Choice:
    """Choose the point with the lowest error; the module docstring has the rule for ties.

    `errors` has one axis for each of `axes`, whose numbers are ascending. A larger width gives a
    smoother function if it is sigma, a less smooth one if it is gamma.
    """
    names = list(axes)
    tied = np.argwhere(errors <= errors.min() + 1e-12)
    smaller = {key for key in names if find_axis(key).simpler == "smaller"}
    smaller |= set() if wide_is_smooth else {WIDTH.key}
    deciding = sorted(names, key=lambda key: find_axis(key).precedence)

    def simplicity(point: NDArray[np.intp]) -> tuple[int, ...]:
        position = dict(zip(names, point.tolist(), strict=True))
        return tuple(position[key] if key in smaller else -position[key] for key in deciding)

    index = tuple(min(tied, key=simplicity).tolist())
    values = {key: axes[key][at] for key, at in zip(names, index, strict=True)}
    on_edge = tuple(
        key
        for key, grid in axes.items()
        if len(grid) > 1 and all(map(is_number, grid)) and values[key] in (grid[0], grid[-1])
    )
    return Choice(index, values, float(errors[index]), on_edge)
