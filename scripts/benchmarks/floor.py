"""Compare whole tasks with their metric, and with the bare LAPACK, BLAS and exp calls below them.

Floors exclude the metric, which makes no such calls, and cover little of the work of SS ranking
pursuit, which only the semi-supervised experiments run.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import chain, product
from typing import Any
from unittest.mock import patch

import numpy as np
from pages import EXPERIMENTS
from scipy.linalg import lapack

from benchmarks.harness import Entries, Options, alternate, load, ratio_row
from rankpursuit.experiments.config import Experiment
from rankpursuit.experiments.evaluate import evaluate_unit, tasks_of
from rankpursuit.experiments.methods import predict_grid
from rankpursuit.experiments.problem import Problem, in_stacks
from rankpursuit.experiments.run import Run
from rankpursuit.metrics import disagreement_error
from rankpursuit.solvers import count_basis

PARTS = ("part / whole", "part, ms per task", "whole, ms", "ratio", "spread", "goal", "met")
NO_BASELINES = ("algorithms.mean_rating=null", "algorithms.linear_rank_rls=null")
Calls = Iterator[tuple[Any, ...]]  # functions and their arguments


def rows(options: Options) -> Entries:
    """Time hold-out units of the middle group, of users with few ratings to those with many."""
    for name in list(EXPERIMENTS.values())[: 2 if options.small else 4]:
        experiment = load(name, *NO_BASELINES)
        plan, n_units = Run.of(experiment, 1).plan, 1 if options.small else 5
        cell = next(one for one in plan.cells if one.group == experiment.protocol.groups[1])
        units = plan.units[cell, "holdout"]
        chosen = [units[int((at + 0.5) * len(units) / n_units)] for at in range(n_units)]
        whole, metric, floor = _seconds(experiment, chosen, min(options.rounds, 3))
        title, goal = name.replace("_", " "), "at most 3" if "semi" in name else "at most 2"
        row = ratio_row(f"{title}: metric", metric, whole, metric / whole, 1e3, "below 0.15")
        yield PARTS, row
        above = f"{title}: whole task over its floor"
        yield PARTS, ratio_row(above, floor, whole, whole / floor, 1e3, goal)


def _seconds(experiment: Experiment, units: list[Any], rounds: int) -> np.ndarray:
    """Seconds, in each round, of a whole task, of its metric and of its floor."""
    kernel, labels = experiment.kernel, tuple(experiment.algorithms)
    problems = [
        Problem.of(tasks, kernel.widths, kernel.parameter)
        for unit in units
        for tasks in in_stacks(tasks_of(experiment, unit), len(kernel.widths))
    ]
    grids = [
        (p.scores[p.task_index, p.n_train :], predict_grid(p, spec, slice(p.n_train, None)).values)
        for p in problems
        for spec in experiment.algorithms.values()
    ]
    floors: list[float] = []
    wholes, metrics, _ = alternate(
        rounds,
        lambda: [evaluate_unit(experiment, unit, labels, {}) for unit in units],
        lambda: [disagreement_error(*grid, ties=experiment.ties) for grid in grids],
        lambda: floors.append(sum(_floor(problem, experiment) for problem in problems)),
    )
    return np.array([wholes, metrics, floors]) / sum(len(unit.users) for unit in units)


def _floor(problem: Problem, experiment: Experiment) -> float:
    """Seconds that the bare calls of all algorithms take on the shapes of a problem."""
    features, seconds = problem.features, 0.0
    shared = [(np.matmul, features, features.swapaxes(1, 2)), (np.exp, -problem.kernel)]
    own = (FLOORS[spec.method](problem, spec) for spec in experiment.algorithms.values())
    for function, *arguments in chain(shared, *own):
        begun = time.perf_counter()
        function(*arguments)
        seconds += time.perf_counter() - begun
    return seconds


def _predict(problem: Problem, n_columns: int) -> tuple[Any, ...]:
    new = problem.kernel[:, problem.n_train :, : problem.n_scored]
    return np.matmul, new, np.ones((len(new), problem.n_scored, n_columns))


def _tridiagonal(matrices: np.ndarray, n_lambdas: int) -> Calls:
    """Bring bordered matrices to tridiagonal form, and apply its basis to all lambdas' columns."""
    columns, lwork = np.ones((n_lambdas, matrices.shape[1])).T, 8 * n_lambdas + 65 * 64
    for matrix in matrices:
        bordered = np.asfortranarray(np.pad(matrix, ((1, 0), (1, 0)), constant_values=1.0))
        form, _, _, scales, _ = lapack.dsytrd(bordered, 1)
        yield lapack.dsytrd, bordered, 1, 8 * len(bordered)
        yield lapack.dormqr, "L", "N", np.asfortranarray(form[1:, :-1]), scales, columns, lwork


