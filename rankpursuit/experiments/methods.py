"""The methods and metrics of experiments: the paper's eight, any estimator, and plug-ins.

All are registered by the same functions, `register_method` and `register_metric`, which a plug-in
calls too. Everything else looks them up in `METHODS` and `METRICS`.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import inspect
import sys
import traceback
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from importlib.machinery import PathFinder
from importlib.metadata import entry_points
from itertools import chain, product
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any, Literal, Self, TypeVar

import numpy as np
from numpy.typing import NDArray
from pydantic import BeforeValidator, Field, WithJsonSchema, model_validator

from rankpursuit.errors import ConfigError
from rankpursuit.experiments.grids import (
    BasisGrid,
    FractionGrid,
    InvalidValue,
    PositiveGrid,
    Section,
    WeightGrid,
    all_different,
    expand,
)
from rankpursuit.experiments.names import closest_match, short_repr, suggestion
from rankpursuit.experiments.problem import (
    Problem,
    feature_view_kernels,
    first_of_equals,
    view_points,
    view_skills,
)
from rankpursuit.metrics import Ties, disagreement_error, ndcg_error, squared_error
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

Array = NDArray[np.float64]
GridValues = tuple[int | float | str | bool, ...]


# The registry


@dataclass(frozen=True)
class Axis:
    """An axis of grids."""

    key: str
    """The field of a method's options that holds the grid."""
    column: str = ""
    """Name of the axis in configs and in the files of results. Default: `key`."""
    title: str = ""
    """Name of the axis in tables and figures. Default: `column`."""
    simpler: Literal["smaller", "larger"] = "smaller"
    """Values that give the simpler model, which is chosen in a tie."""
    precedence: int = 100
    """Order in which axes resolve ties, the smallest number first."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "column", self.column or self.key)
        object.__setattr__(self, "title", self.title or self.column)


N_BASIS = Axis("n_basis", "n_basis", "basis functions", "smaller", 1)
"""The axis along which test users are evaluated, at the chosen values of the others."""
LAMBDA = Axis("lambdas", "lambda", "lambda", "larger", 2)
RIDGE = Axis("ridge", "ridge", "ridge", "larger", 3)
C = Axis("C", "C", "C", "smaller", 4)
NU = Axis("nu", "nu", "nu", "larger", 5)
WIDTH = Axis("width", "width", "width", "larger", 6)
"""The first axis of the grid of a kernel method; as gamma, smaller values are simpler."""
BETA = Axis("beta", "beta", "beta", "larger", 7)

AXES: dict[str, Axis] = {axis.key: axis for axis in (WIDTH, LAMBDA, C, NU, BETA, RIDGE, N_BASIS)}
"""The axes of the paper's methods by key, in the order of the columns of results."""


class MethodOptions(Section):
    """Base class of the options of methods, as a config declares them."""

    method: str
    """Name of the method; by default the label."""

    def grid(self) -> dict[str, GridValues]:
        """Return the values along each axis of the grid except the width, by key."""
        return {axis.key: getattr(self, axis.key) for axis in METHODS[self.method].axes}

    def at(self, point: Mapping[str, Any]) -> Self:
        """Return the same options with a single value along some axes."""
        return self.model_copy(update={key: (value,) for key, value in point.items()})

    @property
    def sized_by(self) -> str | None:
        """Label of another algorithm that determines the size of the model, if any."""
        return getattr(self, "size_from", None)

    @property
    def has_width(self) -> bool:
        """Return whether the first axis of the grid is the width of the kernel."""
        return METHODS[self.method].has_width


@dataclass(frozen=True)
class GridPredictions:
    """Predictions of a method at every point of its grid."""

    values: Array
    """Predictions at r rows, shape (w, *axes, r)."""
    n_basis: NDArray[np.intp]
    """Number of basis functions in use, broadcastable to the shape (w, *axes)."""
    n_points: int
    """Number of training points available to the method."""


