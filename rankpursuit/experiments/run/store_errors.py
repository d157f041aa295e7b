"""What can be wrong with a store, each in one line that tells what to do."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rankpursuit.errors import OutputError, StoreError

_CANNOT_WRITE = {
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_PERM,
    sqlite3.SQLITE_READONLY,
}
LOCKED = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}


@contextmanager
def one_line_errors(path: Path) -> Iterator[None]:
    """Say in one line what SQLite or the system refused."""
    try:
        yield
    except sqlite3.ProgrammingError:
        raise
    except sqlite3.Error as error:
        if error_code(error) in LOCKED:
            raise locked(path) from error
        if error_code(error) in _CANNOT_WRITE:
            raise StoreError(f"cannot write {path}: {error}") from error
        raise damaged(path, str(error)) from error
    except UnicodeDecodeError as error:  # sqlite3 cannot word what SQLite says of damaged text
        raise damaged(path, "its schema is not text") from error
    except OutputError as error:
        raise StoreError(str(error)) from error
    except OSError as error:
        raise StoreError(f"cannot write {path}: {error.strerror}") from error


def damaged(path: Path, reason: str) -> StoreError:
    """Make the error of a file that cannot be read."""
    in_one_line = " ".join(reason.replace("*** in database main ***", "").split())
    return StoreError(f"{path} is not a readable store ({in_one_line}): use --fresh to start over")


def foreign(path: Path, reason: str) -> StoreError:
    """Make the error of a store that belongs to something else."""
    return StoreError(f"{path} {reason}: use --fresh to start over, or --output for another folder")


def locked(path: Path) -> StoreError:
    """Make the error of a store that another run has open."""
    return StoreError(
        f"another run is writing to {path.parent}: wait for it, or use --output for another folder"
    )


def error_code(error: sqlite3.Error) -> int:
    """Return SQLite's own code of an error, without the details."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF
