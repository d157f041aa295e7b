"""The language of configs: YAML files that extend each other, sections of known keys, grids.

Every error names the dotted key, or the file and line, of what is wrong, and all errors of a config
are reported at once.
"""

from __future__ import annotations

import difflib
import json
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from itertools import chain, islice, pairwise
from pathlib import Path
from typing import Annotated, Any, TypeVar, get_args

import yaml
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, WithJsonSchema
from yaml.reader import ReaderError

from rankpursuit.errors import ConfigError
from rankpursuit.visible import cut, visible

Location = tuple[int | str, ...]
Number = int | float
MAX_FILE_SIZE = 1_000_000
"""Maximum size of a config file in bytes."""
SCHEMA = "schema.json"
"""File name of the JSON Schema, next to the shipped configs."""
SCHEMA_LINE = "# yaml-language-server: $schema="
"""Start of the first line of a config, for editors."""
_SHOWN = 70
"""Maximum length of a value or key in a message."""
_MAX_GRID = 10_000
"""Maximum number of values of a grid: ``step: 1e-9`` is a typing error."""


# Words for messages


def short_repr(value: Any) -> str:
    """Return a value as JSON, on one line, cut if it is long."""
    encoder = json.JSONEncoder(ensure_ascii=False, check_circular=False, skipkeys=True, default=str)
    # Piece by piece: anchors can make a few lines of YAML a value of any length.
    return cut(visible("".join(islice(encoder.iterencode(value), _SHOWN))), _SHOWN)


def suggestion(word: object, known: Iterable[str]) -> str:
    """Return ``did you mean ...?`` if a known word is close, or else the known words."""
    words = list(known)
    close = difflib.get_close_matches(str(word)[:_SHOWN], words, n=1)
    return f"did you mean {close[0]}?" if close else f"known are {', '.join(words)}"


# Named configs: in a clone they are next to the package, in an installed package inside of it


def shipped_folder() -> Path:
    """Return the folder of the configs that come with the package."""
    package = Path(__file__).parents[1]
    inside = package / "configs"
    return inside if inside.is_dir() else package.parent / "configs"


def shipped_experiments() -> dict[str, Path]:
    """Return the experiments that come with the package by name: the demo, then table by table."""
    found = {path.stem: path for path in shipped_folder().glob("*.yaml")}
    return dict(sorted(found.items(), key=lambda item: summary_line(item[1])))


def shipped_configs() -> dict[str, Path]:
    """Return all configs that have a name: the experiments, and those that they extend."""
    bases = {path.stem: path for path in sorted((shipped_folder() / "base").glob("*.yaml"))}
    return shipped_experiments() | bases


def summary_line(path: Path) -> str:
    """Return the first comment of a config, which summarises it."""
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            if line.startswith("#") and not line.startswith(SCHEMA_LINE):
                return line.lstrip("# ").rstrip("\n")
    return ""


def resolve_path(word: str | os.PathLike[str], folder: Path = Path()) -> Path:
    """Return the file of a config, given by its name or as a path relative to a folder."""
    name = os.fspath(word)
    if re.fullmatch(r"[A-Za-z0-9_-]+", name) and (found := shipped_configs().get(name)):
        return found
    return folder / name


def closest_match(path: Path, pattern: str = "*") -> Path | None:
    """Return the file next to a missing one, matching a glob pattern, with the closest name."""
    try:
        names = list(islice((file.name for file in path.parent.glob(pattern)), 1000))
    except (OSError, ValueError):
        return None
    close = difflib.get_close_matches(path.name, names, n=1)
    return path.parent / close[0] if close else None


def no_such_file(path: Path) -> str:
    """Return the message for a missing config, with the config that may have been meant."""
    if close := closest_match(path, "*.y*ml"):
        return f"{path}: no such file; did you mean {close}?"
    known = difflib.get_close_matches(path.stem, list(shipped_configs()), n=1)
    if known:
        return f"{path}: no such file; did you mean {known[0]}, which comes with rankpursuit?"
    return f"{path}: no such file; `rp-run --list` names those that come with rankpursuit"


