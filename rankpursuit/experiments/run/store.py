"""The store of a run: one SQLite file that is right after every transaction.

Each unit's results of each algorithm are one row, written in one transaction as the unit ends: a
run killed at any moment loses the units under way and nothing else. The file is locked while a
run has it open, and remembers which experiment it belongs to.
"""

from __future__ import annotations

import io
import json
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray

from rankpursuit.errors import StoreError
from rankpursuit.experiments.config import group_name
from rankpursuit.experiments.run.evaluate import AlgorithmResult, UnitResult, UserResult
from rankpursuit.experiments.run.plan import Unit

Array = NDArray[np.float64]

FORMAT = 2
"""Raised whenever the same config would give other rows, or rows in another form."""

_SCHEMA = """
CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS results (
    repeat INTEGER NOT NULL, grp TEXT NOT NULL, role TEXT NOT NULL, chunk INTEGER NOT NULL,
    algorithm TEXT NOT NULL, sums BLOB NOT NULL, users TEXT NOT NULL, seconds REAL NOT NULL,
    PRIMARY KEY (repeat, grp, role, chunk, algorithm)
) WITHOUT ROWID;
"""

Key = tuple[int, str, str, int]


@dataclass(frozen=True)
class Identity:
    """What a store belongs to: the experiment's digest and the data's checksum."""

    digest: str
    data: str


class Store:
    """Results of one experiment, by unit and algorithm; a context manager.

    Parameters
    ----------
    path : Path
        The SQLite file; made, with its folder, if it is not there.
    identity : Identity
    """

    def __init__(self, path: Path, identity: Identity) -> None:
        self._path = path
        with self._one_line_errors():
            path.parent.mkdir(parents=True, exist_ok=True)
            self._connection = sqlite3.connect(path, timeout=0.0, isolation_level=None)
        try:
            with self._one_line_errors():
                self._connection.execute("PRAGMA locking_mode = EXCLUSIVE")
                self._connection.execute("BEGIN EXCLUSIVE")
                self._connection.execute("COMMIT")
                self._connection.executescript(_SCHEMA)
                self._claim(identity)
        except BaseException:
            self._connection.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def _claim(self, identity: Identity) -> None:
        """Write the identity into a new store; refuse a store of something else."""
        wanted = {"format": str(FORMAT)} | asdict(identity)
        found = dict(self._connection.execute("SELECT key, value FROM meta"))
        if not found:
            with self._transaction():
                self._connection.executemany("INSERT INTO meta VALUES (?, ?)", wanted.items())
            return
        reasons = {
            "format": "was written by another version of rankpursuit",
            "digest": "holds the results of another config",
            "data": "holds the results of other data",
        }
        for key, reason in reasons.items():
            if found.get(key) != wanted[key]:
                raise StoreError(
                    f"{self._path} {reason}: use --fresh to start over, or --output for another "
                    "folder"
                )

    @staticmethod
    def check_unlocked(path: Path) -> None:
        """Raise a StoreError if a run has the store open; a file that is no store is not locked."""
        connection = sqlite3.connect(path, timeout=0.0, isolation_level=None)
        try:
            connection.execute("BEGIN EXCLUSIVE")
        except sqlite3.OperationalError as error:
            if "locked" in str(error):
                raise _locked(path) from error
        except sqlite3.DatabaseError:
            pass
        finally:
            connection.close()

    def add_seconds(self, seconds: float) -> float:
        """Add to the time that all runs took together, and return it."""
        row = self._connection.execute("SELECT value FROM meta WHERE key = 'seconds'").fetchone()
        total = round(seconds + (float(row[0]) if row else 0.0), 1)
        with self._one_line_errors(), self._transaction():
            self._connection.execute(
                "INSERT OR REPLACE INTO meta VALUES ('seconds', ?)", (str(total),)
            )
        return total

    def finished(self) -> dict[Key, set[str]]:
        """Return which algorithms each unit has results of."""
        rows = self._connection.execute("SELECT repeat, grp, role, chunk, algorithm FROM results")
        finished: dict[Key, set[str]] = {}
        for *key, algorithm in rows:
            finished.setdefault(tuple(key), set()).add(algorithm)
        return finished

    def save(self, result: UnitResult) -> None:
        """Write the results of a unit in one transaction."""
        rows = [
            (
                *unit_key(result.unit),
                label,
                _pack(of_label.sums),
                _users(of_label),
                of_label.seconds,
            )
            for label, of_label in result.results.items()
        ]
        with self._one_line_errors(), self._transaction():
            self._connection.executemany(
                "INSERT OR REPLACE INTO results VALUES (?, ?, ?, ?, ?, ?, ?, ?)", rows
            )

    def load(self, unit: Unit, label: str) -> AlgorithmResult | None:
        """Return the results of an algorithm on a unit, None if there are none."""
        row = self._connection.execute(
            "SELECT sums, users, seconds FROM results WHERE "
            "repeat = ? AND grp = ? AND role = ? AND chunk = ? AND algorithm = ?",
            (*unit_key(unit), label),
        ).fetchone()
        if row is None:
            return None
        users = [UserResult(*values) for values in json.loads(row[1])]
        return AlgorithmResult(_unpack(row[0]), users, row[2])

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._connection.execute("ROLLBACK")
            raise
        self._connection.execute("COMMIT")

    @contextmanager
    def _one_line_errors(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.OperationalError as error:
            if "locked" in str(error):
                raise _locked(self._path) from error
            raise StoreError(f"cannot write {self._path}: {error}") from error
        except sqlite3.DatabaseError as error:
            raise StoreError(
                f"{self._path} is not a readable store ({error}): use --fresh to start over"
            ) from error
        except OSError as error:
            raise StoreError(f"cannot write {self._path}: {error.strerror}") from error


def unit_key(unit: Unit) -> Key:
    """Return the key of a unit in the store."""
    return (unit.cell.repeat, group_name(unit.cell.group), unit.role, unit.chunk)


def _locked(path: Path) -> StoreError:
    return StoreError(
        f"another run is writing to {path.parent}: wait for it, or use --output for another folder"
    )


def _pack(sums: dict[str, Array]) -> bytes:
    buffer = io.BytesIO()
    np.savez(buffer, **sums)  # type: ignore[arg-type]
    return buffer.getvalue()


def _unpack(blob: bytes) -> dict[str, Array]:
    with np.load(io.BytesIO(blob), allow_pickle=False) as arrays:
        return dict(arrays)


def _users(result: AlgorithmResult) -> str:
    return json.dumps([list(asdict(user).values()) for user in result.users])
