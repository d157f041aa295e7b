"""Damaged stores: a run must go on to the same results, or refuse in one line."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Callable
from pathlib import Path

from fuzzing.finished_run import finished_run
from rankpursuit.errors import RankpursuitError
from rankpursuit.experiments.export import RunFolder

_PAGE = 4096
_COLUMNS = ("repeat", "grp", "role", "chunk", "algorithm", "sums", "users", "seconds", "checksum")
_VALUES = ("NULL", "-1", "0", "9e99", "''", "'[]'", "'[[1]]'", "x''", "x'ff00'", "'test'", "'é'")


def attack(seed: int, folder: Path) -> str | None:
    """Damage a store and go on with the run; return what is wrong with the outcome.

    Parameters
    ----------
    seed : int
    folder : Path
        An empty folder.
    """
    rng = random.Random(seed)
    finished = finished_run()
    run = finished.copy_to(folder)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        rng.choice(_DAMAGES)(rng, run)
    try:
        failures = finished.go_on(run)
        if failures:
            return f"failures: {failures}"
    except RankpursuitError as error:
        if "\n" in str(error) or not str(error):
            return f"not one line: {error}"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    for path in run.tables:
        if path.read_bytes() != finished.files[path.name]:
            return f"{path.name} has changed"
    return None


def _flip(rng: random.Random, run: RunFolder) -> None:
    content = bytearray(run.store.read_bytes())
    for _ in range(rng.choice((1, 1, 2, 20)) if content else 0):
        content[rng.randrange(len(content))] ^= rng.randrange(1, 256)
    run.store.write_bytes(content)


def _cut(rng: random.Random, run: RunFolder) -> None:
    content = run.store.read_bytes()
    run.store.write_bytes(content[: rng.randint(0, len(content))])


def _lengthen(rng: random.Random, run: RunFolder) -> None:
    run.store.write_bytes(run.store.read_bytes() + rng.randbytes(rng.choice((1, 100, _PAGE))))


def _move_pages(rng: random.Random, run: RunFolder) -> None:
    """Overwrite a page with another one, or with zeros."""
    content = run.store.read_bytes()
    pages = [content[at : at + _PAGE] for at in range(0, len(content), _PAGE)] or [b""]
    pages[rng.randrange(len(pages))] = rng.choice([*pages, bytes(_PAGE)])
    run.store.write_bytes(b"".join(pages))


def _leave_journal(rng: random.Random, run: RunFolder) -> None:
    """Leave a file that SQLite may take for that of a transaction that was broken off."""
    ending = rng.choice(("-journal", "-wal", "-shm"))
    magic = bytes.fromhex("d9d505f920a163d7") if rng.random() < 0.5 else b""
    run.store.with_name(run.store.name + ending).write_bytes(magic + rng.randbytes(600))


def _edit_row(rng: random.Random, run: RunFolder) -> None:
    column, value = rng.choice(_COLUMNS), rng.choice((*_VALUES, *_COLUMNS))
    _execute(run, f"UPDATE OR IGNORE results SET {column} = {value} {_some(rng)}")


def _lose_rows(rng: random.Random, run: RunFolder) -> None:
    _execute(run, f"DELETE FROM results {_some(rng)}")


def _edit_meta(rng: random.Random, run: RunFolder) -> None:
    key = rng.choice(("format", "digest", "data", "seconds"))
    column, value = rng.choice(("key", "value", "checksum")), rng.choice(_VALUES)
    _execute(run, f"UPDATE OR IGNORE meta SET {column} = {value} WHERE key = '{key}'")


def _edit_schema(rng: random.Random, run: RunFolder) -> None:
    statement = rng.choice(
        (
            "DROP TABLE results",
            "DROP TABLE meta",
            "DELETE FROM meta",
            "CREATE TABLE other (a)",
            "CREATE VIEW other AS SELECT * FROM results",
            "CREATE TRIGGER t AFTER INSERT ON results BEGIN DELETE FROM results; END",
            "ALTER TABLE results RENAME COLUMN sums TO users2",
            "ALTER TABLE meta ADD COLUMN more TEXT",
            "PRAGMA user_version = 7",
            "PRAGMA journal_mode = WAL",
            "PRAGMA auto_vacuum = 1",
            "PRAGMA encoding = 'UTF-16'",
            "VACUUM",
        )
    )
    _execute(run, statement)


def _some(rng: random.Random) -> str:
    return rng.choice(
        (
            "",
            "WHERE role = 'test'",
            "WHERE algorithm = 'rls'",
            f"WHERE repeat = {rng.randint(0, 2)}",
        )
    )


def _execute(run: RunFolder, statement: str) -> None:
    """Change a store by SQL, if earlier damage leaves it to be changed."""
    connection = sqlite3.connect(run.store, timeout=0.0, isolation_level=None)
    try:
        connection.execute(statement)
    except (sqlite3.Error, UnicodeDecodeError):
        return
    finally:
        connection.close()


_DAMAGES: tuple[Callable[[random.Random, RunFolder], None], ...] = (
    _flip,
    _flip,
    _flip,
    _cut,
    _lengthen,
    _move_pages,
    _leave_journal,
    _edit_row,
    _edit_row,
    _lose_rows,
    _edit_meta,
    _edit_schema,
)