# YAML


class _Loader(yaml.SafeLoader):
    """PyYAML's safe loader with the numbers of YAML 1.2 and without duplicate keys.

    What only YAML 1.1 takes for numbers, booleans or dates is text: ``1:30``, ``010``, ``yes``.
    """

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        lines: dict[str, int] = {}
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode) and not key.tag.endswith(":merge"):
                if key.value in lines:
                    problem = f"the key {key.value} is also on line {lines[key.value]}"
                    raise yaml.MarkedYAMLError(problem=problem, problem_mark=key.start_mark)
                lines[key.value] = key.start_mark.line + 1
        return super().construct_mapping(node, deep)


class _Dumper(yaml.SafeDumper):
    """PyYAML's safe dumper, which also quotes text that `_Loader` would take for a number."""


_Loader.yaml_implicit_resolvers = {}
_INTEGER = r"[-+]?(?:0|[1-9][0-9]*)"
_FLOAT = rf"(?:{_INTEGER}(?:\.[0-9]*)?|[-+]?\.[0-9]+)(?:[eE][-+]?[0-9]+)?"
for _kind, _pattern, _first in (
    ("int", _INTEGER, "-+0123456789"),
    ("float", rf"{_FLOAT}|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)", "-+.0123456789"),
    ("bool", "true|True|TRUE|false|False|FALSE", "tTfF"),
    ("null", "~|null|Null|NULL|", "~nN"),
    ("merge", "<<", "<"),
):
    _resolver = f"tag:yaml.org,2002:{_kind}", re.compile(rf"(?:{_pattern})\Z")
    _Loader.add_implicit_resolver(*_resolver, [*_first, *([""] if _kind == "null" else [])])
    _Dumper.add_implicit_resolver(*_resolver, [*_first])


def parse_yaml(text: str, source: str) -> Any:
    """Return the plain values of a YAML text, which messages call `source`."""
    try:
        return yaml.load(text, _Loader)
    except ReaderError as error:
        where = f"{source}, line {text.count(chr(10), 0, error.position) + 1}"
        reason = f"the character {short_repr(text[error.position])} is not allowed"
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = source if mark is None else f"{source}, line {mark.line + 1}"
        reason = error.problem or error.context or "not YAML"
    except RecursionError:
        where, reason = source, "nested too deeply"
    except (KeyError, ValueError) as error:  # such as !!int x, or a number of 5,000 digits
        where, reason = source, str(error)
    raise ConfigError([f"{where}: {visible(cut(reason, 300))}"])


def format_yaml(value: Any) -> str:
    """Return plain values as YAML that `parse_yaml` and every other reader take for the same."""
    return yaml.dump(value, Dumper=_Dumper, sort_keys=False, default_flow_style=None, width=100)


# Files that extend each other, and overrides from the command line


def read_config(path: Path, overrides: Sequence[str] = ()) -> dict[str, Any]:
    """Return the mapping of a config file, on top of those that it extends, with overrides.

    Sections merge key by key: the file as a whole, `protocol`, `kernel`, `algorithms` and each
    algorithm. Everything else replaces the inherited value, such as a grid or a data set. An
    algorithm that is null is dropped.

    Parameters
    ----------
    path : Path
        The file.
    overrides : sequence of str
        ``key=value`` each, with a dotted key and a value in YAML, applied in order.

    Returns
    -------
    dict
        Not yet validated.
    """
    config = _read_extended(path, ())
    errors = []
    for override in overrides:
        try:
            _apply(config, override)
        except ConfigError as error:
            errors += str(error).splitlines()
    if errors:
        raise ConfigError(errors)
    return config


