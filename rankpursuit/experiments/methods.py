"""The eight algorithms over their whole grids, on one problem, through the solvers.

A method returns the predictions of every point of its grid. The first axis of the grid is the
stack of kernels of the problem; the other axes are named in :data:`AXES`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankpursuit.estimators.views import split_features, split_points
from rankpursuit.experiments.problem import Problem, kernel_stack
from rankpursuit.kernels import squared_distances
from rankpursuit.preferences import Blend, GroupPreferences, Pointwise, Preferences
from rankpursuit.solvers import (
    OrderedPairs,
    coregularised_pursuit,
    count_basis,
    pursue,
    rank_svm_path,
    ridge_rows,
    rls_path,
    sparse_rls_path,
)

Array = NDArray[np.float64]

AXES: dict[str, tuple[str, ...]] = {
    "rls": ("lambdas",),
    "kernel_matching_pursuit": ("n_basis",),
    "rank_svm": ("C",),
    "rank_rls": ("lambdas",),
    "sparse_rank_rls": ("n_basis", "lambdas"),
    "ranking_pursuit": ("n_basis",),
    "semi_supervised_ranking_pursuit": ("nu", "n_basis"),
    "combined_ranking_regression_pursuit": ("beta", "n_basis"),
}
"""The axes of each method's grid behind the width, as attributes of its spec."""

RANK_ONLY = frozenset(AXES) - {
    "rls",
    "kernel_matching_pursuit",
    "combined_ranking_regression_pursuit",
}
"""Methods that learn an order: a constant added to their predictions changes nothing."""


@dataclass(frozen=True)
class GridPredictions:
    """Predictions of a method at every point of its grid.

    Attributes
    ----------
    values : ndarray of shape (w, *axes, r)
        Predictions at the r rows asked for.
    n_basis : ndarray, broadcastable to the shape (w, *axes)
        Number of basis functions in use.
    n_points : int
        Number of training points that the method sees.
    """

    values: Array
    n_basis: NDArray[np.intp]
    n_points: int


def predict_grid(problem: Problem, spec: Any, rows: slice) -> GridPredictions:
    """Predict with a method at every point of its grid.

    Parameters
    ----------
    problem : Problem
    spec : AlgorithmSpec
        The method and its grid.
    rows : slice
        The points of the problem to predict.
    """
    return _METHODS[spec.method](problem, spec, rows)


def _all_pairs(problem: Problem) -> GroupPreferences:
    return GroupPreferences.single(problem.n_scored)


def _scored_columns(problem: Problem, rows: slice) -> Array:
    return problem.kernel[:, rows, : problem.n_scored]


def _least_squares(problem: Problem, spec: Any, rows: slice, form: Preferences) -> GridPredictions:
    coef = rls_path(problem.scored_kernel, problem.scored_scores, spec.lambdas, form)
    values = np.matmul(_scored_columns(problem, rows), coef).swapaxes(1, 2)
    return GridPredictions(values, np.array(problem.n_scored), problem.n_scored)


def _rls(problem: Problem, spec: Any, rows: slice) -> GridPredictions:
    return _least_squares(problem, spec, rows, Pointwise(problem.n_scored))


def _rank_rls(problem: Problem, spec: Any, rows: slice) -> GridPredictions:
    return _least_squares(problem, spec, rows, _all_pairs(problem))


def _sparse_rank_rls(problem: Problem, spec: Any, rows: slice) -> GridPredictions:
    order = problem.task.generator("subset").permutation(problem.n_scored)
    kernel, new = problem.scored_kernel, _scored_columns(problem, rows)
    sizes = [min(problem.n_scored, count_basis(size, problem.n_scored)) for size in spec.n_basis]
    values = np.empty((len(kernel), len(sizes), len(spec.lambdas), new.shape[1]))
    for index, size in enumerate(sizes):
        subset = order[:size]
        columns = kernel[:, :, subset]
        coef = sparse_rls_path(
            columns,
            columns[:, subset],
            problem.scored_scores,
            spec.lambdas,
            _all_pairs(problem),
        )
        values[:, index] = np.matmul(new[:, :, subset], coef).swapaxes(1, 2)
    return GridPredictions(values, np.array(sizes)[:, None], problem.n_scored)


def _rank_svm(problem: Problem, spec: Any, rows: slice) -> GridPredictions:
    pairs = OrderedPairs(problem.scored_scores, _all_pairs(problem).pairs())
    path = rank_svm_path(problem.scored_kernel, pairs, spec.C, loss=spec.loss)
    coef = np.moveaxis(path.coefficients, 0, 2)
    values = np.matmul(_scored_columns(problem, rows), coef).swapaxes(1, 2)
    return GridPredictions(values, np.count_nonzero(coef, axis=1), problem.n_scored)


