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
from threadpoolctl import threadpool_limits

from rankpursuit.datasets.ratings import Ratings
from rankpursuit.experiments.config import AlgorithmSpec, DataSpec, Experiment, load_ratings_of
from rankpursuit.experiments.methods import RANK_ONLY, GridPredictions, predict_grid
from rankpursuit.experiments.plan import Unit
from rankpursuit.experiments.problem import Problem
from rankpursuit.experiments.selection import WIDTH, Choice, criteria
from rankpursuit.experiments.tasks import build_task
from rankpursuit.metrics import disagreement_error, squared_error

Array = NDArray[np.float64]
Choices = Mapping[str, Mapping[str, Choice]]
"""For each algorithm and each metric, the point of the grid chosen on the hold-out users."""
Job = tuple[Unit, tuple[str, ...], dict[str, dict[str, Choice]]]
"""What `evaluate_unit` needs besides the experiment: a unit, the algorithms, their choices."""


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
        For each algorithm that raised, which user it was and what it said.
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
    with threadpool_limits(limits=1):
        ratings = ratings_of(experiment.data)
        for user in unit.users:
            task = build_task(
                ratings,
                experiment.protocol,
                seed=experiment.seed,
                group=unit.cell.group,
                repeat=unit.cell.repeat,
                role=unit.role,
                user=user,
            )
            problem = Problem.of(task, widths, experiment.kernel.parameter)
            for label, result in results.items():
                if label in failures:
                    continue
                begun = time.perf_counter()
                try:
                    if unit.role == "holdout":
                        _add_holdout_user(experiment, label, problem, result)
                    else:
                        _add_test_user(experiment, label, problem, widths, choices[label], result)
                except Exception as error:  # a fault of one algorithm must not end the others
                    failures[label] = f"user {user}: {type(error).__name__}: {error}"
                result.seconds += time.perf_counter() - begun
    done = {label: result for label, result in results.items() if label not in failures}
    return UnitResult(unit, done, failures)


def _widths(experiment: Experiment, choices: Choices) -> tuple[float, ...]:
    """All widths on hold-out users; on test users those that were chosen for some algorithm."""
    chosen = {choice.values[WIDTH] for of_label in choices.values() for choice in of_label.values()}
    return tuple(sorted(chosen)) or experiment.kernel.widths


def _add_holdout_user(
    experiment: Experiment, label: str, problem: Problem, result: AlgorithmResult
) -> None:
    """Add a user's errors at every point of the grid."""
    spec = experiment.algorithms[label]
    predictions = predict_grid(problem, spec, _rows(experiment, spec, problem))
    chosen_by = {
        name
        for metric in experiment.metrics
        for name in criteria(spec.method, experiment.tuning, metric)
    }
    for metric in sorted(chosen_by.union(experiment.metrics)):
        errors = _errors(experiment, spec, problem, predictions, metric)[problem.of_width]
        result.sums[metric] = result.sums.get(metric, 0.0) + errors


def _add_test_user(
    experiment: Experiment,
    label: str,
    problem: Problem,
    widths: tuple[float, ...],
    choices: Mapping[str, Choice],
    result: AlgorithmResult,
) -> None:
    """Add a user's error at the chosen point, and the errors along its number of functions."""
    spec = experiment.algorithms[label]
    for metric, choice in choices.items():
        alone = problem.at_width(widths.index(choice.values[WIDTH]))
        axes = [axis for axis in choice.values if axis != WIDTH]
        fixed = {axis: (choice.values[axis],) for axis in axes if axis != "n_basis"}
        chosen = spec.model_copy(update=fixed)
        predictions = predict_grid(alone, chosen, _rows(experiment, chosen, alone))
        # What is left of the grid has one point, or a line of them along n_basis.
        line = _errors(experiment, chosen, alone, predictions, metric).reshape(-1)
        sizes = np.broadcast_to(predictions.n_basis, predictions.values.shape[:-1]).reshape(-1)
        at = choice.index[1 + axes.index("n_basis")] if "n_basis" in axes else 0
        result.sums[metric] = result.sums.get(metric, 0.0) + line
        result.users.append(
            UserResult(
                user=problem.task.user,
                metric=metric,
                error=float(line[at]),
                n_basis=int(sizes[at]),
                n_points=predictions.n_points,
                n_test=len(problem.test_scores),
            )
        )


def _rows(experiment: Experiment, spec: AlgorithmSpec, problem: Problem) -> slice:
    """Points to predict: the test points, and the training points if their mean is needed."""
    return slice(0 if _is_shifted(experiment, spec) else problem.n_train, None)


def _is_shifted(experiment: Experiment, spec: AlgorithmSpec) -> bool:
    """Whether the squared error is that of the prediction shifted to the training mean."""
    return experiment.offset == "training_mean" and spec.method in RANK_ONLY


def _errors(
    experiment: Experiment,
    spec: AlgorithmSpec,
    problem: Problem,
    predictions: GridPredictions,
    metric: str,
) -> Array:
    """Errors on the test points at every point of the grid."""
    values = predictions.values
    test = values[..., -len(problem.test_scores) :]
    if getattr(spec, "views", None) != "features":  # views of features have distances of their own
        test = test[..., problem.alike]
    if metric == "disagreement":
        return np.asarray(disagreement_error(problem.test_scores, test, ties=experiment.ties))
    if _is_shifted(experiment, spec):
        offset = problem.scored_scores - values[..., : problem.n_scored]
        test = test + offset.mean(axis=-1, keepdims=True)
    return np.asarray(squared_error(problem.test_scores, test))


@lru_cache(maxsize=1)
def ratings_of(data: DataSpec) -> Ratings:
    """Load a data set, once in each process."""
    return load_ratings_of(data)
