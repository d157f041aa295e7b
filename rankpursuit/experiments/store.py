"""The store of a run: one SQLite file that is consistent after every transaction.

The results of one algorithm on one unit are one row, saved as soon as the unit is evaluated: a run
that is killed loses the units in progress and nothing else. The file is locked while a run has it
open, and belongs to one experiment and data set. Every row has a checksum; damaged rows are
discarded when the store is opened, and computed again.
"""

from __future__ import annotations

import hashlib
import json
import math
import sqlite3
from collections.abc import Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from rankpursuit.errors import OutputError, StoreError
from rankpursuit.experiments.evaluate import AlgorithmResult, Unit, UnitResult, UserResult
from rankpursuit.experiments.protocol import group_name
from rankpursuit.writing import check_output

FORMAT = 5  # raised whenever the same config would give other rows, or rows in another form

Key = tuple[int, str, str, int, str]
"""Repeat, group, role and chunk of a unit, and the label of an algorithm."""

_TABLES = (
    "CREATE TABLE meta (digest TEXT, data TEXT, seconds REAL)",
    "CREATE TABLE results (repeat INTEGER, grp TEXT, role TEXT, chunk INTEGER, "
    "algorithm TEXT, content BLOB, checksum BLOB)",
)
_INSERT = "INSERT INTO results VALUES (?, ?, ?, ?, ?, ?, ?)"
_REMEDY = "use --fresh to start over, or --output for another folder"
_NUMBERS = np.dtype("<f8")


class Identity(NamedTuple):
    """Owner of a store: digest of the experiment and checksum of the data."""

    digest: str
    data: str


