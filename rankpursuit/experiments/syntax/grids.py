"""Grids of a config: a list, one number, powers or a range, as numbers in rising order.

.. code-block:: yaml

    [0.5, 1, 2]                      # a list
    0.5                              # one number
    {base: 2, from: -15, to: 15}     # powers: 2^-15, 2^-14, ..., 2^15; `step: 2` takes every other
    {from: 0.1, to: 0.9, step: 0.2}  # a range; it ends at or before `to`
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from itertools import pairwise
from typing import Annotated, Any

from pydantic import BeforeValidator, WithJsonSchema

from rankpursuit.experiments.syntax.faults import Faults, shown, unknown_key

Number = int | float
LARGEST_GRID = 1000
"""Numbers of a grid."""
MOST_BASIS = 10_000
"""Basis functions: a pursuit that may choose one again makes as many steps."""
SMALLEST, LARGEST = 1e-100, 1e100
"""Widths and weights: their squares, and products with those, are numbers too."""
_SHARES_OR_COUNTS = (
    "whole numbers of at least 1 (counts), or numbers with a decimal point above 0 and up to 1.0 "
    "(shares), not both"
)


def expand(value: Any) -> tuple[Number, ...]:
    """Return the numbers of a grid in rising order.

    Parameters
    ----------
    value : number, list or mapping
        Any of the notations above.

    Returns
    -------
    tuple of int or float
        Distinct and finite. A range of whole numbers is whole, and so are powers of a whole base
        to whole exponents from 0 on.

    Raises
    ------
    Faults
        If it is none of the notations, has no or more than `LARGEST_GRID` numbers, or has one
        twice.

    Examples
    --------
    >>> expand({"base": 2, "from": -1, "to": 2})
    (0.5, 1.0, 2.0, 4.0)
    >>> expand({"base": 2, "from": 0, "to": 3})
    (1, 2, 4, 8)
    >>> expand({"from": 0.1, "to": 0.5, "step": 0.1})
    (0.1, 0.2, 0.3, 0.4, 0.5)
    """
    if isinstance(value, Mapping):
        numbers = _powers(value) if "base" in value else _range(value)
    else:
        numbers = list(value) if isinstance(value, Sequence) and value != "" else [value]
        if not numbers:
            raise Faults("expected at least one number, got []")
        if len(numbers) > LARGEST_GRID and not isinstance(value, str):
            raise Faults(f"expected at most {LARGEST_GRID} numbers, got {len(numbers)}")
        if isinstance(value, str) or not all(map(is_number, numbers)):
            raise Faults(f"expected a list of numbers, got {shown(value)}")
    rising = sorted(numbers)
    for low, high in pairwise(rising):
        if low == high:
            raise Faults(f"{low:g} stands in the grid more than once: {shown(value)}")
    return tuple(rising)


def is_number(value: Any) -> bool:
    """Tell whether a value is a finite real number; true and false are none."""
    real = isinstance(value, int | float) and not isinstance(value, bool)
    return real and abs(value) <= sys.float_info.max


def _powers(value: Mapping[str, Any]) -> list[Number]:
    base, *exponents = _keys(value, ("base", "from", "to"), {"step": 1})
    if base <= 0 or base == 1:
        raise Faults(f"expected a positive number other than 1, got {shown(base)}", at="base")
    whole = isinstance(base, int) and all(isinstance(exponent, int) for exponent in exponents)
    kind = int if whole and exponents[0] >= 0 else float
    try:
        return [kind(float(base) ** float(exponent)) for exponent in _steps(*exponents)]
    except OverflowError:
        raise Faults(f"expected powers within the range of numbers, got {shown(value)}") from None


def _range(value: Mapping[str, Any]) -> list[Number]:
    bounds = _keys(value, ("from", "to", "step"), {})
    kind = int if all(isinstance(bound, int) for bound in bounds) else float
    return [kind(number) for number in _steps(*bounds)]


def _keys(
    value: Mapping[str, Any], required: Sequence[str], optional: Mapping[str, Number]
) -> list[Number]:
    known = [*required, *optional]
    faults = [(key, unknown_key(key, known)) for key in value if key not in known]
    faults += [(key, "required, but not given") for key in required if key not in value]
    for key in known:
        if key in value and not is_number(value[key]):
            faults.append((key, f"expected a number, got {shown(value[key])}"))
    if faults:
        raise Faults(*faults)
    return [value.get(key, optional.get(key)) for key in known]


def _steps(low: Number, high: Number, step: Number) -> list[Decimal]:
    """Return low, low + step, ... up to high, in decimals, so that three times 0.1 is 0.3."""
    first, last, width = (Decimal(repr(number)) for number in (low, high, step))
    if width <= 0:
        raise Faults(f"expected a positive number, got {shown(step)}", at="step")
    if first > last:
        raise Faults(f"expected from <= to, got from {shown(low)} to {shown(high)}")
    count = int((last - first) / width) + 1
    if count > LARGEST_GRID:
        raise Faults(f"expected at most {LARGEST_GRID} numbers, got {shown(count)}")
    return [first + i * width for i in range(count)]


def _real_grid(kind: str, allowed: Callable[[Number], bool]) -> Callable[[Any], tuple[float, ...]]:
    def parse(value: Any) -> tuple[float, ...]:
        numbers = expand(value)
        if not all(map(allowed, numbers)):
            raise Faults(f"expected a list of {kind}, got {shown(value)}")
        if numbers[-1] > LARGEST or any(0 < number < SMALLEST for number in numbers[:2]):
            raise Faults(f"expected numbers from {SMALLEST} to {LARGEST}, got {shown(value)}")
        return tuple(map(float, numbers))

    return parse


def _basis_grid(value: Any) -> tuple[int, ...] | tuple[float, ...]:
    numbers = expand(value)
    counts = tuple(number for number in numbers if isinstance(number, int) and number >= 1)
    shares = tuple(number for number in numbers if isinstance(number, float) and 0 < number <= 1)
    if len(counts) == len(numbers):
        if counts[-1] > MOST_BASIS:
            raise Faults(f"expected numbers of at most {MOST_BASIS}, got {shown(value)}")
        return counts
    if len(shares) == len(numbers):
        return shares
    raise Faults(f"expected a list of {_SHARES_OR_COUNTS}, got {shown(value)}")


def _schema(kind: str, **number: Any) -> WithJsonSchema:
    any_number = {"type": "number"}
    powers = {"base": {"type": "number", "exclusiveMinimum": 0}, "from": any_number}
    powers |= {"to": any_number, "step": {"type": "number", "exclusiveMinimum": 0, "default": 1}}
    limits = {"from": number, "to": any_number, "step": {"type": "number", "exclusiveMinimum": 0}}
    return WithJsonSchema(
        {
            "description": f"A grid of {kind}: a list, one number, powers or a range.",
            "anyOf": [
                number,
                {"type": "array", "items": number, "minItems": 1, "uniqueItems": True},
                _notation(powers, ["base", "from", "to"]),
                _notation(limits, ["from", "to", "step"]),
            ],
        }
    )


def _notation(properties: dict[str, Any], required: list[str]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }


PositiveGrid = Annotated[
    tuple[float, ...],
    BeforeValidator(_real_grid("positive numbers", lambda number: number > 0)),
    _schema("positive numbers", type="number", exclusiveMinimum=0),
]
"""Widths, lambda, C."""

WeightGrid = Annotated[
    tuple[float, ...],
    BeforeValidator(_real_grid("numbers of at least 0", lambda number: number >= 0)),
    _schema("numbers of at least 0", type="number", minimum=0),
]
"""nu."""

ShareGrid = Annotated[
    tuple[float, ...],
    BeforeValidator(_real_grid("numbers from 0 to 1", lambda number: 0 <= number <= 1)),
    _schema("numbers from 0 to 1", type="number", minimum=0, maximum=1),
]
"""beta."""

BasisGrid = Annotated[
    tuple[int, ...] | tuple[float, ...],
    BeforeValidator(_basis_grid),
    _schema(
        _SHARES_OR_COUNTS,
        type="number",
        anyOf=[
            {"exclusiveMinimum": 0, "maximum": 1},
            {"minimum": 1, "multipleOf": 1, "maximum": MOST_BASIS},
        ],
    ),
]
"""n_basis: counts are ints, shares of the points are floats."""
