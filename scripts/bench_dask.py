"""Time a Dask cluster of two workers on this machine beside two processes of joblib.

Run it as ``python scripts/bench_dask.py [--markdown FILE]``. The overhead is that of one plan, run
by both in alternating rounds after a run that is not timed; the real Jester ratings are used when
they are at hand, synthetic ratings otherwise. How time grows with the number of units is measured
with units that wait a millisecond and return as many bytes as a real one. The exit status is 1 if a
goal is missed.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path
from typing import Any
from unittest.mock import patch

import distributed
import numpy as np
import psutil
from bench_file import environment, exit_if_missed, write_section
from bench_store import HEADERS as STORE_HEADERS
from bench_store import store_rows
from bench_timing import load
from dask_cluster import DaskCluster
from rankpursuit.experiments.backends.dask_worker import Parcel
from rankpursuit.experiments.run.bundles import SECONDS
from tabulate import tabulate

from rankpursuit.experiments.backends import Dask, Local, dask_worker
from rankpursuit.experiments.config import ratings_of
from rankpursuit.experiments.export import RunFolder
from rankpursuit.experiments.run import Evaluate, Progress, Run, execute
from rankpursuit.experiments.store import Identity, Store

WITHOUT_PROFILER = {"DASK_DISTRIBUTED__WORKER__PROFILE__ENABLED": "False"}
ROUNDS = 5
USERS = 120
NUMBERS = (100, 1_000, 10_000)
MILLISECONDS = 1.0
RESULT_BYTES = 48_000


def seconds(run: Run, evaluate: Evaluate) -> float:
    """Time a whole run into a new store."""
    with tempfile.TemporaryDirectory() as folder:
        begun = time.perf_counter()
        with Store(RunFolder(Path(folder)).store, Identity("", "")) as store:
            for failure in execute(run, store, Progress(), evaluate):
                raise RuntimeError(failure)
        return time.perf_counter() - begun


def overhead(run: Run, cluster: Dask) -> list[Any]:
    """Return a row: the time with joblib, the time with Dask, their ratio."""
    local = Local(2)
    both = (local.evaluate, cluster.evaluate)
    for evaluate in both:
        seconds(run, evaluate)
    taken = np.array([[seconds(run, evaluate) for evaluate in both] for _ in range(ROUNDS)])
    ratios = taken[:, 1] / taken[:, 0]
    own, dask = np.median(taken, axis=0)
    ratio = max(np.median(ratios), dask / own)  # on a busy machine the two can disagree
    return [
        sum(len(units) for units in run.plan.units.values()),
        own,
        dask,
        ratio,
        f"{ratios.min():.2f} to {ratios.max():.2f}",
        "at most 1.10",
        bool(ratio <= 1.10),
    ]


def wait(parcel: Parcel) -> bytes:
    """Stand for a unit of known length."""
    time.sleep(MILLISECONDS / 1e3)
    return bytes(RESULT_BYTES)


def growth(run: Run, cluster: Dask, scheduler: int) -> list[list[Any]]:
    """Return a row for each number of units: the time of each, and what Dask takes of it."""
    unit = next(iter(run.plan.units.values()))[0]
    processes = [psutil.Process(scheduler), psutil.Process()]

    def clocks() -> np.ndarray:
        cpu = [sum(process.cpu_times()[:2]) for process in processes]
        return np.array([time.perf_counter(), *cpu])

    def milliseconds(number: int) -> np.ndarray:
        begun = clocks()
        for _ in cluster.evaluate(run.experiment, [((unit,), run.labels, {})] * number):
            pass
        return 1e3 * (clocks() - begun) / number

    with patch.object(dask_worker, "evaluate", wait):
        milliseconds(NUMBERS[0])
        taken = np.array([[milliseconds(number) for number in NUMBERS] for _ in range(3)])
    rows: list[list[Any]] = []
    for number, each in zip(NUMBERS, taken.transpose(1, 0, 2), strict=True):
        ratio = np.median(each[:, 0] / taken[:, 1, 0])
        last = number == NUMBERS[-1]
        goal = ("at most 1.25", bool(ratio <= 1.25)) if last else ("", "")
        rows.append([number, *np.median(each, axis=0), ratio, *goal])
    return rows


def main() -> None:
    """Measure, print, and exit with 1 if a goal is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--markdown", type=Path, help="also add the tables to this file")
    arguments = parser.parse_args()
    users = [f"protocol.{role}_users={USERS}" for role in ("test", "holdout")]
    run = Run.of(load("jester_supervised", *users), 1)
    with tempfile.TemporaryDirectory() as folder, DaskCluster(Path(folder)) as dask:
        for _ in range(2):
            dask.add_worker(**WITHOUT_PROFILER)
        with Dask(dask.address, print) as cluster:
            cluster.check(run.experiment.data)
            compared = [overhead(run, cluster)]
            grown = growth(run, cluster, dask.scheduler.pid)
            stored = store_rows(run, float(grown[-1][2]))
    note = (
        f"A plan of {ratings_of(run.experiment.data).name}, {ROUNDS} rounds, two workers without "
        f"Dask's profiler, as in the README; units "
        f"that wait {MILLISECONDS:g} ms and return {RESULT_BYTES:,} bytes; distributed "
        f"{distributed.__version__}. A job is of units of ten users, {SECONDS:g} s of work or more."
    )
    headers = (
        ["units", "local, s", "Dask, s", "ratio", "spread", "goal", "met"],
        ["units", "ms a unit", "scheduler, CPU", "client, CPU", "to that of 1,000", "goal", "met"],
        STORE_HEADERS,
    )
    texts = {
        style: "\n\n".join(
            tabulate(rows, headers=header, tablefmt=style, floatfmt=".2f", intfmt=",")
            for header, rows in zip(headers, (compared, grown, stored), strict=True)
        )
        for style in ("simple", "pipe")
    }
    print(f"{environment()}\n{note}\n\n{texts['simple']}")
    if arguments.markdown:
        write_section(arguments.markdown, "On a cluster", f"{note}\n\n{texts['pipe']}")
    missed = [f"{row[0]:,} units" for row in (*compared, *grown) if row[-1] is False]
    exit_if_missed([*missed, *(f"cores for {row[0]}" for row in stored if row[-1] is False)])


if __name__ == "__main__":
    main()