@dataclass(frozen=True)
class Method:
    """A method of experiments."""

    name: str
    """Name in configs."""
    predict_grid: Callable[[Problem, Any, slice], GridPredictions | Array]
    """Takes a problem, options and a slice of rows. Returns `GridPredictions`, or only their
    `values`: an array with one axis for the kernels of the problem (without a width: for its
    tasks), one for each axis of the grid, and one for the rows."""
    title: str
    """Name in tables and figures."""
    options: type[MethodOptions] = MethodOptions
    """Options in a config, with a field for each of `axes`."""
    axes: tuple[Axis, ...] = ()
    """Axes of the grid after the width."""
    own: tuple[str, ...] = ("disagreement",)
    """Metrics that the method minimises; ``tuning: own`` chooses its parameters by them."""
    rank_only: bool = True
    """Whether it only learns an order: its predictions are defined up to a constant."""
    has_width: bool = True
    """Whether it uses the kernels of the problem, so that the width is an axis of its grid."""
    baseline: bool = False
    """Whether it is a baseline that the paper does not have: no claim depends on it."""
    plugin: str | None = None
    """The plug-in that registered it."""


@dataclass(frozen=True)
class Metric:
    """An error that experiments report; less is better."""

    name: str
    """Name in configs and in the files of results."""
    function: Callable[..., Any]
    """Takes scores of shape (b, m) and predictions of shape (b, ..., m), returns errors (b, ...)"""
    title: str
    """Name in tables."""
    label: str = ""
    """Title of an axis of figures, with the unit in brackets. Default: `title`."""
    task: str = ""
    """Heading of its block in a table with several metrics. Default: `title`."""
    decimals: int = 3
    """Number of digits to print."""
    options: tuple[str, ...] = ()
    """Keys of the experiment that the function takes as keyword arguments."""
    of_level: bool = False
    """Whether a constant added to all predictions changes it."""
    plugin: str | None = None
    """The plug-in that registered it."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "label", self.label or self.title)
        object.__setattr__(self, "task", self.task or self.title)


@dataclass(frozen=True)
class _Plugin:
    """A loaded plug-in."""

    source: str
    modules: Mapping[str, tuple[Path, str]]
    """Path and digest of each module that it imports from folders of its user, by name of file."""


METHODS: dict[str, Method] = {}
"""Every method by its name: the paper's in the order of its tables, then those of plug-ins."""
METRICS: dict[str, Metric] = {}
"""Every metric by its name."""
_ESTIMATORS: dict[str, tuple[Any, str | None]] = {}  # class and plug-in, by dotted name
_PLUGINS: dict[str, _Plugin] = {}  # every loaded plug-in by its name
_loading: str | None = None  # name of the plug-in being executed
_ENTRY_POINTS = "rankpursuit.plugins"  # entry-point group of installed plug-ins
_FRAMES = 3  # lines of a plug-in in an error message
MISSING = "missing"  # stands for a plug-in that is not loaded

Registered = TypeVar("Registered")


def register_method(name: str, **attributes: Any) -> Callable[[Registered], Registered]:
    """Register the decorated function as the `predict_grid` of a method; see `Method`."""
    return partial(_add, METHODS, Method, name, attributes)


def register_metric(name: str, **attributes: Any) -> Callable[[Registered], Registered]:
    """Register the decorated function as a metric; see `Metric`."""
    return partial(_add, METRICS, Metric, name, attributes)


def _add(
    registry: Any, kind: Any, name: str, attributes: Mapping[str, Any], function: Registered
) -> Registered:
    """Add a function to a registry, and return it."""
    taken = known(registry).get(name)
    if taken and (_loading is None or taken.plugin != _loading):
        raise ValueError(f"the name {name} is taken by {taken.plugin or 'rankpursuit'}")
    registry[name] = kind(name, function, **attributes, plugin=_loading)
    return function


