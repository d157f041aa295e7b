"""Units evaluated by the workers of a Dask cluster.

This uses `distributed.Client` and not joblib's Dask backend, which hands out units in batches of
its own, hides lost workers and a lost scheduler behind one error, and knows nothing of checks: the
client needs no more code, and each of the faults has its own answer.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager, suppress
from itertools import islice
from typing import Any, Self

from rankpursuit.datasets.locate import DATA_VARIABLE
from rankpursuit.errors import ClusterError, ConfigError, RankpursuitError, RunError
from rankpursuit.experiments.backends import Options, dask_worker
from rankpursuit.experiments.backends.address import check_address
from rankpursuit.experiments.backends.dask_scheduler import check_scheduler
from rankpursuit.experiments.backends.dask_worker import Facts, Parcel
from rankpursuit.experiments.backends.patience import Patience, Waiting
from rankpursuit.experiments.config import DataSpec, Experiment
from rankpursuit.experiments.evaluate import Job, UnitResult

OUTSTANDING = 2000
"""Most jobs with the scheduler at a time: several for each core of any cluster that a scheduler
can feed, while its memory and the client's stay the same for any number of units."""
_CONNECT_SECONDS = 4
_LOGGERS = ("distributed", "distributed.client", "tornado.application", "asyncio")
"""What they log when a connection is lost, an error of ours says in one line."""
_GO_ON = "what was finished is kept: give the same command to go on"
_INSTALL = "install the version of this machine on it"
_WHAT_TO_DO = {
    "rankpursuit": _INSTALL,
    "numpy": _INSTALL,
    "scipy": _INSTALL,
    "BLAS": "set OPENBLAS_CORETYPE to the same on all machines, this one too",
    "data": f"put the same data there, or set {DATA_VARIABLE} on the worker to where it is",
}


def check_options(options: Options) -> None:
    """Ask for an address, and refuse what is for this machine."""
    if not options.scheduler:
        raise ConfigError(["--backend dask needs --scheduler, e.g. tcp://HOST:8786"])
    if options.n_jobs is not None:
        raise ConfigError(
            ["--n-jobs is for this machine; a cluster has the workers that were started for it"]
        )
    check_address(options.scheduler)


def connect(options: Options) -> Dask:
    """Connect to the cluster of a scheduler."""
    patience = Patience() if options.wait is None else Patience(options.wait)
    return Dask(str(options.scheduler), options.tell, patience)


