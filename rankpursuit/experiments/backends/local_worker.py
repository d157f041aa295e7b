"""What a worker process of this machine does: it evaluates units for the process that started it.

Requests come over its standard input, each a pickle after its length, and replies go over its
standard output, each a pickle. The input ends when the process that started it is gone, in whatever
way, and then the worker ends too, also in the middle of a unit or of an import.
"""

from __future__ import annotations

import os
import pickle
import signal
import sys
import threading
import traceback
from contextlib import suppress
from queue import SimpleQueue
from typing import TYPE_CHECKING, BinaryIO

if TYPE_CHECKING:
    from rankpursuit.experiments.config import Experiment
    from rankpursuit.experiments.run.evaluate import Job

Request = tuple["Experiment", "Job"]
"""A unit to evaluate."""
_LENGTH = 8


def main() -> None:
    """Answer requests until there are no more."""
    for number in (signal.SIGINT, signal.SIGTERM):  # they are for the run, which ends its workers
        signal.signal(number, signal.SIG_IGN)
    with os.fdopen(os.dup(sys.stdout.fileno()), "wb") as replies:
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what libraries print is no reply
        requests: SimpleQueue[bytes] = SimpleQueue()
        arguments = (sys.stdin.buffer, requests)
        threading.Thread(target=_receive, args=arguments, daemon=True).start()
        with suppress(BrokenPipeError):  # the run is gone
            while True:
                replies.write(_reply(requests.get()))
                replies.flush()


def framed(request: Request) -> bytes:
    """Return a request as a worker takes it."""
    body = pickle.dumps(request)
    return len(body).to_bytes(_LENGTH, "little") + body


def _receive(stream: BinaryIO, requests: SimpleQueue[bytes]) -> None:
    """Take requests as they come; end this process, whatever it does, when no more can come."""
    while length := stream.read(_LENGTH):
        requests.put(stream.read(int.from_bytes(length, "little")))
    os._exit(0)


def _reply(request: bytes) -> bytes:
    """Return the pickle of a unit's result, or of the error that a fault of the program raised."""
    try:
        from rankpursuit.experiments.run.evaluate import evaluate_unit

        experiment, job = pickle.loads(request)
        return pickle.dumps(evaluate_unit(experiment, *job))
    except Exception as error:
        error.add_note(f"in a worker process:\n{traceback.format_exc()}")
        return pickle.dumps(error)
