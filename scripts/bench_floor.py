"""The floor under a task: the bare LAPACK, BLAS and exp calls of its methods."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from scipy.linalg import lapack

from rankpursuit.experiments.config import Experiment
from rankpursuit.experiments.methods import predict_grid
from rankpursuit.experiments.problem import Problem
from rankpursuit.solvers import count_basis

_solve = lapack.dgesv


def floor_seconds(problem: Problem, experiment: Experiment) -> float:
    """Return the seconds that the bare calls of all algorithms take on the shapes of a problem."""
    return _kernel(problem) + sum(
        _FLOORS[spec.method](problem, spec) for spec in experiment.algorithms.values()
    )


def _timed(function: Any, *arguments: Any, times: int = 1, **options: Any) -> float:
    begun = time.perf_counter()
    for _ in range(times):
        function(*arguments, **options)
    return time.perf_counter() - begun


def _kernel(problem: Problem) -> float:
    features = problem.features
    products = _timed(np.matmul, features, features.swapaxes(1, 2))
    return products + _timed(np.exp, -problem.kernel)


def _predictions(problem: Problem, n_columns: int) -> float:
    new = problem.kernel[:, problem.n_train :, : problem.n_scored]
    return _timed(np.matmul, new, np.ones((len(new), problem.n_scored, n_columns)))


def _shifted(matrices: np.ndarray, n_lambdas: int) -> float:
    """Bring bordered matrices to tridiagonal form, and apply its basis to all lambdas' columns."""
    seconds = 0.0
    columns, lwork = np.ones((n_lambdas, matrices.shape[1])).T, 8 * n_lambdas + 65 * 64
    for matrix in matrices:
        bordered = np.asfortranarray(np.pad(matrix, ((1, 0), (1, 0)), constant_values=1.0))
        form, _, _, scales, _ = lapack.dsytrd(bordered, lower=1)
        mirrors = np.asfortranarray(form[1:, :-1])
        seconds += _timed(lapack.dsytrd, bordered, lower=1, lwork=8 * len(bordered))
        seconds += _timed(lapack.dormqr, "L", "N", mirrors, scales, columns, lwork)
    return seconds


def _rls(problem: Problem, spec: Any) -> float:
    kernel = np.ascontiguousarray(problem.scored_kernel)
    return _shifted(kernel, len(spec.lambdas)) + _predictions(problem, len(spec.lambdas))


def _sparse(problem: Problem, spec: Any) -> float:
    """One factor of the largest subset, its inverse and the moments; a solution for each size."""
    n_lambdas = len(spec.lambdas)
    sizes = [count_basis(share, problem.n_scored) for share in spec.n_basis]
    columns = np.ascontiguousarray(problem.scored_kernel[:, :, : max(sizes)])
    square = np.ascontiguousarray(columns[:, : max(sizes)])
    seconds = _timed(np.linalg.cholesky, square + np.eye(max(sizes)))
    for matrix in square:
        seconds += _timed(lapack.dtrtri, np.asfortranarray(matrix), lower=1)
    seconds += _timed(np.matmul, columns, square)
    seconds += _timed(np.matmul, columns.swapaxes(1, 2), columns)
    for size in sizes:
        seconds += _shifted(square[:, :size, :size], n_lambdas)
        seconds += _timed(np.matmul, square[:, :size, :size], np.ones((size, n_lambdas)))
        seconds += _predictions(problem, n_lambdas)
    return seconds


def _svm(problem: Problem, spec: Any) -> float:
    """Replay the systems that the Newton or interior-point steps solve."""
    n_systems = 0

    def counting(*arguments: Any, **options: Any) -> Any:
        nonlocal n_systems
        n_systems += 1
        return _solve(*arguments, **options)

    kernel = np.ascontiguousarray(problem.scored_kernel)
    lapack.dgesv = counting
    try:
        predict_grid(problem, spec, slice(problem.n_train, None))
    finally:
        lapack.dgesv = _solve
    seconds = 0.0
    for stack in np.array_split(np.resize(kernel, (n_systems, *kernel.shape[1:])), len(spec.C)):
        systems, right = stack + np.eye(stack.shape[1]), np.ones(stack.shape[1])
        seconds += _timed(np.matmul, stack, stack)
        seconds += sum(_timed(_solve, system.T, right, overwrite_a=1) for system in systems)
    return seconds + _predictions(problem, len(spec.C))


def _pursuit(problem: Problem, spec: Any) -> float:
    """Products of all columns with the residue, and with a refit those of Gram and Schmidt."""
    kernel = np.ascontiguousarray(problem.scored_kernel)
    n_steps = min(problem.n_scored, count_basis(max(spec.n_basis), problem.n_scored))
    refits = spec.fitting != "basic"
    columns = np.ones((*kernel.shape[:2], 2 if refits else 1))
    seconds = _timed(np.matmul, kernel, columns, times=n_steps)
    for p in range(n_steps if refits else 0):
        basis, column = kernel[:, :p], columns[:, :, :1]
        seconds += 2 * _timed(np.matmul, basis, column)
        seconds += 2 * _timed(np.matmul, basis.swapaxes(1, 2), column[:, :p])
        seconds += _timed(np.matmul, kernel[:, :p, :p], column[:, :p])
    return seconds * len(getattr(spec, "beta", (1,)))


def _semi(problem: Problem, spec: Any) -> float:
    """Gram matrices, and one pass over the pairs that are left at each step."""
    n_train, n_scored, size = problem.n_train, problem.n_scored, problem.n_train // 2
    n_steps = count_basis(max(spec.n_basis), size)
    scored = np.ascontiguousarray(problem.kernel[:, :n_scored, :size])
    unscored = np.ascontiguousarray(problem.kernel[:, n_scored:n_train])
    seconds = 2 * _timed(np.matmul, scored.swapaxes(1, 2), scored)
    seconds += _timed(np.matmul, unscored.swapaxes(1, 2), unscored)
    for left in range(size, size - n_steps, -1):
        pairs = np.ones((len(problem.kernel), len(spec.nu), left, left))
        seconds += _timed(np.multiply, pairs, pairs, out=pairs)
    return seconds


_FLOORS = {
    "rls": _rls,
    "rank_rls": _rls,
    "sparse_rank_rls": _sparse,
    "rank_svm": _svm,
    "kernel_matching_pursuit": _pursuit,
    "ranking_pursuit": _pursuit,
    "combined_ranking_regression_pursuit": _pursuit,
    "semi_supervised_ranking_pursuit": _semi,
}
