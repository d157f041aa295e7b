"""Parameters chosen by cross-validation along paths.

For each training set and width, one path gives the predictions of the held-out points for a whole
grid of parameters. Other parameters are set one after the other, each with paths of its own.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, replace
from functools import cache, wraps
from itertools import islice, product, starmap
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.model_selection import GroupKFold, KFold
from sklearn.utils import Tags, gen_batches, get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping
from sklearn.utils.metaestimators import available_if
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import ThreadpoolController

from rankpursuit.estimators._base import (
    PENALTIES,
    FoldPath,
    KernelEstimator,
    RandomState,
    Split,
    TrainingData,
    random_generator,
)
from rankpursuit.estimators._checks import (
    CALLABLE,
    FLAG,
    NONE,
    PARAMETERS,
    WITH_GAMMA,
    Array,
    Constraint,
    Constraints,
    GroupWeights,
    Indices,
    Kernel,
    check_parameter,
    choice,
    count_groups,
    integer,
    number,
)
from rankpursuit.estimators.inspection import PathDisplay, represent, represent_html
from rankpursuit.estimators.pursuit import NoUsableFunctionError, RankingPursuit
from rankpursuit.estimators.scoring import (
    METRIC_NAME,
    Metric,
    Selection,
    choose_row,
    score_table,
    stacked_metric,
)
from rankpursuit.preferences import GroupPreferences
from rankpursuit.solvers import MAX_BASIS, Fitting

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # scikit-learn before 1.9 has no callbacks
    CallbackSupportMixin, with_callbacks = object, lambda method: method

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Numbers = Sequence[float] | NDArray[np.floating]
Grid = Mapping[str, Sequence[Any] | NDArray[Any] | None]
"""Values to try, by the name of the parameter; None for the default values."""
_AT_ONCE = 1 << 25
"""Maximum number of values for which kernels of several widths are computed together."""
_QUEUED = 4
"""Paths for each process that are prepared before the processes start."""

_SPLITS = Constraint(
    "a splitter of scikit-learn or an iterable of pairs of training and test indices",
    lambda value: (
        not isinstance(value, str | bytes)
        and (hasattr(value, "split") or isinstance(value, Iterable))
    ),
)


# Splits


def make_splits(cv: Any, X: Array, y: Array, labels: NDArray | None) -> list[Split]:
    """Split the scored points; unscored ones, whose score is NaN, are in every training set.

    Raises ValueError if there are fewer than two splits, or if a split is malformed, divides a
    group, has overlapping sets, or has a set without scores.
    """
    scored = ~np.isnan(y)
    rows = np.flatnonzero(scored)
    if isinstance(cv, Iterable) and not hasattr(cv, "split"):
        given = [_read_split(place, split, len(y)) for place, split in enumerate(cv)]
    else:
        of_rows = None if labels is None else labels[rows]
        splitter = cv if hasattr(cv, "split") else _folds(cv, len(rows), of_rows)
        pairs = splitter.split(X[rows], y[rows], of_rows)
        given = [(rows[train], rows[test]) for train, test in pairs]
    if len(given) < 2:
        raise ValueError(f"cv must give at least two splits; got {len(given)}")
    splits = []
    for place, (train, test) in enumerate(given):
        fitted, tested = np.intersect1d(train, rows), np.intersect1d(test, rows)
        if len(fitted) == 0 or len(tested) == 0:
            raise ValueError(
                f"each split of cv must have scores in its training and its test set; split "
                f"{place} has none in one of them"
            )
        if len(np.intersect1d(fitted, tested)):
            raise ValueError(
                f"cv must have disjoint training and test sets; split {place} has samples in both"
            )
        cut = [] if labels is None else np.intersect1d(labels[fitted], labels[tested]).tolist()
        if cut:
            raise ValueError(
                f"cv must keep groups whole; split {place} has group {cut[0]!r} in both of its "
                "sets: use a number of folds, GroupKFold or another group splitter"
            )
        splits.append((np.union1d(train, np.flatnonzero(~scored)), tested))
    return splits


def _folds(n_folds: int, n_points: int, labels: NDArray | None) -> GroupKFold | KFold:
    size, units = (n_points, "samples") if labels is None else (len(np.unique(labels)), "groups")
    if size < n_folds:
        raise ValueError(
            f"cv={n_folds} folds need at least as many {units} with scores; got n_{units} = "
            f"{size}: lower cv or add {units}"
        )
    # Points are often sorted by score; folds of neighbours would then differ systematically.
    return (
        GroupKFold(n_folds) if units == "groups" else KFold(n_folds, shuffle=True, random_state=0)
    )


def _read_split(place: int, split: Any, n_points: int) -> tuple[Indices, Indices]:
    """Read a split: two arrays of indices, or masks, of all rows."""
    try:
        train, test = (np.arange(n_points)[np.asarray(rows)] for rows in split)
    except (IndexError, TypeError, ValueError) as error:
        raise ValueError(
            f"cv must hold pairs of training and test indices of the {n_points} samples; "
            f"split {place} is not one"
        ) from error
    return train, test


# The search


@contextmanager
def _task(search: Any, n_subtasks: int, name: str = "fit", parent: Any = None) -> Iterator[Any]:
    """Report the beginning and the end of a task to the callbacks of a search."""
    if not hasattr(search, "set_callbacks"):
        yield None
        return
    if parent is None:
        task = search._init_callback_context(max_subtasks=n_subtasks)
    else:
        task = parent.subcontext(task_name=name, max_subtasks=n_subtasks)
    task.call_on_fit_task_begin(estimator=search)
    try:
        yield task
    finally:
        task.call_on_fit_task_end(estimator=search)


@cache
def _thread_pools() -> ThreadpoolController:
    return ThreadpoolController()


@dataclass
class Candidate:
    """An estimator with a grid that is one path for each gamma and training set, and its scores.

    `fixed` are the parameters that were set for it, and `grid` the values of the others. `searched`
    names those that vary. `scores` are of shape (splits, gammas, *grid).
    """

    model: Any
    fixed: dict[str, Any]
    searched: list[str]
    gammas: list[Any]
    grid: dict[str, list[Any]]
    scores: Array
    error: Exception | None = None

    def points(self) -> Iterator[dict[str, Any]]:
        """Yield the parameters of each point, in the order of `scores`."""
        axes = {"gamma": self.gammas, **self.grid}
        for values in product(*axes.values()):
            point = dict(zip(axes, values, strict=True))
            yield {**self.fixed, **{name: point[name] for name in self.searched}}

    def iter_batches(self, n_points: int) -> Iterator[slice]:
        """Yield the gammas whose kernels are computed together."""
        n_columns = min(n_points, getattr(self.model, "n_candidates", None) or n_points)
        lengths = [len(values) for name, values in self.grid.items() if name != "n_basis"]
        room = n_points * n_columns * (len(self.scores) + 2 + math.prod(lengths))
        return gen_batches(len(self.gammas), max(1, _AT_ONCE // room))


def _prepare(estimator: Any, scale: bool | str) -> Any:
    """Return a clone of the estimator, with one seed for all folds, that scales its features."""
    if not isinstance(estimator, KernelEstimator):
        raise ValueError(
            "estimator must be an estimator of rankpursuit, such as RankRLS(); got "
            f"{' '.join(repr(estimator).split()):.100}"
        )
    if estimator.scale:
        raise ValueError(
            f"scale of the estimator must be False in a search; got {estimator.scale!r}: set scale "
            "of the search instead"
        )
    model = clone(estimator)
    seed = model.get_params(deep=False).get("random_state", 0)
    check_parameter("random_state", seed, PARAMETERS["random_state"])
    if not isinstance(seed, int | np.integer):
        model.set_params(random_state=int(random_generator(seed).choice(1 << 31)))
    model.scale = scale
    return model


def _like(model: Any, params: Mapping[str, Any]) -> Any:
    """Return a copy, with other parameters, of a model that has checked and scaled the data."""
    copied = copy(model)
    for nested in {name.partition("__")[0] for name in params if "__" in name}:
        setattr(copied, nested, clone(getattr(model, nested)))
    return copied.set_params(**params)


def read_grids(model: Any, grids: Any) -> list[Mapping[str, Any]]:
    """Check the grids of a search, and return them as a list; None is the default grid."""
    if grids is None:
        gamma = {"gamma": None} if model._has_gamma() else {}
        return [{**gamma, **dict.fromkeys(model._search_values)}]
    listed = [grids] if isinstance(grids, Mapping) else grids
    if not isinstance(listed, list | tuple) or not listed:
        raise ValueError(f"grid must be a dict, a list of dicts or None; got {grids!r:.100}")
    known, with_default = model.get_params().keys() - {"scale"}, {*model._search_values, "gamma"}
    for grid in listed:
        if not isinstance(grid, Mapping):
            raise ValueError(f"grid must be a dict, or a list of dicts; it holds {grid!r:.100}")
        for name, values in grid.items():
            if name not in known:
                raise ValueError(
                    f"grid has {name!r}, which is no parameter of {type(model).__name__} that can "
                    f"be searched; use {', '.join(sorted(known))}"
                )
            is_list = isinstance(values, list | tuple | range | np.ndarray) and len(values) > 0
            if not is_list and (values is not None or name not in with_default):
                default = ", or None for the default ones" if name in with_default else ""
                raise ValueError(
                    f"{name} of the grid must be a list of values{default}; got {values!r:.100}"
                )
            allowed = model._constraints.get(name) or PARAMETERS.get(name, ())
            for value in values if is_list and allowed else []:
                check_parameter(f"{name} of the grid", value, allowed)
    return list(listed)


def iter_candidates(
    model: Any, grid: Mapping[str, Any], data: TrainingData, splits: list[Split]
) -> Iterator[Candidate]:
    """Yield a candidate for each combination of the values that need paths of their own."""
    along = ("gamma", *model._path_axes)
    others = {
        name: model._search_values[name] if values is None else values
        for name, values in grid.items()
        if name not in along
    }
    for values in product(*others.values()):
        fixed = dict(zip(others, values, strict=True))
        candidate = _like(model, fixed)
        candidate._check_parameters()
        if not candidate._takes_gaps and candidate._gaps(candidate.missing_):
            continue
        if "gamma" in grid and not candidate._has_gamma():
            kernels = "the kernel " + " and ".join(map(repr, candidate._kernels_in_use()))
            of_dictionary = candidate._uses_dictionary
            raise ValueError(
                "gamma cannot be searched with "
                f"{f'dictionary={candidate.dictionary!r}' if of_dictionary else kernels}, which "
                "has no gamma: leave it out of this grid, or choose one of the kernels "
                f"{', '.join(WITH_GAMMA)}"
            )
        n_available = _count_functions(candidate, grid, data, splits)
        axes = {}
        for name in along:
            axis = grid.get(name, [getattr(candidate, name)])
            if axis is None:
                axis = candidate._default_values(name, data.X, n_available)
            axes[name] = axis.tolist() if isinstance(axis, np.ndarray) else list(axis)
        searched, shape = [name for name in along if name in grid], map(len, axes.values())
        scores = np.empty((len(splits), *shape))
        yield Candidate(candidate, fixed, searched, axes.pop("gamma"), axes, scores)


def _count_functions(
    model: Any, grid: Mapping[str, Any], data: TrainingData, splits: list[Split]
) -> int:
    """Return the number of functions of the smallest training set, or the default number."""
    if "n_basis" not in model._path_axes:
        return 0
    numbers = [model._n_available(data, train) for train, _ in splits]
    if None in numbers:
        return MAX_BASIS
    asked = [model.n_basis] if grid.get("n_basis") is None else grid["n_basis"]
    most = max((size for size in asked if isinstance(size, int | np.integer)), default=0)
    if most > min(numbers):
        remedy = "n_candidates or cv" if hasattr(model, "n_candidates") else "cv"
        raise ValueError(
            f"n_basis={most} is more than the {min(numbers)} candidates of the smallest training "
            f"set; lower n_basis or raise {remedy}"
        )
    return min(numbers)


def _iter_paths(
    candidates: list[Candidate], data: TrainingData, splits: list[Split]
) -> Iterator[tuple[Candidate, slice, int, FoldPath]]:
    """Yield each path that is needed, with its candidate, gammas and number of the split."""
    for candidate in candidates:
        try:
            for batch in candidate.iter_batches(len(data.y)):
                gammas, grid = candidate.gammas[batch], candidate.grid
                paths = candidate.model._iter_paths(data, splits, gammas, grid)
                for place, path in enumerate(paths):
                    yield candidate, batch, place, path
        except NoUsableFunctionError as error:
            candidate.error = error


def _score_fold(
    path: Any, new: Any, y: Array, labels: NDArray | None, scoring: str | Metric
) -> Array:
    """Compute the path of a training set; return the scores of its grid on the test set.

    One thread computes them, so that scores do not depend on the number of processes.
    """
    with _thread_pools().limit(limits=1):
        return stacked_metric(scoring)(y, path().predict(new), labels)


def _check_learnable(model: Any, data: TrainingData) -> None:
    """Raise a ValueError if no scores differ, for a ranker within a group, or no features."""
    scored, within = ~np.isnan(data.y), " inside a group" if model._ranks else ""
    if model._ranks:
        form = model._preferences(data.labels[scored])
        count_groups(form)
        if form.beta == 0.0 and not _varies_within(data.X[scored], form.groups):
            raise ValueError(
                "X must have a feature that varies inside a group; all points of each group are "
                "equal, so that no order of them can be learned: pass features of the points, not "
                "of their groups"
            )
    compared = data.labels[scored] if model._ranks else np.zeros(len(data.y))
    if not np.any(GroupPreferences(compared).root(data.y[scored])):
        raise ValueError(f"y must contain different scores{within}; all are equal")


def _varies_within(X: Any, groups: Any) -> bool:
    """Return whether a feature, or precomputed kernel value, differs between points of a group."""
    first_rows = groups.order[groups.starts][groups.codes]
    return bool((X[first_rows] != X).sum() > 0)  # X may be sparse


def _fitted(name: str) -> property:
    """Return a property: an attribute of the chosen model."""
    return property(
        lambda self: getattr(self.best_estimator_, name), doc=f"``{name}`` of ``best_estimator_``."
    )


def _of_chosen(name: str) -> Any:
    """Return a method that calls the one of the chosen model, if the estimator has it."""

    @available_if(lambda self: hasattr(self._plain(), name))
    @wraps(getattr(RankingPursuit, name))
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        check_is_fitted(self)
        return getattr(self.best_estimator_, name)(*args, **kwargs)

    return method


class PathCV(CallbackSupportMixin, MetaEstimatorMixin, BaseEstimator):
    """Any estimator of this package, with parameters chosen by cross-validation along its path.

    One path per fold yields the scores of all values of `n_basis`, `ridge`, `alpha`, `nu` or `C`,
    which takes a fraction of the time of a grid search, and makes the same choice.

    Parameters
    ----------
    estimator : estimator
        Any estimator of this package. Parameters that are not searched remain as they are.
    grid : dict, list of dicts or None, default None
        Values to try, by the name of the parameter; of a list, each grid. A value of None stands
        for the default values of a parameter. None: the default values of all parameters that have
        some: `gamma`, if the kernel has one, and, as far as the estimator has them, `alpha`,
        `ridge`, `nu`, `C`, `beta`, and every number of functions up to its `n_basis`. Those of
        gamma are the powers of 4 from 1/64 to 16 times ``1 / (n_features * X.var())`` of the scaled
        features.
    scale : bool or "group", default True
        True: centre the features, except for the chi2 kernels, and divide them by their standard
        deviation. "group": do so within each group; pass the groups to `predict` too. A precomputed
        kernel has no features: True leaves it as it is, and "group" is an error.
    cv : int, splitter or iterable, default 5
        Number of folds, of whole groups if there are groups; a splitter; or pairs of training and
        test indices.
    scoring : str, callable or None, default None
        Metric to maximise: "pairwise_accuracy", "disagreement", "kendall", "ndcg", "map", "mrr",
        the last three optionally truncated at rank k, as in ``"ndcg@10"``, "r2",
        "neg_mean_squared_error", a scorer, or a function of scores, predictions and groups. None:
        the pairwise accuracy, and for a regression the mean squared error.
    selection : {"best", "sparsest"}, default "best"
        The highest mean over the folds, or the sparsest model within one standard error of it.
    average : bool, default False
        True: the model is the mean of those of all folds with the chosen parameters, in place of a
        fit to all points; it is more accurate on most data, with more functions. For pursuits with
        one function.
    n_jobs : int or None, default None
        Number of processes for the paths of all grids and folds; None: 1, or that of
        :func:`joblib.parallel_config`. -1: all processors. Scores do not depend on it.
    verbose : int, default 0
        1: print a line for each path.

    Attributes
    ----------
    cv_results_ : dict of ndarray
        For each point of the grids: parameters, and mean, standard deviation and standard error of
        the scores over the folds.
    best_params_ : dict
        The chosen parameters.
    best_score_ : float
        Mean score of these parameters over the folds.
    best_index_ : int
        Row of these parameters in ``cv_results_``.
    best_estimator_ : estimator
        The model with these parameters, fitted to all training data; it scales the features, and a
        clone of it does so only if the estimator has a parameter `scale`.

    See Also
    --------
    RankingPursuitCV : Ranking pursuit with all three dictionaries.

    Notes
    -----
    The chosen model's `n_features_in_`, `feature_names_in_`, `n_groups_`, `scaler_`, `basis_`,
    `coef_` and `X_basis_` are attributes of the search too; `X_basis_` is then in the units of `X`,
    and so is `coef_` if it holds the weights of features.

    With the dictionary of kernels, held-out points take no part in the model of a fold: neither by
    their scores nor as centres of basis functions. Other dictionaries, the scaling of the features
    and the values of gamma are computed from the features of all training points. A fold in which
    the metric is undefined, since no scores differ, does not count. Of several grids, those with a
    dictionary without a usable function are left out.

    With scikit-learn 1.9 or later, ``set_callbacks(sklearn.callback.ProgressBar())`` shows the
    progress of a search. A path is computed by one thread of BLAS.

    Examples
    --------
    >>> import numpy as np
    >>> from rankpursuit import PathCV, RankRLS
    >>> rng = np.random.default_rng(0)
    >>> X, groups = rng.normal(size=(100, 2)), np.repeat(np.arange(10), 10)
    >>> y = X[:, 0] + np.sin(2 * X[:, 1]) + 0.3 * rng.normal(size=100) + 10 * groups
    >>> model = PathCV(RankRLS()).fit(X, y, groups)
    >>> model.best_params_["alpha"], round(model.best_score_, 2)
    (0.01, 0.92)

    Two kernels, the width of one of which is tried:

    >>> grid = [{"alpha": [0.1, 1.0], "gamma": None}, {"alpha": [1.0], "kernel": ["linear"]}]
    >>> PathCV(RankRLS(), grid).fit(X, y, groups).best_params_["alpha"]
    0.1
    """

    _constraints: ClassVar[Constraints] = {
        "cv": (integer(2), _SPLITS),
        "scoring": (METRIC_NAME, CALLABLE, NONE),
        "average": FLAG,
        "n_jobs": (number("an integer other than 0", lambda value: value != 0, int), NONE),
        "verbose": (integer(0), *FLAG),
    }
    __metadata_request__fit: ClassVar = {"groups": True}
    __metadata_request__predict: ClassVar = {"groups": True}
    __metadata_request__score: ClassVar = {"groups": True}

    def __init__(
        self,
        estimator: Any,
        grid: Grid | Sequence[Grid] | None = None,
        *,
        scale: bool | str = True,
        cv: Any = 5,
        scoring: str | Metric | None = None,
        selection: Selection = "best",
        average: bool = False,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.estimator, self.grid, self.scale, self.cv = estimator, grid, scale, cv
        self.scoring, self.selection, self.average = scoring, selection, average
        self.n_jobs, self.verbose = n_jobs, verbose

    def _plain(self) -> Any:
        """Return the estimator whose parameters are searched."""
        return self.estimator

    def _grids(self, n_features: int) -> Any:
        """Return the grid, or list of grids, to search."""
        return self.grid

    def __sklearn_tags__(self) -> Tags:
        return get_tags(self._plain())

    def get_metadata_routing(self) -> MetadataRouter:
        """Return the requests of the search, and those of its estimator.

        Returns
        -------
        sklearn.utils.metadata_routing.MetadataRouter
        """
        mapping = MethodMapping()
        for method in ("fit", "predict", "score"):
            mapping = mapping.add(caller=method, callee=method)
        router = MetadataRouter(owner=self).add_self_request(self)
        return router.add(estimator=self._plain(), method_mapping=mapping)

    @with_callbacks
    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        groups: ArrayLike | None = None,
        *,
        qid: ArrayLike | None = None,
        group: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Choose the parameters by cross-validation, and fit to all points with them.

        Parameters
        ----------
        X : array-like of shape (n, n_features), or (n, n) kernel values if precomputed
        y : array-like of shape (n,)
            Scores.
        groups : array-like of shape (n,), optional
            Label of each point, such as a user or a query. Folds are made of whole groups, and a
            ranker compares only points with the same label. Without groups, or with one label for
            all: all points are compared, and folds are made of single points.
        qid : array-like of shape (n,), optional
            Another name for `groups`.
        group : array-like of shape (n_groups,), optional
            Sizes of consecutive groups, as in LightGBM, instead of `groups`.
        sample_weight : array-like of shape (n,), optional
            Weights of the samples in the fits, if the estimator supports them; the scores of the
            folds are not weighted.

        Returns
        -------
        self
        """
        self._check_parameters()
        model = _prepare(self._plain(), self.scale)
        data = model._check_training(X, y, groups, qid, group, sample_weight, 2, False)
        data = replace(data, X=data.X.astype(np.float64, copy=False))
        _check_learnable(model, data)
        several_groups = bool(np.any(data.labels != data.labels[0]))
        splits = make_splits(self.cv, data.X, data.y, data.labels if several_groups else None)
        scaled = replace(data, X=model._scale_training(data.X, data.labels))
        candidates = [
            candidate
            for grid in read_grids(model, self._grids(data.X.shape[1]))
            for candidate in iter_candidates(model, grid, scaled, splits)
        ]
        if not candidates:
            raise ValueError(model._gaps(model.missing_))
        n_batches = sum(len(list(candidate.iter_batches(len(data.y)))) for candidate in candidates)
        with _task(self, 1 + n_batches * len(splits)) as task:
            self._score_candidates(candidates, scaled, splits, several_groups, task)
            usable = [candidate for candidate in candidates if candidate.error is None]
            if not usable:
                raise candidates[0].error  # type: ignore[misc]
            points = [point for candidate in usable for point in candidate.points()]
            scores = [candidate.scores.reshape(len(splits), -1) for candidate in usable]
            self.cv_results_ = score_table(points, np.concatenate(scores, axis=1))
            self.best_index_ = self._choose_row(self.cv_results_)
            self.best_score_ = float(self.cv_results_["mean_test_score"][self.best_index_])
            self.best_params_ = points[self.best_index_]
            with _task(self, 0, "refit", task):
                self.best_estimator_ = _like(model, self.best_params_)
                self.best_estimator_._warn_of_far_values(data.X)
                if self.average:
                    self.best_estimator_._fit_average(scaled, splits)
                else:
                    self.best_estimator_._fit_scaled(scaled)
        return self

    def _check_parameters(self) -> None:
        for name, value in self.get_params(deep=False).items():
            if name not in ("estimator", "grid"):
                check_parameter(name, value, self._constraints.get(name) or PARAMETERS[name])
        if self.average and not hasattr(self._plain(), "_fit_average"):
            raise ValueError(
                "average=True is for pursuits with one function, whose coefficients have a mean; "
                f"{type(self._plain()).__name__} is none: leave it out"
            )

    def _metric(self) -> str | Metric:
        """Return the metric to maximise."""
        default = "pairwise_accuracy" if self._plain()._ranks else "neg_mean_squared_error"
        return default if self.scoring is None else self.scoring

    def _score_candidates(
        self,
        candidates: list[Candidate],
        data: TrainingData,
        splits: list[Split],
        several_groups: bool,
        task: Any,
    ) -> None:
        """Compute the paths of all candidates and training sets, and the scores of their grids."""
        scoring, start = self._metric(), time.monotonic()
        stacked_metric(scoring)  # raises an error if a callable is no metric
        n_processes = effective_n_jobs(self.n_jobs)
        n_queued = _QUEUED * n_processes if n_processes > 1 else 1
        paths = _iter_paths(candidates, data, splits)
        with Parallel(n_processes, pre_dispatch="all", return_as="generator") as parallel:
            while queue := list(islice(paths, n_queued)):
                jobs = []
                for _, _, place, fold_path in queue:
                    test = splits[place][1]
                    labels = data.labels[test] if several_groups else None
                    jobs.append((*fold_path, data.y[test], labels, scoring))
                if n_processes > 1:
                    results = parallel(delayed(_score_fold)(*job) for job in jobs)
                else:
                    results = starmap(_score_fold, jobs)
                for (candidate, gammas, place, _), scores in zip(queue, results, strict=True):
                    candidate.scores[place, gammas] = scores
                    with _task(self, 0, "fold", task):
                        pass
                    if self.verbose:
                        shown = [f"{name}={value!r}" for name, value in candidate.fixed.items()]
                        shown.append(f"fold {place + 1} of {len(splits)}")
                        elapsed = time.monotonic() - start
                        print(f"[{type(self).__name__}] {', '.join(shown)}: {elapsed:.1f} s")

    def _choose_row(self, table: Mapping[str, NDArray[Any]]) -> int:
        """Return the row of the table of scores that is chosen."""
        return choose_row(table, self.selection)

    # The chosen model

    n_features_in_ = _fitted("n_features_in_")
    feature_names_in_ = _fitted("feature_names_in_")
    group_column_ = _fitted("group_column_")
    n_groups_, scaler_, basis_ = _fitted("n_groups_"), _fitted("scaler_"), _fitted("basis_")

    @property
    def coef_(self) -> Any:
        """Coefficients of the chosen model; the weights of features are in the units of `X`."""
        model = self.best_estimator_
        scaled = model._in_features and model.scaler_ is not None
        return model.coef_ / model.scaler_.scale_ if scaled else model.coef_

    @property
    def X_basis_(self) -> Any:
        """Points of the chosen functions in the units of `X`."""
        points, scaler = self.best_estimator_.X_basis_, self.scaler_
        if points is None or scaler is None:
            return points
        views = points if isinstance(points, list) else [points]
        original = [scaler.inverse_transform(view) if len(view) else view for view in views]
        return original if isinstance(points, list) else original[0]

    predict = _of_chosen("predict")
    score = _of_chosen("score")
    staged_predict = _of_chosen("staged_predict")
    explain = _of_chosen("explain")
    summary = available_if(lambda self: hasattr(self._plain(), "summary"))(RankingPursuit.summary)
    importances = _of_chosen("importances")
    to_sql, to_json, to_python = map(_of_chosen, ("to_sql", "to_json", "to_python"))
    save = KernelEstimator.save
    __repr__, _html_repr = represent, represent_html

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the score against the number of basis functions, or the weight of the regulariser.

        The line is the mean over the folds with the other parameters as chosen, the band one
        standard error, and the dot the choice.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Default: axes of a new figure.

        Returns
        -------
        matplotlib Axes
        """
        return PathDisplay.from_estimator(self, ax=ax).ax_


class RankingPursuitCV(PathCV):
    """Ranking pursuit with dictionary, n_basis, ridge and gamma chosen by cross-validation.

    Parameters
    ----------
    n_basis : int or None, default None
        Maximum number of basis functions; every number up to it is tried. None: at most 100.
    ridges : list of float or None, default None
        Weights of the penalty to try, as in :class:`RankingPursuit`. None: 0.01, 0.1, 1, 10, 100,
        and 0 except for kernels.
    dictionary : {"auto", "kernel", "additive", "pairs", "grown"} or object, default "auto"
        The functions to choose from, as in :class:`RankingPursuit`. "auto" tries "grown" and
        "kernel", and keeps "kernel" only if its score is better by more than one standard error of
        the differences of the folds; with `gammas`, or a `kernel` other than "rbf", it tries
        "kernel" only. With categories or missing values, it tries "grown" only.
    gammas : list of float or None, default None
        Values of gamma to try, for the scaled features. None: those of :class:`PathCV`.
    fitting, group_weight, categorical_features, n_candidates : optional
        The method, as in :class:`RankingPursuit`.
    kernel, degree, coef0, kernel_params : optional
        The kernel, as in :class:`RankingPursuit`.
    scale, cv, scoring, selection, average, n_jobs, verbose : optional
        The search, as in :class:`PathCV`.
    random_state : int, Generator, RandomState or None, default 0
        Controls the random draw of the candidates of kernels.

    Attributes
    ----------
    cv_results_, best_params_, best_score_, best_index_, best_estimator_
        The search, as in :class:`PathCV`.

    See Also
    --------
    PathCV : The same for every method and parameter.
    RankingPursuit : The same with given parameters.

    Examples
    --------
    >>> import numpy as np
    >>> from rankpursuit import RankingPursuitCV
    >>> rng = np.random.default_rng(0)
    >>> X, groups = rng.normal(size=(200, 2)), np.repeat(np.arange(20), 10)
    >>> y = X[:, 0] + np.sin(2 * X[:, 1]) + 0.3 * rng.normal(size=200) + 10 * groups
    >>> model = RankingPursuitCV(n_basis=30, selection="sparsest").fit(X, y, groups)
    >>> model.best_params_["n_basis"], round(model.best_score_, 2)
    (3, 0.92)

    The whole grid, as a table, and its best score with each dictionary:

    >>> import pandas as pd
    >>> table = pd.DataFrame(model.cv_results_)
    >>> table.groupby("param_dictionary").mean_test_score.max().round(2).to_dict()
    {'grown': 0.93, 'kernel': 0.94}
    """

    _constraints: ClassVar[Constraints] = {
        **PathCV._constraints,
        "n_basis": (integer(1), NONE),
        "dictionary": (choice("auto"), *PARAMETERS["dictionary"]),
    }

    def __init__(
        self,
        n_basis: int | None = None,
        *,
        ridges: Numbers | None = None,
        fitting: Fitting | None = None,
        group_weight: GroupWeights = "equal",
        dictionary: Any = "auto",
        categorical_features: Any = "from_dtype",
        n_candidates: int | None = 1000,
        kernel: Kernel = "rbf",
        gammas: Numbers | None = None,
        degree: int = 3,
        coef0: float = 1.0,
        kernel_params: Mapping[str, Any] | None = None,
        scale: bool | str = True,
        cv: Any = 5,
        scoring: str | Metric = "pairwise_accuracy",
        selection: Selection = "best",
        average: bool = False,
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: RandomState = 0,
    ) -> None:
        for name, value in locals().items():
            if name != "self":
                setattr(self, name, value)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        if len(self._grids(0)) > 1:  # of functions and of kernels
            tags.input_tags.allow_nan = tags.input_tags.categorical = True
        return tags

    def _is_auto(self) -> bool:
        return isinstance(self.dictionary, str) and self.dictionary == "auto"

    def _plain(self) -> RankingPursuit:
        names = RankingPursuit().get_params().keys() & self.get_params(deep=False).keys()
        options = {name: getattr(self, name) for name in names - {"scale"}}
        if self._is_auto():
            options["dictionary"] = "kernel"
        return RankingPursuit(**options)

    def _grids(self, n_features: int) -> list[dict[str, Any]]:
        plain, ridges = self._plain(), self.ridges
        if ridges is None and (self._is_auto() or plain._uses_dictionary):
            ridges = (0.0, *PENALTIES)
        grid = {"ridge": ridges, "n_basis": None}
        with_gamma = {"gamma": self.gammas, "ridge": self.ridges, "n_basis": None}
        if not self._is_auto() or self.gammas is not None or plain.kernel != "rbf":
            return [with_gamma if self.gammas is not None or plain._has_gamma() else grid]
        return [{"dictionary": ["grown"], **grid}, {"dictionary": ["kernel"], **with_gamma}]

    def _choose_row(self, table: Mapping[str, NDArray[Any]]) -> int:
        """Choose a kernel only if it is better by more than one standard error."""
        dictionaries = table.get("param_dictionary", np.empty(0))
        rows = []
        for name in ("grown", "kernel"):
            of_dictionary = np.flatnonzero(dictionaries == name)
            if len(of_dictionary):
                columns = {column: values[of_dictionary] for column, values in table.items()}
                rows.append(int(of_dictionary[choose_row(columns, self.selection)]))
        if len(rows) < 2:
            return super()._choose_row(table)
        folds = [values for name, values in table.items() if name.startswith("split")]
        leads = [fold[rows[1]] - fold[rows[0]] for fold in folds]
        leads = [lead for lead in leads if not np.isnan(lead)]
        error = np.std(leads) / np.sqrt(max(1, len(leads) - 1))
        return rows[int(np.mean(leads) > error)]
