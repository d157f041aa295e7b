"""Estimators that choose their parameters by cross-validation along paths.

For each fold and width one path gives the predictions of the held-out points over the whole grid.
A family of methods is defined by two functions, for the axes of its grid and for its held-out
predictions; everything else, from folds and scores to the choice and its plot, is in one base
class.
"""

from __future__ import annotations

import inspect
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial, reduce
from operator import add
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn import config_context
from sklearn.base import clone
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GroupKFold, KFold
from sklearn.utils.metaestimators import available_if

from rankpursuit import metrics
from rankpursuit.estimators._base import (
    KernelEstimator,
    RandomState,
    draw_candidates,
    random_generator,
    resolve_gamma,
)
from rankpursuit.estimators._checks import (
    CALLABLE,
    NONE,
    PARAMETERS,
    WITH_GAMMA,
    Array,
    Constraint,
    Constraints,
    GroupWeights,
    Indices,
    Kernel,
    choice,
    count_groups,
    integer,
    several,
)
from rankpursuit.estimators.dictionaries import (
    dictionary_values,
    make_dictionary,
)
from rankpursuit.estimators.inspection import PathDisplay
from rankpursuit.estimators.least_squares import RLS, RankRLS, SparseRankRLS
from rankpursuit.estimators.pursuit import (
    CombinedRankingRegressionPursuit,
    KernelMatchingPursuit,
    NoUsableFunctionError,
    RankingPursuit,
    usable_functions,
)
from rankpursuit.estimators.scorers import ndcg
from rankpursuit.estimators.semi_supervised import (
    SemiSupervisedRankingPursuit,
    ViewSetup,
)
from rankpursuit.kernels import gaussian_stack, squared_distances
from rankpursuit.preferences import GroupPreferences, Preferences
from rankpursuit.solvers import (
    MAX_BASIS,
    Agreement,
    Fitting,
    GramSums,
    JointFitting,
    least_squares_grid,
    pursuit_grid,
    subset_grid,
)

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # scikit-learn before 1.9 has no callbacks
    CallbackSupportMixin, with_callbacks = object, lambda method: method

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Numbers = Sequence[float] | NDArray[np.floating]
Grid = Mapping[str, NDArray[Any]]
"""Values of each axis but gamma, by the name of its parameter."""
Metric = Callable[..., Any]
"""A function of scores (m,), predictions (m,) and groups (m,) or None; higher is better."""
Selection = Literal["best", "sparsest"]

PENALTIES = (0.01, 0.1, 1.0, 10.0, 100.0)
"""Default ridges or alphas."""
GAMMAS = 4.0 ** np.arange(-3, 3)
"""Default gammas, as multiples of "scale"."""
SIMPLER = {"n_basis": 1, "ridge": -1, "alpha": -1, "gamma": 1, "nu": -1}
"""Axes in order of importance for simplicity: 1 if smaller values are simpler, -1 if larger."""
TIED = 1e-12
"""Relative difference up to which means are tied, so that rounding does not decide."""

_AT_ONCE = 1 << 25
"""Maximum number of values for which kernels of several widths are computed together."""


Split = tuple[Indices, Indices]
"""Training and test indices, in ascending order."""


@dataclass(frozen=True)
class Data:
    """Checked training data with scaled features, and its splits."""

    X: Array
    y: Array
    labels: NDArray
    splits: list[Split]
    weights: Array | None = None

    def form(self, model: Any, rows: Indices) -> Preferences:
        """Return the quadratic form of a model over some points."""
        weights = None if self.weights is None else self.weights[rows]
        return model._preferences(self.labels[rows], weights)


# Metrics


def _r2(scores: Array, predictions: Array, groups: NDArray | None) -> Any:
    variance = float(np.var(scores))
    if variance == 0.0:
        return np.full(predictions.shape[:-1], np.nan)
    return 1.0 - metrics.squared_error(scores, predictions) / variance


_TOP_METRICS: dict[str, Metric] = {
    "map": metrics.mean_average_precision,
    "mrr": metrics.mean_reciprocal_rank,
    "ndcg": ndcg,
}
"""Metrics of the whole ranking, or of its top k with the suffix ``@k``."""
_METRICS: dict[str, Metric] = {
    "disagreement": lambda *data: -metrics.disagreement_error(*data),
    "kendall": metrics.kendall_tau,
    "neg_mean_squared_error": lambda scores, values, groups: -metrics.squared_error(scores, values),
    "pairwise_accuracy": metrics.pairwise_accuracy,
    "r2": _r2,
    **_TOP_METRICS,
}
"""Metrics by name, all for stacks of predictions."""


def metric_named(name: str) -> Metric | None:
    """Return the metric of this name, or None."""
    top = re.fullmatch(r"(\w+)@([1-9]\d*)", name)
    if top and top[1] in _TOP_METRICS:
        return partial(_TOP_METRICS[top[1]], k=int(top[2]))
    return _METRICS.get(name)


def stacked_metric(scoring: Any) -> Metric:
    """Return a function that scores predictions (..., m), given scores (m,) and groups.

    A scorer gets the groups if it requests them; a callable is called for each point of the grid.
    """
    if isinstance(scoring, str):
        found = metric_named(scoring)
        assert found is not None
        return found
    if hasattr(scoring, "get_metadata_routing"):
        asks = bool(scoring.get_metadata_routing().consumes("score", ["groups"]))
        identity = LinearRegression()  # a fitted model that predicts its only feature
        identity.coef_, identity.intercept_ = np.ones(1), 0.0

        def one(scores: Array, prediction: Array, groups: NDArray | None) -> float:
            passed = {"groups": groups} if asks and groups is not None else {}
            with config_context(enable_metadata_routing=True):
                return scoring(identity, prediction[:, None], scores, **passed)

    else:
        one = scoring
        try:
            inspect.signature(scoring).bind(None, None, None)
        except TypeError:
            raise ValueError(
                "scoring must take three arguments: scores, predictions, and groups (None if there "
                f"are none); {scoring!r} does not"
            ) from None

    def each(scores: Array, predictions: Array, groups: NDArray | None) -> Array:
        found = [
            float(one(scores, prediction, groups))
            for prediction in predictions.reshape(-1, predictions.shape[-1])
        ]
        return np.reshape(found, predictions.shape[:-1])

    return each