def _pursuit(problem: Problem, spec: Any, rows: slice, form: Preferences) -> GridPredictions:
    kernel, n_points = problem.scored_kernel, problem.n_scored
    dictionary, target = form.root(kernel), form.root(problem.scored_scores)
    if spec.ridge:
        dictionary, target = ridge_rows(dictionary, target, kernel, spec.ridge)
    steps = np.array([count_basis(size, n_points) for size in spec.n_basis])
    path = pursue(dictionary, target, steps.max(), fitting=spec.fitting, repeat=spec.repeat)
    reached = np.minimum(steps, path.selected.shape[1])
    values = path.predict(_scored_columns(problem, rows))[:, reached - 1]
    return GridPredictions(values, np.minimum(steps, path.n_steps[:, None]), n_points)


def _kernel_matching_pursuit(problem: Problem, spec: Any, rows: slice) -> GridPredictions:
    return _pursuit(problem, spec, rows, Pointwise(problem.n_scored))


def _ranking_pursuit(problem: Problem, spec: Any, rows: slice) -> GridPredictions:
    return _pursuit(problem, spec, rows, _all_pairs(problem))


def _combined(problem: Problem, spec: Any, rows: slice) -> GridPredictions:
    parts = [_pursuit(problem, spec, rows, Blend(_all_pairs(problem), b)) for b in spec.beta]
    return GridPredictions(
        np.stack([part.values for part in parts], axis=1),
        np.stack([part.n_basis for part in parts], axis=1),
        problem.n_scored,
    )


def _semi_supervised(problem: Problem, spec: Any, rows: slice) -> GridPredictions:
    n_scored, n_train = problem.n_scored, problem.n_train
    scored, unscored = np.arange(n_scored), np.arange(n_scored, n_train)
    if problem.n_unscored < 2:  # nothing to agree on but the scored points
        unscored = scored
    kernels = _view_kernels(problem, spec)
    losses = [scored] * spec.n_views
    if spec.views == "loss":
        losses = [points[points < n_scored] for points in _dealt_points(problem, spec)]
    own = [GroupPreferences.single(len(points)) for points in losses]
    common = GroupPreferences.single(len(unscored))
    size = min(kernel.shape[2] for kernel in kernels)
    steps = np.array([count_basis(share, size) for share in spec.n_basis])
    path = coregularised_pursuit(
        [
            form.root(kernel[:, points])
            for form, kernel, points in zip(own, kernels, losses, strict=True)
        ],
        [common.root(kernel[:, unscored]) for kernel in kernels],
        [form.root(problem.scores[points]) for form, points in zip(own, losses, strict=True)],
        spec.nu,
        steps.max(),
        fitting=spec.fitting,
        agreement=spec.agreement,
    )
    reached = np.minimum(steps, size)
    values = path.predict_mean([kernel[:, rows] for kernel in kernels], reached)
    n_basis = spec.n_views * np.minimum(steps, path.n_steps[..., None])
    return GridPredictions(values.swapaxes(0, 1), n_basis.swapaxes(0, 1), n_train)


def _dealt_points(problem: Problem, spec: Any) -> list[NDArray[np.intp]]:
    is_scored = np.arange(problem.n_train) < problem.n_scored
    return split_points(is_scored, spec.n_views, problem.task.generator("views"))


def _view_kernels(problem: Problem, spec: Any) -> list[Array]:
    """Kernel stacks of all points with the dictionary of each view, shape (w, rows, N_v)."""
    if spec.views != "features":
        return [problem.kernel[:, :, points] for points in _dealt_points(problem, spec)]
    dealt = split_features(problem.features.shape[1], spec.n_views, problem.task.generator("views"))
    return [
        kernel_stack(
            squared_distances(problem.features[:, part])[:, : problem.n_train],
            problem.gammas,
            problem.identity,
        )
        for part in dealt
    ]


_METHODS: dict[str, Callable[[Problem, Any, slice], GridPredictions]] = {
    "rls": _rls,
    "kernel_matching_pursuit": _kernel_matching_pursuit,
    "rank_svm": _rank_svm,
    "rank_rls": _rank_rls,
    "sparse_rank_rls": _sparse_rank_rls,
    "ranking_pursuit": _ranking_pursuit,
    "semi_supervised_ranking_pursuit": _semi_supervised,
    "combined_ranking_regression_pursuit": _combined,
}
