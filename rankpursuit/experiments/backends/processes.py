"""Processes of this machine that evaluate units: started, asked and ended.

Each process has a thread here, which alone starts it and talks to it over two pipes. No signal
interrupts a thread other than the main one, so that Ctrl-C never leaves a process half started;
pipes need no lock or file that a process which is killed would leave behind; and a process in a
group of its own sees no Ctrl-C of the terminal.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import islice
from queue import Empty, SimpleQueue
from typing import BinaryIO, cast

from rankpursuit.errors import RunError, WorkerLostError
from rankpursuit.experiments.backends import local_worker
from rankpursuit.experiments.config import Experiment
from rankpursuit.experiments.run.evaluate import Job, UnitResult

AHEAD = 2
"""Units that are handed out at a time for each process: it need not wait for the next one."""
_PROGRAM = f"import sys; sys.path = sys.argv[1:]; from {local_worker.__name__} import main; main()"
_ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS"), "1"
)
_SECONDS_TO_END = 1.0
_SECONDS_OF_SLEEP = 0.2

Answers = SimpleQueue[UnitResult | Exception]
"""Takes what came of units."""
Task = tuple[Experiment, Job, Answers]


class Processes:
    """Processes that evaluate units, each started with its first unit.

    Parameters
    ----------
    number : int
    """

    def __init__(self, number: int) -> None:
        self._tasks: SimpleQueue[Task | None] = SimpleQueue()
        self._workers = [_Worker(self._tasks) for _ in range(number)]

    def evaluate(self, experiment: Experiment, jobs: Iterable[Job]) -> Iterator[UnitResult]:
        """Evaluate units; yield the results as they come.

        Raises
        ------
        WorkerLostError
            If a process dies.
        RunError
            If a process cannot be started.
        """
        answers: Answers = SimpleQueue()
        tasks = ((experiment, job, answers) for job in jobs)
        under_way = 0
        for task in islice(tasks, AHEAD * len(self._workers)):
            self._tasks.put(task)
            under_way += 1
        while under_way:
            answer = _next(answers)
            if isinstance(answer, Exception):
                raise answer
            under_way -= 1
            for task in islice(tasks, 1):
                self._tasks.put(task)
                under_way += 1
            yield answer

    def end(self) -> None:
        """End the processes at once, whatever they do, and wait until they are gone."""
        for worker in self._workers:
            worker.end()
        for _ in self._workers:
            self._tasks.put(None)
        for worker in self._workers:
            worker.join()


def _next(answers: Answers) -> UnitResult | Exception:
    """Wait for an answer, and wake up between: Ctrl-C just before a wait is seen after it."""
    while True:
        with suppress(Empty):
            return answers.get(timeout=_SECONDS_OF_SLEEP)


class _Worker:
    """A thread with a process, which it asks for one unit after the other."""

    def __init__(self, tasks: SimpleQueue[Task | None]) -> None:
        self._tasks = tasks
        self._process: _Process | None = None
        self._ended = False
        self._changing = threading.Lock()
        self._thread = threading.Thread(target=self._answer_tasks, daemon=True)
        self._thread.start()

    def join(self) -> None:
        """Wait for the thread, which waits for the process."""
        self._thread.join(_SECONDS_TO_END)

    def _answer_tasks(self) -> None:
        """Answer tasks, until there are no more or the process is gone."""
        while task := self._tasks.get():
            experiment, job, answers = task
            try:
                answers.put(self._started().ask((experiment, job)))
            except Exception as error:
                answers.put(error)
                break
        self.end()
        if self._process:
            self._process.clear_away()

    def end(self) -> None:
        """Kill the process; start none after this."""
        with self._changing:
            self._ended = True
            if self._process:
                self._process.kill()

    def _started(self) -> _Process:
        with self._changing:
            if self._ended:
                raise WorkerLostError("a worker process was ended")
            if not self._process:
                self._process = _Process()
            return self._process


class _Process:
    """A process, and the pipes to and from it."""

    def __init__(self) -> None:
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-c", _PROGRAM, *sys.path],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env=os.environ | _ONE_THREAD,
                process_group=0,
            )
        except OSError as error:
            raise RunError(
                f"cannot start a worker process: {error.strerror}; ask for fewer with --n-jobs"
            ) from error
        self._requests = cast(BinaryIO, self._process.stdin)
        self._replies = cast(BinaryIO, self._process.stdout)

    def ask(self, request: local_worker.Request) -> UnitResult | Exception:
        """Send a request and wait for the reply."""
        try:
            self._requests.write(local_worker.framed(request))
            self._requests.flush()
            reply: UnitResult | Exception = pickle.load(self._replies)
        except (EOFError, pickle.UnpicklingError, BrokenPipeError) as error:
            raise WorkerLostError(
                "a worker process was killed or ran out of memory; what was finished is kept: give "
                "the same command to go on"
            ) from error
        return reply

    def kill(self) -> None:
        """End it, whatever it does."""
        self._process.kill()

    def clear_away(self) -> None:
        """Wait for its end and close the pipes."""
        self._process.wait()
        for pipe in (self._requests, self._replies):
            with suppress(OSError):  # the rest of a request that it did not take
                pipe.close()
