"""The eight algorithms over their whole grids, on tasks of one size, through the solvers.

A method returns the predictions of every point of its grid. The first axis of the grid is the
stack of kernels of the problem; the other axes are those of the method in the catalogue.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankpursuit.experiments.catalogue import AlgorithmSpec
from rankpursuit.experiments.tasks.problem import Problem, kernel_stack
from rankpursuit.kernels import function_values, squared_distances
from rankpursuit.preferences import Blend, GroupPreferences, Pointwise, Preferences
from rankpursuit.solvers import (
    OrderedPairs,
    coregularised_pursuit,
    count_basis,
    nested_rls_path,
    pursue,
    rank_svm_path,
    ridge_rows,
    rls_path,
)
from rankpursuit.solvers.coregularised.views import split_features, split_points

Array = NDArray[np.float64]


@dataclass(frozen=True)
class GridPredictions:
    """Predictions of a method at every point of its grid.

    Attributes
    ----------
    values : ndarray of shape (w, *axes, r)
        Predictions at the r rows asked for. Points of the last axis that come to the same model
        stand there once.
    n_basis : ndarray, broadcastable to the shape (w, *axes)
        Number of basis functions in use.
    n_points : int
        Number of training points that the method sees.
    places : ndarray of shape (points of the last axis,), optional
        Where each point of the grid's last axis stands; by default, in its own place.
    """

    values: Array
    n_basis: NDArray[np.intp]
    n_points: int
    places: NDArray[np.intp] | None = None

    def over_grid(self, figures: ArrayLike) -> NDArray[Any]:
        """Figures over the whole grid, from those of `values`, broadcastable to (w, *axes)."""
        figures = np.broadcast_to(figures, self.values.shape[:-1])
        return figures if self.places is None else figures[..., self.places]


def predict_grid(problem: Problem, spec: AlgorithmSpec, rows: slice) -> GridPredictions:
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
    values = function_values(_scored_columns(problem, rows), coef)
    return GridPredictions(values, np.array(problem.n_scored), problem.n_scored)


def _rls(problem: Problem, spec: Any, rows: slice) -> GridPredictions:
    return _least_squares(problem, spec, rows, Pointwise(problem.n_scored))


def _rank_rls(problem: Problem, spec: Any, rows: slice) -> GridPredictions:
    return _least_squares(problem, spec, rows, _all_pairs(problem))


def _sparse_rank_rls(problem: Problem, spec: Any, rows: slice) -> GridPredictions:
    n_points = problem.n_scored
    orders = np.stack([task.generator("subset").permutation(n_points) for task in problem.tasks])
    order = orders[problem.of_task, None, :]
    # In this order the first columns, and the first rows and columns, are those of every subset.
    sizes = [min(n_points, count_basis(size, n_points)) for size in spec.n_basis]
    order = order[:, :, : max(sizes)]
    columns = np.take_along_axis(problem.scored_kernel, order, axis=2)
    coef = nested_rls_path(
        columns,
        np.take_along_axis(columns, order.swapaxes(1, 2), axis=1),
        sizes,
        problem.scored_scores,
        spec.lambdas,
        _all_pairs(problem),
    )
    new = np.take_along_axis(_scored_columns(problem, rows), order, axis=2)
    return GridPredictions(function_values(new, coef), np.array(sizes)[:, None], n_points)


def _rank_svm(problem: Problem, spec: Any, rows: slice) -> GridPredictions:
    comparable = _all_pairs(problem).pairs()
    of_tasks = [OrderedPairs.of_scores(s[: problem.n_scored], comparable) for s in problem.scores]
    pairs = [of_tasks[task] for task in problem.of_task]
    path = rank_svm_path(problem.scored_kernel, pairs, spec.C, loss=spec.loss)
    values = function_values(_scored_columns(problem, rows), path.coefficients)
    return GridPredictions(values, np.count_nonzero(path.coefficients, axis=2), problem.n_scored)


def _pursuit(problem: Problem, spec: Any, rows: slice, form: Preferences) -> GridPredictions:
    kernel, n_points = problem.scored_kernel, problem.n_scored
    dictionary, target = ridge_rows(
        form.root(kernel), form.root_vectors(problem.scored_scores), kernel, spec.ridge
    )
    steps, places = _distinct_steps(spec, n_points)
    path = pursue(dictionary, target, steps[-1], fitting=spec.fitting, repeat=spec.repeat)
    reached = np.minimum(steps, path.selected.shape[1])
    values = path.predict(_for_each_ridge(_scored_columns(problem, rows), spec), reached)
    n_basis = np.minimum(steps, path.n_steps[:, None])
    return GridPredictions(_by_ridge(values, spec), _by_ridge(n_basis, spec), n_points, places)


def _for_each_ridge(stack: Array, spec: Any) -> Array:
    """Each of a stack once for every ridge."""
    return stack if len(spec.ridge) == 1 else np.repeat(stack, len(spec.ridge), axis=0)


def _by_ridge(stack: NDArray, spec: Any) -> NDArray:
    """Figures of a stack with every ridge, as the axes of kernels and of ridges."""
    return stack.reshape(-1, len(spec.ridge), *stack.shape[1:])


def _distinct_steps(spec: Any, n_points: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Numbers of steps of a pursuit's grid, rising, and the place of each ``n_basis`` in them."""
    return np.unique([count_basis(share, n_points) for share in spec.n_basis], return_inverse=True)


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
        parts[0].places,
    )


