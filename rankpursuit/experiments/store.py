"""The folder of a run: its store, the files written from it, and where results come from.

The store is one SQLite file that is consistent after every transaction. The results of one
algorithm on one unit are one row, saved as soon as the unit is evaluated: a run that is killed
loses the units in progress and nothing else. The file is locked while a run has it open, and
belongs to one experiment, data set and code. Every row has a checksum; damaged rows are discarded
when the store is opened, and computed again.

The other files are written atomically; the same rows give the same bytes.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import math
import os
import platform
import re
import shutil
import sqlite3
import subprocess
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from functools import lru_cache
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_info

import rankpursuit
from rankpursuit.errors import StoreError
from rankpursuit.experiments.evaluate import AlgorithmResult, Unit, UnitResult, UserResult
from rankpursuit.experiments.protocol import group_name
from rankpursuit.text import one_line, truncate
from rankpursuit.writing import check_output, write_atomically

FORMAT = 6  # increase if the layout of the rows changes

Key = tuple[int, str, str, int, str]
"""Repeat, group, role and chunk of a unit, and the label of an algorithm."""
Row = dict[str, Any]

_TABLES = (
    "CREATE TABLE meta (digest TEXT, data TEXT, code TEXT, version TEXT, seconds REAL)",
    "CREATE TABLE results (repeat INTEGER, grp TEXT, role TEXT, chunk INTEGER, "
    "algorithm TEXT, content BLOB, checksum BLOB)",
)
_INSERT = "INSERT INTO results VALUES (?, ?, ?, ?, ?, ?, ?)"
_REMEDY = "use --fresh to start over, or --output for another folder"
_NAMED = 3  # files that changed, named in an error message
_NUMBERS = np.dtype("<f8")
_PACKAGES = ("numpy", "pandas", "scikit-learn", "scipy")  # that results depend on


class Identity(NamedTuple):
    """Identity of a store: the digest of the experiment, the checksum of the data, and the code."""

    digest: str
    data: str
    code: str
    """A line for each file that results depend on, see `Experiment.code`."""


class Store(AbstractContextManager["Store"]):
    """Results of one experiment, by unit and algorithm; a context manager.

    The file is created, with its folder, if missing. `n_damaged` counts the discarded rows.

    Raises a `StoreError` if another run has the store open, it belongs to another experiment, data
    set or version, or it cannot be read.
    """

    def __init__(self, path: Path, identity: Identity) -> None:
        self._path, self._identity = path, identity
        self._rows: dict[Key, int] = {}
        with _one_line_errors(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            check_output(path)
            self._connection = sqlite3.connect(path, timeout=0.0)
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
        with self._connection:
            execute("BEGIN EXCLUSIVE")
            if not execute("SELECT 1 FROM sqlite_master").fetchone():  # a new file
                for sql in _TABLES:
                    execute(sql)
                about = (*self._identity, rankpursuit.__version__)
                execute("INSERT INTO meta VALUES (?, ?, ?, ?, 0)", about)
                execute(f"PRAGMA user_version = {FORMAT}")
        ((version,),) = execute("PRAGMA user_version")
        if version != FORMAT:
            message = f"{self._path} was written by another version of rankpursuit"
            raise StoreError(f"{message}: {_REMEDY}")
        ((problem,), *_) = execute("PRAGMA quick_check(1)")
        if problem != "ok":
            raise sqlite3.DatabaseError(problem)
        about = execute("SELECT digest, data, code, version FROM meta").fetchone()
        *owner, version = about or ("", "", "", "")
        if tuple(owner) != self._identity:
            other = self._difference(Identity(*owner), version)
            raise StoreError(f"{self._path} holds the results of {other}: {_REMEDY}")
        damaged = []
        for number, *key, content, checksum in execute("SELECT rowid, * FROM results"):
            if isinstance(content, bytes) and checksum == self._checksum(key, content):
                self._rows[tuple(key)] = number
            else:
                damaged.append((number,))
        self.n_damaged = len(damaged)
        with self._connection:
            self._connection.executemany("DELETE FROM results WHERE rowid = ?", damaged)

    def _difference(self, owner: Identity, version: str) -> str:
        """Return what the results of another owner are of, for an error message."""
        if owner.digest != self._identity.digest:
            return "another config or plug-in"
        if owner.data != self._identity.data:
            return "other data"
        lines = {*str(owner.code).splitlines()} ^ {*self._identity.code.splitlines()}
        files = sorted({line.partition(" ")[0] for line in lines})
        further = f" and {len(files) - _NAMED} more" if len(files) > _NAMED else ""
        here = "" if version == rankpursuit.__version__ else f" (here {rankpursuit.__version__})"
        changed = f"{', '.join(files[:_NAMED])}{further}"
        return one_line(f"other code, of rankpursuit {version}{here}; since changed: {changed}")

    def _checksum(self, key: Any, content: bytes) -> bytes:
        owner = repr((*self._identity, *key)).encode()
        return hashlib.sha256(hashlib.sha256(owner).digest() + content).digest()

    @staticmethod
    def check_unlocked(path: Path) -> None:
        """Raise a `StoreError` if a run has the store open."""
        with _one_line_errors(path), closing(sqlite3.connect(path, timeout=0.0)) as connection:
            try:
                connection.execute("BEGIN EXCLUSIVE")
            except sqlite3.Error as error:  # a file that is not a store is not locked
                if _is_locked(error):
                    raise

    @property
    def repeats(self) -> int:
        """Highest repeat with results, counted from 1; 0 if there are none."""
        return max((repeat + 1 for repeat, *_ in self._rows), default=0)

    def has(self, unit: Unit, label: str) -> bool:
        """Return whether there are results of an algorithm on a unit."""
        return _key(unit, label) in self._rows

    def save(self, *results: UnitResult) -> None:
        """Save the results of units in one transaction."""
        saved = {}
        with _one_line_errors(self._path), self._connection:
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
        """Add to the total time of all runs, and return it."""
        with _one_line_errors(self._path), self._connection:
            self._connection.execute("UPDATE meta SET seconds = seconds + ?", (seconds,))
            ((total,),) = self._connection.execute("SELECT round(seconds, 1) FROM meta")
        return float(total)


def _key(unit: Unit, label: str) -> Key:
    return unit.cell.repeat, group_name(unit.cell.group), unit.role, unit.chunk, label


def _packed(result: AlgorithmResult) -> bytes:
    """Return a result as bytes: a line of JSON, then the numbers of all arrays."""
    head = {
        "shapes": {metric: np.shape(sums) for metric, sums in result.sums.items()},
        "users": result.users,
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
    """Turn errors of SQLite and the operating system into a `StoreError`."""

    def reason(error: BaseException) -> str:
        return truncate(" ".join(str(error).split()), 300)

    try:
        yield
    except sqlite3.OperationalError as error:
        if _is_locked(error):
            raise StoreError(
                f"another run is writing to {path.parent}: wait for it, or use --output for "
                "another folder"
            ) from error
        raise StoreError(f"cannot write {path}: {reason(error)}") from error
    except (sqlite3.DatabaseError, UnicodeDecodeError, MemoryError) as error:
        raise StoreError(f"{path} is not a readable store ({reason(error)}): {_REMEDY}") from error
    except OSError as error:
        raise StoreError(f"cannot write {path}: {error.strerror}") from error


def _is_locked(error: sqlite3.Error) -> bool:
    code = getattr(error, "sqlite_errorcode", None)
    return code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


class RunFolder:
    """Folder of a run: its store, and the files written from it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.store = path / "results.sqlite"  # all results, by unit and algorithm
        self.repeats = path / "repeats.csv"  # a row for each group, repeat, algorithm and metric
        self.users = path / "users.csv.gz"  # a row for each of their test users
        self.curves = path / "curves.csv"  # errors along the axes of the grids
        self.timings = path / "timings.csv"  # seconds of each algorithm
        self.config = path / "config.yaml"  # the experiment as it was run
        self.provenance = path / "provenance.json"  # command, versions, machine, checksums
        self.tables = (self.repeats, self.users, self.curves)
        self.written = (*self.tables, self.timings, self.config, self.provenance)

    @property
    def has_results(self) -> bool:
        """Return whether at least one group, repeat and algorithm is complete."""
        return self.repeats.exists()

    @property
    def has_store(self) -> bool:
        """Return whether there is a store that is not empty."""
        return self.store.exists() and self.store.stat().st_size > 0

    @classmethod
    def below(cls, folder: Path) -> list[Self]:
        """Return the folders with results directly below a folder, by name."""
        folders = [cls(path) for path in sorted(folder.iterdir())] if folder.is_dir() else []
        return [run for run in folders if run.has_results]

    def check_store(self) -> None:
        """Raise a `StoreError` if there are results without their store."""
        if any(path.exists() for path in self.tables) and not self.has_store:
            raise StoreError(
                f"{self.path} holds results without their store, {self.store.name}: use --fresh to "
                "replace them, or --output for another folder"
            )

    def clear(self) -> None:
        """Remove the store, the files and the tables; raise `StoreError` if a run is using them."""
        if self.store.exists():
            Store.check_unlocked(self.store)
        journal = self.store.with_name(f"{self.store.name}-journal")
        for path in (self.store, journal, *self.written, *self.path.glob("tables.*")):
            path.unlink(missing_ok=True)
        if (self.path / "tables").is_dir():
            shutil.rmtree(self.path / "tables")