def _read_extended(path: Path, above: tuple[str, ...]) -> dict[str, Any]:
    """Return the mapping of a file merged onto that of the file that it extends."""
    config = read_file(path)
    base = config.pop("extends", None)
    if base is None:
        return config
    if not isinstance(base, str) or not base.isprintable() or not base:
        raise ConfigError(
            [f"extends: expected a name or the path of a file, got {short_repr(base)}"]
        )
    below, files = resolve_path(base, path.parent), (*above, os.path.realpath(path))
    if os.path.realpath(below) in files:
        circle = " -> ".join(os.path.basename(file) for file in (*files, str(below)))
        raise ConfigError([f"{path}: extends goes round in a circle: {circle}"])
    return _merge(_read_extended(below, files), config, ())


def read_file(path: Path) -> dict[str, Any]:
    """Return the mapping of one file as written, except that paths of data become absolute."""
    config = parse_yaml(read_text(path), str(path))
    if config is None:
        raise ConfigError([f"{path}: the file is empty"])
    if not isinstance(config, dict):
        raise ConfigError([f"{path}: expected a mapping of keys, got {short_repr(config)}"])
    _make_path_absolute(config.get("data"), path.parent)
    return config


def read_text(path: Path) -> str:
    """Return the text of a regular file in UTF-8 of at most `MAX_FILE_SIZE` bytes."""
    if path.exists() and not path.is_file():
        raise ConfigError([f"{path}: cannot be read: not a regular file"])
    try:
        with path.open("rb") as file:
            content = file.read(MAX_FILE_SIZE + 1)
        if len(content) > MAX_FILE_SIZE:
            raise ConfigError([f"{path}: too large: more than {MAX_FILE_SIZE:,} bytes"])
        return content.decode("utf-8-sig")
    except FileNotFoundError as error:
        raise ConfigError([no_such_file(path)]) from error
    except UnicodeDecodeError as error:
        raise ConfigError([f"{path}: not a text file in UTF-8"]) from error
    except (OSError, UnicodeEncodeError) as error:
        reason = getattr(error, "strerror", None) or "no file can have this name"
        raise ConfigError([f"{visible(str(path))}: cannot be read: {reason}"]) from error


def _merge(below: dict[str, Any], above: dict[str, Any], place: tuple[str, ...]) -> dict[str, Any]:
    """Return a mapping with the keys of another on top."""
    merged = dict(below)
    for key, value in above.items():
        here = (*place, key)
        is_section = here in (("protocol",), ("kernel",)) or (
            here[0] == "algorithms" and len(here) <= 2
        )
        if place == ("algorithms",) and value is None and key in below:
            del merged[key]
        elif is_section and isinstance(value, dict) and isinstance(below.get(key), dict):
            merged[key] = _merge(below[key], value, here)
        else:
            merged[key] = value
    return merged


def _apply(config: dict[str, Any], override: str) -> None:
    """Set one key of the config, or drop one algorithm."""
    key, equals, text = override.partition("=")
    path, shown = key.strip().split("."), cut(override, _SHOWN)
    if not equals or not all(path):
        raise ConfigError([f"{shown}: expected key=value, such as protocol.test_users=50"])
    if path[0] == "extends":
        raise ConfigError([f"extends: can be given in a file only, got {shown}"])
    value, key, here = parse_yaml(text, shown), cut(key, _SHOWN), config
    for depth, part in enumerate(path[:-1], start=1):
        below = here.get(part, {})
        if not isinstance(below, dict):
            above = cut(".".join(path[:depth]), _SHOWN)
            raise ConfigError(
                [f"{key}: no such key: {above} is {short_repr(below)}, not a mapping"]
            )
        # A copy: YAML's anchors can make two places of a file one object.
        here[part] = here = dict(below)
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


# Sections and their errors


