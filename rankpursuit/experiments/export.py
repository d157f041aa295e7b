"""Files of a run: their names, how they are written, and where results come from.

The same rows give the same bytes. Every file is written completely or not at all.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import platform
import re
import shutil
import subprocess
from collections.abc import Iterable
from functools import lru_cache
from importlib import metadata
from pathlib import Path
from typing import Any, Self

import pandas as pd
from threadpoolctl import threadpool_info

import rankpursuit
from rankpursuit.errors import StoreError
from rankpursuit.experiments.store import Store
from rankpursuit.writing import write_atomically

Row = dict[str, Any]
_PACKAGES = ("numpy", "pandas", "scikit-learn", "scipy")  # that figures depend on


class RunFolder:
    """Folder of a run: its store, and the files written from it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.store = path / "results.sqlite"  # all results, by unit and algorithm
        self.repeats = path / "repeats.csv"  # a row for each group, repeat, algorithm and metric
        self.users = path / "users.csv.gz"  # a row for each test user of those
        self.curves = path / "curves.csv"  # errors along the axes of the grids
        self.timings = path / "timings.csv"  # seconds of each algorithm
        self.config = path / "config.yaml"  # the experiment as it was run
        self.provenance = path / "provenance.json"  # command, versions, machine, checksums
        self.tables = (self.repeats, self.users, self.curves)
        self.written = (*self.tables, self.timings, self.config, self.provenance)

    @property
    def has_results(self) -> bool:
        """Whether some group, repeat and algorithm is complete."""
        return self.repeats.exists()

    @property
    def has_store(self) -> bool:
        """Whether there is a store; an empty file is none."""
        return self.store.exists() and self.store.stat().st_size > 0

    @classmethod
    def below(cls, folder: Path) -> list[Self]:
        """Return the folders with results directly below a folder, by name."""
        found = [cls(path) for path in sorted(folder.iterdir())] if folder.is_dir() else []
        return [run for run in found if run.has_results]

    def check_store(self) -> None:
        """Raise a StoreError if there are results without the store they were written from."""
        if any(path.exists() for path in self.tables) and not self.has_store:
            raise StoreError(
                f"{self.path} holds results without their store, {self.store.name}: use --fresh to "
                "replace them, or --output for another folder"
            )

    def clear(self) -> None:
        """Remove the store, unless a run has it open, the files, and the tables of rp-tables."""
        if self.store.exists():
            Store.check_unlocked(self.store)
        journal = self.store.with_name(f"{self.store.name}-journal")
        for path in (self.store, journal, *self.written, *self.path.glob("tables.*")):
            path.unlink(missing_ok=True)
        if (self.path / "tables").is_dir():
            shutil.rmtree(self.path / "tables")


def write_csv(path: Path, rows: Iterable[Row]) -> dict[str, Any]:
    """Write rows as CSV, compressed if the name ends in ``.gz``; remove the file without rows.

    Returns their number and the file's SHA-256; an empty dict without rows.
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

    Kernels differ in how they round.
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
    if not (root / ".git").exists():  # installed, perhaps below another repository
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
