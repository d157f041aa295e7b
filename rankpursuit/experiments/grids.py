"""Sections of a config: keys with types, grids, and errors with dotted keys."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from typing import Annotated, Any, Self, TypeVar

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ModelWrapValidatorHandler,
    ValidationError,
    WithJsonSchema,
    model_validator,
)
from typing_extensions import TypeAliasType

from rankpursuit.experiments.names import short_key, short_repr, suggestion

Location = tuple[int | str, ...]
Number = int | float
_MAX_GRID = 10_000  # maximum size of a grid; catches mistakes such as ``step: 1e-9``


class InvalidValue(ValueError):
    """Raised by validators: one message, or several with keys below the validated value."""

    def __init__(self, *errors: str | tuple[str | Location, str]) -> None:
        self.errors: list[tuple[Location, str]] = []
        for error in errors:
            key, message = ((), error) if isinstance(error, str) else error
            self.errors.append(((key,) if isinstance(key, str) else key, message))
        super().__init__("; ".join(self.lines()))

    def lines(self) -> list[str]:
        """Return the errors after their dotted keys, such as ``protocol.groups[1]: ...``."""
        lines = []
        for location, message in self.errors:
            parts = (f"[{p}]" if isinstance(p, int) else f".{short_key(p)}" for p in location)
            key = "".join(parts).removeprefix(".")
            lines.append(f"{key}: {message}" if key else message)
        return list(dict.fromkeys(lines))


class Section(BaseModel):
    """A mapping of a config whose keys are known: frozen, strict, no unknown keys.

    Python code may use the name or the alias of a field (`lambdas` or `lambda`); in a file only the
    alias is a key.
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

    @model_validator(mode="wrap")
    @classmethod
    def _suggest_keys(cls, value: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        try:
            return handler(value)
        except ValidationError as error:
            raise InvalidValue(*_translated(error, cls.keys())) from error


Kind = TypeVar("Kind", bound=Section)


def parse_section(section: type[Kind], value: Any, lenient: bool = False) -> Kind:
    """Return the section that a mapping declares; raise `InvalidValue` with all errors.

    `lenient` is passed to validators as their context.
    """
    try:
        return section.model_validate(value, by_alias=True, by_name=False, context=lenient)
    except ValidationError as error:
        raise InvalidValue(*_translated(error, section.keys())) from error


def parse_kind(value: Any, key: str, kinds: Mapping[str, type[Kind]], hint: str = "") -> Kind:
    """Return the section that a mapping declares; the value of `key` selects its class."""
    if not isinstance(value, dict):
        raise InvalidValue(f"expected a mapping, got {short_repr(value)}")
    if key not in value:
        raise InvalidValue((key, _MESSAGES["missing"]))
    kind = value[key]
    if not isinstance(kind, str) or kind not in kinds:
        message = f"unknown {key} {short_repr(kind)}; {suggestion(kind, kinds)}{hint}"
        raise InvalidValue((key, message))
    return parse_section(kinds[kind], value)


_MESSAGES = {
    "missing": "required, but not given",
    "model_type": "expected a mapping",
    "string_pattern_mismatch": "expected letters, digits, _ and -",
    "too_short": "expected at least one",
    "tuple_type": "expected a list",
}


def _translated(error: ValidationError, keys: list[str]) -> Iterator[tuple[Location, str]]:
    """Yield pydantic's errors with the value, and unknown keys with a suggestion."""
    for details in error.errors(include_url=False):
        location, kind, value = details["loc"], details["type"], details["input"]
        cause = details.get("ctx", {}).get("error")
        if isinstance(cause, InvalidValue):
            yield from (((*location, *below), message) for below, message in cause.errors)
        elif kind == "extra_forbidden":
            yield location, f"unknown key; {suggestion(location[-1], keys)}"
        elif kind == "missing":
            yield location, _MESSAGES[kind]
        elif kind != "too_short" or not value:  # not if invalid elements were dropped
            message = details["msg"].replace("Input should be", "expected").replace("'", "")
            yield location, f"{_MESSAGES.get(kind, message)}, got {short_repr(value)}"


Values = TypeVar("Values", bound=tuple)


def all_different(values: Values) -> Values:
    """Return the values; raise `InvalidValue` if one occurs twice."""
    if len(set(values)) < len(values):
        raise InvalidValue(f"expected distinct values, got {short_repr(values)}")
    return values


# Grids


def expand(value: Any) -> tuple[Number, ...]:
    """Return the numbers of a grid, distinct and finite, in ascending order.

    A grid is one number, a list of numbers, powers (``{base: 2, from: -15, to: 15}``), or a range
    (``{from: 0.1, to: 0.9, step: 0.2}``), which ends at or before ``to``. The step is 1 by default.
    Ranges of integers are integers, and so are powers of integers with exponents of at least 0.

    >>> expand({"base": 2, "from": 0, "to": 3})
    (1, 2, 4, 8)
    """
    if isinstance(value, Mapping):
        numbers = parse_section(Steps, value).numbers()
    else:
        numbers = list(value) if isinstance(value, list | tuple) else [value]
        if not numbers or not all(map(is_number, numbers)):
            raise InvalidValue(f"expected a list of numbers, got {short_repr(value)}")
    return all_different(tuple(sorted(numbers)))


def is_number(value: Any) -> bool:
    """Return whether a value is a finite real number and not a boolean."""
    real = isinstance(value, int | float) and not isinstance(value, bool)
    return real and abs(value) <= sys.float_info.max


def _number(value: Any) -> Number:
    if is_number(value):
        return value
    raise InvalidValue(f"expected a number, got {short_repr(value)}")


_Number = Annotated[Any, BeforeValidator(_number), WithJsonSchema({"type": "number"})]
_Positive = Annotated[
    _Number, Field(gt=0), WithJsonSchema({"type": "number", "exclusiveMinimum": 0})
]


class Steps(Section):
    """Numbers ``from``, ``from + step``, ... up to ``to``; with ``base``, its powers."""

    low: _Number = Field(alias="from")
    high: _Number = Field(alias="to")
    step: _Positive = 1
    base: _Positive = None

    def numbers(self) -> list[Number]:
        """Return the numbers, computed in decimals, so that three times 0.1 is 0.3."""
        first, last, width = (Decimal(repr(x)) for x in (self.low, self.high, self.step))
        if first > last:
            raise InvalidValue(f"expected from <= to, got from {self.low} to {self.high}")
        count = int((last - first) / width) + 1
        if count > _MAX_GRID:
            raise InvalidValue(f"expected at most {_MAX_GRID:,} numbers, got {count:,}")
        steps = [float(first + i * width) for i in range(count)]
        given = [x for x in (self.low, self.high, self.step, self.base) if x is not None]
        integers = all(isinstance(x, int) for x in given)
        if self.base is not None:
            integers = integers and self.low >= 0
            try:
                steps = [float(self.base) ** exponent for exponent in steps]
            except OverflowError:
                message = f"{self.base} to the power of {self.high} is too large"
                raise InvalidValue(message) from None
        return [int(x) if integers else x for x in steps]


def _grid(name: str, number: dict[str, Any], parse: Callable[[Any], Any]) -> Any:
    """Return the type of a grid, which has a definition of its own in the JSON Schema."""
    single = Annotated[Any, WithJsonSchema({"type": "number", **number})]
    several = Annotated[
        list[single],
        Field(min_length=1, json_schema_extra={"uniqueItems": True}),
    ]
    written = BeforeValidator(parse, json_schema_input_type=single | several | Steps)
    return TypeAliasType(name, Annotated[tuple[Number, ...], written])


def _real_grid(name: str, kind: str, is_valid: Callable[[Number], bool], **number: Any) -> Any:
    """Return the type of a grid of floats."""

    def parse(value: Any) -> tuple[float, ...]:
        numbers = expand(value)
        if not all(map(is_valid, numbers)):
            raise InvalidValue(f"expected a list of {kind}, got {short_repr(value)}")
        return tuple(map(float, numbers))

    return _grid(name, number, parse)


def _basis_grid(value: Any) -> tuple[Number, ...]:
    numbers = expand(value)
    counts = all(isinstance(number, int) and number >= 1 for number in numbers)
    if counts or all(isinstance(number, float) and 0 < number <= 1 for number in numbers):
        return numbers
    raise InvalidValue(
        "expected a list of counts (integers from 1), or of fractions (numbers with a decimal "
        f"point, above 0, up to 1.0), not both, got {short_repr(value)}"
    )


PositiveGrid = _real_grid(
    "PositiveGrid", "positive numbers", lambda number: number > 0, exclusiveMinimum=0
)
WeightGrid = _real_grid(
    "WeightGrid", "numbers of at least 0", lambda number: number >= 0, minimum=0
)
FractionGrid = _real_grid(
    "FractionGrid", "numbers from 0 to 1", lambda number: 0 <= number <= 1, minimum=0, maximum=1
)
BasisGrid = _grid(
    "BasisGrid",
    {"anyOf": [{"exclusiveMinimum": 0, "maximum": 1}, {"multipleOf": 1}]},
    _basis_grid,
)