class InvalidValue(ValueError):
    """Raised by validators: one error, or several with keys below the validated value.

    Parameters
    ----------
    *errors : str or (key, str)
        Messages; a key is one word, or a tuple of them.
    """

    def __init__(self, *errors: str | tuple[str | Location, str]) -> None:
        self.errors: list[tuple[Location, str]] = []
        for error in errors:
            key, message = ((), error) if isinstance(error, str) else error
            self.errors.append(((key,) if isinstance(key, str) else key, message))
        super().__init__("; ".join(message for _, message in self.errors))


class Section(BaseModel):
    """A mapping of a config whose keys are known: frozen, strict, no unknown keys.

    Python code may call a field by its name or its alias (`lambdas` or `lambda`); in a file only
    the alias is a key.
    """

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        strict=True,
        allow_inf_nan=False,
        validate_by_alias=True,
        validate_by_name=True,
        use_attribute_docstrings=True,
    )

    @classmethod
    def keys(cls) -> list[str]:
        """Return the keys that the mapping can have in a file."""
        return [field.alias or name for name, field in cls.model_fields.items()]


Kind = TypeVar("Kind", bound=Section)


def parse_section(section: type[Kind], value: Any) -> Kind:
    """Return the section that a mapping declares; raise `InvalidValue` with all errors."""
    try:
        return section.model_validate(value, by_alias=True, by_name=False)
    except ValidationError as error:
        raise InvalidValue(*_translated(error, section)) from error


def parse_kind(value: Any, key: str, kinds: Mapping[str, type[Kind]], hint: str = "") -> Kind:
    """Return the section that a mapping declares, of the kind that the value of a key names.

    A hint is added to the message about an unknown kind.
    """
    if not isinstance(value, dict):
        raise InvalidValue(f"expected a mapping, got {short_repr(value)}")
    if key not in value:
        raise InvalidValue((key, "required, but not given"))
    kind = value[key]
    if not isinstance(kind, str) or kind not in kinds:
        message = f"unknown {key} {short_repr(kind)}; {suggestion(kind, kinds)}{hint}"
        raise InvalidValue((key, message))
    return parse_section(kinds[kind], value)


def prefix_errors(error: InvalidValue) -> list[str]:
    """Return errors as lines that begin with their dotted keys, such as ``protocol.groups[1]``."""
    lines = []
    for location, message in error.errors:
        parts = (
            f"[{p}]" if isinstance(p, int) else f".{cut(visible(p), _SHOWN)}" for p in location
        )
        lines.append(f"{''.join(parts).removeprefix('.')}: {message}")
    return list(dict.fromkeys(lines))


def _translated(error: ValidationError, section: type[Section]) -> Iterator[tuple[Location, str]]:
    """Yield pydantic's errors in plain English."""
    for found in error.errors(include_url=False):
        location = tuple(part for part in found["loc"] if part != "[key]")
        cause, kind = found.get("ctx", {}).get("error"), found["type"]
        if isinstance(cause, InvalidValue):
            yield from (((*location, *below), message) for below, message in cause.errors)
        elif kind == "extra_forbidden":
            known = _keys_at(section, location[:-1])
            yield location, f"unknown key; {suggestion(location[-1], known)}"
        elif kind != "too_short" or not found["input"]:  # elements with errors are not counted
            yield location, _message(kind, found["input"], found.get("ctx", {}), found["msg"])


def _keys_at(section: type[Section], location: Location) -> list[str]:
    """Return the keys of the section at a location below another."""
    for part in location:
        for name, field in section.model_fields.items():
            if part == (field.alias or name):
                section = next(_sections(field.annotation), section)
                break
    return section.keys()


def _sections(annotation: Any) -> Iterator[type[Section]]:
    """Yield the sections that a type is made of."""
    if isinstance(annotation, type) and issubclass(annotation, Section):
        yield annotation
    yield from chain.from_iterable(map(_sections, get_args(annotation)))


