"""Backends: where the units of a run are evaluated.

`Local` starts processes on this machine with joblib's loky, `Dask` uses the workers of a cluster.
Results do not depend on the backend, nor on the number of workers.
"""

from __future__ import annotations

import json
import logging
import os
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, CancelledError, wait
from contextlib import contextmanager, suppress
from functools import lru_cache, partial
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
import scipy
from threadpoolctl import threadpool_limits

import rankpursuit
from rankpursuit.datasets.fetch import data_folders
from rankpursuit.errors import ClusterError, ConfigError, RankpursuitError, RunError
from rankpursuit.experiments.config import (
    DataSpec,
    Experiment,
    package_code,
    parse_experiment,
    ratings_of,
)
from rankpursuit.experiments.evaluate import (
    Choice,
    Unit,
    UnitResult,
    evaluate_unit,
    threadpools,
)
from rankpursuit.experiments.plugins import install_plugins, plugin_sources, short_digest
from rankpursuit.experiments.store import blas

Job = tuple[Unit, tuple[str, ...], dict[str, dict[str, Choice]]]
"""A unit, the algorithms to evaluate and, for test users, their chosen parameters."""
Evaluate = Callable[[Experiment, Iterable[Job]], Iterator[UnitResult]]
"""Evaluates jobs, in any order, and yields their results as they complete."""

MAX_JOBS = 256  # each holds the data and the libraries in memory
OUTSTANDING = 2000  # maximum number of jobs on the Dask scheduler, to bound its memory
WAIT = 600.0  # seconds to wait for a cluster without workers, by default
_CONNECT_SECONDS = 4
_RESUME = "finished units are kept: re-run the same command to resume"


def make_backend(
    *,
    n_jobs: int | None = None,
    scheduler: str | None = None,
    report: Callable[[str], None] = print,
) -> Local | Dask:
    """Return a backend, which is a context manager: `Dask` with a scheduler, `Local` without.

    `report` receives messages for the user. Raises `ConfigError` if the options are invalid.
    """
    if scheduler and n_jobs is not None:
        raise ConfigError(
            ["--n-jobs: not allowed with --scheduler; the cluster has its own workers"]
        )
    if n_jobs is not None and n_jobs != -1 and not 1 <= n_jobs <= MAX_JOBS:
        raise ConfigError([f"--n-jobs: expected 1 to {MAX_JOBS}, or -1, got {n_jobs}"])
    return Dask(scheduler, report) if scheduler else Local(-1 if n_jobs is None else n_jobs)


Environment = tuple[tuple[str, str], ...]
"""Everything besides the config that results depend on, by name: versions, BLAS, data."""


@lru_cache(maxsize=1)  # an earlier experiment may have had other plug-ins of the same names
def experiment_from(
    text: str,
    plugins: tuple[tuple[str, str], ...] = (),
    code: str = "",
    environment: Environment = (),
) -> Experiment:
    """Parse an experiment that another process sent; cached.

    The text is JSON of `Experiment.resolved`, the plug-ins are those of `plugin_sources`, and the
    code is that of `Experiment.code`. Raises a `RunError` if the code of this worker differs and,
    on a cluster, if the environment does.
    """
    install_plugins(plugins)
    experiment = parse_experiment(json.loads(text))
    if code and code != experiment.code():
        raise RunError(
            "a worker has other code than the run: rankpursuit, or a module of a plug-in, was "
            "changed meanwhile; undo that and re-run the same command to resume, or use --fresh"
        )
    threadpools.cache_clear()  # plug-ins and estimators may have loaded libraries
    if not environment:
        return experiment
    threadpool_limits(limits=1)  # not a context: threads of a worker would undo each other's limit
    return experiment.model_copy(update={"data": _check_worker(experiment.data, environment)})


def _evaluate(packed: tuple[Any, ...], job: Job) -> UnitResult:
    """Evaluate a job in a worker; `packed` has the arguments of `experiment_from`."""
    return evaluate_unit(experiment_from(*packed), *job)


