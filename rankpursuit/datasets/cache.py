"""A checksummed cache of parsed tables, so that slow files are parsed once per machine.

A cached table is one ``.npz`` file without pickled objects, named after the SHA-256 of the files
that it was parsed from: when they change, another name is looked for. It carries the checksum of
its own contents; one that does not match (truncated, tampered with, of another format) is parsed
again and replaced. It is written under a temporary name and renamed, so that processes that start
at once each see a whole file or none.
"""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from rankpursuit.datasets.locate import cache_folder
from rankpursuit.datasets.ratings import Ratings
from rankpursuit.errors import OutputError
from rankpursuit.visible import one_line
from rankpursuit.writing import replacing

FORMAT = "rankpursuit-table-1"
"""Part of every key: change it when the format, or what a parser makes of a file, changes."""


def cached_table(name: str, sources: Sequence[Path], parse: Callable[[], Ratings]) -> Ratings:
    """Return the table parsed from `sources`, from the cache if it holds a sound one.

    Parameters
    ----------
    name : str
        Name of the table: begins the name of the cache's file.
    sources : sequence of Path
        The files that the table is parsed from.
    parse : callable
        Parses the table; called only when the cache has none that can be trusted.

    Returns
    -------
    Ratings
    """
    key = source_key(name, sources)
    path = cache_folder() / "tables" / f"{name}-{key[:16]}.npz"
    table = read_table(path, key)
    if table is not None:
        return table
    table = parse()
    try:
        write_table(path, key, table)
    except (OSError, OutputError) as error:
        message = one_line(f"the parsed table was not kept: {path}: {error}")
        warnings.warn(message, stacklevel=2)
    return table


def source_key(name: str, sources: Sequence[Path]) -> str:
    """Return a key, 64 hex digits, of the name and of the bytes of the source files."""
    digest = hashlib.sha256(f"{FORMAT} {name}".encode())
    for source in sources:
        with source.open("rb") as file:
            digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()


def read_table(path: Path, key: str) -> Ratings | None:
    """Return the table cached at `path` under `key`, or None if none can be trusted."""
    if not path.is_file():
        return None
    try:
        with np.load(path, allow_pickle=False) as stored:
            table = Ratings(
                name=str(stored["name"]),
                user_ids=stored["user_ids"],
                item_ids=stored["item_ids"],
                offsets=stored["offsets"],
                items=stored["items"],
                values=stored["values"],
            )
            seal = str(stored["seal"])
    except Exception:
        # A damaged file can fail in any way inside zipfile, zlib and numpy's header parser. All of
        # them mean the same: parse the source again.
        return None
    return table if seal == _seal(key, table) else None


def write_table(path: Path, key: str, table: Ratings) -> None:
    """Write the table to `path` under `key`: whole, or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as file:
        np.savez(
            file,
            name=np.array(table.name),
            user_ids=table.user_ids,
            item_ids=table.item_ids,
            offsets=table.offsets,
            items=table.items,
            values=table.values,
            seal=np.array(_seal(key, table)),
        )


def _seal(key: str, table: Ratings) -> str:
    return hashlib.sha256(f"{key} {table.name} {table.checksum()}".encode()).hexdigest()