_EXPECTED = {
    "bool_type": "true or false",
    "dict_type": "a mapping",
    "finite_number": "a finite number",
    "float_type": "a number",
    "int_type": "an integer",
    "model_attributes_type": "a mapping",
    "model_type": "a mapping",
    "string_pattern_mismatch": "letters, digits, _ and -",
    "string_too_short": "text",
    "string_type": "text",
    "string_unicode": "text in UTF-8",
    "too_short": "at least one",
    "tuple_type": "a list",
}
_BOUNDS = {
    "greater_than": ("above", "gt"),
    "greater_than_equal": ("of at least", "ge"),
    "less_than": ("below", "lt"),
    "less_than_equal": ("of at most", "le"),
}


def _message(kind: str, value: Any, context: Mapping[str, Any], message: str) -> str:
    """Return one of pydantic's messages as ``expected ..., got ...``."""
    if kind == "missing":
        return "required, but not given"
    if kind in _EXPECTED:
        expected = _EXPECTED[kind]
    elif kind in _BOUNDS:
        words, key = _BOUNDS[kind]
        number = "an integer" if isinstance(context[key], int) else "a number"
        expected = f"{number} {words} {context[key]:.12g}"
    elif kind == "literal_error":
        expected = context["expected"].replace("'", "")
    elif kind == "string_too_long":
        expected = f"at most {context['max_length']} characters"
    else:
        return f"{message}, got {short_repr(value)}"
    return f"expected {expected}, got {short_repr(value)}"


Values = TypeVar("Values", bound=tuple)


def all_different(values: Values) -> Values:
    """Refuse a list that contains a value twice."""
    if len(set(values)) < len(values):
        raise InvalidValue(f"expected each only once, got {short_repr(values)}")
    return values


# Grids


def expand(value: Any) -> tuple[Number, ...]:
    """Return the numbers of a grid in rising order.

    Parameters
    ----------
    value : number, list or mapping
        One number, a list of numbers, powers (``{base: 2, from: -15, to: 15}``, with ``step: 2``
        every other exponent), or a range (``{from: 0.1, to: 0.9, step: 0.2}``), which ends at or
        before ``to``.

    Returns
    -------
    tuple of int or float
        Distinct and finite. A range of integers consists of integers, and so do powers of an
        integer base to integer exponents from 0 on.

    Examples
    --------
    >>> expand({"base": 2, "from": 0, "to": 3})
    (1, 2, 4, 8)
    >>> expand({"from": 0.1, "to": 0.5, "step": 0.1})
    (0.1, 0.2, 0.3, 0.4, 0.5)
    """
    if isinstance(value, Mapping):
        notation = _Powers if "base" in value else _Range
        numbers = parse_section(notation, value).numbers()
    else:
        numbers = list(value) if isinstance(value, list | tuple) else [value]
        if not numbers:
            raise InvalidValue("expected at least one number, got []")
        if not all(map(is_number, numbers)):
            raise InvalidValue(f"expected a list of numbers, got {short_repr(value)}")
    rising = sorted(numbers)
    for low, high in pairwise(rising):
        if low == high:
            raise InvalidValue(f"{low:g} stands in the grid more than once: {short_repr(value)}")
    return tuple(rising)


def is_number(value: Any) -> bool:
    """Return whether a value is a finite real number; true and false are not."""
    real = isinstance(value, int | float) and not isinstance(value, bool)
    return real and abs(value) <= sys.float_info.max


def _number(value: Any) -> Number:
    if not is_number(value):
        raise InvalidValue(f"expected a number, got {short_repr(value)}")
    return value


def _positive(value: Number) -> Number:
    if value <= 0:
        raise InvalidValue(f"expected a positive number, got {short_repr(value)}")
    return value


_Number = Annotated[Any, BeforeValidator(_number), WithJsonSchema({"type": "number"})]
_Positive = Annotated[
    Any,
    BeforeValidator(lambda value: _positive(_number(value))),
    WithJsonSchema({"type": "number", "exclusiveMinimum": 0}),
]