_METRIC_NAME = Constraint(
    f"one of {', '.join(map(repr, [*_METRICS, *(f'{name}@10' for name in _TOP_METRICS)]))} "
    "(or another number of ranks)",
    lambda value: isinstance(value, str) and metric_named(value) is not None,
)
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
        found = [_read_split(place, split, len(y)) for place, split in enumerate(cv)]
    else:
        own = None if labels is None else labels[rows]
        splitter = cv if hasattr(cv, "split") else _folds(cv, len(rows), own)
        parts = splitter.split(X[rows], y[rows], own)
        found = [(rows[train], rows[test]) for train, test in parts]
    if len(found) < 2:
        raise ValueError(f"cv must give at least two splits; got {len(found)}")
    splits = []
    for place, (train, test) in enumerate(found):
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
                "parts: use a number of folds, GroupKFold or another group splitter"
            )
        splits.append((np.union1d(train, np.flatnonzero(~scored)), tested))
    return splits


def _folds(n_folds: int, n_points: int, labels: NDArray | None) -> GroupKFold | KFold:
    n_parts, parts = (n_points, "samples") if labels is None else (len(np.unique(labels)), "groups")
    if n_parts < n_folds:
        raise ValueError(
            f"cv={n_folds} folds need at least as many {parts} with scores; got n_{parts} = "
            f"{n_parts}: lower cv or add {parts}"
        )
    # Points are often sorted by score; folds of neighbours would then differ systematically.
    return (
        GroupKFold(n_folds) if parts == "groups" else KFold(n_folds, shuffle=True, random_state=0)
    )


def _read_split(place: int, split: Any, n_points: int) -> tuple[Indices, Indices]:
    """Read a split: two arrays of indices, or masks, of all rows."""
    try:
        train, test = (np.arange(n_points)[np.asarray(part)] for part in split)
    except (IndexError, TypeError, ValueError) as error:
        raise ValueError(
            f"cv must hold pairs of training and test indices of the {n_points} samples; "
            f"split {place} is not one"
        ) from error
    return train, test


def common_blocks(splits: Sequence[Split], labels: NDArray) -> list[Indices] | None:
    """Return blocks of points that are in the training parts of the same splits.

    None if a group has points in several blocks, or if there are more blocks than splits, so that
    adding up blocks saves nothing.
    """
    inside = np.zeros((len(labels), len(splits)), dtype=bool)
    for place, (train, _) in enumerate(splits):
        inside[train, place] = True
    patterns, codes = np.unique(inside, axis=0, return_inverse=True)
    codes = codes.reshape(-1)
    in_groups = len(np.unique(np.rec.fromarrays([labels, codes])))
    if len(patterns) > len(splits) + 1 or in_groups > len(np.unique(labels)):
        return None
    return [np.flatnonzero(codes == code) for code in range(len(patterns))]


# Scores of a grid, and the choice


def score_table(axes: Grid, scores: Array) -> dict[str, NDArray[Any]]:
    """Return a table with one row per grid point and one column per axis and statistic.

    `scores`, (k, *lengths of the axes), are those of k folds; higher is better. A fold whose scores
    are all NaN does not count.
    """
    folds = scores.reshape(len(scores), -1)
    counted = folds[~np.isnan(folds).all(axis=1)]
    if len(counted) == 0:
        raise ValueError(
            "scoring is undefined in every fold: no test set has different scores (within a "
            "group, if there are groups); use fewer folds or another metric"
        )
    std, mesh = counted.std(axis=0), np.meshgrid(*axes.values(), indexing="ij")
    table = {f"param_{name}": values.ravel() for name, values in zip(axes, mesh, strict=True)}
    table |= {
        "mean_test_score": counted.mean(axis=0),
        "std_test_score": std,
        "standard_error": std / np.sqrt(max(1, len(counted) - 1)),  # 0 if only one fold counts
        "rank_test_score": np.empty(0),
        **{f"split{place}_test_score": fold for place, fold in enumerate(folds)},
    }
    return join_tables([table])


def join_tables(tables: list[dict[str, NDArray[Any]]]) -> dict[str, NDArray[Any]]:
    """Return the rows of several tables of the same columns, ranked together."""
    joined = {name: np.concatenate([table[name] for table in tables]) for name in tables[0]}
    lowered = -np.nan_to_num(joined["mean_test_score"], nan=-np.inf, neginf=-np.inf)
    joined["rank_test_score"] = 1 + np.searchsorted(np.sort(lowered), lowered)
    return joined


def choose_row(table: Grid, selection: Selection) -> int:
    """Return the row of the best point, or of the simplest within one standard error of it.

    Ties go to the simpler point: fewer functions, then the larger penalty, then the
    smoother kernel.
    """
    mean = np.where(np.isnan(table["mean_test_score"]), -np.inf, table["mean_test_score"])

    def simplest(least: float) -> int:
        rows = np.flatnonzero(mean >= least - TIED * abs(least))
        axes = [name for name in SIMPLER if f"param_{name}" in table]
        keys = [SIMPLER[name] * table[f"param_{name}"][rows] for name in reversed(axes)]
        return int(rows[np.lexsort([-mean[rows], *keys])[0]])

    best = simplest(mean.max())
    return best if selection == "best" else simplest(mean[best] - table["standard_error"][best])


# The base class


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


