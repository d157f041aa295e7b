"""Configs of experiments: parse YAML files, and report all errors before anything runs.

`load_experiment` reads a file. ``configs/README.md`` documents the keys.
"""

from __future__ import annotations

import ast
import hashlib
import json
import os
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import yaml
from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    SerializeAsAny,
    ValidationInfo,
    WithJsonSchema,
    model_validator,
)
from pydantic.json_schema import GenerateJsonSchema

from rankpursuit.datasets import Ratings, load_named, load_ratings, make_ratings
from rankpursuit.errors import ConfigError
from rankpursuit.experiments.grids import (
    InvalidValue,
    PositiveGrid,
    Section,
    all_different,
    expand,
    parse_kind,
    parse_section,
)
from rankpursuit.experiments.names import (
    no_such_file,
    resolve_path,
    short_key,
    short_repr,
    suggestion,
)
from rankpursuit.experiments.plugins import (
    plugin_digests,
    plugin_modules,
    short_digest,
    used_plugins,
)
from rankpursuit.experiments.problem import WidthParameter
from rankpursuit.experiments.protocol import Protocol
from rankpursuit.experiments.registry import (
    METHODS,
    METRICS,
    N_BASIS,
    MethodOptions,
    MissingOptions,
    is_of_plugin,
    loaded_entries,
    register_missing,
)
from rankpursuit.metrics import Ties
from rankpursuit.text import escape_unprintable, truncate

Tuning = Literal["reported", "own"]
LABEL = r"^[A-Za-z0-9_][A-Za-z0-9_-]{0,99}$"
"""Names that are safe as folder names and as cells of a spreadsheet."""
MAX_REPEATS = 1000

# YAML


class _Loader(yaml.SafeLoader):
    """PyYAML's safe loader without duplicate keys; ``1e-3`` is a number."""

    def compose_mapping_node(self, anchor: Any) -> yaml.MappingNode:
        node, lines = super().compose_mapping_node(anchor), dict[str, int]()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode) and key.value in lines:
                problem = f"the key {key.value} is also on line {lines[key.value]}"
                raise yaml.MarkedYAMLError(problem=problem, problem_mark=key.start_mark)
            lines[str(key.value)] = key.start_mark.line + 1
        return node


class _Dumper(yaml.SafeDumper):
    """PyYAML's safe dumper, which also quotes text that `_Loader` would read as a number."""


_FLOAT = re.compile(r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)[eE][-+]?[0-9]+\Z")
for _kind in (_Loader, _Dumper):
    _kind.add_implicit_resolver("tag:yaml.org,2002:float", _FLOAT, list("-+.0123456789"))


def parse_yaml(text: str, source: str) -> Any:
    """Return the plain values of a YAML text; error messages call it `source`."""
    try:
        return yaml.load(text, _Loader)
    except yaml.MarkedYAMLError as error:
        mark, reason = error.problem_mark or error.context_mark, error.problem or error.context
        where = source if mark is None else f"{source}, line {mark.line + 1}"
    except (yaml.YAMLError, KeyError, ValueError, RecursionError) as error:  # such as !!int x
        where, reason = source, " ".join(str(error).split())
    raise ConfigError([f"{where}: {escape_unprintable(truncate(str(reason), 300))}"])


# Files that extend each other, and overrides from the command line