class Store(AbstractContextManager["Store"]):
    """Results of one experiment, by unit and algorithm; a context manager.

    The file is created, with its folder, if missing. `n_damaged` damaged rows were discarded.

    Raises a `StoreError` if another run has the store open, it belongs to another experiment, data
    set or version, or it cannot be read.
    """

    def __init__(self, path: Path, identity: Identity) -> None:
        self._path, self._identity = path, identity
        self._rows: dict[Key, int] = {}
        self.n_damaged = 0
        with _one_line_errors(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            check_output(path)
            self._connection = sqlite3.connect(path, timeout=0.0, isolation_level=None)
            try:
                self._open()
            except BaseException:
                self._connection.close()
                raise

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close and unlock the store."""
        self._connection.close()

    def _open(self) -> None:
        """Lock the file; create the tables of a new store, check those of an existing one."""
        execute = self._connection.execute
        execute("PRAGMA locking_mode = EXCLUSIVE")
        execute("BEGIN EXCLUSIVE")
        execute("COMMIT")
        ((is_new,),) = execute("SELECT count(*) = 0 FROM sqlite_master")
        if is_new:
            with self._connection:
                execute("BEGIN IMMEDIATE")
                for sql in _TABLES:
                    execute(sql)
                execute("INSERT INTO meta VALUES (?, ?, 0)", self._identity)
                execute(f"PRAGMA user_version = {FORMAT}")
            return
        ((version,),) = execute("PRAGMA user_version")
        if version != FORMAT:
            message = f"{self._path} was written by an earlier version of rankpursuit"
            raise StoreError(f"{message}: {_REMEDY}")
        ((problem,), *_) = execute("PRAGMA quick_check(1)")
        if problem != "ok":
            raise sqlite3.DatabaseError(problem)
        owner = execute("SELECT digest, data FROM meta").fetchone()
        if owner != self._identity:
            same = owner is not None and owner[0] == self._identity.digest
            other = "other data" if same else "another config"
            raise StoreError(f"{self._path} holds the results of {other}: {_REMEDY}")
        damaged = []
        for number, *key, content, checksum in execute("SELECT rowid, * FROM results"):
            if isinstance(content, bytes) and checksum == self._checksum(key, content):
                self._rows[tuple(key)] = number
            else:
                damaged.append((number,))
        if damaged:
            self.n_damaged = len(damaged)
            with self._connection:
                execute("BEGIN IMMEDIATE")
                self._connection.executemany("DELETE FROM results WHERE rowid = ?", damaged)

    def _checksum(self, key: Any, content: bytes) -> bytes:
        owner = repr((*self._identity, *key)).encode()
        return hashlib.sha256(hashlib.sha256(owner).digest() + content).digest()

    @staticmethod
    def check_unlocked(path: Path) -> None:
        """Raise a StoreError if a run has the store open."""
        with _one_line_errors(path), closing(sqlite3.connect(path, timeout=0.0)) as connection:
            try:
                connection.execute("BEGIN EXCLUSIVE")
            except sqlite3.Error as error:  # a file that is not a store is not locked
                if _is_locked(error):
                    raise

    @property
    def repeats(self) -> int:
        """Number of repeats of which there are results."""
        return max((repeat + 1 for repeat, *_ in self._rows), default=0)

    def has(self, unit: Unit, label: str) -> bool:
        """Return whether there are results of an algorithm on a unit."""
        return _key(unit, label) in self._rows

    def save(self, *results: UnitResult) -> None:
        """Save the results of units in one transaction."""
        saved = {}
        with _one_line_errors(self._path), self._connection:
            self._connection.execute("BEGIN IMMEDIATE")
            for unit_result in results:
                for label, result in unit_result.results.items():
                    key, content = _key(unit_result.unit, label), _packed(result)
                    row = (*key, content, self._checksum(key, content))
                    saved[key] = int(self._connection.execute(_INSERT, row).lastrowid or 0)
        self._rows |= saved

    def load(self, unit: Unit, label: str) -> AlgorithmResult | None:
        """Return the results of an algorithm on a unit, None if there are none."""
        key = _key(unit, label)
        if key not in self._rows:
            return None
        with _one_line_errors(self._path):
            row = self._connection.execute(
                "SELECT content FROM results WHERE rowid = ?", (self._rows[key],)
            ).fetchone()
        return _unpacked(row[0])

    def add_seconds(self, seconds: float) -> float:
        """Add to the time that all runs took together, and return the total."""
        with _one_line_errors(self._path), self._connection:
            self._connection.execute("BEGIN IMMEDIATE")
            ((before,),) = self._connection.execute("SELECT seconds FROM meta")
            total = round(seconds + before, 1)
            self._connection.execute("UPDATE meta SET seconds = ?", (total,))
        return total


def _key(unit: Unit, label: str) -> Key:
    return unit.cell.repeat, group_name(unit.cell.group), unit.role, unit.chunk, label


def _packed(result: AlgorithmResult) -> bytes:
    """Return a line of JSON, then the numbers of all arrays."""
    head = {
        "shapes": {metric: np.shape(sums) for metric, sums in result.sums.items()},
        "users": [list(vars(user).values()) for user in result.users],
        "seconds": float(result.seconds),
    }
    arrays = [np.asarray(sums, dtype=_NUMBERS).tobytes() for sums in result.sums.values()]
    return b"\n".join([json.dumps(head).encode(), b"".join(arrays)])


def _unpacked(content: bytes) -> AlgorithmResult:
    line, numbers = content.split(b"\n", 1)
    head = json.loads(line)
    flat = np.frombuffer(numbers, dtype=_NUMBERS).astype(np.float64)
    sums, start = {}, 0
    for metric, shape in head["shapes"].items():
        sums[metric] = flat[start : (start := start + math.prod(shape))].reshape(shape)
    return AlgorithmResult(sums, [UserResult(*user) for user in head["users"]], head["seconds"])


@contextmanager
def _one_line_errors(path: Path) -> Iterator[None]:
    """Turn errors of SQLite and of the system into a `StoreError`."""
    try:
        yield
    except sqlite3.OperationalError as error:
        if _is_locked(error):
            raise StoreError(
                f"another run is writing to {path.parent}: wait for it, or use --output for "
                "another folder"
            ) from error
        raise StoreError(f"cannot write {path}: {error}") from error
    except (sqlite3.DatabaseError, UnicodeDecodeError, MemoryError) as error:
        reason = " ".join(str(error).split())
        raise StoreError(f"{path} is not a readable store ({reason}): {_REMEDY}") from error
    except OutputError as error:
        raise StoreError(str(error)) from error
    except OSError as error:
        raise StoreError(f"cannot write {path}: {error.strerror}") from error


def _is_locked(error: sqlite3.Error) -> bool:
    code = getattr(error, "sqlite_errorcode", None)
    return code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
