"""Backends: where the units of a run are evaluated.

`Local` starts processes on this machine with joblib's loky, `Dask` uses the workers of a cluster.
Results do not depend on the backend, nor on the number of workers.
"""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache, partial
from itertools import count, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from rankpursuit.errors import ClusterError, ConfigError, RankpursuitError, RunError

if TYPE_CHECKING:
    from rankpursuit.experiments.config import DataSpec, Experiment
    from rankpursuit.experiments.evaluate import Choice, Unit, UnitResult

Job = tuple["Unit", tuple[str, ...], dict[str, dict[str, "Choice"]]]
"""A unit, the algorithms to evaluate, and their choices if it is of test users."""
Evaluate = Callable[["Experiment", Iterable[Job]], Iterator["UnitResult"]]
"""Evaluates jobs, in any order, and yields their results as they come."""

BACKENDS = {"local": "processes on this machine", "dask": "the workers of a Dask cluster"}
MOST_JOBS = 256  # each has the data and the libraries in memory
OUTSTANDING = 2000  # jobs that the Dask scheduler has at a time, which bounds its memory
WAIT = 600.0  # seconds to wait for a cluster without workers, by default
_CONNECT_SECONDS = 4
_RESUME = "finished units are kept: re-run the same command to resume"


def make_backend(
    name: str = "local",
    *,
    n_jobs: int | None = None,
    scheduler: str | None = None,
    tell: Callable[[str], None] = print,
) -> Local | Dask:
    """Return a backend, a context manager; raise `ConfigError` if the options do not fit it."""
    problems = []
    if scheduler and name != "dask":
        problems.append("--scheduler needs --backend dask")
    if name == "dask" and not scheduler:
        problems.append("--backend dask needs --scheduler, e.g. tcp://HOST:8786")
    if name == "dask" and n_jobs is not None:
        problems.append("--n-jobs is for this machine; a cluster has its own workers")
    if n_jobs is not None and n_jobs != -1 and not 1 <= n_jobs <= MOST_JOBS:
        problems.append(f"--n-jobs: expected 1 to {MOST_JOBS}, or -1, got {n_jobs}")
    if problems:
        raise ConfigError(problems)
    return Dask(scheduler, tell) if scheduler else Local(-1 if n_jobs is None else n_jobs)


def _packed(experiment: Experiment) -> Any:
    """Return what workers get of an experiment: the arguments of `experiment_from`."""
    from rankpursuit.experiments.methods import plugin_sources

    return json.dumps(experiment.resolved()), plugin_sources()


def _evaluate(packed: Any, job: Job, facts: dict[str, str] | None = None) -> UnitResult:
    """Evaluate a job in a worker; if `facts` are given, only if they hold there."""
    from rankpursuit.experiments.config import experiment_from
    from rankpursuit.experiments.evaluate import evaluate_unit

    experiment = experiment_from(*packed)
    if facts is not None:
        from threadpoolctl import threadpool_limits

        threadpool_limits(limits=1)  # for good: threads would lift each other's limit
        experiment = experiment.model_copy(update={"data": _found_here(experiment.data)})
        with _loading:  # threads of one worker share one table
            if _facts(experiment.data) != facts:
                raise RunError("a worker differs from the client")
    return evaluate_unit(experiment, *job)


