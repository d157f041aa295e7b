"""The methods of experiments: the paper's eight, and two baselines."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from typing import Annotated, Any, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from rankpursuit.experiments.grids import (
    BasisGrid,
    FractionGrid,
    InvalidValue,
    PositiveGrid,
    WeightGrid,
)
from rankpursuit.experiments.problem import (
    Problem,
    feature_view_kernels,
    first_duplicate_index,
    view_points,
    view_skills,
)
from rankpursuit.experiments.registry import (
    BETA,
    LAMBDA,
    METHODS,
    N_BASIS,
    NU,
    RIDGE,
    Axis,
    C,
    GridPredictions,
    MethodOptions,
    register_method,
)
from rankpursuit.preferences import Blend, GroupPreferences, Pointwise, Preferences
from rankpursuit.solvers import (
    AGGREGATIONS,
    Aggregation,
    Agreement,
    JointFitting,
    OrderedPairs,
    Rows,
    View,
    Views,
    count_basis,
    joint_grid,
    least_squares_grid,
    pursuit_grid,
    rank_svm_grid,
    subset_grid,
    weighted_mean,
)
from rankpursuit.solvers.pursuit import Fitting
from rankpursuit.solvers.rank_svm import Loss

# Options


class LeastSquaresOptions(MethodOptions):
    """Options of regularised least squares."""

    lambdas: PositiveGrid = Field(alias="lambda")
    """Weights of the regulariser."""


class SparseOptions(MethodOptions):
    """Options of RankRLS on a random subset of the points."""

    n_basis: BasisGrid
    """Sizes of the subset."""
    size_from: str | None = None
    """Algorithm whose chosen number of basis functions is the size of the subset, or the nearest of
    `n_basis`; null: the size is chosen like the other parameters."""
    lambdas: PositiveGrid = Field(alias="lambda")
    """Weights of the regulariser."""


class RankSVMOptions(MethodOptions):
    """Options of RankSVM."""

    C: PositiveGrid
    """Weights of the loss."""
    loss: Loss = "hinge"
    """Loss on a pair: hinge, the usual one, or squared_hinge, which is solved faster."""


class PursuitOptions(MethodOptions):
    """Options of the pursuits without views."""

    n_basis: BasisGrid
    """Numbers P of basis functions at which the pursuit may stop."""
    fitting: Fitting = "basic"
    """Refit of the coefficients in each step. basic: none; backfit: of all, after choosing a
    function; prefit: of all, for every candidate."""
    repeat: bool = False
    """Whether basic fitting may choose a function more than once."""
    ridge: WeightGrid = (0.0,)
    """Weights of a ridge term in the least-squares problem."""

    @model_validator(mode="after")
    def _only_basic_fitting_repeats(self) -> Self:
        if self.repeat and self.fitting != "basic":
            message = f"expected false with {self.fitting} fitting, got true"
            raise InvalidValue(("repeat", message))
        return self


class CombinedOptions(PursuitOptions):
    """Options of combined ranking and regression pursuit (CRRP)."""

    beta: FractionGrid = (0.5,)
    """Weights of the regression part."""


class SemiSupervisedOptions(MethodOptions):
    """Options of semi-supervised ranking pursuit."""

    n_basis: BasisGrid
    """Numbers P of basis functions of each view, or fractions of its dictionary."""
    nu: WeightGrid
    """Weights of the agreement on the unscored points."""
    ridge: WeightGrid = (0.0,)
    """Weights of a ridge term in the least-squares problem of each view."""
    fitting: JointFitting = "basic"
    """Refit of the coefficients in each step. basic: none; backfit: of all views."""
    agreement: Agreement = "cumulative"
    """Functions that a step makes agree: the complete ones so far, or only its increments."""
    views: Views = "points"
    """Split into views. points: the dictionary; loss: the dictionary and the loss; features: the
    features."""
    n_views: Annotated[int, Field(ge=1)] = 2
    """Number of views."""
    dictionary: Literal["training", "scored"] = "training"
    """Points with a basis function: all training points, or the scored ones only."""
    agreed: Literal["unscored", "scored"] = "unscored"
    """Points on which the views should agree."""
    aggregation: Aggregation = "mean"
    """How the functions of the views are combined."""

    @model_validator(mode="after")
    def _has_points_to_weigh_views_on(self) -> Self:
        if self.aggregation == "weighted" and (self.views != "loss" or self.n_views < 2):
            message = (
                "weighted needs views: loss and at least two views, since the weight of a view"
            )
            raise InvalidValue(("aggregation", f"{message} comes from scored points of the others"))
        return self


# Predictions

all_pairs = lru_cache(maxsize=256)(GroupPreferences.single)
"""The preferences over all pairs of n points."""


def _form(problem: Problem, options: MethodOptions) -> Preferences:
    """Return the preferences to fit: all pairs of scored points, the points, or both."""
    pairs = all_pairs(problem.n_scored)
    if isinstance(options, CombinedOptions):
        return Blend(pairs, *options.beta)
    return pairs if METHODS[options.method].rank_only else Pointwise(problem.n_scored)


def sweep_axis(key: str, function: Callable[..., GridPredictions]) -> Any:
    """Return a `predict_grid` that calls a function for each value of the first axis."""

    def predict(problem: Problem, options: Any, rows: slice) -> GridPredictions:
        points = [options.at({key: value}) for value in getattr(options, key)]
        parts = [function(problem, point, rows) for point in points]
        values, n_basis = ([getattr(x, y) for x in parts] for y in ("values", "n_basis"))
        return GridPredictions(np.stack(values, 1), np.stack(n_basis, 1), parts[0].n_points)

    return predict


def _least_squares(problem: Problem, options: LeastSquaresOptions, rows: slice) -> GridPredictions:
    kernel, form = problem.scored_kernel, _form(problem, options)
    path = least_squares_grid(kernel, problem.scored_scores, form, {"alpha": options.lambdas})
    return _predicted(path, problem.kernel[:, rows, : problem.n_scored], problem.n_scored)


def _predicted(path: Any, new_kernels: Any, n_points: int) -> GridPredictions:
    return GridPredictions(path.predict(new_kernels), path.n_basis, n_points)


def _rank_svm(problem: Problem, options: RankSVMOptions, rows: slice) -> GridPredictions:
    n_scored = problem.n_scored
    comparable = all_pairs(n_scored).pairs()
    task_pairs = [OrderedPairs.of_scores(s[:n_scored], comparable) for s in problem.scores]
    pairs = [task_pairs[task] for task in problem.task_index]
    path = rank_svm_grid(problem.scored_kernel, pairs, {"C": options.C}, loss=options.loss)
    return _predicted(path, problem.kernel[:, rows, :n_scored], n_scored)


def _sparse_rank_rls(problem: Problem, options: SparseOptions, rows: slice) -> GridPredictions:
    n_points = problem.n_scored
    sizes = [min(n_points, count_basis(size, n_points)) for size in options.n_basis]
    # Subsets are nested: each consists of the first points in a random order.
    orders = [task.generator("subset").permutation(n_points) for task in problem.tasks]
    subset = np.stack(orders)[problem.task_index, : max(sizes)]
    subset_rows = np.take_along_axis(problem.scored_kernel, subset[:, :, None], axis=1)
    path = subset_grid(
        subset_rows.swapaxes(1, 2),
        np.take_along_axis(subset_rows, subset[:, None], axis=2),
        problem.scored_scores,
        all_pairs(n_points),
        {"n_basis": sizes, "alpha": options.lambdas},
    )
    new_kernels = np.take_along_axis(problem.kernel[:, rows], subset[:, None], axis=2)
    return _predicted(path, new_kernels, n_points)


def _pursuit(problem: Problem, options: PursuitOptions, rows: slice) -> GridPredictions:
    form, kernel, n_scored = _form(problem, options), problem.scored_kernel, problem.n_scored
    path = pursuit_grid(
        Rows(form.root(kernel), form.root_vectors(problem.scored_scores), small=True),
        {"ridge": options.ridge, "n_basis": _sizes(options, n_scored)},
        kernel=kernel,
        fitting=options.fitting,
        repeat=options.repeat,
    )
    return _predicted(path, problem.kernel[:, rows, :n_scored], n_scored)


def _sizes(options: Any, n_points: int) -> list[int]:
    return [count_basis(size, n_points) for size in options.n_basis]


def _semi_supervised(
    problem: Problem, options: SemiSupervisedOptions, rows: slice
) -> GridPredictions:
    n_scored, n_views = problem.n_scored, options.n_views
    n_dictionary = n_scored if options.dictionary == "scored" else problem.n_train
    agreed = slice(n_scored, problem.n_train)
    if options.agreed == "scored" or problem.n_unscored < 2:  # no pairs to agree on
        agreed = slice(0, n_scored)
    if options.views == "features":
        kernels = feature_view_kernels(problem, n_views, n_dictionary)
        points = [np.arange(n_dictionary)[None]] * n_views
    else:
        split_loss = options.views == "loss"
        points = view_points(problem, n_views, n_dictionary, split_loss=split_loss)
        functions, stack = problem.kernel.swapaxes(1, 2), np.arange(len(problem.kernel))
        # The values of one function are contiguous in memory.
        kernels = [functions[stack[:, None], numbers].swapaxes(1, 2) for numbers in points]
    # Scored points come first; their number is the same in all tasks.
    fitted_points = [numbers[:, : int((numbers[0] < n_scored).sum())] for numbers in points]
    common = all_pairs(agreed.stop - agreed.start)
    views = []
    for kernel, dictionary, fitted in zip(kernels, points, fitted_points, strict=True):
        # Contiguous by point, so that means over points are summed in a fixed order.
        scored, target = np.ascontiguousarray(kernel[:, :n_scored]), problem.scored_scores
        if options.views == "loss":
            scored = np.take_along_axis(scored, fitted[:, :, None], axis=1)
            target = np.take_along_axis(target, fitted, axis=1)
        among = np.take_along_axis(kernel, dictionary[:, :, None], axis=1)
        agreeing = common.root(np.ascontiguousarray(kernel[:, agreed]))
        form = all_pairs(scored.shape[1])
        views.append(View(form.root(scored), form.root_vectors(target), agreeing, among))
    sizes = _sizes(options, min(kernel.shape[2] for kernel in kernels))
    path = joint_grid(
        views,
        {"ridge": options.ridge, "nu": options.nu, "n_basis": sizes},
        fitting=options.fitting,
        agreement=options.agreement,
    )
    new_kernels = [kernel[:, rows] for kernel in kernels]
    if options.aggregation == "mean":
        return _predicted(path, new_kernels, n_dictionary)
    values = path.predict_views(new_kernels)
    if options.aggregation == "weighted":
        at_scored = path.predict_views([kernel[:, :n_scored] for kernel in kernels])
        combined = weighted_mean(values, view_skills(problem, fitted_points, at_scored))
    else:
        combined = AGGREGATIONS[options.aggregation](values)
    return GridPredictions(combined, path.n_basis, n_dictionary)


def _register(
    name: str, title: str, function: Any, options: Any, *axes: Axis, minimises: tuple[str, ...] = ()
) -> None:
    """Register one of the paper's methods; `minimises` unless it is rank-only."""
    further = {"minimises": minimises, "rank_only": False} if minimises else {}
    register_method(name, title=title, options=options, axes=axes, **further)(function)


