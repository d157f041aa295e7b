"""The base of all parts of a config: frozen, strict, no unknown keys."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

LABEL = r"^[A-Za-z0-9_][A-Za-z0-9_-]*$"
Label = Annotated[str, Field(pattern=LABEL)]
"""A name that can be that of a folder: letters, digits, _ and -."""


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
