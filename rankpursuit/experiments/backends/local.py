"""Units evaluated by processes of this machine, which joblib starts."""

from __future__ import annotations

import os
import queue
import signal
import threading
import time
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from multiprocessing import resource_tracker
from typing import Any, Self

import joblib
from joblib.externals.loky.process_executor import TerminatedWorkerError

from rankpursuit.errors import ConfigError, WorkerLostError
from rankpursuit.experiments.backends import Options
from rankpursuit.experiments.config import DataSpec, Experiment
from rankpursuit.experiments.evaluate import Job, UnitResult, evaluate_units
from rankpursuit.visible import cut

MOST_JOBS = 256
"""Worker processes of one machine, each with the data and the libraries in memory."""

_SECONDS_BETWEEN_LOOKS = 1.0


def check_options(options: Options) -> None:
    """Refuse what is for a cluster, and a number of processes that cannot be."""
    given = {"--scheduler": options.scheduler, "--wait": options.wait}
    faults = [f"{name} needs --backend dask" for name, value in given.items() if value is not None]
    n_jobs = options.n_jobs
    if n_jobs is not None and n_jobs != -1 and not 1 <= n_jobs <= MOST_JOBS:
        got = cut(str(n_jobs), 50)
        faults.append(f"--n-jobs: expected 1 to {MOST_JOBS}, or -1, got {got}")
    if faults:
        raise ConfigError(faults)


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
        self._executor: Any = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Leave the workers to joblib: those of a run that is broken off have ended."""

    def count(self) -> int:
        """Return the number of units that are evaluated at the same time."""
        return int(joblib.effective_n_jobs(self._n_jobs))

    def check(self, data: DataSpec) -> None:
        """Accept all data: workers on this machine have what this process has."""

    def evaluate(self, experiment: Experiment, jobs: Iterable[Job]) -> Iterator[list[UnitResult]]:
        """Evaluate units; yield the results of each job as they come.

        Raises
        ------
        WorkerLostError
            If a worker process dies.
        """
        watch = {"initializer": _end_with, "initargs": (os.getpid(),)} if self.count() > 1 else {}
        parallel: Any = joblib.Parallel(
            n_jobs=self._n_jobs, return_as="generator_unordered", batch_size=1, **watch
        )
        warnings.filterwarnings("ignore", ".* tasks which were still being processed", UserWarning)
        results: Any = None
        finished = False
        try:
            with _unheard(signal.SIGINT, signal.SIGTERM):
                results = parallel(joblib.delayed(evaluate_units)(experiment, *job) for job in jobs)
                self._executor = getattr(parallel._backend, "_workers", None)
            yield from results
            finished = True
        except TerminatedWorkerError as error:
            raise WorkerLostError(
                "a worker process was killed or ran out of memory; what was finished is kept: give "
                "the same command to go on"
            ) from error
        finally:
            if not finished:
                self._give_up(parallel, results)

    def _give_up(self, parallel: Any, results: Any) -> None:
        """End the workers at once; units under way are given up, and done again later."""
        if hasattr(self._executor, "shutdown"):
            with parallel._lock:  # else joblib would hand units to workers that have ended
                parallel._aborting = True
            with suppress(queue.Empty):  # nor can loky handle those that it has yet to hand out
                while True:
                    self._executor._work_ids.get_nowait()
            self._executor.shutdown(wait=True, kill_workers=True)
        if results is not None:
            results.close()


@contextmanager
def _unheard(*numbers: signal.Signals) -> Iterator[None]:
    """Put signals off in this process, and for good in the processes that it starts meanwhile.

    Ctrl-C reaches all processes of a terminal, but it is for the run to end its workers, and not
    before each of them has read what it is to do.
    """
    came: list[int] = []
    handlers: dict[signal.Signals, Any] = {}
    try:
        # A signal that this thread blocks reaches Python through another one, such as BLAS's.
        if threading.current_thread() is threading.main_thread():
            for number in numbers:
                if signal.getsignal(number) not in (None, signal.SIG_IGN):
                    handlers[number] = signal.signal(number, lambda number, _: came.append(number))
        with _blocked(*numbers):
            yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        for late in dict.fromkeys(came):
            signal.raise_signal(late)


@contextmanager
def _blocked(*numbers: signal.Signals) -> Iterator[None]:
    """Block signals in this thread, which the processes that it starts inherit."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    resource_tracker.ensure_running()  # its start lifts what is blocked
    before = signal.pthread_sigmask(signal.SIG_BLOCK, numbers)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _end_with(run: int) -> None:
    """Watch the run from a thread of each worker: one that was killed would leave it for ever."""

    def watch() -> None:
        while os.getppid() == run:
            time.sleep(_SECONDS_BETWEEN_LOOKS)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
