"""Files of a run: tables written from its store, the config as run, and where they came from.

The same results give the same bytes. Every file is written completely or not at all.
"""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import json
import os
import platform
import re
import shutil
import subprocess
from collections.abc import Iterable, Iterator
from functools import lru_cache
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_info

import rankpursuit
from rankpursuit.errors import RunError, StoreError
from rankpursuit.experiments.config import Experiment, dump_yaml, group_name
from rankpursuit.experiments.evaluate import AlgorithmResult, Cell
from rankpursuit.experiments.grids import is_number
from rankpursuit.experiments.methods import N_BASIS, find_axis, grid_axes, result_axes
from rankpursuit.experiments.store import Store
from rankpursuit.writing import write_atomically

if TYPE_CHECKING:
    from rankpursuit.experiments.run import Run

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


def write_files(
    run: Run, store: Store, folder: RunFolder, origin: dict[str, Any], seconds: float
) -> tuple[Experiment, pd.DataFrame]:
    """Write all that the store has of the whole experiment, of which a part was run now.

    A group, repeat and algorithm appears once all its hold-out and test users are done.

    Returns
    -------
    Experiment
        The experiment with as many repeats as the files have.
    DataFrame
        The rows of ``repeats.csv``; empty if nothing is complete.
    """
    total = store.add_seconds(seconds)
    whole = run.whole(max(len(run.plan.repeats), store.repeats))
    done = list(_complete(whole, store))
    tables = {
        folder.repeats: _Part.repeats,
        folder.users: _Part.users,
        folder.curves: _Part.curves,
        folder.timings: _Part.timings,
    }
    files: dict[str, dict[str, Any]] = {}
    for path, rows_of in tables.items():
        if facts := write_csv(path, (row for part in done for row in rows_of(part))):
            files[path.name] = facts
    # As many repeats as were asked for, or as the tables hold from an earlier, larger run.
    repeats = max([len(run.plan.repeats), *(part.cell.repeat + 1 for part in done)])
    experiment = run.experiment.model_copy(update={"repeats": repeats})
    config = dump_yaml(experiment).encode()
    write_atomically(folder.config, config)
    files[folder.config.name] = {"sha256": hashlib.sha256(config).hexdigest()}
    facts = provenance() | origin
    facts |= {
        "experiment": run.experiment.name,
        "seed": run.experiment.seed,
        "repeats": repeats,
        "seconds": total,
        "files": files,
    }
    write_atomically(folder.provenance, f"{json.dumps(facts, indent=2)}\n".encode())
    rows = [row for part in done for row in part.repeats()]
    frame = pd.read_csv(io.StringIO(_csv_text(rows))) if rows else pd.DataFrame()
    return experiment, frame


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
    content = _csv_text(rows).encode()
    if path.suffix == ".gz":
        content = gzip.compress(content, mtime=0)
    write_atomically(path, content)
    return {"rows": len(rows), "sha256": hashlib.sha256(content).hexdigest()}


def _csv_text(rows: list[Row]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, fieldnames=list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


class _Part:
    """An algorithm's results in one cell."""

    def __init__(
        self,
        run: Run,
        cell: Cell,
        label: str,
        holdout: list[AlgorithmResult],
        test: list[AlgorithmResult],
    ) -> None:
        self.cell, self._run, self._test = cell, run, test
        self._spec = run.experiment.algorithms[label]
        self._axes = result_axes(run.experiment.algorithms.values())
        self._holdout = run.mean_errors(holdout, "holdout")
        self._along = run.mean_errors(test, "test")
        self._choices = run.choose(label, self._holdout)
        self._seconds = {
            role: sum(result.seconds for result in results)
            for role, results in (("holdout", holdout), ("test", test))
        }
        self._key: Row = {
            "group": group_name(cell.group),
            "repeat": cell.repeat + 1,
            "algorithm": label,
        }

    def repeats(self) -> Iterator[Row]:
        for metric, choice in self._choices.items():
            users = [u for result in self._test for u in result.users if u.metric == metric]
            yield self._key | {
                "method": self._spec.method,
                "metric": metric,
                "test_error": float(np.mean([user.error for user in users])),
                "holdout_error": choice.holdout_error,
                "n_users": len(users),
                **{axis.column: choice.values.get(axis.key, "") for axis in self._axes},
                "on_edge": " ".join(find_axis(key).column for key in choice.on_edge),
                "basis_functions": float(np.mean([user.n_basis for user in users])),
                "basis_share": float(np.mean([user.n_basis / user.n_points for user in users])),
            }

    def users(self) -> Iterator[Row]:
        names = ("user", "error", "n_basis", "n_points", "n_test")
        for metric in self._choices:
            for result in self._test:
                for user in result.users:
                    if user.metric == metric:
                        own = {name: getattr(user, name) for name in names}
                        yield self._key | {"metric": metric} | own

    def curves(self) -> Iterator[Row]:
        """Errors along one axis of the grid, the others as chosen."""
        axes = grid_axes(self._spec, self._run.experiment.kernel.widths)
        for metric, choice in self._choices.items():
            for number, (key, values) in enumerate(axes.items()):
                if not all(map(is_number, values)):
                    continue  # words have no order
                point: list[Any] = list(choice.index)
                point[number] = slice(None)
                holdout = self._holdout[metric][tuple(point)]
                test = self._along[metric] if key == N_BASIS.key else None
                for at, value in enumerate(values):
                    yield self._key | {
                        "metric": metric,
                        "axis": find_axis(key).column,
                        "value": value,
                        "holdout_error": float(holdout[at]),
                        "test_error": "" if test is None else float(test[at]),
                    }

    def timings(self) -> Iterator[Row]:
        for role, seconds in self._seconds.items():
            yield self._key | {"role": role, "seconds": round(seconds, 3)}


def _complete(run: Run, store: Store) -> Iterator[_Part]:
    """Yield what is complete: group by group, repeat by repeat, algorithm by algorithm."""
    for cell in sorted(run.plan.cells, key=lambda cell: (cell.group, cell.repeat)):
        for label in run.labels:
            test = run.results(store, cell, "test", label)
            holdout = run.results(store, cell, "holdout", label) if test else []
            if holdout:
                yield _Part(run, cell, label, holdout, test)


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