_SQUARED, _BOTH = ("squared_error",), ("disagreement", "squared_error")
_PURSUIT = _pursuit, PursuitOptions, RIDGE, N_BASIS
_SEMI = _semi_supervised, SemiSupervisedOptions, RIDGE, NU, N_BASIS
_CRRP = sweep_axis("beta", _pursuit), CombinedOptions, BETA, RIDGE, N_BASIS
_register("rls", "RLS", _least_squares, LeastSquaresOptions, LAMBDA, minimises=_SQUARED)
_register("kernel_matching_pursuit", "Matching Pursuit", *_PURSUIT, minimises=_SQUARED)
_register("rank_svm", "RankSVM", _rank_svm, RankSVMOptions, C)
_register("rank_rls", "RankRLS", _least_squares, LeastSquaresOptions, LAMBDA)
_register("sparse_rank_rls", "Sparse RankRLS", _sparse_rank_rls, SparseOptions, N_BASIS, LAMBDA)
_register("ranking_pursuit", "Ranking Pursuit", *_PURSUIT)
_register("semi_supervised_ranking_pursuit", "SS Ranking Pursuit", *_SEMI)
_register("combined_ranking_regression_pursuit", "CRRP", *_CRRP, minimises=_BOTH)


@register_method(
    "mean_rating",
    title="Mean rating",
    baseline=True,
    has_basis=False,
    has_width=False,
    minimises=_SQUARED,
    rank_only=False,
)
def _mean_rating(problem: Problem, options: MethodOptions, rows: slice) -> GridPredictions:
    """Predict the mean rating of an item over the reference users, without learning."""
    values = [
        task.mean_ratings[np.concatenate([task.scored, task.unscored, task.test])[rows]]
        for task in problem.tasks
    ]
    return GridPredictions(np.stack(values), np.array(0), problem.n_scored)


@register_method(
    "linear_rank_rls",
    title="Linear RankRLS",
    baseline=True,
    has_basis=False,
    has_width=False,
    options=LeastSquaresOptions,
    axes=(LAMBDA,),
)
def _linear_rank_rls(
    problem: Problem, options: LeastSquaresOptions, rows: slice
) -> GridPredictions:
    # A feature that is constant over the scored items gets no weight. It is removed, so that items
    # that differ only in such features tie, instead of being ordered by rounding.
    scored = problem.features[:, : problem.n_scored]
    points = problem.features * (scored != scored[:, :1]).any(axis=1, keepdims=True)
    kernel = points @ points[:, : problem.n_scored].swapaxes(1, 2)
    predictions = _least_squares(replace(problem, kernel=kernel), options, rows)
    for task_points, values in zip(points, predictions.values, strict=True):
        values[:] = values[..., first_duplicate_index(task_points[rows])]
    n_basis = min(problem.n_scored, problem.features.shape[2])
    return replace(predictions, n_basis=np.array(n_basis))