def known(registry: Mapping[str, Any]) -> dict[str, Any]:
    """Return the methods or metrics, without those of plug-ins that are not loaded."""
    return {name: entry for name, entry in registry.items() if entry.plugin != MISSING}


def register_missing(name: str, registry: dict[str, Any]) -> None:
    """Register a method or metric of a plug-in that is not loaded, to read its results."""
    kind: Any = Method if registry is METHODS else Metric
    registry.setdefault(name, kind(name, None, name.replace("_", " "), plugin=MISSING))


def is_of_plugin(class_name: object) -> bool:
    """Return whether a class can only come from a plug-in that is not loaded."""
    package = str(class_name or "sklearn").partition(".")[0]
    return package not in ("rankpursuit", "sklearn") and class_name not in _ESTIMATORS


def register_estimator(estimator: Registered) -> Registered:
    """Allow a class outside rankpursuit and scikit-learn as the `class` of ``method: estimator``.

    Configs name it by its module or its package, such as ``lightgbm.LGBMRanker``.
    """
    module, name = estimator.__module__, getattr(estimator, "__qualname__", "")
    for package in (module, module.partition(".")[0]):
        _ESTIMATORS[f"{package}.{name}"] = estimator, _loading
    return estimator


def grid_axes(options: MethodOptions, widths: tuple[float, ...]) -> dict[str, GridValues]:
    """Return the values along each axis of a grid by key: the width, if any, then the method's."""
    return ({WIDTH.key: widths} if options.has_width else {}) | options.grid()


def find_axis(key: str) -> Axis:
    """Return the axis with a key; a new one for a parameter of an estimator."""
    axes = chain(AXES.values(), *(method.axes for method in METHODS.values()))
    return next((axis for axis in axes if axis.key == key), Axis(key))


def predict_grid(problem: Problem, options: MethodOptions, rows: slice) -> GridPredictions:
    """Predict some points of a problem with a method at every point of its grid.

    For a method without a width, the problem must have one width only.
    """
    found = METHODS[options.method].predict_grid(problem, options, rows)
    if not isinstance(found, GridPredictions):
        n_scored = problem.n_scored
        found = GridPredictions(np.asarray(found), np.array(n_scored), n_scored)
    n_rows = len(range(*rows.indices(problem.scores.shape[1])))
    expected = (len(problem.kernel), *map(len, options.grid().values()), n_rows)
    if found.values.shape != expected:
        shape = f"predictions of shape {found.values.shape}, expected {expected}"
        raise ValueError(f"{options.method}: {shape}")
    return found


# Plug-ins


def load_plugins(plugins: Iterable[str | Path]) -> None:
    """Execute plug-ins, which register methods, metrics and estimators.

    They are ``.py`` files, or entry points in the group ``rankpursuit.plugins``. Raises a
    `ConfigError` if a plug-in is missing, fails, or registers a name that is taken.
    """
    sources: dict[str, str] = {}
    installed = entry_points(group=_ENTRY_POINTS)
    for plugin in map(str, plugins):
        path, name = Path(plugin), plugin
        if plugin.endswith(".py"):
            name = path.name
        elif plugin in installed.names:
            spec = importlib.util.find_spec(installed[plugin].module)
            path = Path(getattr(spec, "origin", None) or "")
        else:
            names = f"; {suggestion(plugin, sorted(installed.names))}" if installed else ""
            message = f"neither a .py file nor an installed plug-in{names}"
            raise ConfigError([f"--plugin {plugin}: {message}"])
        try:
            source = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            close = closest_match(path, "*.py")
            meant = f"; did you mean {close}?" if close and not path.exists() else ""
            reason = getattr(error, "strerror", error)
            raise ConfigError([f"--plugin {plugin}: cannot be read: {reason}{meant}"]) from error
        if sources.setdefault(name, source) != source:
            raise ConfigError([f"--plugin {plugin}: two plug-ins are called {name}: rename one"])
    install_plugins(sources.items())


