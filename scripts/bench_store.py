"""How many cores the store and a scheduler can feed with jobs: ``python scripts/bench_store.py``.

Jobs are those of a large plan, of about a second of work. All times are those of a core; to that
of the store a disk adds one write for each job.
"""

from __future__ import annotations

import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from bench_file import environment, is_met
from bench_timing import load
from tabulate import tabulate

from rankpursuit.experiments.config import Role
from rankpursuit.experiments.evaluate import Choice, UnitResult, evaluate_unit
from rankpursuit.experiments.run.bundles import SECONDS
from rankpursuit.experiments.run.run import Run, mean_errors
from rankpursuit.experiments.run.store import Identity, Store

HEADERS = ["users", "units a job", "work, s CPU", "store, ms CPU", "cores, store", "scheduler"]
HEADERS += ["goal", "met"]
USERS, JOBS, GOAL = 40, 30, "at least 250"
SCHEDULER_MILLISECONDS = 2.5
"""For each job, see results/cluster.md; `bench_dask.py` measures it."""


def store_rows(run: Run, scheduler: float = SCHEDULER_MILLISECONDS) -> list[list[Any]]:
    """Return a row for each role: the jobs, what the store takes, and the cores that it can feed.

    Parameters
    ----------
    run : Run
    scheduler : float
        Milliseconds that a scheduler takes for a job.
    """
    cell = run.plan.cells[len(run.plan.cells) // 2]
    rows, choices = [], {}
    roles: tuple[Role, ...] = ("holdout", "test")
    for role in roles:
        units = run.plan.units[cell, role]
        begun = time.process_time()
        results = [evaluate_unit(run.experiment, unit, run.labels, choices) for unit in units]
        seconds = (time.process_time() - begun) / len(units)
        choices = choices or _choices(run, results)
        n_units = max(1, int(SECONDS / seconds))
        stored = _store_milliseconds(results[len(results) // 2], n_units)
        cores = 1e3 * n_units * seconds / np.array([stored, scheduler])
        met = is_met(GOAL, min(cores))
        rows.append([role, n_units, n_units * seconds, stored, *cores, GOAL, met])
    return rows


def _choices(run: Run, results: list[UnitResult]) -> dict[str, dict[str, Choice]]:
    return {
        label: run.choose(label, mean_errors([result.results[label] for result in results], USERS))
        for label in run.labels
    }


def _store_milliseconds(result: UnitResult, n_units: int) -> float:
    """Return the median time in which the store takes a job."""
    taken = []
    with (
        tempfile.TemporaryDirectory() as folder,
        Store(Path(folder) / "results.sqlite", Identity("", "")) as store,
    ):
        for job in range(JOBS):
            chunks = range(job * n_units, (job + 1) * n_units)
            results = [replace(result, unit=replace(result.unit, chunk=x)) for x in chunks]
            begun = time.process_time()
            store.save(*results)
            taken.append(time.process_time() - begun)
    return 1e3 * float(np.median(taken))


def main() -> None:
    """Measure and print."""
    users = [f"protocol.{role}_users={USERS}" for role in ("test", "holdout")]
    rows = store_rows(Run.of(load("jester_supervised", *users), 1))
    print(f"{environment()}\n\n{tabulate(rows, HEADERS, floatfmt='.2f')}")


if __name__ == "__main__":
    main()