def _rls(problem: Problem, spec: Any) -> Calls:
    yield from _tridiagonal(np.ascontiguousarray(problem.scored_kernel), len(spec.lambdas))
    yield _predict(problem, len(spec.lambdas))


def _sparse(problem: Problem, spec: Any) -> Calls:
    """One factor of the largest subset, its inverse and the moments; a solution for each size."""
    n_lambdas = len(spec.lambdas)
    sizes = [count_basis(share, problem.n_scored) for share in spec.n_basis]
    columns = np.ascontiguousarray(problem.scored_kernel[:, :, : max(sizes)])
    square = np.ascontiguousarray(columns[:, : max(sizes)])
    yield np.linalg.cholesky, square + np.eye(max(sizes))
    yield from ((lapack.dtrtri, np.asfortranarray(one), 1) for one in square)
    yield np.matmul, columns, square
    yield np.matmul, columns.swapaxes(1, 2), columns
    for size in sizes:
        yield from _tridiagonal(square[:, :size, :size], n_lambdas)
        yield np.matmul, square[:, :size, :size], np.ones((size, n_lambdas))
        yield _predict(problem, n_lambdas)


def _svm(problem: Problem, spec: Any) -> Calls:
    """As many systems as the Newton steps of the squared hinge solve."""
    with patch.object(lapack, "dgesv", wraps=lapack.dgesv) as solve:
        predict_grid(problem, spec, slice(problem.n_train, None))
    kernel = np.ascontiguousarray(problem.scored_kernel)
    systems = np.resize(kernel, (solve.call_count, *kernel.shape[1:]))
    for stack in np.array_split(systems, len(spec.C)):
        yield np.matmul, stack, stack
        for system in stack + np.eye(stack.shape[1]):
            yield lapack.dgesv, system.T, np.ones(len(system)), 1
    yield _predict(problem, len(spec.C))


def _pursuit(problem: Problem, spec: Any) -> Calls:
    """Products of all columns with the residue, and with a refit those of Gram and Schmidt."""
    kernel, refits = np.ascontiguousarray(problem.scored_kernel), spec.fitting != "basic"
    columns = np.ones((*kernel.shape[:2], 2 if refits else 1))
    n_basis = count_basis(max(spec.n_basis), problem.n_scored)
    for _, p in product(getattr(spec, "beta", (1,)), range(n_basis)):
        yield np.matmul, kernel, columns
        if refits:
            for _ in range(2):
                yield np.matmul, kernel[:, :p], columns[:, :, :1]
                yield np.matmul, kernel[:, :p].swapaxes(1, 2), columns[:, :p, :1]
            yield np.matmul, kernel[:, :p, :p], columns[:, :p, :1]


def _semi_supervised(problem: Problem, spec: Any) -> Calls:
    """Gram matrices, and one pass over the pairs that are left at each step."""
    n_train, n_scored, size = problem.n_train, problem.n_scored, problem.n_train // 2
    scored = np.ascontiguousarray(problem.kernel[:, :n_scored, :size])
    unscored = np.ascontiguousarray(problem.kernel[:, n_scored:n_train])
    for columns in (scored, scored, unscored):
        yield np.matmul, columns.swapaxes(1, 2), columns
    for left in range(size, size - count_basis(max(spec.n_basis), size), -1):
        pairs = np.ones((len(problem.kernel), len(spec.nu), left, left))
        yield np.multiply, pairs, pairs, pairs


FLOORS = {"rls": _rls, "rank_rls": _rls, "sparse_rank_rls": _sparse, "rank_svm": _svm}
FLOORS |= {"kernel_matching_pursuit": _pursuit, "ranking_pursuit": _pursuit}
FLOORS |= {"combined_ranking_regression_pursuit": _pursuit}
FLOORS |= {"semi_supervised_ranking_pursuit": _semi_supervised}