def plugin_sources() -> tuple[tuple[str, str], ...]:
    """Return the name and source text of every plug-in, for `install_plugins` elsewhere."""
    return tuple((name, plugin.source) for name, plugin in _PLUGINS.items())


def install_plugins(sources: Iterable[tuple[str, str]]) -> None:
    """Execute plug-ins given as names and source texts, as in a worker; import installed ones.

    Loaded plug-ins are skipped; a changed file replaces its earlier registrations, and modules that
    it imports from folders of its user are imported again.
    """
    global _loading
    for name, source in sources:
        loaded = _PLUGINS.get(name)
        _loading = name
        try:
            if loaded and loaded == _Plugin(source, _modules_of(name, source)):
                continue
            paths = {str(path) for path, _ in loaded.modules.values()} if loaded else set()
            for word in [x for x, y in sys.modules.items() if getattr(y, "__file__", "") in paths]:
                del sys.modules[word]
            if name.endswith(".py"):
                word = name.removesuffix(".py")
                if getattr(sys.modules.get(word), "__spec__", None):  # a plug-in has none
                    raise ImportError(f"there is another module {word}: rename the file")
                module = sys.modules[word] = ModuleType(word)  # pydantic looks types up there
                exec(compile(source, name, "exec"), module.__dict__)
            else:
                entry_points(group=_ENTRY_POINTS)[name].load()
            _PLUGINS[name] = _Plugin(source, _modules_of(name, source))
        except (Exception, SystemExit) as error:
            failed = {name: _Plugin(source, _modules_of(name, source))}
            raise ConfigError([f"--plugin {name}: {error_line(error, failed)}"]) from error
        finally:
            _loading = None


def _modules_of(name: str, source: str) -> dict[str, tuple[Path, str]]:
    """Return the modules that a plug-in imports from folders of its user, see `_Plugin.modules`.

    They are found in the source, since a function may import only when it is called; so are those
    that they import in turn. The standard library and installed packages are left out, except the
    package of an installed plug-in itself.
    """
    home = next((entry.module for entry in entry_points(group=_ENTRY_POINTS, name=name)), "")
    modules: dict[str, tuple[Path, str]] = {}
    waiting = [source.encode(), f"import {home or 'sys'}".encode()]
    while waiting:
        for word in _imported_names(waiting.pop()) - {"rankpursuit", *sys.stdlib_module_names}:
            spec = PathFinder.find_spec(word)
            files = [Path(spec.origin)] if spec and spec.origin else []
            folder = files[0].parent if files else Path()
            for place in (spec and spec.submodule_search_locations) or ():
                files, folder = [*files, *Path(place).rglob("*.py")], Path(place).parent
            if {"site-packages", "dist-packages"} & {*folder.parts} and word != home.split(".")[0]:
                continue
            for path in files:
                if (key := path.relative_to(folder).as_posix()) not in modules:
                    waiting.append(content := path.read_bytes())
                    modules[key] = path, short_digest(content)
    return modules


def _imported_names(source: bytes) -> set[str]:
    """Return the top-level modules that a source text imports; none if it is not Python."""
    names = set()
    with suppress(SyntaxError, ValueError):
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.Import):
                names |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                names.add(node.module)
    return {name.partition(".")[0] for name in names}


def short_digest(content: bytes) -> str:
    """Return the first 16 hex digits of a SHA-256, which tell versions of a file apart."""
    return hashlib.sha256(content).hexdigest()[:16]


def used_plugins(algorithms: Iterable[MethodOptions], metrics: Iterable[str]) -> set[str]:
    """Return the names of the loaded plug-ins that an experiment uses."""
    used = {METRICS[metric].plugin for metric in metrics}
    for options in algorithms:
        used.add(METHODS[options.method].plugin)
        used.add(_ESTIMATORS.get(getattr(options, "class_name", ""), (None, None))[1])
    return _PLUGINS.keys() & used


