"""The base of all parts of a config: frozen, strict, no unknown keys."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Annotated, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from rankpursuit.experiments.syntax.faults import Faults, shown

LABEL = r"^[A-Za-z0-9_][A-Za-z0-9_-]*$"
Label = Annotated[str, Field(pattern=LABEL, max_length=100)]
"""A name that can be that of a folder, and no formula of a spreadsheet: letters, digits, _, -."""


class Section(BaseModel):
    """A mapping of a config whose keys are known.

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


Values = TypeVar("Values", bound=tuple)


def all_different(values: Values) -> Values:
    """Refuse a list that has something twice."""
    if len(set(values)) < len(values):
        raise Faults(f"expected each only once, got {shown(values)}")
    return values


def one_of(names: Collection[str]) -> Callable[[str], str]:
    """Return a validator that refuses other words than these."""

    def check(word: str) -> str:
        if word not in names:
            known = list(names)
            listed = " or ".join([", ".join(known[:-1]), known[-1]])
            raise Faults(f"expected {listed}, got {shown(word)}")
        return word

    return check