class _PathCV(KernelEstimator, CallbackSupportMixin):
    """Base of the estimators that choose their parameters by cross-validation."""

    _not_taken = ("pairs", "weights")
    dictionary: Any
    gammas: Numbers | None
    _estimator: ClassVar[Any]
    _grid: ClassVar[Callable[..., dict[str, NDArray[Any]]]]
    """Returns the values of each axis but gamma, from the search, the plain model and the data."""
    _held_out: ClassVar[Callable[..., Iterator[Array]]]
    """Yields for each split the predictions of its test set, (len(gammas), *axes, m)."""
    _constraints: ClassVar[Constraints] = {
        "n_basis": (integer(1), NONE),
        "cv": (integer(2), _SPLITS),
        "scoring": (_METRIC_NAME, CALLABLE),
        "dictionary": (choice("auto"), *PARAMETERS["dictionary"]),
    }

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
        X, y = self._check_data(X, y, min_samples=2)
        labels = self._labels(groups, qid, group, len(X))
        plain = self._plain()
        plain._check_parameters()
        _check_learnable(plain, X, y, labels)
        weights = plain._check_sample_weight(sample_weight, len(X))
        several_groups = bool(np.any(labels != labels[0]))
        splits = make_splits(self.cv, X, y, labels if several_groups else None)
        data = Data(self._scale_training(X, labels), y, labels, splits, weights)
        tried = self._dictionaries(X.shape[1])
        with _task(self, len(tried) + 1) as task:
            tables = []
            for fixed in tried:
                try:
                    tables.append(self._score_grid(plain, fixed, data, several_groups, task))
                except NoUsableFunctionError:
                    if len(tried) == 1:  # "auto" goes on with the other dictionaries
                        raise
            with _task(self, 0, "refit", task):
                self._fit_best(plain, data, join_tables(tables))
        return self

    def _fit_best(self, plain: Any, data: Data, table: dict[str, NDArray[Any]]) -> None:
        """Choose a row of the table of scores, and fit to all points with its parameters."""
        row = choose_row(table, self.selection)
        self.cv_results_, self.best_index_ = table, row
        self.best_score_ = float(table["mean_test_score"][row])
        self.best_params_ = {
            name.removeprefix("param_"): column[row].item()
            for name, column in table.items()
            if name.startswith("param_") and column[row] == column[row]  # not NaN
        }
        model = clone(plain).set_params(**self.best_params_)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", r"X has \d+ column\(s\)")  # given for the search
            model.fit(data.X, data.y, data.labels, sample_weight=data.weights)
        self.best_estimator_ = model
        self.basis_, self.coef_, self.X_basis_ = model.basis_, model.coef_, model.X_basis_
        if self.scaler_ is not None and model._in_features:
            self.coef_ = model.coef_ / self.scaler_.scale_
        elif self.scaler_ is not None and model.X_basis_ is not None:
            scaler = self.scaler_

            def original(points: Array) -> Array:
                return scaler.inverse_transform(points) if len(points) else points

            views = isinstance(model.X_basis_, list)
            self.X_basis_ = [*map(original, model.X_basis_)] if views else original(model.X_basis_)
        if model._ranks:
            self.n_groups_ = model.n_groups_

    def _plain(self) -> Any:
        """Return the estimator without cross-validation, with all fixed parameters and one seed."""
        own, names = self.get_params(deep=False), self._estimator().get_params()
        left = {"n_basis", "scale", *(["dictionary"] if self._is_auto() else [])}
        shared = {name: own[name] for name in names if name in own and name not in left}
        if "random_state" in shared and not isinstance(shared["random_state"], int | np.integer):
            generator = random_generator(shared["random_state"])
            shared["random_state"] = int(generator.choice(1 << 31))
        return self._estimator(**shared)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        fixed = self._uses_dictionary and not self._is_auto()
        if self.gammas is not None and (fixed or not self._has_gamma()):
            kernels = "the kernel " + " and ".join(map(repr, self._kernels_in_use()))
            what = f"dictionary={self.dictionary!r}" if fixed else kernels
            raise ValueError(
                f"gammas must be None with {what}, which has no gamma; got {list(self.gammas)}: "
                f"leave it out, or choose one of the kernels {', '.join(WITH_GAMMA)}"
            )

    def _has_gamma(self) -> bool:
        kernels = self._kernels_in_use()
        return any(isinstance(kernel, str) and kernel in WITH_GAMMA for kernel in kernels)

    def _is_auto(self) -> bool:
        return getattr(self, "dictionary", None) == "auto"

    def _dictionaries(self, n_features: int) -> list[dict[str, str]]:
        """Return the parameters of each dictionary to try; one empty dict if it is fixed."""
        names = ["kernel", "grown"]
        chosen = self._is_auto() and self.kernel == "rbf" and self.gammas is None
        return [{"dictionary": name} for name in names] if chosen else [{}]

    def _score_grid(
        self, plain: Any, own: Mapping[str, str], data: Data, several_groups: bool, task: Any
    ) -> dict[str, NDArray[Any]]:
        """Score the held-out points of every split over the grid, with the parameters `own` set."""
        plain = clone(plain).set_params(**own)
        metric, axes = stacked_metric(self.scoring), self._grid(plain, data)
        gammas = np.array([None]) if plain._uses_dictionary else self._gamma_grid(data.X)
        lengths = [len(values) for values in axes.values()]
        scores = np.empty((len(data.splits), len(gammas), *lengths))
        n_points, n_columns = len(data.y), getattr(plain, "n_candidates", None) or len(data.y)
        n_penalties = np.prod([len(axes[name]) for name in axes if name != "n_basis"])
        room = n_points * min(n_points, n_columns) * (len(data.splits) + 2 + n_penalties)
        together = max(1, int(_AT_ONCE // room))
        starts, name = range(0, len(gammas), together), own.get("dictionary", "search")
        with _task(self, len(starts) * len(data.splits), name, task) as ours:
            for start in starts:
                part = slice(start, start + together)
                held_out = self._held_out(plain, data, gammas[part], axes)
                for place, (_, test) in enumerate(data.splits):
                    with _task(self, 0, "fold", ours):
                        labels = data.labels[test] if several_groups else None
                        scores[place, part] = metric(data.y[test], next(held_out), labels)
        if gammas[0] is not None:
            axes = {"gamma": gammas, **axes}
        elif own:  # other dictionaries have a gamma
            axes = {"gamma": np.array([np.nan]), **axes}
        return score_table({**{name: np.array([own[name]]) for name in own}, **axes}, scores)

    def _gamma_grid(self, X: Array) -> NDArray[Any]:
        """Return the gammas to try; one None if no kernel has a gamma."""
        if not self._has_gamma():
            return np.array([None])
        if self.gammas is not None:
            return np.asarray(self.gammas, dtype=np.float64)
        return GAMMAS * resolve_gamma("rbf", "scale", X)

    def _stack(self, X: Array, rows: Indices, columns: Indices, gammas: NDArray[Any]) -> Array:
        """Return the kernels of some points with others, (len(gammas), len(rows), len(columns))."""
        if self._precomputed:
            stack = X[None, rows[:, None], columns]
        elif isinstance(self.kernel, str) and self.kernel == "rbf":
            stack = gaussian_stack(squared_distances(X[rows], X[columns]), gammas)
        else:
            stack = np.stack([self._kernel(X[rows], X[columns], gamma) for gamma in gammas])
        self._check_kernel_values(stack)
        return stack

    def _values(self, X: Array) -> Array:
        return self.best_estimator_.predict(X)

    @available_if(lambda self: hasattr(self._estimator, "staged_predict"))
    def staged_predict(self, X: ArrayLike, groups: ArrayLike | None = None) -> Iterator[Array]:
        """Predict with 1, 2, ... basis functions, up to the chosen number; pursuits only.

        Parameters
        ----------
        X : array-like of shape (m, n_features), or (m, n) kernel values if precomputed
        groups : array-like of shape (m,), optional
            As in `predict`.

        Yields
        ------
        ndarray of shape (m,)
        """
        X = self._new_points(X, groups).astype(np.float64, copy=False)
        yield from self.best_estimator_.staged_predict(self._scaled(X))

    explain = available_if(lambda self: hasattr(self._estimator, "explain"))(RankingPursuit.explain)
    summary = available_if(lambda self: hasattr(self._estimator, "summary"))(RankingPursuit.summary)

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


def _check_learnable(plain: KernelEstimator, X: Any, y: Array, labels: NDArray) -> None:
    """Raise a ValueError if no scores differ, for a ranker within a group, or no features."""
    scored, within = ~np.isnan(y), " inside a group" if plain._ranks else ""
    if plain._ranks:
        form = plain._preferences(labels[scored])
        count_groups(form)
        if form.beta == 0.0 and not _varies_within(X[scored], form.groups):
            raise ValueError(
                "X must have a feature that varies inside a group; all points of each group are "
                "equal, so that no order of them can be learned: pass features of the points, not "
                "of their groups"
            )
    compared = labels[scored] if plain._ranks else np.zeros(len(y))
    if not np.any(GroupPreferences(compared).root(y[scored])):
        raise ValueError(f"y must contain different scores{within}; all are equal")


def _varies_within(X: Any, groups: Any) -> bool:
    """Return whether a feature, or precomputed kernel value, differs between points of a group."""
    first_rows = groups.order[groups.starts][groups.codes]
    return bool((X[first_rows] != X).sum() > 0)  # X may be sparse


def _most_basis(asked: int | None, default: int, available: int, remedy: str) -> int:
    """Return the maximum number of basis functions; raise ValueError if fewer are available."""
    if asked is not None and asked > available:
        raise ValueError(
            f"n_basis={asked} is more than the {available} candidates of the smallest training "
            f"part; lower n_basis or {remedy}"
        )
    return min(default, available) if asked is None else int(asked)


# Families of methods: the grid, and the held-out predictions of every split over the grid


def _alpha_grid(search: Any, plain: Any, data: Data) -> dict[str, NDArray[Any]]:
    return {"alpha": np.asarray(search.alphas, dtype=np.float64)}


def _alpha_paths(
    search: Any, plain: Any, data: Data, gammas: NDArray[Any], axes: Grid
) -> Iterator[Array]:
    """Solve each training set for all alphas; a linear kernel is solved for feature weights."""
    X, every = plain._check_for_kernel(data.X), np.arange(len(data.y))
    kernels = None if plain._in_features else search._stack(X, every, every, gammas)
    for train, test in data.splits:
        if kernels is None:
            columns, new = X[train], X[test]
        else:
            columns, new = kernels[:, train[:, None], train], kernels[:, test[:, None], train]
        form = data.form(plain, train)
        yield least_squares_grid(columns, data.y[train], form, axes).predict(new)


def _subset_grid(search: Any, plain: Any, data: Data) -> dict[str, NDArray[Any]]:
    available = min(len(train) for train, _ in data.splits)
    asked = None if search.n_basis is None else max(search.n_basis)
    most = _most_basis(asked, 1000, available, "raise cv")
    halved = sorted({max(1, most >> halving) for halving in range(5)})
    sizes = halved if search.n_basis is None else search.n_basis
    return {"n_basis": np.asarray(sizes, dtype=np.intp), **_alpha_grid(search, plain, data)}


def _subset_paths(
    search: Any, plain: Any, data: Data, gammas: NDArray[Any], axes: Grid
) -> Iterator[Array]:
    """Solve nested subsets of each training set, in one random order."""
    for train, test in data.splits:
        order = train[random_generator(plain.random_state).permutation(len(train))]
        subset = order[: max(axes["n_basis"])]
        columns, among, new = (
            search._stack(data.X, rows, subset, gammas) for rows in (train, subset, test)
        )
        form = data.form(plain, train)
        yield subset_grid(columns, among, data.y[train], form, axes).predict(new)


def _pursuit_grid(search: Any, plain: Any, data: Data) -> dict[str, NDArray[Any]]:
    most = search.n_basis or MAX_BASIS
    if not plain._uses_dictionary:
        candidates = _candidates(plain, data)
        available = min(int(np.isin(candidates, train).sum()) for train, _ in data.splits)
        most = _most_basis(search.n_basis, MAX_BASIS, available, "raise n_candidates or cv")
    betas = {"beta": np.asarray(search.betas, dtype=np.float64)} if hasattr(search, "betas") else {}
    ridges = np.asarray(search.ridges, dtype=np.float64)
    return {**betas, "ridge": ridges, "n_basis": np.arange(1, most + 1)}


def _pursuit_paths(
    search: Any, plain: Any, data: Data, gammas: NDArray[Any], axes: Grid
) -> Iterator[Array]:
    """Follow one path for each fold, gamma, beta and ridge, from the fold's Gram matrix."""
    betas = axes.get("beta")
    models = [plain]
    if betas is not None:
        models = [clone(plain).set_params(beta=float(beta)) for beta in betas]
    paths = _function_paths if plain._uses_dictionary else _kernel_paths
    for values in paths(search, models, data, gammas, axes):
        yield values[:, 0] if betas is None else values


def _kernel_paths(
    search: Any, models: list[Any], data: Data, gammas: NDArray[Any], axes: Grid
) -> Iterator[Array]:
    """Yield predictions (len(gammas), len(models), ridges, n_basis, m) of each fold."""
    candidates = _candidates(models[0], data)
    columns = search._stack(data.X, np.arange(len(data.y)), candidates, gammas)
    grams = [_training_grams(model, columns, data) for model in models]
    for (train, test), *found in zip(data.splits, *grams, strict=True):
        own = np.flatnonzero(np.isin(candidates, train))
        among = columns[:, candidates[own][:, None], own]
        new = columns[:, test[:, None], own]
        values = []
        for model, sums in zip(models, found, strict=True):
            options = {"fitting": model.fitting or "backfit", "repeat": model.repeat}
            values.append(
                pursuit_grid(sums.select(own), axes, kernel=among, **options).predict(new)
            )
        yield np.stack(values, axis=1)


def _function_paths(
    search: Any, models: list[Any], data: Data, gammas: NDArray[Any], axes: Grid
) -> Iterator[Array]:
    """Yield the same for the functions of a dictionary, which have no gamma."""
    dictionary = make_dictionary(models[0].dictionary).fit(data.X)
    columns = dictionary_values(dictionary, data.X)
    for train, test in data.splits:
        values = []
        for model in models:
            form = data.form(model, train)
            functions = usable_functions(dictionary, columns[train], form, data.y[train])
            paths = pursuit_grid(functions, axes)
            values.append(paths.predict(partial(dictionary.columns, data.X[test])))
        yield np.stack(values, axis=1)


def _candidates(plain: Any, data: Data) -> Indices:
    return draw_candidates(len(data.y), plain.n_candidates, plain.random_state)


def _training_grams(model: Any, columns: Array, data: Data) -> Iterator[GramSums]:
    """Return the Gram matrix of the training set of every split.

    If splits share blocks of whole groups, as folds do, that of each block is computed once, and
    those of the training blocks are added up.
    """

    def gram(rows: Indices) -> GramSums:
        return GramSums.of(columns[:, rows], data.y[rows], data.form(model, rows))

    labels = data.labels if model._ranks else np.arange(len(data.y))
    blocks = common_blocks(data.splits, labels)
    if blocks is None:
        yield from (gram(train) for train, _ in data.splits)
        return
    grams = [gram(block) for block in blocks]
    for train, _ in data.splits:
        kept = np.isin([block[0] for block in blocks], train)
        yield reduce(add, (part for part, inside in zip(grams, kept, strict=True) if inside))


def _view_grid(search: Any, plain: Any, data: Data) -> dict[str, NDArray[Any]]:
    sizes = [len(own) for train, _ in data.splits for own in _view_setup(plain, data, train).points]
    remedy = "raise n_candidates or cv, or lower n_views"
    most = _most_basis(search.n_basis, 50, min(sizes), remedy)
    ridges, nus = (np.asarray(values, dtype=np.float64) for values in (search.ridges, search.nus))
    return {"ridge": ridges, "nu": nus, "n_basis": np.arange(1, most + 1)}


def _view_paths(
    search: Any, plain: Any, data: Data, gammas: NDArray[Any], axes: Grid
) -> Iterator[Array]:
    """Follow the joint paths of each training set, each with its own views."""
    for train, test in data.splits:
        setup = _view_setup(plain, data, train)
        kernels = []
        for view, (own, features) in enumerate(zip(setup.points, setup.features, strict=True)):
            stack = [plain._view_kernel(data.X, own, features, gamma, view) for gamma in gammas]
            kernels.append(np.stack(stack))
        path = plain._joint_grid(kernels, data.y, data.labels, setup, axes)
        yield path.predict([kernel[:, test] for kernel in kernels])


def _view_setup(plain: Any, data: Data, train: Indices) -> ViewSetup:
    """Set up the views of a training set, with indices of all training data."""
    setup = plain._set_up(data.X[train], ~np.isnan(data.y[train]), data.labels[train])
    points, losses = ([train[own] for own in part] for part in (setup.points, setup.losses))
    return ViewSetup(points, losses, train[setup.agreeing], setup.features)


# The estimators


class RLSCV(_PathCV):
    """Regularised least squares with alpha and gamma chosen by cross-validation.

    Parameters
    ----------
    alphas : list of float, default (0.01, 0.1, 1.0, 10.0, 100.0)
        Weights of the regulariser to try; positive.
    kernel, gammas, degree, coef0, kernel_params, scale, cv, scoring, selection : optional
        The search, as in :class:`RankingPursuitCV`; `scoring` is the mean squared error by default.

    Attributes
    ----------
    cv_results_, best_params_, best_score_, best_index_, best_estimator_, scaler_
        The search, as in :class:`RankingPursuitCV`.
    basis_, coef_, X_basis_, n_features_in_, feature_names_in_
        The chosen model, as in :class:`RankingPursuitCV`.

    See Also
    --------
    RLS : The same with given parameters.
    RankRLSCV : The same on the differences of pairs.
    KernelMatchingPursuitCV : A sparse expansion for the same scores.

    Examples
    --------
    >>> import numpy as np
    >>> from rankpursuit import RLSCV
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(0.0, 6.0, size=(100, 1))
    >>> model = RLSCV().fit(X, np.sin(X[:, 0]) + 0.1 * rng.normal(size=100))
    >>> model.predict([[0.5], [1.5]]).round(1)
    array([0.5, 1. ])
    """

    _estimator = RLS
    _ranks = False
    _grid, _held_out = _alpha_grid, _alpha_paths

    def __init__(
        self,
        alphas: Numbers = PENALTIES,
        *,
        kernel: Kernel = "rbf",
        gammas: Numbers | None = None,
        degree: int = 3,
        coef0: float = 1.0,
        kernel_params: Mapping[str, Any] | None = None,
        scale: bool | str = True,
        cv: Any = 5,
        scoring: str | Metric = "neg_mean_squared_error",
        selection: Selection = "best",
    ) -> None:
        self._set_parameters(locals())


class RankRLSCV(_PathCV):
    """RankRLS with alpha and gamma chosen by cross-validation.

    Parameters
    ----------
    alphas : list of float, default (0.01, 0.1, 1.0, 10.0, 100.0)
        Weights of the regulariser to try; positive.
    group_weight : optional
        The method, as in :class:`RankingPursuitCV`.
    kernel, gammas, degree, coef0, kernel_params, scale, cv, scoring, selection : optional
        The search, as in :class:`RankingPursuitCV`.

    Attributes
    ----------
    cv_results_, best_params_, best_score_, best_index_, best_estimator_, scaler_
        The search, as in :class:`RankingPursuitCV`.
    basis_, coef_, X_basis_, n_groups_, n_features_in_, feature_names_in_
        The chosen model, as in :class:`RankingPursuitCV`.

    See Also
    --------
    RankRLS : The same with given parameters.
    SparseRankRLSCV : The same on a random subset of regressors.
    RankingPursuitCV : A sparse expansion for the same cost.

    Examples
    --------
    >>> import numpy as np
    >>> from rankpursuit import RankRLSCV
    >>> rng = np.random.default_rng(0)
    >>> X, groups = rng.normal(size=(100, 2)), np.repeat(np.arange(10), 10)
    >>> y = X[:, 0] + np.sin(2 * X[:, 1]) + 0.3 * rng.normal(size=100) + 10 * groups
    >>> model = RankRLSCV().fit(X, y, groups)
    >>> model.best_params_["alpha"], round(model.best_score_, 2)
    (0.01, 0.92)
    """

    _estimator = RankRLS
    _grid, _held_out = _alpha_grid, _alpha_paths

    def __init__(
        self,
        alphas: Numbers = PENALTIES,
        *,
        group_weight: GroupWeights = "equal",
        kernel: Kernel = "rbf",
        gammas: Numbers | None = None,
        degree: int = 3,
        coef0: float = 1.0,
        kernel_params: Mapping[str, Any] | None = None,
        scale: bool | str = True,
        cv: Any = 5,
        scoring: str | Metric = "pairwise_accuracy",
        selection: Selection = "best",
    ) -> None:
        self._set_parameters(locals())


class SparseRankRLSCV(_PathCV):
    """Sparse RankRLS with subset size, alpha and gamma chosen by cross-validation.

    Parameters
    ----------
    n_basis : list of int or None, default None
        Sizes of the subset to try. None: five sizes, each half of the next, up to 1000 or the
        smallest training set.
    alphas : list of float, default (0.01, 0.1, 1.0, 10.0, 100.0)
        Weights of the regulariser to try; positive.
    group_weight, random_state : optional
        The method, as in :class:`RankingPursuitCV`.
    kernel, gammas, degree, coef0, kernel_params, scale, cv, scoring, selection : optional
        The search, as in :class:`RankingPursuitCV`.

    Attributes
    ----------
    cv_results_, best_params_, best_score_, best_index_, best_estimator_, scaler_
        The search, as in :class:`RankingPursuitCV`.
    basis_, coef_, X_basis_, n_groups_, n_features_in_, feature_names_in_
        The chosen model, as in :class:`RankingPursuitCV`.

    See Also
    --------
    SparseRankRLS : The same with given parameters.
    RankRLSCV : The same with all points as regressors.
    RankingPursuitCV : Chooses its regressors one by one.

    Examples
    --------
    >>> import numpy as np
    >>> from rankpursuit import SparseRankRLSCV
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> model = SparseRankRLSCV(n_basis=[5, 10, 20], random_state=0).fit(X, X[:, 0] * X[:, 1])
    >>> model.best_params_["n_basis"], model.basis_.shape
    (20, (20,))
    """

    _estimator = SparseRankRLS
    _grid, _held_out = _subset_grid, _subset_paths
    _constraints: ClassVar[Constraints] = {
        **_PathCV._constraints,
        "n_basis": (several(integer(1)), NONE),
    }

    def __init__(
        self,
        n_basis: Sequence[int] | None = None,
        alphas: Numbers = PENALTIES,
        *,
        group_weight: GroupWeights = "equal",
        kernel: Kernel = "rbf",
        gammas: Numbers | None = None,
        degree: int = 3,
        coef0: float = 1.0,
        kernel_params: Mapping[str, Any] | None = None,
        scale: bool | str = True,
        cv: Any = 5,
        scoring: str | Metric = "pairwise_accuracy",
        selection: Selection = "best",
        random_state: RandomState = None,
    ) -> None:
        self._set_parameters(locals())


class KernelMatchingPursuitCV(_PathCV):
    """Kernel matching pursuit with n_basis, ridge and gamma chosen by cross-validation.

    Parameters
    ----------
    n_basis : int or None, default None
        Maximum number of basis functions; every number up to it is tried. None: at most 100.
    dictionary : {"auto", "kernel", "additive", "pairs"} or object, default "kernel"
        The functions to choose from, as in :class:`RankingPursuitCV`.
    ridges, fitting, n_candidates, random_state : optional
        The method, as in :class:`RankingPursuitCV`.
    kernel, gammas, degree, coef0, kernel_params, scale, cv, scoring, selection : optional
        The search, as in :class:`RankingPursuitCV`; `scoring` is the mean squared error by default.

    Attributes
    ----------
    cv_results_, best_params_, best_score_, best_index_, best_estimator_, scaler_
        The search, as in :class:`RankingPursuitCV`.
    basis_, coef_, X_basis_, n_features_in_, feature_names_in_
        The chosen model, as in :class:`RankingPursuitCV`.

    See Also
    --------
    KernelMatchingPursuit : The same with given parameters.
    RankingPursuitCV : The same on the differences of pairs.
    RLSCV : Regularised least squares with all points.

    Examples
    --------
    >>> import numpy as np
    >>> from rankpursuit import KernelMatchingPursuitCV
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(0.0, 6.0, size=(100, 1))
    >>> y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=100)
    >>> model = KernelMatchingPursuitCV(n_basis=20, selection="sparsest").fit(X, y)
    >>> model.best_params_["n_basis"], round(model.score(X, y), 2)
    (4, 0.98)
    """

    _estimator = KernelMatchingPursuit
    _ranks = False
    _grid, _held_out = _pursuit_grid, _pursuit_paths

    def __init__(
        self,
        n_basis: int | None = None,
        *,
        ridges: Numbers = PENALTIES,
        fitting: Fitting | None = None,
        dictionary: Any = "kernel",
        n_candidates: int | None = 1000,
        kernel: Kernel = "rbf",
        gammas: Numbers | None = None,
        degree: int = 3,
        coef0: float = 1.0,
        kernel_params: Mapping[str, Any] | None = None,
        scale: bool | str = True,
        cv: Any = 5,
        scoring: str | Metric = "neg_mean_squared_error",
        selection: Selection = "best",
        random_state: RandomState = None,
    ) -> None:
        self._set_parameters(locals())


class RankingPursuitCV(_PathCV):
    """Ranking pursuit with n_basis, ridge and gamma chosen by cross-validation.

    One path per fold yields the score for every number of basis functions.

    Parameters
    ----------
    n_basis : int or None, default None
        Maximum number of basis functions; every number up to it is tried. None: at most 100.
    ridges : list of float, default (0.01, 0.1, 1.0, 10.0, 100.0)
        Weights of the penalty to try, as in :class:`RankingPursuit`.
    fitting, group_weight, kernel, degree, coef0, kernel_params, random_state : optional
        As in :class:`RankingPursuit`.
    dictionary : {"auto", "kernel", "additive", "pairs"} or object, default "auto"
        The functions to choose from, as in :class:`RankingPursuit`. "auto" tries all three
        ("pairs" with 2 to 600 features) and keeps the one with the best score; with `gammas`, or a
        `kernel` other than "rbf", it tries "kernel" only.
    n_candidates : int or None, default 1000
        Number of training points, drawn at random, that form the dictionary of kernels; a fold uses
        those in its training set. None: all.
    gammas : list of float or None, default None
        Values of gamma to try, for the scaled features. None: the powers of 4 from 1/64 to 16
        times ``1 / (n_features * X.var())``.
    scale : bool or "group", default True
        True: centre the features, except for the chi2 kernels, and divide them by their standard
        deviation. "group": do so within each group; pass the groups to `predict` too. A precomputed
        kernel has no features: True leaves it as it is, and "group" is an error.
    cv : int, splitter or iterable, default 5
        Number of folds, of whole groups if there are groups; a splitter; or pairs of training and
        test indices.
    scoring : str or callable, default "pairwise_accuracy"
        Metric to maximise: "pairwise_accuracy", "disagreement", "kendall", "ndcg", "map", "mrr",
        the last three optionally truncated at rank k, as in ``"ndcg@10"``, "r2",
        "neg_mean_squared_error", a scorer, or a function of scores, predictions and groups.
    selection : {"best", "sparsest"}, default "best"
        The highest mean over the folds, or the sparsest model within one standard error of it.

    Attributes
    ----------
    cv_results_ : dict of ndarray
        For each point of the grid: parameters, and mean, standard deviation and standard error of
        the scores over the folds.
    best_params_ : dict
        The chosen parameters.
    best_score_ : float
        Mean score of these parameters over the folds.
    best_index_ : int
        Row of these parameters in ``cv_results_``.
    best_estimator_ : estimator
        The model with these parameters, fitted to all training data with scaled features.
    scaler_ : StandardScaler or None
        Fitted scaler; None if the features are not scaled, or are scaled within groups.
    basis_, coef_, X_basis_, n_groups_, n_features_in_, feature_names_in_
        The chosen model, as in :class:`RankingPursuit`. `X_basis_` is in the units of `X`, and so
        is `coef_` if it holds the weights of features.

    See Also
    --------
    RankingPursuit : The same with given parameters.
    KernelMatchingPursuitCV : The same on the scores of single points.
    CombinedRankingRegressionPursuitCV : A blend of both.
    RankRLSCV : Regularised least squares on the same differences.

    Notes
    -----
    With the dictionary of kernels, held-out points take no part in the model of a fold: neither by
    their scores nor as centres of basis functions. Other dictionaries, the scaling of the features
    and the default gammas are computed from the features of all training points. A fold in which
    the metric is undefined, since no scores differ, does not count.

    With scikit-learn 1.9 or later, ``set_callbacks(sklearn.callback.ProgressBar())`` shows the
    progress of a search.

    Examples
    --------
    >>> import numpy as np
    >>> from rankpursuit import RankingPursuitCV
    >>> rng = np.random.default_rng(0)
    >>> X, groups = rng.normal(size=(200, 2)), np.repeat(np.arange(20), 10)
    >>> y = X[:, 0] + np.sin(2 * X[:, 1]) + 0.3 * rng.normal(size=200) + 10 * groups
    >>> model = RankingPursuitCV(n_basis=30, selection="sparsest").fit(X, y, groups)
    >>> model.best_params_["n_basis"], round(model.best_score_, 2)
    (3, 0.93)

    The whole grid, as a table, and its best score with each dictionary:

    >>> import pandas as pd
    >>> table = pd.DataFrame(model.cv_results_)
    >>> table.groupby("param_dictionary").mean_test_score.max().round(2).to_dict()
    {'additive': 0.93, 'kernel': 0.94, 'pairs': 0.93}
    """

    _estimator = RankingPursuit
    _grid, _held_out = _pursuit_grid, _pursuit_paths

    def __init__(
        self,
        n_basis: int | None = None,
        *,
        ridges: Numbers = PENALTIES,
        fitting: Fitting | None = None,
        group_weight: GroupWeights = "equal",
        dictionary: Any = "auto",
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
        random_state: RandomState = None,
    ) -> None:
        self._set_parameters(locals())


class CombinedRankingRegressionPursuitCV(_PathCV):
    """Combined ranking and regression pursuit with parameters chosen by cross-validation.

    Parameters
    ----------
    n_basis : int or None, default None
        Maximum number of basis functions; every number up to it is tried. None: at most 100.
    betas : list of float, default (0.0, 0.5, 1.0)
        Weights of the regression part to try, from 0 (ranking only) to 1 (regression only).
    dictionary : {"auto", "kernel", "additive", "pairs"} or object, default "kernel"
        The functions to choose from, as in :class:`RankingPursuitCV`.
    ridges, fitting, group_weight, n_candidates, random_state : optional
        The method, as in :class:`RankingPursuitCV`.
    kernel, gammas, degree, coef0, kernel_params, scale, cv, scoring, selection : optional
        The search, as in :class:`RankingPursuitCV`.

    Attributes
    ----------
    cv_results_, best_params_, best_score_, best_index_, best_estimator_, scaler_
        The search, as in :class:`RankingPursuitCV`.
    basis_, coef_, X_basis_, n_groups_, n_features_in_, feature_names_in_
        The chosen model, as in :class:`RankingPursuitCV`.

    See Also
    --------
    CombinedRankingRegressionPursuit : The same with given parameters.
    KernelMatchingPursuitCV : The regression part alone.
    RankingPursuitCV : The ranking part alone.

    Examples
    --------
    >>> import numpy as np
    >>> from rankpursuit import CombinedRankingRegressionPursuitCV
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(0.0, 3.0, size=(100, 1))
    >>> model = CombinedRankingRegressionPursuitCV(n_basis=10, scoring="r2")
    >>> model.fit(X, np.exp(X[:, 0])).predict([[1.0], [2.0]]).round(1)
    array([2.7, 7.4])
    """

    _estimator = CombinedRankingRegressionPursuit
    _grid, _held_out = _pursuit_grid, _pursuit_paths

    def __init__(
        self,
        n_basis: int | None = None,
        *,
        betas: Numbers = (0.0, 0.5, 1.0),
        ridges: Numbers = PENALTIES,
        fitting: Fitting | None = None,
        group_weight: GroupWeights = "equal",
        dictionary: Any = "kernel",
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
        random_state: RandomState = None,
    ) -> None:
        self._set_parameters(locals())


class SemiSupervisedRankingPursuitCV(_PathCV):
    """Semi-supervised ranking pursuit with its parameters chosen by cross-validation.

    Folds divide the scored points; all unscored points are in every training set.

    Parameters
    ----------
    n_basis : int or None, default None
        Maximum number of basis functions per view; every number up to it is tried. None: at most
        50.
    nus : list of float, default (0.1, 1.0, 10.0)
        Weights of the agreement to try.
    n_views, views, shared_basis, fitting, agreement : optional
        As in :class:`SemiSupervisedRankingPursuit`; `fitting` is "backfit" by default.
    n_candidates : int or None, default 200
        Number of points of a training set, drawn at random, that are split among the
        dictionaries; a step compares all pairs of their functions. None: all points.
    ridges, group_weight, random_state : optional
        The method, as in :class:`RankingPursuitCV`.
    kernel, gammas, degree, coef0, kernel_params, scale, cv, scoring, selection : optional
        The search, as in :class:`RankingPursuitCV`.

    Attributes
    ----------
    cv_results_, best_params_, best_score_, best_index_, best_estimator_, scaler_
        The search, as in :class:`RankingPursuitCV`.
    basis_, coef_, X_basis_, n_groups_, n_features_in_, feature_names_in_
        The chosen model, as in :class:`SemiSupervisedRankingPursuit`; `X_basis_` in the units of
        `X`.

    See Also
    --------
    SemiSupervisedRankingPursuit : The same with given parameters.
    RankingPursuitCV : The same with one function, which the scored points alone determine.

    Examples
    --------
    >>> import numpy as np
    >>> from rankpursuit import SemiSupervisedRankingPursuitCV
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> y = X[:, 0] + X[:, 1]
    >>> scores = np.where(np.arange(60) < 30, y, np.nan)
    >>> model = SemiSupervisedRankingPursuitCV(n_basis=5, random_state=0).fit(X, scores)
    >>> model.best_params_["n_basis"], round(model.score(X, y), 2)
    (2, 0.94)
    """

    _estimator = SemiSupervisedRankingPursuit
    _grid, _held_out = _view_grid, _view_paths
    _partly_scored = True
    _constraints: ClassVar[Constraints] = {
        **_PathCV._constraints,
        "fitting": (choice("basic", "backfit"),),
    }

    def __init__(
        self,
        n_basis: int | None = None,
        *,
        nus: Numbers = (0.1, 1.0, 10.0),
        ridges: Numbers = PENALTIES,
        n_views: int = 2,
        views: str | Sequence[Kernel] = "points",
        shared_basis: bool = False,
        fitting: JointFitting = "backfit",
        agreement: Agreement = "cumulative",
        group_weight: GroupWeights = "equal",
        n_candidates: int | None = 200,
        kernel: Kernel = "rbf",
        gammas: Numbers | None = None,
        degree: int = 3,
        coef0: float = 1.0,
        kernel_params: Mapping[str, Any] | None = None,
        scale: bool | str = True,
        cv: Any = 5,
        scoring: str | Metric = "pairwise_accuracy",
        selection: Selection = "best",
        random_state: RandomState = None,
    ) -> None:
        self._set_parameters(locals())
