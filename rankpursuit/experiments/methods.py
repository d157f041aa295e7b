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
from rankpursuit.experiments.tasks.problem import Problem
from rankpursuit.experiments.views import Views
from rankpursuit.kernels import function_values
from rankpursuit.preferences import Blend, GroupPreferences, Pointwise, Preferences
from rankpursuit.solvers import (
    OrderedPairs,
    coregularised_pursuit,
    count_basis,
    nested_rls_path,
    pursue_stack,
    rank_svm_path,
    ridge_rows,
    rls_path,
)
from rankpursuit.solvers.coregularised import AGGREGATIONS, weighted_mean

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
    orders = [task.generator("subset").permutation(n_points) for task in problem.tasks]
    # In this order the first columns, and the first rows and columns, are those of every subset.
    sizes = [min(n_points, count_basis(size, n_points)) for size in spec.n_basis]
    of_tasks = np.searchsorted(problem.of_task, np.arange(1, len(orders)))

    def reordered(stack: Array, axis: int) -> Array:
        parts = zip(np.split(stack, of_tasks), orders, strict=True)
        return np.concatenate([own.take(order[: max(sizes)], axis=axis) for own, order in parts])

    rows_of_subset = reordered(problem.scored_kernel, 1)
    coef = nested_rls_path(
        rows_of_subset.swapaxes(1, 2),
        reordered(rows_of_subset, 2),
        sizes,
        problem.scored_scores,
        spec.lambdas,
        _all_pairs(problem),
    )
    new = reordered(_scored_columns(problem, rows), 2)
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
    path = pursue_stack(dictionary, target, steps[-1], fitting=spec.fitting, repeat=spec.repeat)
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
    n_scored = problem.n_scored
    scored, agreed = slice(0, n_scored), slice(n_scored, problem.n_train)
    if spec.agreed == "scored" or problem.n_unscored < 2:  # nothing else to agree on
        agreed = scored
    views = Views(problem, spec)
    own, scores = views.losses()
    common = GroupPreferences.single(agreed.stop - agreed.start)
    size = min(kernel.shape[2] for kernel in views.kernels)
    steps, places = _distinct_steps(spec, size)
    forms = [GroupPreferences.single(part.shape[1]) for part in own]
    among = views.dictionary_kernels() if any(spec.ridge) else views.kernels
    penalised = [
        ridge_rows(form.root(part), form.root_vectors(target), penalty, spec.ridge)
        for form, part, target, penalty in zip(forms, own, scores, among, strict=True)
    ]
    path = coregularised_pursuit(
        [dictionary for dictionary, _ in penalised],
        [_for_each_ridge(common.root(part), spec) for part in views.rows(agreed)],
        [target for _, target in penalised],
        spec.nu,
        steps[-1],
        fitting=spec.fitting,
        agreement=spec.agreement,
    )
    reached = np.minimum(steps, size)

    def predicted(at: slice) -> list[Array]:
        kernels = [_for_each_ridge(kernel[:, at], spec) for kernel in views.kernels]
        return [path.predict(k, view)[:, :, reached - 1] for view, k in enumerate(kernels)]

    if spec.aggregation == "mean":
        new = [_for_each_ridge(kernel[:, rows], spec) for kernel in views.kernels]
        values = path.predict_mean(new, reached)
    elif spec.aggregation == "weighted":
        skills = views.skills([_by_ridge(part, spec) for part in predicted(scored)])
        flat = skills.reshape(len(skills), -1, *skills.shape[3:])
        values = weighted_mean(predicted(rows), flat)
    else:
        values = AGGREGATIONS[spec.aggregation](predicted(rows))
    n_basis = spec.n_views * np.minimum(steps, path.n_steps[..., None])
    return GridPredictions(
        _by_ridge(values, spec), _by_ridge(n_basis, spec), views.n_dictionary, places
    )


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
