"""What a constructor parameter may be, as data, and one check with a message that names it.

scikit-learn has constraints of this kind for its own estimators. They are private to it, take
``True`` for a number and no numpy Generator for a seed; these few lines depend on nothing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol, get_args

import numpy as np

from rankpursuit.preferences import GroupWeight


class Constraint(Protocol):
    """One kind of value that a parameter may have; ``str`` says which, for messages."""

    def admits(self, value: Any) -> bool:
        """Say whether the value is of this kind."""


Constraints = Mapping[str, tuple[Constraint, ...]]
"""For each parameter the kinds of values that it may have."""


def _is_whole(value: Any) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def _is_float(value: Any) -> bool:
    return isinstance(value, float | np.floating)


def _is_finite(value: Any) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:  # a whole number above the largest float
        return False


@dataclass(frozen=True)
class Number:
    """A finite number from `low` to `high`, or above `low` if that end is open."""

    low: float = -np.inf
    high: float = np.inf
    open_low: bool = False

    def admits(self, value: Any) -> bool:
        """Say whether the value is a number in the range; a bool is none."""
        if not ((_is_whole(value) or _is_float(value)) and _is_finite(value)):
            return False
        return bool(
            (value > self.low if self.open_low else value >= self.low) and value <= self.high
        )

    def __str__(self) -> str:
        if self.high < np.inf:
            return f"a number from {self.low:g} to {self.high:g}"
        if self.low == -np.inf:
            return "a finite number"
        return f"a number {'above' if self.open_low else 'of at least'} {self.low:g}"


@dataclass(frozen=True)
class Whole:
    """A whole number from `low` to `high`."""

    low: int
    high: int | None = None

    def admits(self, value: Any) -> bool:
        """Say whether the value is such a number; a bool or a float is none."""
        return _is_whole(value) and value >= self.low and (self.high is None or value <= self.high)

    def __str__(self) -> str:
        if self.high is not None:
            return f"a whole number from {self.low} to {self.high}"
        return f"a whole number of at least {self.low}"


@dataclass(frozen=True)
class Share:
    """A float above 0 and of at most 1."""

    def admits(self, value: Any) -> bool:
        """Say whether the value is such a float; the whole number 1 is none."""
        return _is_float(value) and 0.0 < value <= 1.0

    def __str__(self) -> str:
        return "a share, a float above 0 and of at most 1"


@dataclass(frozen=True)
class Choice:
    """One of some strings."""

    options: tuple[str, ...]

    @classmethod
    def of(cls, *literals: Any) -> Choice:
        """Make a choice between the strings of `Literal` types."""
        return cls(tuple(option for literal in literals for option in get_args(literal)))

    def admits(self, value: Any) -> bool:
        """Say whether the value is one of the strings."""
        return isinstance(value, str) and value in self.options

    def __str__(self) -> str:
        listed = ", ".join(repr(option) for option in self.options)
        return listed if len(self.options) == 1 else f"one of {listed}"


@dataclass(frozen=True)
class Instance:
    """An object of some types."""

    types: tuple[type, ...]
    wanted: str

    def admits(self, value: Any) -> bool:
        """Say whether the value has one of the types."""
        return isinstance(value, self.types)

    def __str__(self) -> str:
        return self.wanted


@dataclass(frozen=True)
class Function:
    """Anything that can be called."""

    def admits(self, value: Any) -> bool:
        """Say whether the value can be called."""
        return callable(value)

    def __str__(self) -> str:
        return "a callable"


@dataclass(frozen=True)
class Several:
    """A list, tuple or array, not empty, of values of one kind."""

    each: Constraint

    def admits(self, value: Any) -> bool:
        """Say whether the value is such a sequence."""
        if isinstance(value, np.ndarray):
            value = list(value) if value.ndim == 1 else []
        fits = isinstance(value, list | tuple) and len(value) > 0
        return fits and all(self.each.admits(one) for one in value)

    def __str__(self) -> str:
        return f"a list in which each is {self.each}"


_SHOWN = 100
"""Characters of a value that a message shows."""

POSITIVE = (Number(low=0.0, open_low=True),)
NOT_NEGATIVE = (Number(low=0.0),)
FLAG = (Instance((bool, np.bool_), "True or False"),)
NONE = Instance((type(None),), "None")
SEED = (
    Whole(0, 2**32 - 1),
    Instance((np.random.Generator, np.random.RandomState), "a numpy generator"),
    NONE,
)
NUMBER_OF_BASIS = (Whole(1), Share())
GROUP_WEIGHT = (Choice.of(GroupWeight), Instance((Mapping,), "a mapping from labels to weights"))


def check_parameter(name: str, value: Any, admitted: tuple[Constraint, ...]) -> None:
    """Raise a ValueError unless the value is of one of the kinds."""
    if not any(constraint.admits(value) for constraint in admitted):
        *others, last = map(str, admitted)
        wanted = f"{', '.join(others)} or {last}" if others else last
        raise ValueError(f"{name} must be {wanted}; got {shown(value)}")


def shown(value: Any) -> str:
    """Show a value in one line of reasonable length."""
    try:
        text = " ".join(repr(value).split())
    except ValueError:  # Python does not print whole numbers of thousands of digits
        text = f"a number of {value.bit_length()} bits"
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
