"""Checks of constructor parameters, with messages that name the parameter and what it takes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np


def _is_whole(value: Any) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def _is_float(value: Any) -> bool:
    return isinstance(value, float | np.floating)


def check_number(
    name: str, value: Any, *, low: float, high: float = float("inf"), open_low: bool = False
) -> None:
    """Raise a ValueError unless `value` is a real number in the range."""
    real = _is_whole(value) or _is_float(value)
    inside = real and (value > low if open_low else value >= low) and value <= high
    if not (inside and np.isfinite(value)):
        if high < float("inf"):
            wanted = f"a number from {low:g} to {high:g}"
        else:
            wanted = f"a number {'above' if open_low else 'of at least'} {low:g}"
        raise ValueError(f"{name} must be {wanted}; got {value!r}")


def check_whole(name: str, value: Any, *, low: int) -> None:
    """Raise a ValueError unless `value` is a whole number of at least `low`."""
    if not _is_whole(value) or value < low:
        raise ValueError(f"{name} must be a whole number of at least {low}; got {value!r}")


def check_choice(name: str, value: Any, choices: Sequence[str]) -> None:
    """Raise a ValueError unless `value` is one of the choices."""
    if not isinstance(value, str) or value not in choices:
        listed = ", ".join(repr(choice) for choice in choices)
        raise ValueError(f"{name} must be one of {listed}; got {value!r}")
