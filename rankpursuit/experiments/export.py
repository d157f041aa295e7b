"""Files of a run: their names, how they are written, and where results come from.

The same rows give the same bytes. Every file is written completely or not at all.
"""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
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

from threadpoolctl import threadpool_info

import rankpursuit
from rankpursuit.errors import RunError, StoreError
from rankpursuit.experiments.store import Store
from rankpursuit.writing import write_atomically

Row = dict[str, Any]


class RunFolder:
    """Folder of a run: its store, and the files written from it.

    Parameters
    ----------
    path : Path

    Attributes
    ----------
    store : Path
        All results, by unit and algorithm.
    repeats : Path
        A row for each group, repeat, algorithm and metric.
    users : Path
        A row for each test user of those.
    curves : Path
        Errors along the axes of the grids.
    timings : Path
        Seconds of each algorithm.
    config : Path
        The experiment as it was run.
    provenance : Path
        Command, versions, machine, and checksums of the files.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.store = path / "results.sqlite"
        self.repeats = path / "repeats.csv"
        self.users = path / "users.csv.gz"
        self.curves = path / "curves.csv"
        self.timings = path / "timings.csv"
        self.config = path / "config.yaml"
        self.provenance = path / "provenance.json"
        self.tables = (self.repeats, self.users, self.curves)
        self.written = (*self.tables, self.timings, self.config, self.provenance)

    @property
    def has_results(self) -> bool:
        """Whether some group, repeat and algorithm is complete."""
        return self.repeats.exists()

    @property
    def has_store(self) -> bool:
        """Whether there is a store; an empty file is none."""
        return self.store.exists() and (not self.store.is_file() or self.store.stat().st_size > 0)

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
        """Remove the store, the files of the run, and the tables that rp-tables wrote here.

        Raises
        ------
        StoreError
            If another run has the store open.
        RunError
            If a folder has the name of one of these files.
        """
        journal = self.store.with_name(f"{self.store.name}-journal")
        files = [self.store, journal, *self.written, *self.path.glob("tables.*")]
        for path in files:
            if path.is_dir() and not path.is_symlink():
                raise RunError(f"{path} is a folder, which --fresh does not remove: move it away")
        if self.store.exists():
            Store.check_unlocked(self.store)
        for path in files:
            path.unlink(missing_ok=True)
        if (self.path / "tables").is_dir():
            shutil.rmtree(self.path / "tables")


def write_csv(path: Path, rows: Iterable[Row]) -> dict[str, Any]:
    """Write rows as CSV, compressed if the name ends in ``.gz``; remove the file without rows.

    Returns
    -------
    dict
        ``rows``, their number, and ``sha256``, of the file; empty if there are no rows.
    """
    rows = list(rows)
    if not rows:
        path.unlink(missing_ok=True)
        return {}
    content = csv_text(rows).encode()
    if path.suffix == ".gz":
        content = gzip.compress(content, mtime=0)
    write_atomically(path, content)
    return {"rows": len(rows), "sha256": hashlib.sha256(content).hexdigest()}


def csv_text(rows: list[Row]) -> str:
    """Return rows as CSV; there is one at least."""
    text = io.StringIO()
    writer = csv.DictWriter(text, fieldnames=list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


@lru_cache(maxsize=1)
def provenance() -> dict[str, Any]:
    """Return versions, commit and machine of this process."""
    return {
        "rankpursuit": rankpursuit.__version__,
        "commit": _commit(),
        "python": platform.python_version(),
        "packages": _packages(),
        "machine": {
            "system": platform.system(),
            "architecture": platform.machine(),
            "processor": _processor(),
            "cores": os.cpu_count(),
            "blas": blas(),
        },
    }


def blas() -> str:
    """Return the BLAS libraries in use, with the kernels that they chose for the processor.

    Kernels differ in how they round.
    """
    libraries = [library for library in threadpool_info() if library["user_api"] == "blas"]
    names = {
        f"{x['internal_api']} {x.get('version')} {x.get('architecture') or ''}".strip()
        for x in libraries
    }
    return ", ".join(sorted(names))


def environment_differences(lock: Path) -> list[str]:
    """Compare the installed packages with a lock file.

    Parameters
    ----------
    lock : Path
        Lines ``name==version``; comments and other lines are ignored.

    Returns
    -------
    list of str
        A line for each package whose version differs or that is not installed.
    """
    differences = []
    for line in lock.read_text(encoding="utf-8").splitlines():
        if found := re.match(r"([\w.-]+)(?:\[.*\])?==([^\s;]+)", line):
            name, wanted = found.groups()
            try:
                version = metadata.version(name)
            except metadata.PackageNotFoundError:
                differences.append(f"{name} is not installed, {lock.name} has {wanted}")
                continue
            if version != wanted:
                differences.append(f"{name} is {version}, {lock.name} has {wanted}")
    return differences


def _packages() -> dict[str, str]:
    """Return the versions of all installed packages that rankpursuit depends on, by name."""
    versions: dict[str, str] = {}
    waiting = ["rankpursuit", "numpy", "scipy", "scikit-learn", "pandas"]
    while waiting:
        name = re.sub(r"[-_.]+", "-", waiting.pop()).lower()
        if name in versions:
            continue
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
        for requirement in metadata.requires(name) or ():
            found = re.match(r"[\w.-]+", requirement)
            if found and "extra" not in requirement.partition(";")[2]:
                waiting.append(found[0])
    versions.pop("rankpursuit", None)
    return dict(sorted(versions.items()))


def _processor() -> str:
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        text = ""
    found = re.search(r"^model name\s*:\s*(.+)$", text, re.MULTILINE)
    return found[1].strip() if found else platform.processor()


def _commit() -> str | None:
    """Return the commit of the package's working copy, marked if it has changes."""
    root = Path(rankpursuit.__file__).parents[1]
    if not (root / ".git").exists():  # installed, perhaps below another repository
        return None
    command = ["git", "-C", str(root), "describe", "--always", "--dirty", "--exclude=*"]
    try:
        described = subprocess.run(command, capture_output=True, text=True, check=True, timeout=10)
    except (OSError, subprocess.SubprocessError):
        return None
    return described.stdout.strip() or None