class Local:
    """Worker processes on this machine; 1 is this process, -1 stands for one per core."""

    def __init__(self, n_jobs: int = 1) -> None:
        self._n_jobs = n_jobs

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Do nothing: idle workers end with this process."""

    def count(self) -> int:
        """Return the number of units that are evaluated at the same time."""
        import joblib

        return int(joblib.effective_n_jobs(self._n_jobs))

    def check(self, data: DataSpec) -> None:
        """Do nothing: workers have what this process has."""

    def evaluate(self, experiment: Experiment, jobs: Iterable[Job]) -> Iterator[UnitResult]:
        """Yield the results of jobs as they come; raise a `RunError` if a worker dies."""
        from concurrent.futures import FIRST_COMPLETED, wait

        from joblib.externals.loky import get_reusable_executor
        from joblib.externals.loky.process_executor import TerminatedWorkerError

        n_workers, packed, waiting = self.count(), _packed(experiment), iter(jobs)
        if n_workers == 1:
            yield from (_evaluate(packed, job) for job in waiting)
            return
        _start_trackers()
        executor = get_reusable_executor(
            n_workers, timeout=300, initializer=_end_with, initargs=(os.getpid(),)
        )
        finished = False
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
        except TerminatedWorkerError as error:
            message = f"a worker process was killed or ran out of memory; {_RESUME}"
            raise RunError(message) from error
        finally:
            if not finished:  # units in progress are lost
                executor.shutdown(wait=True, kill_workers=True)


def _start_trackers() -> None:
    """Start the resource trackers, whose start unblocks signals, without standard error.

    What they report of a run that was killed, they have cleaned up already.
    """
    import multiprocessing.resource_tracker

    from joblib.externals.loky.backend import resource_tracker

    kept = os.dup(2)
    try:
        with open(os.devnull, "wb") as nowhere, _signals_deferred():
            os.dup2(nowhere.fileno(), 2)
            multiprocessing.resource_tracker.ensure_running()
            resource_tracker.ensure_running()
    finally:
        os.dup2(kept, 2)
        os.close(kept)


@contextmanager
def _signals_deferred() -> Iterator[None]:
    """Defer the signals that stop a run, and block them in the processes started meanwhile.

    Ctrl-C reaches all processes of a terminal, but it is for the run to end its workers, and not
    before each of them has started.
    """
    came: list[int] = []
    handlers: dict[signal.Signals, Any] = {}
    stops = signal.SIGINT, signal.SIGTERM, signal.SIGHUP
    # A signal that this thread blocks reaches Python through another one, such as BLAS's.
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


def _end_with(run: int) -> None:
    """End this worker when the process of the run is gone, which a killed run cannot do."""

    def watch() -> None:
        while os.getppid() == run:
            time.sleep(1.0)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


class Dask:
    """The workers of a Dask cluster, reached through the address of its scheduler.

    `tell` receives lines for the user; `wait` is the number of seconds to wait for a worker if
    there is none. joblib's own Dask backend waits forever when all workers are gone.
    """

    def __init__(self, address: str, tell: Callable[[str], None], wait: float = WAIT) -> None:
        self._address, self._tell, self._wait = address, tell, wait

    def __enter__(self) -> Self:
        """Connect, and wait for a first worker; raise a `RunError` if there is none."""
        import asyncio
        import logging

        try:
            from distributed import Client
            from distributed.core import rpc
            from distributed.security import Security
        except ImportError as error:
            message = "a cluster needs Dask, here and on its workers"
            raise RunError(f"{message}: pip install 'rankpursuit[dask]'") from error
        for name in ("distributed", "distributed.client", "tornado.application", "asyncio"):
            logging.getLogger(name).setLevel(logging.CRITICAL)  # our errors say it in one line

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
        try:
            with suppress(KeyError):  # a scheduler may have no dashboard
                self._tell(f"dashboard: {self._client.dashboard_link}")
            self._wait_until(self.count)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        """Leave the cluster, which then drops all units of this client."""
        with suppress(OSError):
            self._client.close(timeout=_CONNECT_SECONDS)

    def count(self) -> int:
        """Return the number of units that are evaluated at the same time."""
        with self._scheduler():
            return sum(self._client.nthreads().values())

    def check(self, data: DataSpec) -> None:
        """Raise a `ClusterError` if versions, BLAS or data of a worker differ from those here."""
        here = _facts(data)
        with self._scheduler():
            reports = self._client.run(_report, data, on_error="return")
            found: dict[str, Any] = {f"worker {address}": x for address, x in reports.items()}
            try:  # it unpacks what is sent to the workers
                found["the scheduler"] = self._client.run_on_scheduler(_versions)
            except ImportError as error:
                found["the scheduler"] = error
        data_remedy = "put the same data there, or set RANKPURSUIT_DATA on the worker"
        remedies = {
            "data": data_remedy,
            "BLAS": "set OPENBLAS_CORETYPE to the same on all machines",
        }
        package = f"pip install 'rankpursuit[dask]=={here['rankpursuit']}'"
        problems = []
        for who, facts in sorted(found.items()):
            if isinstance(facts, Exception):  # Dask hides the kind of error of an import
                remedy = data_remedy if isinstance(facts, RankpursuitError) else package
                problems.append(f"{who}: {facts}; {remedy}")
                continue
            for name in [name for name in facts if facts[name] != here[name]]:
                remedy = remedies.get(name, "install the version of this machine on it")
                problems.append(f"{who}: {name} {facts[name]}, here {here[name]}: {remedy}")
        if problems:
            raise ClusterError(problems)

    def evaluate(self, experiment: Experiment, jobs: Iterable[Job]) -> Iterator[UnitResult]:
        """Yield the results of jobs as they come; a job whose worker is lost is evaluated again.

        Raises a `ClusterError` if a worker joined that differs from this process, a `RunError` if
        the scheduler or all workers are lost, or several workers in turn on one unit.
        """
        from distributed import KilledWorker, as_completed

        waiting, facts = iter(jobs), _facts(experiment.data)
        evaluate = partial(_evaluate, _packed(experiment), facts=facts)

        def submit(number: int) -> list[Any]:
            some = list(islice(waiting, number))
            return list(self._client.map(evaluate, some, key="u", pure=False))

        with self._scheduler():
            futures = submit(OUTSTANDING)
            pending = as_completed(futures, loop=self._client.loop, with_results=True)
            del futures  # or the cluster would keep all results
            while not pending.is_empty():
                self._wait_until(pending.has_ready)
                try:
                    _, result = next(pending)
                    if isinstance(result, BaseException):
                        raise result  # cancelled, since the scheduler is lost
                except KilledWorker as error:
                    message = "several workers in turn were killed or ran out of memory on one unit"
                    raise RunError(f"{message}; {_RESUME}") from error
                except Exception:
                    self.check(experiment.data)  # a worker that joined may be the reason
                    raise
                yield result
                if pending.count() <= OUTSTANDING // 2:
                    pending.update(submit(OUTSTANDING // 2))

    def _wait_until(self, happened: Callable[[], object]) -> None:
        """Wait for something that workers do, as long as there are workers."""
        empty_since = None
        start = f"dask worker --nthreads 1 {self._address}"
        for step in count(1):
            if happened():
                return
            time.sleep(0.005)
            if step % 50:
                continue
            if self.count():
                empty_since = None
            elif empty_since is None:
                empty_since = time.monotonic()
                self._tell(f"no worker, waiting {self._wait:g} seconds for one: {start}")
            if empty_since is not None and time.monotonic() - empty_since >= self._wait:
                raise RunError(
                    f"the cluster had no worker for {self._wait:g} seconds; start one ({start}); "
                    f"{_RESUME}"
                )

    @contextmanager
    def _scheduler(self) -> Iterator[None]:
        """Raise a `RunError` if the scheduler is lost."""
        from concurrent.futures import CancelledError

        try:
            yield
        except Exception as error:
            lost = isinstance(error, OSError | CancelledError) or self._client.status != "running"
            if isinstance(error, RankpursuitError) or not lost:
                raise
            raise RunError(
                f"the scheduler at {self._address} is gone, or dropped the run; {_RESUME}, with "
                "another --scheduler, or on this machine without --backend and --scheduler"
            ) from error


_loading = threading.Lock()


def _versions() -> dict[str, str]:
    """Return the versions as imported; `Client.get_versions` has those of installed packages."""
    import numpy
    import scipy

    import rankpursuit

    return {module.__name__: module.__version__ for module in (rankpursuit, numpy, scipy)}


@lru_cache(maxsize=1)
def _facts(data: DataSpec) -> dict[str, str]:
    """Return everything that results depend on besides the config, for this process."""
    from rankpursuit.experiments.config import ratings_of
    from rankpursuit.experiments.export import blas

    return {**_versions(), "BLAS": blas(), "data": ratings_of(data).checksum()}


def _report(data: DataSpec) -> dict[str, str]:
    """Return the facts of this worker, with the data set as it is on disk now."""
    from rankpursuit.experiments.config import ratings_of

    ratings_of.cache_clear()
    _facts.cache_clear()
    return _facts(_found_here(data))


def _found_here(data: DataSpec) -> DataSpec:
    """Look in the usual places of this machine for data that is not at the client's path."""
    from rankpursuit.datasets.fetch import data_folders

    path = getattr(data, "path", None)
    if path is None or Path(path).exists():
        return data
    if data.name != "ratings":
        return data.model_copy(update={"path": None})
    found = [folder / Path(path).name for folder in data_folders()]
    here = [str(file) for file in found if file.is_file()]
    return data.model_copy(update={"path": here[0]}) if here else data
