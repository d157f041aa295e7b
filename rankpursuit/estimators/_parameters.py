"""Parameters of estimators: fields that make a constructor, seeds, and what files hold of them.

The parameters of an estimator are the fields of a dataclass: each is declared once, in the class
that brings it in, and scikit-learn finds the explicit constructor that it asks for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar, dataclass_transform

import numpy as np
from sklearn.utils import check_random_state

Class = TypeVar("Class")
RandomState = int | np.random.Generator | np.random.RandomState | None


@dataclass_transform(eq_default=False, kw_only_default=True, field_specifiers=(field,))
def parameters(cls: type[Class]) -> type[Class]:
    """Make the fields of a class parameters of its constructor, by keyword if not said."""
    return dataclass(eq=False, repr=False, kw_only=True)(cls)


def random_generator(random_state: RandomState) -> np.random.Generator | np.random.RandomState:
    """Return a generator as it is; make one of anything else that scikit-learn takes."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    return check_random_state(random_state)


def plain_parameters(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters that are numbers, text, None or lists of these."""
    plain = {name: _plain(value) for name, value in parameters.items()}
    return {name: value for name, value in plain.items() if _is_plain(value)}


def _plain(value: Any) -> Any:
    """Return numbers and arrays of numpy as Python has them, all else as it is."""
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return value.tolist() if isinstance(value, np.generic | np.ndarray) else value


def _is_plain(value: Any) -> bool:
    if isinstance(value, list):
        return all(map(_is_plain, value))
    return isinstance(value, str | bool | int | float | None)
