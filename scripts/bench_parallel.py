"""A whole run with two worker processes beside the same run with one."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from bench_timing import alternate, load, row

from rankpursuit.experiments.backends import Local
from rankpursuit.experiments.export import RunFolder
from rankpursuit.experiments.run import Progress, Run, run_session

N_USERS, N_REPEATS = 60, 2


def parallel_row(rounds: int) -> tuple[list[Any], float]:
    """Compare a run of about 20 seconds; return the row and the seconds that workers take.

    The paper's runs take ten times as long: the workers are started before the clock, and what
    that takes is returned.
    """
    short, run = _plan(20, 1), _plan(N_USERS, N_REPEATS)
    cold, warm = alternate(2, partial(_run, short, 2))[0]
    one, two = alternate(rounds, partial(_run, run, 1), partial(_run, run, 2))
    n_tasks = sum(len(unit.users) for units in run.plan.units.values() for unit in units)
    title = "whole run, two workers / one"
    return row(title, two, one, one / two, n_tasks, "at least 1.9"), cold - warm


def _plan(n_users: int, repeats: int) -> Run:
    experiment = load(
        "jester_supervised",
        f"protocol.test_users={n_users}",
        f"protocol.holdout_users={n_users}",
    )
    return Run.of(experiment, repeats)


def _run(run: Run, n_jobs: int) -> None:
    with TemporaryDirectory() as folder:
        failures = run_session(run, RunFolder(Path(folder)), Local(n_jobs).evaluate, Progress())
    if failures:
        sys.exit("\n".join(failures))