class _Range(Section):
    """The numbers from, from + step, ..., up to to."""

    low: _Number = Field(alias="from")
    high: _Number = Field(alias="to")
    step: _Positive

    def steps(self) -> list[Decimal]:
        """Return the numbers in decimals, so that three times 0.1 is 0.3."""
        first, last, width = (Decimal(repr(x)) for x in (self.low, self.high, self.step))
        if first > last:
            raise InvalidValue(f"expected from <= to, got from {self.low} to {self.high}")
        count = int((last - first) / width) + 1
        if count > _MAX_GRID:
            raise InvalidValue(f"expected at most {_MAX_GRID:,} numbers, got {count:,}")
        return [first + i * width for i in range(count)]

    def numbers(self) -> list[Number]:
        """Return the numbers, integers if all keys are."""
        integers = all(isinstance(x, int) for x in (self.low, self.high, self.step))
        return [int(number) if integers else float(number) for number in self.steps()]


class _Powers(_Range):
    """The powers of a base; from, to and step are exponents."""

    base: _Positive
    step: _Positive = 1

    def numbers(self) -> list[Number]:
        """Return the powers, integers if the base is one and no exponent is negative."""
        keys = (self.base, self.low, self.high, self.step)
        kind = int if all(isinstance(x, int) for x in keys) and self.low >= 0 else float
        try:
            return [kind(float(self.base) ** float(exponent)) for exponent in self.steps()]
        except OverflowError:
            raise InvalidValue(f"{self.base} to the power of {self.high} is too large") from None


def _real_grid(kind: str, is_valid: Callable[[Number], bool], **schema: Any) -> Any:
    """Return the type of a grid of floats."""

    def parse(value: Any) -> tuple[float, ...]:
        numbers = expand(value)
        if not all(map(is_valid, numbers)):
            raise InvalidValue(f"expected a list of {kind}, got {short_repr(value)}")
        return tuple(map(float, numbers))

    return Annotated[tuple[float, ...], BeforeValidator(parse), _schema(kind, schema)]


_BASIS = (
    "integers of at least 1 (counts), or numbers with a decimal point above 0 and up to 1.0 "
    "(fractions), not both"
)


def _basis_grid(value: Any) -> tuple[int, ...] | tuple[float, ...]:
    numbers = expand(value)
    counts = tuple(number for number in numbers if isinstance(number, int) and number >= 1)
    shares = tuple(number for number in numbers if isinstance(number, float) and 0 < number <= 1)
    for found in (counts, shares):
        if len(found) == len(numbers):
            return found
    raise InvalidValue(f"expected a list of {_BASIS}, got {short_repr(value)}")


def _schema(kind: str, number: dict[str, Any]) -> WithJsonSchema:
    """Return the JSON Schema of a grid."""
    number = {"type": "number", **number}
    several = {"type": "array", "items": number, "minItems": 1, "uniqueItems": True}
    notations = [section.model_json_schema(by_alias=True) for section in (_Powers, _Range)]
    description = f"A grid of {kind}: a list, one number, powers or a range."
    return WithJsonSchema({"description": description, "anyOf": [number, several, *notations]})


PositiveGrid = _real_grid("positive numbers", lambda number: number > 0, exclusiveMinimum=0)
"""Widths, lambda, C."""
WeightGrid = _real_grid("numbers of at least 0", lambda number: number >= 0, minimum=0)
"""nu, ridge."""
FractionGrid = _real_grid(
    "numbers from 0 to 1", lambda number: 0 <= number <= 1, minimum=0, maximum=1
)
"""beta."""
BasisGrid = Annotated[
    tuple[int, ...] | tuple[float, ...],
    BeforeValidator(_basis_grid),
    _schema(_BASIS, {"anyOf": [{"exclusiveMinimum": 0, "maximum": 1}, {"multipleOf": 1}]}),
]
"""n_basis: counts are ints, fractions of the points are floats."""
