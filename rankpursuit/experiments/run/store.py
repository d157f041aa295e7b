"""The store of a run: one SQLite file that is right after every transaction.

Each unit's results of each algorithm are one row, written in one transaction as the unit ends: a
run killed at any moment loses the units under way and nothing else. The file is locked while a
run has it open, and remembers which experiment it belongs to. Every row carries a checksum: a row
that is not as it was written counts for nothing, so that its unit is computed again.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any, Self

from rankpursuit.errors import StoreError
from rankpursuit.experiments.evaluate import AlgorithmResult, Unit, UnitResult
from rankpursuit.experiments.run.sealed import (
    Identity,
    Key,
    checksum,
    is_whole,
    pack,
    unit_key,
    unpack,
)
from rankpursuit.experiments.run.store_errors import (
    LOCKED,
    damaged,
    error_code,
    foreign,
    locked,
    one_line_errors,
)
from rankpursuit.experiments.run.store_values import Text, decoded, rank, shown
from rankpursuit.writing import check_output

__all__ = ["FORMAT", "Identity", "Key", "Store", "unit_key"]

FORMAT = 4
"""Raised whenever the same config would give other rows, or rows in another form."""

_TABLES = {
    "meta": "CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL, checksum BLOB NOT NULL) "
    "WITHOUT ROWID",
    "results": "CREATE TABLE results (repeat INTEGER NOT NULL, grp TEXT NOT NULL, "
    "role TEXT NOT NULL, chunk INTEGER NOT NULL, algorithm TEXT NOT NULL, sums BLOB NOT NULL, "
    "users TEXT NOT NULL, seconds REAL NOT NULL, checksum BLOB NOT NULL, "
    "PRIMARY KEY (repeat, grp, role, chunk, algorithm)) WITHOUT ROWID",
}
_FROM_ROW = (
    "FROM results WHERE repeat IS ? AND CAST(grp AS BLOB) IS ? AND CAST(role AS BLOB) IS ? "
    "AND chunk IS ? AND CAST(algorithm AS BLOB) IS ?"
)
_MOST_NAMED = 10
"""Rows set aside that are named one by one."""


class Store:
    """Results of one experiment, by unit and algorithm; a context manager.

    Parameters
    ----------
    path : Path
        The SQLite file; made, with its folder, if it is not there.
    identity : Identity

    Attributes
    ----------
    set_aside : list of str
        A line for each row that is damaged, and counts for nothing.

    Raises
    ------
    StoreError
        If another run has it open, it belongs to something else, or it is damaged as a whole.
    """

    def __init__(self, path: Path, identity: Identity) -> None:
        self._path, self._identity = path, identity
        self._finished: dict[Key, set[str]] = {}
        self._damaged_rows: list[tuple[Any, ...]] = []
        self.set_aside: list[str] = []
        with one_line_errors(self._path):
            path.parent.mkdir(parents=True, exist_ok=True)
            check_output(path)
            self._connection = sqlite3.connect(path, timeout=0.0, isolation_level=None)
        try:
            with one_line_errors(self._path):
                self._open()
        except MemoryError as error:
            self._connection.close()
            raise damaged(self._path, "it asks for more memory than there is") from error
        except BaseException:
            self._connection.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def _open(self) -> None:
        """Lock the file; make the tables of a new one, check those of an old one."""
        self._connection.text_factory = Text
        self._connection.execute("PRAGMA locking_mode = EXCLUSIVE")
        self._connection.execute("PRAGMA trusted_schema = OFF")
        self._connection.execute("BEGIN EXCLUSIVE")
        self._connection.execute("COMMIT")
        ((first, *_), *_) = self._connection.execute("PRAGMA quick_check(1)")
        if first != b"ok":
            raise damaged(self._path, first.decode(errors="replace"))
        tables = {
            name.decode(errors="replace"): (sql or b"").decode(errors="replace")
            for name, sql in self._connection.execute("SELECT name, sql FROM sqlite_master")
            if not name.startswith(b"sqlite_")
        }
        if not tables:
            self._make()
        elif tables != _TABLES:
            raise self._of_another_form()
        else:
            self._check_identity()
            self._check_rows()

    def _make(self) -> None:
        with self._transaction():
            for sql in _TABLES.values():
                self._connection.execute(sql)
            for key, value in self._wanted().items():
                self._set(key, value)

    def _wanted(self) -> dict[str, str]:
        return {"format": str(FORMAT)} | asdict(self._identity)

    def _set(self, key: str, value: str) -> None:
        row = (key, value, checksum(key, value))
        self._connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?, ?)", row)

    def _of_another_form(self) -> StoreError:
        """Tell a store of another version from a file that is no store."""
        rows = self._connection.execute("SELECT value FROM meta WHERE key = 'format'").fetchall()
        if rows and rows[0][0] != str(FORMAT).encode():
            return foreign(self._path, "was written by another version of rankpursuit")
        return damaged(self._path, "its tables are not those of a store")

    def _check_identity(self) -> None:
        """Refuse a store of something else, or one that does not know what it belongs to."""
        rows = self._connection.execute("SELECT * FROM meta").fetchall()
        found = {
            key.decode(): value.decode()
            for key, value, sealed in rows
            if sealed == checksum(key, value)
        }
        if len(found) < len(rows) and "seconds" not in found:
            self.set_aside.append(f"{self._path}: how long earlier runs took is lost to damage")
        reasons = {
            "format": "was written by another version of rankpursuit",
            "digest": "holds the results of another config",
            "data": "holds the results of other data",
        }
        for key, wanted in self._wanted().items():
            if key not in found:
                raise damaged(self._path, f"the row {key} of its table meta")
            if found[key] != wanted:
                raise foreign(self._path, reasons[key])

    def _check_rows(self) -> None:
        """Remember which rows there are, and which of them are not as they were written."""
        before: tuple[Any, ...] = ()
        for row in self._connection.execute("SELECT * FROM results"):
            key = tuple(map(rank, row[:5]))
            if key <= before:  # rows could not be found, and new ones would be lost
                raise damaged(self._path, "its rows are out of order")
            before = key
            if is_whole(self._identity, row):
                repeat, group, role, chunk, label = map(decoded, row[:5])
                self._finished.setdefault((repeat, group, role, chunk), set()).add(label)
            else:
                self._damaged_rows.append(row[:5])
        for key in self._damaged_rows:
            if len(self._connection.execute(f"SELECT 1 {_FROM_ROW}", key).fetchall()) != 1:
                raise damaged(self._path, "a row cannot be found by its key")
        for key in self._damaged_rows[:_MOST_NAMED]:
            repeat, group, role, chunk, label = map(shown, key)
            self.set_aside.append(
                f"{self._path}: a damaged row is set aside, to be computed again: {label}, group "
                f"{group}, repeat {repeat}, {role} users, unit {chunk}"
            )
        if len(self._damaged_rows) > _MOST_NAMED:
            more = len(self._damaged_rows) - _MOST_NAMED
            self.set_aside.append(f"{self._path}: {more} more damaged rows are set aside")

    def drop_damaged(self) -> None:
        """Remove damaged rows that were not replaced: only when nothing is left of them in files.

        Until then they are the reason why files have more than the store, be a run killed or not.
        """
        if not self._damaged_rows:
            return
        with one_line_errors(self._path), self._transaction():
            for key in self._damaged_rows:
                if decoded(key[4]) not in self._finished.get(tuple(map(decoded, key[:4])), ()):
                    self._connection.execute(f"DELETE {_FROM_ROW}", key)
        self._damaged_rows = []

    @staticmethod
    def check_unlocked(path: Path) -> None:
        """Raise a StoreError if a run has the store open; a file that is no store is not locked."""
        try:
            connection = sqlite3.connect(path, timeout=0.0, isolation_level=None)
        except sqlite3.Error as error:
            raise StoreError(f"cannot open {path}: {error}") from error
        try:
            connection.execute("BEGIN EXCLUSIVE")
        except sqlite3.Error as error:
            if error_code(error) in LOCKED:
                raise locked(path) from error
        finally:
            connection.close()

    def add_seconds(self, seconds: float) -> float:
        """Add to the time that all runs took together, and return it."""
        with one_line_errors(self._path), self._transaction():
            rows = self._connection.execute("SELECT * FROM meta WHERE key = 'seconds'")
            whole = [value for key, value, sealed in rows if sealed == checksum(key, value)]
            total = round(seconds + sum(map(float, whole)), 1)
            self._set("seconds", str(total))
        return total

    def finished(self) -> dict[Key, frozenset[str]]:
        """Return which algorithms each unit has results of."""
        return {key: frozenset(labels) for key, labels in self._finished.items()}

    def save(self, *results: UnitResult) -> None:
        """Write the results of units in one transaction."""
        rows = [
            pack(self._identity, result.unit, label, of_label)
            for result in results
            for label, of_label in result.results.items()
        ]
        with one_line_errors(self._path), self._transaction():
            self._connection.executemany(
                "INSERT OR REPLACE INTO results VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", rows
            )
        for result in results:
            self._finished.setdefault(unit_key(result.unit), set()).update(result.results)

    def load(self, unit: Unit, label: str) -> AlgorithmResult | None:
        """Return the results of an algorithm on a unit, None if there are none."""
        if label not in self._finished.get(unit_key(unit), ()):
            return None
        with one_line_errors(self._path):
            row = self._connection.execute(
                "SELECT * FROM results WHERE "
                "repeat = ? AND grp = ? AND role = ? AND chunk = ? AND algorithm = ?",
                (*unit_key(unit), label),
            ).fetchone()
        result = None if row is None else unpack(self._identity, row)
        if result is None:
            raise damaged(self._path, "a row was lost or changed since the store was opened")
        return result

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        try:
            self._connection.execute("BEGIN IMMEDIATE")
            yield
            self._connection.execute("COMMIT")
        except BaseException:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            raise