def plugin_digests(plugins: Iterable[str]) -> dict[str, str]:
    """Return the SHA-256 of the source of some plug-ins, by name."""
    return {x: hashlib.sha256(_PLUGINS[x].source.encode()).hexdigest() for x in sorted(plugins)}


def plugin_modules(plugins: Iterable[str]) -> dict[str, str]:
    """Return a digest of each module that some plug-ins import from folders of their user."""
    return {key: x for name in plugins for key, (_, x) in _PLUGINS[name].modules.items()}


def error_line(error: BaseException, failed: Mapping[str, _Plugin] | None = None) -> str:
    """Return an error as one line, with its last lines in plug-ins and their modules, if any.

    These are the loaded plug-ins, and those that `failed` to load.
    """
    files: dict[str, str] = {}
    for name, plugin in (_PLUGINS | dict(failed or {})).items():
        files |= {name: name} | {str(path): key for key, (path, _) in plugin.modules.items()}
    places = [
        f"{files[frame.filename]}, line {frame.lineno}, in {frame.name}"
        for frame in traceback.extract_tb(error.__traceback__)
        if frame.filename in files
    ]
    where = f" ({'; '.join(places[-_FRAMES:])})" if places else ""
    return f"{type(error).__name__}: {error}{where}"


# Metrics


@register_metric(
    "disagreement",
    title="normalised disagreement error",
    label="disagreement error (fraction of pairs)",
    task="Ranking task",
    options=("ties",),
)
def _disagreement(scores: Array, predictions: Array, *, ties: Ties = "half") -> Array:
    """Disagreement error; one half for a user whose test scores have no untied pair."""
    errors = np.asarray(disagreement_error(scores, predictions, ties=ties))
    if ties == "untied":
        flat = np.ptp(scores, axis=-1) == 0.0
        errors[flat] = np.where(np.isnan(predictions[flat]).any(axis=-1), np.nan, 0.5)
    return errors


register_metric(
    "squared_error",
    title="mean squared error",
    label="mean squared error (squared rating points)",
    task="Regression task",
    decimals=1,
    of_level=True,
)(squared_error)


register_metric(
    "ndcg",
    title="NDCG@10 error (one minus NDCG@10)",
    label="NDCG@10 error (1 - NDCG)",
    task="Top of the ranking",
)(partial(ndcg_error, k=10, gain="shifted"))


# The paper's methods


class MissingOptions(MethodOptions, extra="allow"):
    """Options of a method or estimator of a plug-in that is not loaded."""


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


def _form(problem: Problem, options: MethodOptions) -> Preferences:
    """Return the preferences to fit: all pairs of scored points, the points, or both."""
    pairs = GroupPreferences.single(problem.n_scored)
    if isinstance(options, CombinedOptions):
        return Blend(pairs, *options.beta)
    return pairs if METHODS[options.method].rank_only else Pointwise(problem.n_scored)


def _for_each(key: str, function: Callable[..., GridPredictions]) -> Any:
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
    comparable = GroupPreferences.single(n_scored).pairs()
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
        GroupPreferences.single(n_points),
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
        kernels = [functions[stack[:, None], part].swapaxes(1, 2) for part in points]
    # Scored points come first; their number is the same in all tasks.
    own = [part[:, : int((part[0] < n_scored).sum())] for part in points]
    common = GroupPreferences.single(agreed.stop - agreed.start)
    views = []
    for kernel, dictionary, fitted in zip(kernels, points, own, strict=True):
        # Contiguous by point, so that means over points are summed in a fixed order.
        scored, target = np.ascontiguousarray(kernel[:, :n_scored]), problem.scored_scores
        if options.views == "loss":
            scored = np.take_along_axis(scored, fitted[:, :, None], axis=1)
            target = np.take_along_axis(target, fitted, axis=1)
        among = np.take_along_axis(kernel, dictionary[:, :, None], axis=1)
        agreeing = common.root(np.ascontiguousarray(kernel[:, agreed]))
        form = GroupPreferences.single(scored.shape[1])
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
        combined = weighted_mean(values, view_skills(problem, own, at_scored))
    else:
        combined = AGGREGATIONS[options.aggregation](values)
    return GridPredictions(combined, path.n_basis, n_dictionary)


