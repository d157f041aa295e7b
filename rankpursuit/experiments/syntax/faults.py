"""What is wrong with a config, in plain English: one line for each fault, with its key."""

from __future__ import annotations

import difflib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rankpursuit.visible import cut, visible

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

Location = tuple[int | str, ...]
LONGEST_VALUE = 70
"""Characters of a value, or of a key, that a message shows."""
MOST_FAULTS = 50
"""Faults of a config that are told; of more than that, their number."""


class Faults(ValueError):
    """Raised by a validator: one fault, or several with keys below the value validated.

    Parameters
    ----------
    *faults : str or (key, str)
        Messages; a key is one word, or a tuple of them.
    at : str, optional
        Key of the messages that come without one.
    """

    def __init__(self, *faults: str | tuple[str | Location, str], at: str | None = None) -> None:
        here: Location = () if at is None else (at,)
        self.faults: list[tuple[Location, str]] = []
        for fault in faults:
            key, message = (here, fault) if isinstance(fault, str) else fault
            self.faults.append(((key,) if isinstance(key, str) else key, message))
        super().__init__("; ".join(message for _, message in self.faults))


def shown(value: Any) -> str:
    """Return a value as one would write it in YAML, on one line, cut if it is long.

    No more of the value is looked at than is shown.
    """
    text = ""
    for piece in _pieces(value):
        text += piece
        if len(text) > LONGEST_VALUE:
            break
    return cut(visible(text), LONGEST_VALUE)


def _pieces(value: Any) -> Iterator[str]:
    """Return a value as text, piece by piece."""
    if isinstance(value, str):
        yield json.dumps(value[: LONGEST_VALUE + 1], ensure_ascii=False)
    elif isinstance(value, Mapping):
        yield "{"
        for at, (key, below) in enumerate(value.items()):
            yield ", " if at else ""
            yield from _pieces(key if isinstance(key, str) else shown(key))
            yield ": "
            yield from _pieces(below)
        yield "}"
    elif isinstance(value, list | tuple):
        yield "["
        for at, below in enumerate(value):
            yield ", " if at else ""
            yield from _pieces(below)
        yield "]"
    elif isinstance(value, int) and value.bit_length() > 8 * LONGEST_VALUE:
        yield f"a number of {value.bit_length():,} bits"
    elif value is None or isinstance(value, bool | int | float):
        yield json.dumps(value)
    else:
        yield from _pieces(str(value))


def unknown_key(key: object, known: Iterable[str]) -> str:
    """Say that a key is unknown, and which one may have been meant."""
    return f"unknown key; {suggestion(key, known)}"


def suggestion(word: object, known: Iterable[str]) -> str:
    """Return ``did you mean ...?`` if a known word is close, or else the known words."""
    words = list(known)
    close = difflib.get_close_matches(str(word)[:LONGEST_VALUE], words, n=1)
    return f"did you mean {close[0]}?" if close else f"known are {', '.join(words)}"


def dotted(location: Sequence[int | str]) -> str:
    """Return a location as text, such as ``protocol.groups[1]``."""
    text = ""
    for part in location:
        text += f"[{part}]" if isinstance(part, int) else f".{cut(visible(part), LONGEST_VALUE)}"
    return text.removeprefix(".")


def plain_faults(
    errors: Iterable[ErrorDetails],
    key_of: Callable[[Location], Location],
    known_keys: Callable[[Location], Iterable[str]],
) -> list[str]:
    """Turn pydantic's errors into lines ``path.to.key: message``.

    Parameters
    ----------
    errors : iterable of ErrorDetails
        From ``ValidationError.errors()``.
    key_of : callable
        Turns pydantic's location into that of the key in the file: pydantic adds the tag of a
        tagged union.
    known_keys : callable
        Returns the keys that the mapping at pydantic's location can have.

    Returns
    -------
    list of str
        Of more than `MOST_FAULTS`, the last line tells how many are left out.
    """
    lines: list[str] = []
    found = list(errors)
    for number, error in enumerate(found):
        if len(lines) >= MOST_FAULTS:
            return [*lines, f"and so on: {len(found) - number:,} more faults"]
        if error["type"] == "too_short" and error["input"]:
            continue  # pydantic did not count the elements that have faults of their own
        place = key_of(error["loc"])
        cause = error.get("ctx", {}).get("error")
        if isinstance(cause, Faults):
            lines += [f"{dotted(place + below)}: {message}" for below, message in cause.faults]
        elif error["type"] == "extra_forbidden":
            message = unknown_key(place[-1], known_keys(error["loc"][:-1]))
            lines.append(f"{dotted(place)}: {message}")
        elif error["type"] in ("union_tag_invalid", "union_tag_not_found"):
            lines.append(_unknown_kind(error, place))
        else:
            lines.append(f"{dotted(place)}: {_plain(error)}")
        lines = list(dict.fromkeys(lines))
    return lines


def _unknown_kind(error: ErrorDetails, place: Location) -> str:
    """Tell of a missing or unknown ``data.name`` or ``algorithms.LABEL.method``."""
    key, tag = error["ctx"]["discriminator"].strip("'"), error["ctx"].get("tag")
    if tag is None:
        return f"{dotted((*place, key))}: required, but not given"
    meant = suggestion(tag, error["ctx"]["expected_tags"].replace("'", "").split(", "))
    if place[-1] == tag:  # an algorithm's label stands for its method
        return f"{dotted(place)}: unknown algorithm; {meant}"
    return f"{dotted((*place, key))}: unknown {key} {shown(tag)}; {meant}"


_EXPECTED = {
    "bool_type": "true or false",
    "dict_type": "a mapping",
    "finite_number": "a finite number",
    "float_type": "a number",
    "int_type": "a whole number",
    "model_attributes_type": "a mapping",
    "model_type": "a mapping",
    "string_pattern_mismatch": "letters, digits, _ and -",
    "string_too_short": "text",
    "string_type": "text",
    "string_unicode": "text that UTF-8 can hold",
    "tuple_type": "a list",
}

_BOUNDS = {
    "greater_than": ("above", "gt"),
    "greater_than_equal": ("of at least", "ge"),
    "less_than": ("below", "lt"),
    "less_than_equal": ("of at most", "le"),
}


def _plain(error: ErrorDetails) -> str:
    """Return one of pydantic's own messages in plain English."""
    kind, got = error["type"], shown(error["input"])
    context: Mapping[str, Any] = error.get("ctx", {})
    if kind == "missing":
        return "required, but not given"
    if kind in _EXPECTED:
        return f"expected {_EXPECTED[kind]}, got {got}"
    if kind in _BOUNDS:
        words, bound = _BOUNDS[kind]
        return f"expected a number {words} {context[bound]:.12g}, got {got}"
    if kind == "literal_error":
        choices = context["expected"].replace("'", "")
        return f"expected {choices}, got {got}"
    if kind == "too_short":
        return f"expected at least one, got {got}"
    if kind == "string_too_long":
        return f"expected at most {context['max_length']} characters, got {got}"
    if kind == "too_long":
        return f"expected at most {context['max_length']}, got {len(error['input'])}"
    return f"{error['msg']}, got {got}"
