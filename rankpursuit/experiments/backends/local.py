"""Units evaluated by processes of this machine."""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Iterator
from typing import Self

import joblib

from rankpursuit.errors import ConfigError
from rankpursuit.experiments.backends import Options
from rankpursuit.experiments.backends.processes import Processes
from rankpursuit.experiments.config import DataSpec, Experiment
from rankpursuit.experiments.run.evaluate import Job, UnitResult, evaluate_unit


def check_options(options: Options) -> None:
    """Refuse what is for a cluster."""
    given = {"--scheduler": options.scheduler, "--wait": options.wait}
    faults = [f"{name} needs --backend dask" for name, value in given.items() if value is not None]
    if faults:
        raise ConfigError(faults)


def connect(options: Options) -> Local:
    """Return the processes of this machine: as many as asked for, else one for each core."""
    return Local(-1 if options.n_jobs is None else options.n_jobs)


class Local:
    """Worker processes on this machine; a context manager.

    They start with the first unit, and end with the context or with this object.

    Parameters
    ----------
    n_jobs : int
        Number of worker processes; 1 works in this process, -1 takes one for each core.
    """

    def __init__(self, n_jobs: int = 1) -> None:
        self._n_jobs = n_jobs
        self._processes: Processes | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """End the workers at once; a unit under way is done again later."""
        if self._processes:
            self._processes.end()
            self._processes = None

    def count(self) -> int:
        """Return the number of units that are evaluated at the same time."""
        return int(joblib.effective_n_jobs(self._n_jobs))

    def check(self, data: DataSpec) -> None:
        """Accept all data: workers on this machine have what this process has."""

    def evaluate(self, experiment: Experiment, jobs: Iterable[Job]) -> Iterator[UnitResult]:
        """Evaluate units; yield the results as they come.

        Raises
        ------
        WorkerLostError
            If a worker process dies.
        RunError
            If a worker process cannot be started.
        """
        if self.count() == 1:
            for job in jobs:
                yield evaluate_unit(experiment, *job)
            return
        if not self._processes:
            self._processes = Processes(self.count())
            weakref.finalize(self, self._processes.end)
        try:
            yield from self._processes.evaluate(experiment, jobs)
        except BaseException:
            self.__exit__()
            raise
