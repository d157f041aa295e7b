"""Values of a store as SQLite gives them, which need not be what was written."""

from __future__ import annotations

from typing import Any


class Text(bytes):
    """Text of the store, which need not be text if it is damaged; a blob is bytes."""


def rank(value: Any) -> tuple[int, Any]:
    """Return where SQLite sorts a value: nothing, numbers, text, blobs."""
    if value is None:
        return 0, 0
    if isinstance(value, bytes):
        return (2 if isinstance(value, Text) else 3), bytes(value)
    return 1, value


def decoded(value: Any) -> Any:
    """Return text as a string, all else as it is."""
    return value.decode(errors="replace") if isinstance(value, bytes) else value


def shown(value: Any) -> str:
    """Write part of a key, which may be damaged, in one line; counts begin with 1."""
    text = str(value + 1 if isinstance(value, int) else decoded(value))
    return text if text.isprintable() else ascii(text)