def write_csv(path: Path, rows: Iterable[Row]) -> dict[str, Any]:
    """Write rows as CSV, compressed if the name ends in ``.gz``.

    Returns their number and the file's SHA-256. Without rows, removes the file and returns {}.
    """
    rows = list(rows)
    if not rows:
        path.unlink(missing_ok=True)
        return {}
    text = pd.DataFrame(rows, dtype=object).to_csv(index=False, lineterminator="\n")
    content = text.encode()
    if path.suffix == ".gz":
        content = gzip.compress(content, mtime=0)
    write_atomically(path, content)
    return {"rows": len(rows), "sha256": hashlib.sha256(content).hexdigest()}


@lru_cache(maxsize=1)
def provenance() -> dict[str, Any]:
    """Return versions, commit and machine of this process."""
    cpuinfo = Path("/proc/cpuinfo")
    text = cpuinfo.read_text(encoding="utf-8") if cpuinfo.exists() else ""
    model = re.search(r"^model name\s*:\s*(.+)$", text, re.MULTILINE)
    return {
        "rankpursuit": rankpursuit.__version__,
        "commit": _commit(),
        "python": platform.python_version(),
        "packages": {name: metadata.version(name) for name in _PACKAGES},
        "machine": {
            "system": platform.system(),
            "architecture": platform.machine(),
            "processor": model[1].strip() if model else platform.processor(),
            "cores": os.cpu_count(),
            "blas": blas(),
        },
    }


def blas() -> str:
    """Return the BLAS libraries in use, with the kernels that they chose for the processor.

    Kernels differ in rounding.
    """
    names = {
        f"{x['internal_api']} {x.get('version')} {x.get('architecture') or ''}".strip()
        for x in threadpool_info()
        if x["user_api"] == "blas"
    }
    return ", ".join(sorted(names))


def _commit() -> str | None:
    """Return the commit of the package's working copy, marked if it has changes."""
    root = Path(rankpursuit.__file__).parents[1]
    if not (root / ".git").exists():  # installed, possibly inside another repository
        return None
    # Not `git describe --dirty`, which locks the index: a killed run would leave the lock behind.
    git = ["git", "--no-optional-locks", "-C", str(root)]
    commands = (["rev-parse", "--short", "HEAD"], ["status", "--porcelain", "-uno"])
    try:
        commit, changes = (
            subprocess.check_output(git + words, text=True, stderr=subprocess.DEVNULL).strip()
            for words in commands
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return f"{commit}-dirty" if changes else commit
