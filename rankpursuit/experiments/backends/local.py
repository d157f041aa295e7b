"""Units evaluated by processes of this machine."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any, Self

import joblib
from joblib.externals.loky import get_reusable_executor
from joblib.externals.loky.process_executor import TerminatedWorkerError

from rankpursuit.errors import ConfigError, RunError
from rankpursuit.experiments.backends import Options
from rankpursuit.experiments.config import DataSpec, Experiment
from rankpursuit.experiments.run.evaluate import Job, UnitResult, evaluate_unit
from rankpursuit.visible import cut

MOST_JOBS = 256
"""Worker processes of one machine, each with the data and the libraries in memory."""


def check_options(options: Options) -> None:
    """Refuse what is for a cluster, and a number of processes that cannot be."""
    if options.scheduler is not None:
        raise ConfigError(["--scheduler needs --backend dask"])
    n_jobs = options.n_jobs
    if n_jobs is not None and n_jobs != -1 and not 1 <= n_jobs <= MOST_JOBS:
        got = cut(str(n_jobs), 50)
        raise ConfigError([f"--n-jobs: expected 1 to {MOST_JOBS}, or -1, got {got}"])


def connect(options: Options) -> Local:
    """Return the processes of this machine: as many as asked for, else one for each core."""
    return Local(-1 if options.n_jobs is None else options.n_jobs)


class Local:
    """Worker processes on this machine; a context manager.

    Parameters
    ----------
    n_jobs : int
        Number of worker processes; 1 works in this process, -1 takes one for each core.
    """

    def __init__(self, n_jobs: int = 1) -> None:
        self._n_jobs = n_jobs

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """End the workers at once on Ctrl-C; a unit under way is done again later."""
        if kind is KeyboardInterrupt:
            get_reusable_executor().shutdown(wait=False, kill_workers=True)

    def count(self) -> int:
        """Return the number of units that are evaluated at the same time."""
        return int(joblib.effective_n_jobs(self._n_jobs))

    def check(self, data: DataSpec) -> None:
        """Accept all data: workers on this machine have what this process has."""

    def evaluate(self, experiment: Experiment, jobs: Iterable[Job]) -> Iterator[UnitResult]:
        """Evaluate units; yield the results as they come.

        Raises
        ------
        RunError
            If a worker process dies.
        """
        parallel = joblib.Parallel(
            n_jobs=self._n_jobs, return_as="generator_unordered", batch_size=1
        )
        work = joblib.delayed(_evaluate_for)
        try:
            yield from parallel(work(os.getpid(), experiment, *job) for job in jobs)
        except TerminatedWorkerError as error:
            raise RunError(
                "a worker process was killed or ran out of memory; what was finished is kept: give "
                "the same command to go on"
            ) from error


def _evaluate_for(run: int, experiment: Experiment, *job: Any) -> UnitResult:
    """Evaluate a unit; a worker process of the run on this machine ends when the run ends."""
    if os.getppid() == run:
        _end_with(run)
    return evaluate_unit(experiment, *job)


@lru_cache(maxsize=1)
def _end_with(parent: int) -> None:
    """Watch the parent from a thread: workers of a run that was killed would wait for ever."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1.0)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