class Dask:
    """The workers of a Dask cluster; a context manager.

    Parameters
    ----------
    address : str
        That of the scheduler.
    tell : callable
        Takes lines for the user: where the dashboard is, and that the cluster has no worker.
    patience : Patience
        How long to wait for a worker, now or later, if there is none.

    Raises
    ------
    NoWorkerError
        If no worker came.
    RunError
        If Dask is not installed, or there is no scheduler at the address.
    """

    def __init__(
        self, address: str, tell: Callable[[str], None], patience: Patience | None = None
    ) -> None:
        try:
            from distributed import Client
        except ImportError as error:
            raise RunError(
                "a cluster needs Dask, here and on its workers: pip install 'rankpursuit[dask]'"
            ) from error
        for name in _LOGGERS:
            logging.getLogger(name).setLevel(logging.CRITICAL)
        self._address = address
        self._tell = tell
        self._patience = patience or Patience()
        self._remedy = f"dask worker --nthreads 1 {address}"
        check_scheduler(address, _CONNECT_SECONDS)
        try:
            self._client = Client(address, timeout=_CONNECT_SECONDS, set_as_default=False)
        except (OSError, ValueError) as error:
            raise self._scheduler_lost() from error
        try:
            with suppress(KeyError):  # a scheduler may have no dashboard
                tell(f"dashboard: {self._client.dashboard_link}")
            if not self.count():
                limit = f"{self._patience.seconds:g} seconds"
                tell(f"no worker yet, waiting {limit} for one: {self._remedy}")
                self._wait_until(self.count, sleep=0.2)
        except BaseException:
            self.__exit__()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Leave the cluster, which then drops all units of this client."""
        with suppress(OSError):
            self._client.close(timeout=_CONNECT_SECONDS)

    def count(self) -> int:
        """Return the number of units that are evaluated at the same time."""
        with self._lost_scheduler():
            return sum(self._client.nthreads().values())

    def check(self, data: DataSpec) -> None:
        """Compare what results depend on, here and on every worker.

        Raises
        ------
        ClusterError
            With a line for all that is missing or different, by worker.
        """
        here = dask_worker.facts(data)
        with self._lost_scheduler():
            workers = self._client.run(dask_worker.report, data, on_error="return")
            scheduler = self._report_of_scheduler()
        package = {"rankpursuit": here["rankpursuit"]}
        faults = list(_differences("the scheduler", scheduler, package))
        for address, found in sorted(workers.items()):
            faults += _differences(f"worker {address}", found, here)
        if faults:
            raise ClusterError(faults)

    def evaluate(self, experiment: Experiment, jobs: Iterable[Job]) -> Iterator[list[UnitResult]]:
        """Evaluate units; yield the results of each job as they come.

        A job whose worker is lost is evaluated by another one.

        Raises
        ------
        ClusterError
            If a worker joined that cannot take part.
        NoWorkerError
            If all workers are gone, and no other comes for too long.
        RunError
            If the scheduler is lost, or a unit is lost with several workers in turn.
        """
        from distributed import as_completed

        facts = dask_worker.facts(experiment.data)
        parcels = (Parcel(experiment, facts, job) for job in jobs)
        first = self._submit(islice(parcels, OUTSTANDING))
        under_way = as_completed(first, loop=self._client.loop)
        del first  # what holds a future keeps its result on the worker
        while not under_way.is_empty():
            self._wait_until(under_way.has_ready)
            batch = under_way.next_batch(block=False)
            results = self._gather(experiment.data, batch, "skip")
            yield from results
            if len(results) < len(batch):
                self._gather(experiment.data, batch, "raise")
            if under_way.count() <= OUTSTANDING // 2:
                under_way.update(self._submit(islice(parcels, OUTSTANDING // 2)))

    def _report_of_scheduler(self) -> Facts | Exception:
        """Ask for the versions of the scheduler, through which all units go."""
        try:
            return dict(self._client.run_on_scheduler(dask_worker.versions))
        except OSError:
            raise
        except Exception as error:  # whatever it is, it is told
            return error

    def _submit(self, parcels: Iterable[Parcel]) -> list[Any]:
        """Submit jobs as one graph, which is much less work than one by one."""
        with self._lost_scheduler():
            return list(
                self._client.map(dask_worker.evaluate, list(parcels), key="unit", pure=False)
            )

    def _gather(self, data: DataSpec, batch: list[Any], errors: str) -> list[list[UnitResult]]:
        """Fetch the results of jobs that are done, here where no error goes unseen.

        A result that is lost with its worker before it is here is computed again.
        """
        from distributed import KilledWorker

        loop: Any = self._client.loop
        gathering = asyncio.run_coroutine_threadsafe(
            self._client.gather(batch, errors=errors, asynchronous=True), loop.asyncio_loop
        )
        self._wait_until(gathering.done)
        try:
            return list(gathering.result())
        except CancelledError as error:
            raise self._scheduler_lost() from error
        except KilledWorker as error:
            raise RunError(
                f"workers were killed or ran out of memory, several in turn on one unit; {_GO_ON}"
            ) from error
        except Exception as error:
            if self._client.status != "running":
                raise self._scheduler_lost() from error
            self.check(data)
            raise

    def _wait_until(self, happened: Callable[[], object], sleep: float = 0.005) -> None:
        """Wait for something that workers do, as long as there are workers."""
        waiting = Waiting(self._patience, self._tell, self._remedy)
        look = time.monotonic() + self._patience.between_looks
        while not happened():
            time.sleep(sleep)
            if time.monotonic() >= look:
                waiting.look(self.count())
                look = time.monotonic() + self._patience.between_looks

    @contextmanager
    def _lost_scheduler(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise self._scheduler_lost() from error

    def _scheduler_lost(self) -> RunError:
        return RunError(
            f"the scheduler at {self._address} is gone, or dropped the run; {_GO_ON}, with another "
            "--scheduler if need be, or on this machine without --backend and --scheduler"
        )


def _differences(who: str, found: Facts | Exception, here: Facts) -> Iterator[str]:
    """Return a line for each fact that is not as it is here."""
    if isinstance(found, RankpursuitError):
        known = DATA_VARIABLE in str(found)  # it says what to do
        yield f"{who}: {found}" + ("" if known else f"; {_WHAT_TO_DO['data']}")
    elif isinstance(found, OSError):
        yield f"{who} does not answer: {found}"
    elif isinstance(found, Exception):  # Dask hides the kind of error that an import raises
        package = f"rankpursuit[dask]=={here['rankpursuit']}"
        yield f"{who}: {found}; it needs the package: pip install '{package}'"
    else:
        for name, value in here.items():
            if found[name] != value:
                yield f"{who}: {name} {found[name]}, here {value}: {_WHAT_TO_DO[name]}"
