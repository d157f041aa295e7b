"""The registry of methods, metrics and axes of experiments.

The package and a plug-in register by the same functions, `register_method` and `register_metric`.
Everything else looks methods and metrics up in `METHODS` and `METRICS`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from rankpursuit.experiments.grids import Section
from rankpursuit.experiments.problem import Problem
from rankpursuit.metrics import Ties, disagreement_error, ndcg_error, squared_error

Array = NDArray[np.float64]
GridValues = tuple[int | float | str | bool, ...]


# Axes


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


# Methods and metrics


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
    def n_basis_from(self) -> str | None:
        """Label of another algorithm that determines the size of the model, if any."""
        return getattr(self, "size_from", None)

    @property
    def has_width(self) -> bool:
        """Return whether the first axis of the grid is the width of the kernel."""
        return METHODS[self.method].has_width


class MissingOptions(MethodOptions, extra="allow"):
    """Options of a method or estimator of a plug-in that is not loaded."""


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
    minimises: tuple[str, ...] = ("disagreement",)
    """Metrics by which it fits; ``tuning: own`` chooses its parameters by them."""
    rank_only: bool = True
    """Whether it only learns an order: its predictions are defined up to a constant."""
    has_width: bool = True
    """Whether it uses the kernels of the problem, so that the width is an axis of its grid."""
    baseline: bool = False
    """Whether it is a baseline that the paper does not have: no claim depends on it."""
    has_basis: bool = True
    """Whether its model is a sum of basis functions, one for each training point that it uses."""
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
    offset_sensitive: bool = False
    """Whether a constant added to all predictions changes it."""
    near_ties: bool = False
    """Whether the function takes predictions as they are, and ties those that differ by rounding
    only. For other metrics such predictions are made equal before."""
    plugin: str | None = None
    """The plug-in that registered it."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "label", self.label or self.title)
        object.__setattr__(self, "task", self.task or self.title)


METHODS: dict[str, Method] = {}
"""Every method by its name: the paper's in the order of its tables, then those of plug-ins."""
METRICS: dict[str, Metric] = {}
"""Every metric by its name."""
ESTIMATORS: dict[str, tuple[Any, str | None]] = {}
"""Class of each estimator that a plug-in registered, and the plug-in, by dotted name."""
_AXES_OF_PLUGINS: dict[str, Axis] = {}
_loading: str | None = None  # name of the plug-in being executed
UNLOADED_PLUGIN = "missing"  # stands for a plug-in that is not loaded

Registered = TypeVar("Registered")


def register_method(name: str, **attributes: Any) -> Callable[[Registered], Registered]:
    """Register the decorated function as the `predict_grid` of a method; see `Method`."""
    return partial(_add, METHODS, Method, name, attributes)


def register_metric(name: str, **attributes: Any) -> Callable[[Registered], Registered]:
    """Register the decorated function as a metric; see `Metric`."""
    return partial(_add, METRICS, Metric, name, attributes)


@contextmanager
def registering(plugin: str) -> Iterator[None]:
    """Note that all that is registered meanwhile comes from a plug-in."""
    global _loading
    _loading = plugin
    try:
        yield
    finally:
        _loading = None


def _add(
    registry: Any, kind: Any, name: str, attributes: Mapping[str, Any], function: Registered
) -> Registered:
    """Add a function to a registry, and return it."""
    taken = loaded_entries(registry).get(name)
    if taken and (_loading is None or taken.plugin != _loading):
        raise ValueError(f"the name {name} is taken by {taken.plugin or 'rankpursuit'}")
    registry[name] = kind(name, function, **attributes, plugin=_loading)
    further = attributes.get("axes", ())
    _AXES_OF_PLUGINS.update({axis.key: axis for axis in further if axis.key not in AXES})
    return function


def loaded_entries(registry: Mapping[str, Any]) -> dict[str, Any]:
    """Return the methods or metrics, without those of plug-ins that are not loaded."""
    return {name: entry for name, entry in registry.items() if entry.plugin != UNLOADED_PLUGIN}


def register_missing(name: str, registry: dict[str, Any]) -> None:
    """Register a method or metric of a plug-in that is not loaded, to read its results."""
    kind: Any = Method if registry is METHODS else Metric
    registry.setdefault(name, kind(name, None, name.replace("_", " "), plugin=UNLOADED_PLUGIN))


def is_of_plugin(class_name: object) -> bool:
    """Return whether a class can only come from a plug-in that is not loaded."""
    package = str(class_name or "sklearn").partition(".")[0]
    return package not in ("rankpursuit", "sklearn") and class_name not in ESTIMATORS


def register_estimator(estimator: Registered) -> Registered:
    """Allow a class outside rankpursuit and scikit-learn as the `class` of ``method: estimator``.

    Configs name it by its module or its package, such as ``lightgbm.LGBMRanker``.
    """
    module, name = estimator.__module__, getattr(estimator, "__qualname__", "")
    for package in (module, module.partition(".")[0]):
        ESTIMATORS[f"{package}.{name}"] = estimator, _loading
    return estimator


def grid_axes(options: MethodOptions, widths: tuple[float, ...]) -> dict[str, GridValues]:
    """Return the values along each axis of a grid by key: the width, if any, then the method's."""
    return ({WIDTH.key: widths} if options.has_width else {}) | options.grid()


def find_axis(key: str) -> Axis:
    """Return the axis with a key; a new one for a parameter of an estimator."""
    return AXES.get(key) or _AXES_OF_PLUGINS.get(key) or Axis(key)


def predict_grid(problem: Problem, options: MethodOptions, rows: slice) -> GridPredictions:
    """Predict some points of a problem with a method at every point of its grid.

    For a method without a width, the problem must have one width only.
    """
    predictions = METHODS[options.method].predict_grid(problem, options, rows)
    if not isinstance(predictions, GridPredictions):
        n_scored = problem.n_scored
        predictions = GridPredictions(np.asarray(predictions), np.array(n_scored), n_scored)
    n_rows = len(range(*rows.indices(problem.scores.shape[1])))
    expected = (len(problem.kernel), *map(len, options.grid().values()), n_rows)
    if predictions.values.shape != expected:
        shape = f"predictions of shape {predictions.values.shape}, expected {expected}"
        raise ValueError(f"{options.method}: {shape}")
    return predictions


# Metrics


@register_metric(
    "disagreement",
    title="normalised disagreement error",
    label="disagreement error (fraction of pairs)",
    task="Ranking task",
    options=("ties",),
    near_ties=True,
)
def _disagreement(scores: Array, predictions: Array, *, ties: Ties = "half") -> Array:
    """Disagreement error; one half for a user whose test scores have no untied pair."""
    errors = np.asarray(disagreement_error(scores, predictions, ties=ties, near_ties=True))
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
    offset_sensitive=True,
)(squared_error)


register_metric(
    "ndcg",
    title="NDCG@10 error (one minus NDCG@10)",
    label="NDCG@10 error (1 - NDCG)",
    task="Top of the ranking",
)(partial(ndcg_error, k=10, gain="shifted"))