def _semi_supervised(problem: Problem, spec: Any, rows: slice) -> GridPredictions:
    n_scored, n_train = problem.n_scored, problem.n_train
    scored, unscored = slice(0, n_scored), slice(n_scored, n_train)
    if problem.n_unscored < 2:  # nothing to agree on but the scored points
        unscored = scored
    kernels = _view_kernels(problem, spec)
    own, scores = [kernel[:, scored] for kernel in kernels], [problem.scored_scores] * spec.n_views
    if spec.views == "loss":
        own, scores = _own_losses(problem, spec, own)
    common = GroupPreferences.single(unscored.stop - unscored.start)
    size = min(kernel.shape[2] for kernel in kernels)
    steps, places = _distinct_steps(spec, size)
    forms = [GroupPreferences.single(part.shape[1]) for part in own]
    among = _dictionary_kernels(problem, spec, kernels) if any(spec.ridge) else kernels
    penalised = [
        ridge_rows(form.root(part), form.root_vectors(target), penalty, spec.ridge)
        for form, part, target, penalty in zip(forms, own, scores, among, strict=True)
    ]
    path = coregularised_pursuit(
        [dictionary for dictionary, _ in penalised],
        [_for_each_ridge(common.root(kernel[:, unscored]), spec) for kernel in kernels],
        [target for _, target in penalised],
        spec.nu,
        steps[-1],
        fitting=spec.fitting,
        agreement=spec.agreement,
    )
    reached = np.minimum(steps, size)
    new = [_for_each_ridge(kernel[:, rows], spec) for kernel in kernels]
    values = path.predict_mean(new, reached)
    n_basis = spec.n_views * np.minimum(steps, path.n_steps[..., None])
    return GridPredictions(_by_ridge(values, spec), _by_ridge(n_basis, spec), n_train, places)


def _dealt_points(problem: Problem, spec: Any) -> list[NDArray[np.intp]]:
    """Training points of each view beside each kernel, shape (w, N_v)."""
    is_scored = np.arange(problem.n_train) < problem.n_scored
    dealt = [split_points(is_scored, spec.n_views, t.generator("views")) for t in problem.tasks]
    return [np.stack(of_view)[problem.of_task] for of_view in zip(*dealt, strict=True)]


def _own_losses(
    problem: Problem, spec: Any, kernels: list[Array]
) -> tuple[list[Array], list[Array]]:
    """Rows of each view's kernels, and the scores, at the scored points of that view only."""
    rows, scores = [], []
    for kernel, points in zip(kernels, _dealt_points(problem, spec), strict=True):
        n_own = np.count_nonzero(points[0] < problem.n_scored)  # they come first, and as many
        rows.append(np.take_along_axis(kernel, points[:, :n_own, None], axis=1))
        scores.append(np.take_along_axis(problem.scored_scores, points[:, :n_own], axis=1))
    return rows, scores


def _view_kernels(problem: Problem, spec: Any) -> list[Array]:
    """Kernel stacks of all points with the dictionary of each view, shape (w, rows, N_v)."""
    if spec.views != "features":
        return [
            np.take_along_axis(problem.kernel, points[:, None, :], axis=2)
            for points in _dealt_points(problem, spec)
        ]
    n_features = problem.features.shape[2]
    dealt = [split_features(n_features, spec.n_views, t.generator("views")) for t in problem.tasks]
    return [
        np.concatenate(
            [_kernels_of_features(problem, task, part[view]) for task, part in enumerate(dealt)]
        )
        for view in range(spec.n_views)
    ]


def _dictionary_kernels(problem: Problem, spec: Any, kernels: list[Array]) -> list[Array]:
    """Kernel stacks of the dictionary points of each view among themselves, (w, N_v, N_v)."""
    if spec.views == "features":
        return [kernel[:, : problem.n_train] for kernel in kernels]
    return [
        np.take_along_axis(kernel, points[:, :, None], axis=1)
        for kernel, points in zip(kernels, _dealt_points(problem, spec), strict=True)
    ]


def _kernels_of_features(problem: Problem, task: int, part: NDArray[np.intp]) -> Array:
    """Kernels of one task over a part of its features, at the widths of its stack."""
    squared = squared_distances(problem.features[task][:, part])[:, : problem.n_train]
    own = problem.of_task == task
    return kernel_stack(squared, problem.gammas[own], problem.identity[own])


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
