"""A Dask cluster of real processes on loopback."""

import json
import os
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

from distributed import Client

DASK = [sys.executable, "-m", "dask"]
_PATIENCE = 60.0


def wait_until(condition, what):
    """Poll until something is true; fail after a minute."""
    deadline = time.monotonic() + _PATIENCE
    while not condition():
        assert time.monotonic() < deadline, f"{what}: not within {_PATIENCE:.0f} seconds"
        time.sleep(0.02)


class DaskCluster:
    """A scheduler, and workers that come and go; a context manager that ends them all."""

    def __init__(self, folder: Path, *options: str) -> None:
        self._folder = folder
        self._options = options
        self._processes = []
        self._client = None

    def __enter__(self):
        about = self._folder / "scheduler.json"
        try:
            self.scheduler = self._start(
                *("scheduler", "--host", "127.0.0.1", "--port", "0", "--no-show"),
                *("--dashboard-address", "127.0.0.1:0", "--scheduler-file", str(about)),
                *self._options,
            )
            wait_until(lambda: _address(about), "the scheduler writes its file")
            self.address = _address(about)
            self._client = Client(self.address, set_as_default=False)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        if self._client:
            with suppress(OSError):
                self._client.close(timeout=5)
        for process in self._processes:
            process.kill()
            process.wait()

    def add_worker(self, *options, **variables):
        """Start a worker process and wait until it has joined; return process and address."""
        before = self.workers()
        process = self._start(
            *("worker", self.address, "--host", "127.0.0.1", "--no-nanny", "--no-dashboard"),
            *("--local-directory", str(self._folder), "--nthreads", "1", *options),
            **variables,
        )
        wait_until(lambda: self.workers() - before or process.poll(), "the worker joins")
        (address,) = self.workers() - before
        return process, address

    def workers(self) -> set[str]:
        """Return the addresses of the workers that the scheduler knows."""
        return set(self._client.nthreads())

    def units(self) -> dict[str, str]:
        """Return the state of all that the scheduler still has to do or to keep."""

        def states(dask_scheduler):
            return {key: task.state for key, task in dask_scheduler.tasks.items()}

        return self._client.run_on_scheduler(states)

    def end_workers(self, *, but: int = 0):
        """Kill all workers but the first so many, and wait until the scheduler knows."""
        gone = self._processes[1 + but :]
        del self._processes[1 + but :]
        for process in gone:
            process.kill()
            process.wait()
        wait_until(lambda: len(self.workers()) <= but, "the workers are gone")

    def _start(self, *arguments, **variables):
        log = (self._folder / "log").open("ab")
        process = subprocess.Popen(
            [*DASK, *arguments], stdout=log, stderr=log, env=os.environ | variables
        )
        self._processes.append(process)
        return process


def _address(about):
    """Address of the scheduler, once its file is there and whole."""
    with suppress(OSError, ValueError):
        return json.loads(about.read_text())["address"]
    return None