def _register(
    name: str, title: str, function: Any, options: Any, *axes: Axis, own: tuple[str, ...] = ()
) -> None:
    """Register one of the paper's methods; `own` if it is not rank-only."""
    further = {"own": own, "rank_only": False} if own else {}
    register_method(name, title=title, options=options, axes=axes, **further)(function)


_SQUARED, _BOTH = ("squared_error",), ("disagreement", "squared_error")
_PURSUIT = _pursuit, PursuitOptions, RIDGE, N_BASIS
_SEMI = _semi_supervised, SemiSupervisedOptions, RIDGE, NU, N_BASIS
_CRRP = _for_each("beta", _pursuit), CombinedOptions, BETA, RIDGE, N_BASIS
_register("rls", "RLS", _least_squares, LeastSquaresOptions, LAMBDA, own=_SQUARED)
_register("kernel_matching_pursuit", "Matching Pursuit", *_PURSUIT, own=_SQUARED)
_register("rank_svm", "RankSVM", _rank_svm, RankSVMOptions, C)
_register("rank_rls", "RankRLS", _least_squares, LeastSquaresOptions, LAMBDA)
_register("sparse_rank_rls", "Sparse RankRLS", _sparse_rank_rls, SparseOptions, N_BASIS, LAMBDA)
_register("ranking_pursuit", "Ranking Pursuit", *_PURSUIT)
_register("semi_supervised_ranking_pursuit", "SS Ranking Pursuit", *_SEMI)
_register("combined_ranking_regression_pursuit", "CRRP", *_CRRP, own=_BOTH)


@register_method(
    "mean_rating",
    title="Mean rating",
    baseline=True,
    has_width=False,
    own=_SQUARED,
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
    found = _least_squares(replace(problem, kernel=kernel), options, rows)
    for own, values in zip(points, found.values, strict=True):
        values[:] = values[..., first_of_equals(own[rows])]
    n_basis = min(problem.n_scored, problem.features.shape[2])
    return replace(found, n_basis=np.array(n_basis))


# Any estimator

PARAMETER = "param_"
"""Prefix of the keys and columns of an estimator's parameters."""


def _parameter_grid(value: Any) -> GridValues:
    if isinstance(value, list) and value and all(isinstance(x, str | bool) for x in value):
        return all_different(tuple(value))
    return expand(value)


ParameterGrid = Annotated[
    GridValues,
    BeforeValidator(_parameter_grid),
    WithJsonSchema({"type": ["number", "string", "boolean", "array", "object"]}),
]


def _estimator_class(name: str) -> Any:
    """Return the class with a dotted name, of rankpursuit, scikit-learn or a plug-in."""
    if name in _ESTIMATORS:
        return _ESTIMATORS[name][0]
    if is_of_plugin(name):
        raise InvalidValue(
            "expected a class of rankpursuit, of sklearn, or registered by a plug-in (--plugin), "
            f"got {short_repr(name)}"
        )
    module, _, attribute = name.rpartition(".")
    try:
        found = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise InvalidValue(f"no such class: {short_repr(name)}") from error
    if not all(hasattr(found, key) for key in ("fit", "predict", "get_params")):
        raise InvalidValue(f"expected an estimator with fit and predict, got {short_repr(name)}")
    return found


class EstimatorOptions(MethodOptions):
    """Options of any estimator with the `fit` and `predict` of scikit-learn."""

    class_name: str = Field(alias="class")
    """Dotted name of the class, of rankpursuit or scikit-learn, or registered by a plug-in."""
    input: Literal["features", "kernel"] = "features"
    """Features of the points, or a precomputed kernel for each width."""
    parameter_grid: dict[str, ParameterGrid] = Field(alias="grid", default={})
    """Grid of parameters: numbers, or a list of strings or of booleans."""
    params: dict[str, Any] = Field(default={})
    """Fixed parameters."""

    @model_validator(mode="after")
    def _has_these_parameters(self) -> Self:
        try:
            estimator = _estimator_class(self.class_name)()
        except InvalidValue as error:
            raise InvalidValue(("class", str(error))) from error
        except (Exception, SystemExit) as error:
            message = f"cannot be created without arguments: {error_line(error)}"
            raise InvalidValue(("class", message)) from error
        first = {name: values[0] for name, values in self.parameter_grid.items()}
        kernel = {"kernel": "precomputed"} if self.has_width else {}
        errors: list[Any] = []
        for key, values in (("grid", first), ("params", self.params), ("input", kernel)):
            try:
                estimator.set_params(**values)
            except ValueError as error:  # its message lists the valid parameters
                errors.append((key, str(error)))
            except (Exception, SystemExit) as error:
                errors.append((key, error_line(error)))
        if errors:
            raise InvalidValue(*errors)
        return self

    def grid(self) -> dict[str, GridValues]:
        """Return the values of each parameter of the grid."""
        return {PARAMETER + name: values for name, values in self.parameter_grid.items()}

    def at(self, point: Mapping[str, Any]) -> Self:
        """Return the same options with a single value for some parameters."""
        fixed = {key.removeprefix(PARAMETER): (value,) for key, value in point.items()}
        return self.model_copy(update={"parameter_grid": self.parameter_grid | fixed})

    @property
    def has_width(self) -> bool:
        """Return whether the input is a kernel."""
        return self.input == "kernel"


@register_method(
    "estimator", title="Estimator", options=EstimatorOptions, own=_SQUARED, rank_only=False
)
def _any_estimator(problem: Problem, options: EstimatorOptions, rows: slice) -> GridPredictions:
    n_scored, names = problem.n_scored, list(options.parameter_grid)
    grid = [dict(zip(names, p, strict=True)) for p in product(*options.parameter_grid.values())]
    parameters = inspect.signature(_estimator_class(options.class_name).fit).parameters
    query: dict[str, Any] = {}  # the items of a task are one query
    if "group" in parameters:
        query = {"group": [n_scored]}
    elif "groups" in parameters:
        query = {"groups": np.zeros(n_scored, dtype=int)}
    values, n_basis = [], []
    for kernel, task in zip(problem.kernel, problem.task_index, strict=True):
        inputs = problem.features[task] if options.input == "features" else kernel[:, :n_scored]
        scores = problem.scores[task, :n_scored]
        seed = int(problem.tasks[task].generator("estimator").integers(2**31))
        for point in grid:
            estimator, given = _estimator_class(options.class_name)(), {**options.params, **point}
            if options.input == "kernel":
                given["kernel"] = "precomputed"
            for name in estimator.get_params():
                if name == "random_state":
                    given.setdefault(name, seed)
                if name.rpartition("__")[2] == "n_jobs":  # the workers of the run use all cores
                    given.setdefault(name, 1)
            # Copies: an estimator may work in place, or need arrays that are not read-only.
            points, new = inputs[:n_scored].copy("K"), inputs[rows].copy("K")
            fitted = estimator.set_params(**given).fit(points, scores.copy(), **query)
            values.append(np.asarray(fitted.predict(new), dtype=np.float64))
            basis = getattr(fitted, "basis_", getattr(fitted, "support_", None))
            n_basis.append(n_scored if basis is None else len(np.hstack(basis)))
    shape = (len(problem.kernel), *map(len, options.parameter_grid.values()))
    return GridPredictions(np.reshape(values, (*shape, -1)), np.reshape(n_basis, shape), n_scored)
