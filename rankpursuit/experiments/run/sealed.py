"""Rows of a store with their checksums: a row that changed since it was written is found out."""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankpursuit.experiments.config import group_name
from rankpursuit.experiments.evaluate import AlgorithmResult, Unit, UserResult

Array = NDArray[np.float64]
_STORED = np.dtype("<f8")
Key = tuple[int, str, str, int]
"""Repeat, group, role and chunk of a unit."""


@dataclass(frozen=True)
class Identity:
    """What a store belongs to: the experiment's digest and the data's checksum."""

    digest: str
    data: str


def unit_key(unit: Unit) -> Key:
    """Return the key of a unit in the store."""
    return (unit.cell.repeat, group_name(unit.cell.group), unit.role, unit.chunk)


def pack(identity: Identity, unit: Unit, label: str, result: AlgorithmResult) -> tuple[Any, ...]:
    """Return the row of an algorithm's results on a unit.

    Returns
    -------
    tuple
        The unit's key, the label, sums, users, seconds and, last, the checksum of all of these and
        of what the store belongs to.
    """
    users = json.dumps([list(vars(user).values()) for user in result.users])
    row = (*unit_key(unit), label, _packed(result.sums), users, float(result.seconds))
    return (*row, checksum(identity.digest, identity.data, *row))


def unpack(identity: Identity, row: tuple[Any, ...]) -> AlgorithmResult | None:
    """Return the results of a row as `pack` made it, None if it is not as it was written."""
    if not is_whole(identity, row):
        return None
    *_, sums, users, seconds, _ = row
    found = [UserResult(*values) for values in json.loads(users)]
    return AlgorithmResult(_unpacked(sums), found, seconds)


def _packed(arrays: dict[str, Array]) -> bytes:
    """Return a line of JSON with the names and shapes of arrays, then their numbers."""
    shapes = {name: np.shape(array) for name, array in arrays.items()}
    numbers = [np.asarray(array, dtype=_STORED).tobytes() for array in arrays.values()]
    return b"\n".join([json.dumps(shapes).encode(), b"".join(numbers)])


def _unpacked(content: bytes) -> dict[str, Array]:
    head, numbers = content.split(b"\n", 1)
    arrays, start = {}, 0
    for name, shape in json.loads(head).items():
        size = math.prod(shape)
        flat = np.frombuffer(numbers, dtype=_STORED, count=size, offset=start)
        arrays[name] = flat.astype(np.float64).reshape(shape)
        start += flat.nbytes
    return arrays


def is_whole(identity: Identity, row: tuple[Any, ...]) -> bool:
    """Whether a row is as it was written, and of this experiment and data."""
    *content, sealed = row
    return bool(sealed == checksum(identity.digest, identity.data, *content))


def checksum(*values: int | float | str | bytes | None) -> bytes:
    """Return the SHA-256 of some values, in order; text is the same as its bytes."""
    digest = hashlib.sha256()
    for value in values:
        text = value.encode() if isinstance(value, str) else value
        content = text if isinstance(text, bytes) else repr(text).encode()
        kind = "bytes" if isinstance(text, bytes) else type(text).__name__
        digest.update(f"{kind} {len(content)} ".encode())
        digest.update(content)
    return digest.digest()
