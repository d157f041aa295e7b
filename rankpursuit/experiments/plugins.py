"""What experiments get from outside: plug-ins, and any estimator as ``method: estimator``."""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import inspect
import sys
import traceback
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from importlib.machinery import PathFinder
from importlib.metadata import entry_points
from itertools import product
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any, Literal, Self

import numpy as np
from pydantic import BeforeValidator, Field, WithJsonSchema, model_validator

import rankpursuit.experiments.methods  # noqa: F401  (the package registers its methods first)
from rankpursuit.errors import ConfigError
from rankpursuit.experiments.grids import InvalidValue, all_different, expand
from rankpursuit.experiments.names import closest_match, short_repr, suggestion
from rankpursuit.experiments.problem import Problem
from rankpursuit.experiments.registry import (
    ESTIMATORS,
    METHODS,
    METRICS,
    GridPredictions,
    GridValues,
    MethodOptions,
    is_of_plugin,
    register_method,
    registering,
)

# Plug-ins


@dataclass(frozen=True)
class _Plugin:
    """A loaded plug-in."""

    source: str
    modules: Mapping[str, tuple[Path, str]]
    """Path and digest of each module that it imports from folders of its user, by name of file."""


_PLUGINS: dict[str, _Plugin] = {}  # every loaded plug-in by its name
_ENTRY_POINTS = "rankpursuit.plugins"  # entry-point group of installed plug-ins
_FRAMES = 3  # lines of a plug-in in an error message


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
    for name, source in sources:
        loaded = _PLUGINS.get(name)
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
                with registering(name):
                    exec(compile(source, name, "exec"), module.__dict__)
            else:
                with registering(name):
                    entry_points(group=_ENTRY_POINTS)[name].load()
            _PLUGINS[name] = _Plugin(source, _modules_of(name, source))
        except (Exception, SystemExit) as error:
            failed = {name: _Plugin(source, _modules_of(name, source))}
            raise ConfigError([f"--plugin {name}: {error_line(error, failed)}"]) from error


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
        used.add(ESTIMATORS.get(getattr(options, "class_name", ""), (None, None))[1])
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
    if name in ESTIMATORS:
        return ESTIMATORS[name][0]
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
    "estimator",
    title="Estimator",
    options=EstimatorOptions,
    minimises=("squared_error",),
    rank_only=False,
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