def _read_extended(path: Path, extended_by: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return the mapping of a file, merged with that of the file that it extends."""
    return _extended(read_file(path), path, extended_by)


def _extended(
    config: dict[str, Any], path: Path, extended_by: tuple[str, ...] = ()
) -> dict[str, Any]:
    """Return the mapping that a file has, merged with that of the file that it extends.

    Sections merge key by key: the file as a whole, `protocol`, `kernel`, `algorithms` and each
    algorithm. Everything else replaces the inherited value, such as a grid or a data set.
    """
    base = config.pop("extends", None)
    if base is None:
        return config
    if not isinstance(base, str) or not base.isprintable() or not base:
        raise ConfigError(
            [f"extends: expected a name or the path of a file, got {short_repr(base)}"]
        )
    source, files = resolve_path(base, path.parent), (*extended_by, os.path.realpath(path))
    if os.path.realpath(source) in files:
        circle = " -> ".join(os.path.basename(file) for file in (*files, str(source)))
        raise ConfigError([f"{path}: circular extends: {circle}"])
    return _merge(_read_extended(source, files), config)


def read_file(path: Path) -> dict[str, Any]:
    """Return the mapping of one file as written, with the path of the data made absolute."""
    try:
        if path.stat().st_size > 1_000_000:
            raise ConfigError([f"{path}: too large for a config: more than 1 MB"])
        config = parse_yaml(path.read_text("utf-8-sig"), str(path))
    except FileNotFoundError as error:
        raise ConfigError([no_such_file(path)]) from error
    except UnicodeDecodeError as error:
        raise ConfigError([f"{path}: not a text file in UTF-8"]) from error
    except OSError as error:
        raise ConfigError([f"{path}: cannot be read: {error.strerror}"]) from error
    if not isinstance(config, dict):
        message = f"{path}: expected a mapping of keys, got {short_repr(config)}"
        hint = f"; for a file of ratings: rp-init NAME {path}" * isinstance(config, str)
        raise ConfigError([message + hint])
    _make_path_absolute(config.get("data"), path.parent)
    return config


def _merge(base: dict[str, Any], override: dict[str, Any]) -> dict[str, Any]:
    """Return the keys of `base`, overridden by those of `override`; null drops an algorithm."""
    merged = base | override
    for section in ("protocol", "kernel", "algorithms"):
        old, new = base.get(section), override.get(section)
        if not isinstance(old, dict) or not isinstance(new, dict):
            continue
        merged[section] = old | new
        for key in old.keys() & new.keys() if section == "algorithms" else ():
            if new[key] is None:
                del merged[section][key]
            elif isinstance(old[key], dict) and isinstance(new[key], dict):
                merged[section][key] = old[key] | new[key]
    return merged


def _apply(config: dict[str, Any], override: str) -> None:
    """Set one key of the config, or drop one algorithm."""
    key, equals, text = override.partition("=")
    path, shown = key.strip().split("."), short_key(override)
    if not equals or not all(path):
        raise ConfigError([f"{shown}: expected key=value, such as protocol.test_users=50"])
    if path[0] == "extends":
        raise ConfigError([f"{shown}: extends is allowed in a file only"])
    value, key, here = parse_yaml(text, shown), short_key(key), config
    for depth, part in enumerate(path[:-1], start=1):
        inner = here.get(part, {})
        if not isinstance(inner, dict):
            reason = f"{short_key('.'.join(path[:depth]))} is {short_repr(inner)}, not a mapping"
            raise ConfigError([f"{key}: no such key: {reason}"])
        # A copy, since YAML anchors make two keys share one object.
        here[part] = here = dict(inner)
    if value is None and path[0] == "algorithms" and len(path) == 2:
        if path[1] not in here:
            raise ConfigError([f"{key}: no such algorithm to drop; {suggestion(path[1], here)}"])
        del here[path[1]]
        return
    here[path[-1]] = value
    if path[0] == "data":
        _make_path_absolute(config["data"], Path.cwd())


def _make_path_absolute(data: Any, folder: Path) -> None:
    """Make the path of a data set absolute: it is relative to the file that it is written in."""
    path = data.get("path") if isinstance(data, dict) else None
    if isinstance(path, str) and path.isprintable():
        data["path"] = os.path.realpath(folder / os.path.expanduser(path))


# The data set

FilePath = Annotated[str, Field(min_length=1)]
Count = Annotated[int, Field(ge=1)]


def _column(value: Any) -> str | int:
    if (isinstance(value, str) and value) or (type(value) is int and value >= 1):
        return value
    raise InvalidValue(f"expected the name of a column, or its number, got {short_repr(value)}")


Column = Annotated[
    str | int,
    BeforeValidator(_column),
    WithJsonSchema(
        {"anyOf": [{"type": "string", "minLength": 1}, {"type": "integer", "minimum": 1}]}
    ),
]


class NamedSpec(Section):
    """A data set of the paper: Jester data set 1, or MovieLens 1M."""

    name: Literal["jester", "movielens"]
    path: FilePath | None = None
    """Folder of the data; null: searched for, see ``rp-data``."""


class RatingsSpec(Section):
    """A file with your own ratings."""

    name: Literal["ratings"]
    path: FilePath
    """A .csv, .tsv or .parquet file, or other delimited text; relative to this config."""
    user: Column = "user"
    """Name of the column of users; without a header, its number."""
    item: Column = "item"
    """Name of the column of items; without a header, its number."""
    rating: Column = "rating"
    """Name of the column of ratings; without a header, its number."""
    separator: Annotated[str, Field(min_length=1, max_length=1)] | None = None
    """Field separator; null: detected from the first lines."""
    header: Annotated[bool, BeforeValidator(lambda value: value is not None and value)] = True
    """Whether the first line has the names of the columns; null means false."""
    encoding: str = "utf-8"
    """Encoding of a text file."""
    decimal: Annotated[str, Field(min_length=1, max_length=1)] = "."
    """Decimal point of the ratings."""
    missing: Annotated[tuple[str, ...], Field(strict=False)] = ()
    """Ratings that mean "not rated"."""
    duplicates: Literal["error", "first", "mean"] = "error"
    """If a user rated an item twice: raise an error, keep the first, or take the mean."""


class SyntheticSpec(Section):
    """Synthetic ratings, with the parameters of `rankpursuit.datasets.make_ratings`."""

    name: Literal["synthetic"]
    n_users: Count = 2000
    """Number of users."""
    n_items: Count = 100
    """Number of items."""
    seed: Annotated[int, Field(ge=0)] = 0
    """Seed of the ratings, independent of the seed of the experiment."""
    scale: Literal["jokes", "stars"] = "jokes"
    """Real numbers from -10 to 10, or integers from 1 to 5."""
    n_tastes: Count = 6
    """Number of tastes."""
    noise: Annotated[float, Field(ge=0)] = 1.6
    """Standard deviation of the noise; that of a taste is 1."""
    min_ratings: Count = 15
    """Minimum number of ratings per user."""
    max_ratings: Count | None = None
    """Maximum number of ratings per user; null: 300, or all items if there are fewer."""


DataSpec = NamedSpec | RatingsSpec | SyntheticSpec
_DATA: dict[str, type[Section]] = {
    "jester": NamedSpec,
    "movielens": NamedSpec,
    "ratings": RatingsSpec,
    "synthetic": SyntheticSpec,
}


@lru_cache(maxsize=1)
def ratings_of(data: DataSpec) -> Ratings:
    """Load the ratings that a config declares; cached."""
    if isinstance(data, NamedSpec):
        return load_named(data.name, data.path)
    options = data.model_dump(exclude={"name", "path"}, exclude_defaults=True)
    if isinstance(data, SyntheticSpec):
        return make_ratings(**options)
    return load_ratings(data.path, **options)


# The experiment


def _data(value: Any) -> Any:
    return value if isinstance(value, Section) else parse_kind(value, "name", _DATA)


def _algorithms(value: Any, info: ValidationInfo) -> Any:
    """Return the options of each algorithm, of the class that its method registers."""
    if not isinstance(value, dict) or not value:
        raise InvalidValue(
            f"expected a mapping with at least one algorithm, got {short_repr(value)}"
        )
    algorithms, errors = {}, []
    for label, options in value.items():
        try:
            if not isinstance(options, MethodOptions):
                options = _algorithm(label, options, lenient=bool(info.context))
            algorithms[label] = options
        except InvalidValue as error:
            errors += [((str(label), *below), message) for below, message in error.errors]
    if errors:
        raise InvalidValue(*errors)
    return algorithms


def _algorithm(label: Any, options: Any, *, lenient: bool) -> MethodOptions:
    """Return the options of one algorithm."""
    kinds = {name: method.options for name, method in loaded_entries(METHODS).items()}
    if not isinstance(label, str) or not re.fullmatch(LABEL, label):
        raise InvalidValue(f"expected letters, digits, _ and -, got {short_repr(label)}")
    if not isinstance(options, dict):
        raise InvalidValue(f"expected a mapping, got {short_repr(options)}")
    options = {"method": label, **options}
    method, hint = options["method"], " (methods of a plug-in need --plugin)"
    if label in kinds and method != label:
        raise InvalidValue(f"{label} is a method: use another label for {method}")
    if lenient and (method not in kinds or is_of_plugin(options.get("class"))):
        register_missing(str(method), METHODS)
        return parse_section(MissingOptions, options)
    if method == label and label not in kinds:
        raise InvalidValue(f"unknown algorithm; {suggestion(label, kinds)}{hint}")
    return parse_kind(options, "method", kinds, hint)


def _metric(name: str, info: ValidationInfo) -> str:
    if info.context:
        register_missing(name, METRICS)
    elif name not in (metrics := loaded_entries(METRICS)):
        raise InvalidValue(f"unknown metric {short_repr(name)}; {suggestion(name, metrics)}")
    return name


_WIDTHS: Any = {"base": 2, "from": -15, "to": 15}


class KernelSpec(Section):
    """The Gaussian kernel."""

    parameter: WidthParameter = "sigma"
    """Meaning of a width: sigma in exp(-d^2 / (2 sigma^2)), or gamma in exp(-gamma d^2)."""
    widths: PositiveGrid = Field(default=expand(_WIDTHS), json_schema_extra={"default": _WIDTHS})
    """The widths to choose from."""
    shared: Literal["none", "all", "ranking"] = "none"
    """Methods that share one width. none: each method chooses its own; all: the width with the
    lowest sum of the errors of all methods, each relative to its lowest; ranking: the same over the
    ranking methods only."""


class Experiment(Section):
    """An experiment: data, protocol, interpretation of the paper, and algorithms with grids."""

    name: Annotated[str, Field(pattern=LABEL)]
    """Name of the experiment, and of its folder of results."""
    table: Annotated[int, Field(ge=1, le=5)] | None = None
    """The published table that it reproduces."""
    data: Annotated[DataSpec, BeforeValidator(_data)]
    """The ratings."""
    protocol: Protocol = Protocol()
    """How ratings become ranking problems."""
    kernel: KernelSpec = KernelSpec()
    """The Gaussian kernel."""
    ties: Ties = "half"
    """Tied pairs in the disagreement error. half: cost one half; all: as in formula (1); untied:
    excluded."""
    metrics: Annotated[
        tuple[Annotated[str, AfterValidator(_metric)], ...],
        Field(min_length=1, strict=False),
        AfterValidator(all_different),
    ] = ("disagreement",)
    """The errors to report."""
    tuning: Tuning = "reported"
    """Hold-out error that chooses parameters: the reported one, or the method's own."""
    tuning_on: Literal["group", "user"] = "group"
    """Where parameters are chosen: on the hold-out users of the group, or for each test user by
    cross-validation inside the user's own scored items."""
    offset: Literal["raw", "training_mean"] = "raw"
    """Squared error of a rank-only method: of f, or of f shifted to the training mean."""
    repeats: Annotated[int, Field(ge=1, le=MAX_REPEATS)] = 10
    """Number of repeats, each with different users."""
    seed: Annotated[int, Field(ge=0, le=2**32 - 1)] = 1
    """Seed of every random choice."""
    algorithms: Annotated[dict[str, SerializeAsAny[MethodOptions]], BeforeValidator(_algorithms)]
    """The algorithms by label; the label is the method unless another one is given."""

    @classmethod
    def keys(cls) -> list[str]:
        """Return the keys that a file can have."""
        return [*super().keys(), "extends"]

    @model_validator(mode="after")
    def _can_run(self) -> Self:
        _, n_scored = self.protocol.sizes(self.protocol.test_user_bounds[0])
        if self.tuning_on == "user" and n_scored < 4:
            message = f"cross-validation needs 4 scored items per user, but some have {n_scored}"
            raise InvalidValue(("tuning_on", f"expected group, got user: {message}"))
        pursuits = [x for x, o in self.algorithms.items() if N_BASIS.key in o.grid()]
        for label, options in self.algorithms.items():
            source = options.n_basis_from
            if source is not None and (
                source not in pursuits or self.algorithms[source].n_basis_from
            ):
                message = f"expected an algorithm with its own n_basis, got {short_repr(source)}"
                raise InvalidValue((("algorithms", label, "size_from"), message))
        return self

    @property
    def has_joint_choices(self) -> bool:
        """Return whether the parameters of an algorithm depend on the errors of others."""
        sized = any(options.n_basis_from for options in self.algorithms.values())
        return sized or self.kernel.shared != "none"

    def at_most(self, users: int, repeats: int) -> Self:
        """Return the experiment with its test users, hold-out users and repeats limited."""
        keys = ("test_users", "holdout_users")
        lower = {key: min(users, getattr(self.protocol, key)) for key in keys}
        protocol = self.protocol.model_copy(update=lower)
        return self.model_copy(update={"protocol": protocol, "repeats": min(repeats, self.repeats)})

    def resolved(self) -> dict[str, Any]:
        """Return the config as plain values, with every default and every grid written out."""
        return self.model_dump(mode="json", by_alias=True)

    def digest(self) -> str:
        """Return the SHA-256, in hex, of everything that the measured numbers depend on.

        It covers values that differ from the defaults, so that a new option does not change it, and
        the source of the plug-ins in use. It does not cover `name`, `table` and `repeats`, since a
        run with more repeats extends an earlier one, nor `data.path`: the contents of a file have
        their own checksum, `Ratings.checksum`.
        """
        excluded: Any = {"name": True, "table": True, "repeats": True, "data": {"path"}}
        config = self.model_dump(
            mode="json", by_alias=True, exclude_defaults=True, exclude=excluded
        )
        if plugins := used_plugins(self.algorithms.values(), self.metrics):
            config["plugins"] = plugin_digests(plugins)
        canonical = json.dumps(config, sort_keys=True, separators=(",", ":"), allow_nan=False)
        return hashlib.sha256(canonical.encode()).hexdigest()

    def code(self) -> str:
        """Return a line, path and digest, for each file of code that the measured numbers need.

        These are the modules of the package, and those that the plug-ins in use import from folders
        of their user. The estimators count only if an algorithm is one, or a plug-in may use them.
        """
        plugins = used_plugins(self.algorithms.values(), self.metrics)
        is_estimator = any(hasattr(options, "class_name") for options in self.algorithms.values())
        digests = package_code() | plugin_modules(plugins)
        if not plugins and not is_estimator:
            digests = {x: y for x, y in digests.items() if Path(x).parts[1] != "estimators"}
        return "\n".join(f"{path} {digest}" for path, digest in sorted(digests.items()))


# Modules that print, report or write what was computed: a change of these changes no number.
_NO_NUMBERS = frozenset(
    ["cli", "reporting", "__init__.py", "__main__.py", "errors.py", "text.py", "writing.py"]
)


@lru_cache(maxsize=1)
def package_code() -> dict[str, str]:
    """Return a digest of each module of the package that numbers depend on, by its path.

    It is a digest of the parsed source without docstrings: comments, line breaks and documentation
    do not change it.
    """
    package, digests = Path(__file__).parents[1], {}
    for path in package.rglob("*.py"):
        place = path.relative_to(package.parent)
        if place.parts[1] not in _NO_NUMBERS:
            tree = ast.parse(path.read_bytes())
            for node in ast.walk(tree):
                if isinstance(body := getattr(node, "body", None), list):
                    node.body = [line for line in body if not _is_text(line)]  # type: ignore[attr-defined]
            digests[place.as_posix()] = short_digest(ast.dump(tree).encode())
    return digests


def _is_text(statement: ast.AST) -> bool:
    """Return whether a statement is a docstring, of anything."""
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def load_experiment(path: str | os.PathLike[str], overrides: Sequence[str] = ()) -> Experiment:
    """Load the config of an experiment.

    Parameters
    ----------
    path : path
        A YAML file, or the name of a config that comes with the package, such as ``demo``.
    overrides : sequence of str
        Settings ``key=value``: a dotted key, such as ``protocol.test_users``, and a YAML value.
        ``algorithms.LABEL=null`` drops an algorithm.

    Raises
    ------
    ConfigError
        If the config is invalid; lists all errors, each with its key.
    """
    config = _read_extended(resolve_path(path))
    errors = []
    for override in overrides:
        try:
            _apply(config, override)
        except ConfigError as error:
            errors += error.problems
    if errors:
        raise ConfigError(errors)
    return parse_experiment(config)


def mapped_experiment(config: Mapping[str, Any]) -> Experiment:
    """Return the experiment of a mapping that may extend a file of the working folder, or a name.

    Raises a `ConfigError` with all errors.
    """
    return parse_experiment(_extended(dict(config), Path("mapping")))


def parse_experiment(config: Mapping[str, Any], *, lenient: bool = False) -> Experiment:
    """Return the experiment that a mapping declares; raise `ConfigError` with all errors.

    If lenient, accepts methods and metrics of plug-ins that are not loaded, to read their results.
    """
    try:
        return parse_section(Experiment, config, lenient)
    except InvalidValue as error:
        raise ConfigError(error.lines()) from error


def dump_yaml(experiment: Experiment) -> str:
    """Return the resolved config as YAML: a file that loads as an experiment of the same digest."""
    values = experiment.resolved()
    return yaml.dump(values, Dumper=_Dumper, sort_keys=False, default_flow_style=None, width=100)


class _SchemaWithoutTitles(GenerateJsonSchema):
    """A JSON Schema whose keys have no title, which would be the key in title case."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        """Return that it should not."""
        return False


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of a config file, for editors.

    No key is required, since a file may inherit it; null drops an inherited algorithm.
    """
    schema = Experiment.model_json_schema(schema_generator=_SchemaWithoutTitles)
    properties, definitions = schema["properties"], schema["$defs"]
    del schema["required"], definitions[MethodOptions.__name__]
    del properties["protocol"]["default"], properties["kernel"]["default"]
    for name, method in METHODS.items():
        options = method.options.model_json_schema(schema_generator=_SchemaWithoutTitles)
        definitions |= options.pop("$defs", {})
        options.pop("required")
        options["properties"]["method"] = {"const": name}
        definitions[name] = options | {"type": ["object", "null"]}
    specs = {name: {"$ref": f"#/$defs/{name}"} for name in METHODS}
    properties["algorithms"] = {
        "description": properties["algorithms"]["description"] + " Null drops an inherited one.",
        "type": "object",
        "propertyNames": {"pattern": LABEL},
        "properties": specs,
        "additionalProperties": {"required": ["method"], "anyOf": list(specs.values())},
    }
    properties["metrics"]["items"] = {"type": "string", "enum": list(METRICS)}
    extends = {
        "description": "The config to inherit keys from: the name of a config that comes with "
        "rankpursuit, such as paper, or a path relative to this file.",
        "type": "string",
        "minLength": 1,
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **schema,
        "title": "Experiment of rankpursuit",
        "properties": {"extends": extends, **properties},
    }