class Loky(NamedTuple):
    """The parts of joblib that start worker processes; the last two are private."""

    get_reusable_executor: Callable[..., Any]
    start_tracker: Callable[[], None]
    WorkerLostError: type[Exception]


def loky() -> Loky:
    """Import the parts of joblib; raise a `RunError` if this version does not have them."""
    import joblib

    try:
        from joblib.externals.loky import get_reusable_executor
        from joblib.externals.loky.backend.resource_tracker import ensure_running
        from joblib.externals.loky.process_executor import TerminatedWorkerError
    except ImportError as error:
        missing = f"joblib {joblib.__version__} cannot start workers as expected ({error})"
        message = f"{missing}: use --n-jobs 1, or install an earlier version of joblib"
        raise RunError(message) from error
    return Loky(get_reusable_executor, ensure_running, TerminatedWorkerError)


class Local:
    """Worker processes on this machine: 1 is this process, -1 means one per core."""

    def __init__(self, n_jobs: int = 1) -> None:
        self._n_jobs = n_jobs

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Do nothing: idle workers end with this process."""

    def count(self) -> int:
        """Return the number of units evaluated in parallel."""
        if self._n_jobs == 1:
            return 1
        from joblib import effective_n_jobs  # slow to import

        return int(effective_n_jobs(self._n_jobs))

    def check(self, data: DataSpec) -> None:
        """Do nothing: workers have the environment of this process."""

    def evaluate(self, experiment: Experiment, jobs: Iterable[Job]) -> Iterator[UnitResult]:
        """Yield the results of jobs as they complete; raise a `RunError` if a worker dies.

        A single job is evaluated in this process: workers take a second to start.
        """
        n_workers, waiting = self.count(), iter(jobs)
        first = list(islice(waiting, 2))
        waiting = chain(first, waiting)
        if n_workers == 1 or len(first) < 2:
            threadpools.cache_clear()  # plug-ins and estimators may have loaded libraries
            yield from (evaluate_unit(experiment, *job) for job in waiting)
            return
        packed = json.dumps(experiment.resolved()), plugin_sources(), experiment.code()
        parts = loky()
        _start_trackers(parts)
        executor = parts.get_reusable_executor(
            n_workers,
            timeout=300,
            initializer=_exit_with_parent,
            initargs=(os.getpid(),),
            env={"OMP_NUM_THREADS": "1"},  # for libraries that are loaded later
        )
        pending, finished = set(), False
        try:
            with _signals_deferred():
                some = islice(waiting, 2 * n_workers)
                pending = {executor.submit(_evaluate, packed, job) for job in some}
            while pending:
                done, pending = wait(pending, return_when=FIRST_COMPLETED)
                for job in islice(waiting, len(done)):
                    pending.add(executor.submit(_evaluate, packed, job))
                yield from (future.result() for future in done)
            finished = True
        except parts.WorkerLostError as error:
            message = f"a worker process was killed or ran out of memory; {_RESUME}"
            raise RunError(message) from error
        finally:
            if not finished:  # units in progress are lost
                for _ in range(100):  # loky fails if shut down before workers have all jobs
                    if all(future.running() or future.done() for future in pending):
                        break
                    time.sleep(0.01)
                executor.shutdown(wait=True, kill_workers=True)


def _start_trackers(parts: Loky) -> None:
    """Start the resource trackers with signals deferred, since their start unblocks signals.

    Their standard error is discarded: it reports leaks of killed runs, already cleaned up.
    """
    from multiprocessing import resource_tracker

    kept = os.dup(2)
    try:
        with open(os.devnull, "wb") as nowhere, _signals_deferred():
            os.dup2(nowhere.fileno(), 2)
            resource_tracker.ensure_running()
            parts.start_tracker()
    finally:
        os.dup2(kept, 2)
        os.close(kept)


@contextmanager
def _signals_deferred() -> Iterator[None]:
    """Defer the signals that stop a run, and block them in the processes started meanwhile.

    Ctrl-C reaches all processes of a terminal, but only the run may stop its workers, and only
    after all of them have started.
    """
    came: list[int] = []
    handlers: dict[signal.Signals, Any] = {}
    stops = signal.SIGINT, signal.SIGTERM, signal.SIGHUP
    # Python still receives a blocked signal through another thread, such as one of BLAS.
    if threading.current_thread() is threading.main_thread():
        for number in stops:
            if callable(signal.getsignal(number)):
                handlers[number] = signal.signal(number, lambda number, _: came.append(number))
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, stops)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
        for number, handler in handlers.items():
            signal.signal(number, handler)
        for late in dict.fromkeys(came):
            signal.raise_signal(late)


def _exit_with_parent(run: int) -> None:
    """Exit when the process of the run is gone: a killed run cannot stop its workers."""

    def watch() -> None:
        while os.getppid() == run:
            time.sleep(1.0)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


class Dask:
    """The workers of a Dask cluster, reached through the address of its scheduler.

    `report` receives messages for the user; `wait` is the number of seconds to wait for a worker if
    there is none. (joblib's Dask backend waits forever once all workers are gone.)
    """

    def __init__(self, address: str, report: Callable[[str], None], wait: float = WAIT) -> None:
        self._address, self._report, self._wait = address, report, wait

    def __enter__(self) -> Self:
        """Connect to the scheduler; raise a `RunError` if there is none."""
        import asyncio

        try:
            from distributed import Client, Security, rpc
        except ImportError as error:
            message = "a cluster needs Dask, here and on its workers"
            raise RunError(f"{message}: pip install 'rankpursuit[dask]'") from error
        for name in ("distributed", "distributed.client", "tornado.application", "asyncio"):
            logging.getLogger(name).setLevel(logging.CRITICAL)  # our own errors are one line

        async def server_type() -> str:
            arguments = Security().get_connection_args("client")
            async with rpc(self._address, connection_args=arguments) as server:
                return str((await server.identity())["type"])

        try:  # a client would wait forever for a server of another kind, such as the dashboard
            kind = asyncio.run(asyncio.wait_for(server_type(), _CONNECT_SECONDS))
            if kind != "Scheduler":
                raise ValueError(f"this is the address of a {kind.lower()}")
            self._client = Client(self._address, timeout=_CONNECT_SECONDS, set_as_default=False)
        except Exception as error:  # other servers and bad addresses fail in many ways
            reason = str(error) or f"no answer in {_CONNECT_SECONDS} seconds"
            raise RunError(
                f"no Dask scheduler answers at {self._address}: start one with `dask scheduler`, "
                f"or correct the address, such as tcp://HOST:8786 ({reason})"
            ) from error
        with suppress(KeyError):  # a scheduler may have no dashboard
            self._report(f"dashboard: {self._client.dashboard_link}")
        return self

    def __exit__(self, *_: object) -> None:
        """Disconnect; the cluster then drops all units of this client."""
        with suppress(OSError):
            self._client.close(timeout=_CONNECT_SECONDS)

    def count(self) -> int:
        """Return the number of units evaluated in parallel."""
        with self._scheduler():
            return sum(self._client.nthreads().values())

    def check(self, data: DataSpec) -> None:
        """Raise a `ClusterError` if versions, BLAS or data of a worker differ from those here."""
        environment = _environment(data)
        self._wait_for_worker()
        with self._scheduler():
            reports = self._client.run(_check_worker, data, environment, on_error="return")
            answers = {f"worker {address}": x for address, x in sorted(reports.items())}
            try:  # the scheduler must import the package to unpickle jobs
                self._client.run_on_scheduler(blas)
            except ImportError as error:
                answers["the scheduler"] = error
        if problems := [f"{who}: {x}" for who, x in answers.items() if isinstance(x, Exception)]:
            remedy = (
                f"install 'rankpursuit[dask]=={environment[0][1]}' there, with the versions of "
                "this machine; set OPENBLAS_CORETYPE to the same value on all machines; copy "
                "the data there, or set RANKPURSUIT_DATA on the worker"
            )
            raise ClusterError([*problems, remedy])

    def evaluate(self, experiment: Experiment, jobs: Iterable[Job]) -> Iterator[UnitResult]:
        """Yield the results of jobs as they complete; retry a job whose worker is lost.

        Raises a `ClusterError` if the environment of a new worker differs, a `RunError` if
        the scheduler or all workers are lost, or several workers in turn on one unit.
        """
        from distributed import KilledWorker, as_completed

        waiting, text = iter(jobs), json.dumps(experiment.resolved())
        sent = text, plugin_sources(), experiment.code(), _environment(experiment.data)
        evaluate = partial(_evaluate, sent)

        def submit(number: int) -> Any:
            return self._client.map(evaluate, list(islice(waiting, number)), key="u", pure=False)

        with self._scheduler():
            futures = submit(OUTSTANDING)
            pending = as_completed(futures, loop=self._client.loop, with_results=True)
            del futures  # references would keep all results on the cluster
            while not pending.is_empty():
                while not pending.has_ready():
                    self._wait_for_worker()
                    time.sleep(0.02)
                try:
                    _, result = next(pending)
                    if isinstance(result, BaseException):
                        raise result  # cancelled, since the scheduler is lost
                except KilledWorker as error:
                    message = "several workers in turn were killed or ran out of memory on one unit"
                    raise RunError(f"{message}; {_RESUME}") from error
                except Exception:
                    self.check(experiment.data)  # a new worker may be the cause
                    raise
                yield result
                if pending.count() <= OUTSTANDING // 2:
                    pending.update(submit(OUTSTANDING // 2))

    def _wait_for_worker(self) -> None:
        """Wait for a worker if there is none; raise a `RunError` if none comes."""
        if self.count():
            return
        start = f"dask worker --nthreads 1 {self._address}"
        self._report(f"no worker; waiting {self._wait:g} seconds for one. Start it with: {start}")
        try:
            self._client.wait_for_workers(1, timeout=self._wait)
        except TimeoutError as error:
            message = f"the cluster had no worker for {self._wait:g} seconds; start one ({start})"
            raise RunError(f"{message}; {_RESUME}") from error

    @contextmanager
    def _scheduler(self) -> Iterator[None]:
        """Raise a `RunError` if the scheduler is lost."""
        try:
            yield
        except Exception as error:
            lost = isinstance(error, OSError | CancelledError) or self._client.status != "running"
            if isinstance(error, RankpursuitError) or not lost:
                raise
            raise RunError(
                f"the scheduler at {self._address} is gone, or dropped the run; {_RESUME}, with "
                "another --scheduler, or without one on this machine"
            ) from error


def _environment(data: DataSpec) -> Environment:
    """Return the environment of this process."""
    versions = [(module.__name__, module.__version__) for module in (rankpursuit, np, scipy)]
    code = short_digest(json.dumps(package_code()).encode())
    return *versions, ("code", code), ("BLAS", blas()), ("data", ratings_of(data).checksum())


def _check_worker(data: DataSpec, expected: Environment) -> DataSpec:
    """Return the data with its path on this worker; raise a `RunError` if results would differ."""
    path = getattr(data, "path", None)
    if path is not None and not Path(path).exists():  # search the data folders of this machine
        places = [folder / Path(path).name for folder in data_folders()]
        usual = [str(place) for place in places if place.is_file()] or [path]
        data = data.model_copy(update={"path": usual[0] if data.name == "ratings" else None})
    ratings_of.cache_clear()  # the file may have changed
    pairs = zip(_environment(data), expected, strict=True)
    if differ := [f"{name} {x}, here {y}" for (name, x), (_, y) in pairs if x != y]:
        raise RunError("; ".join(differ))
    return data
