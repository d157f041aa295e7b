"""A small run that came to its end, for attacks on its store and its files."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from rankpursuit.experiments.config import Experiment, parse_experiment
from rankpursuit.experiments.evaluate import Job, UnitResult, evaluate_units
from rankpursuit.experiments.run.folder import RunFolder
from rankpursuit.experiments.run.progress import Silent
from rankpursuit.experiments.run.run import Run
from rankpursuit.experiments.run.session import run_session

CONFIG: dict[str, Any] = {
    "name": "finished",
    "data": {"name": "synthetic", "n_users": 60, "n_items": 40, "seed": 3},
    "protocol": {
        "groups": [[15, 30], [31, 40]],
        "test_user_bounds": [20, 40],
        "reference_users": 4,
        "test_users": 3,
        "holdout_users": 2,
    },
    "kernel": {"widths": [4, 16]},
    "metrics": ["disagreement", "squared_error"],
    "repeats": 2,
    "algorithms": {"rls": {"lambda": [1, 8]}, "ranking_pursuit": {"n_basis": [1, 2]}},
}


@dataclass(frozen=True)
class FinishedRun:
    """A run, and every file that it left by name."""

    run: Run
    files: dict[str, bytes]

    def copy_to(self, folder: Path) -> RunFolder:
        """Write the files into a folder."""
        for name, content in self.files.items():
            (folder / name).write_bytes(content)
        return RunFolder(folder)

    def go_on(self, folder: RunFolder) -> list[str]:
        """Run what is missing; return the failures."""
        return run_session(self.run, folder, _evaluate, Silent())


@lru_cache(maxsize=1)
def finished_run() -> FinishedRun:
    """Make the run, once in each process."""
    run = Run.of(parse_experiment(CONFIG))
    folder = Path(tempfile.mkdtemp())
    try:
        run_session(run, RunFolder(folder), _evaluate, Silent())
        return FinishedRun(run, {path.name: path.read_bytes() for path in folder.iterdir()})
    finally:
        shutil.rmtree(folder)


def _evaluate(experiment: Experiment, jobs: Iterable[Job]) -> Iterator[list[UnitResult]]:
    for job in jobs:
        yield evaluate_units(experiment, *job)
