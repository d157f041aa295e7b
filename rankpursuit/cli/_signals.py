"""SIGTERM as an exception, so that a command ends by it as it ends by Ctrl-C."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class Terminated(KeyboardInterrupt):
    """The process was asked to end, by ``kill`` or by a batch system."""


def exit_status(stop: KeyboardInterrupt) -> int:
    """Return the status of a process that a signal ended, as shells count it."""
    number = signal.SIGTERM if isinstance(stop, Terminated) else signal.SIGINT
    return 128 + number


@contextmanager
def terminable() -> Iterator[None]:
    """Raise `Terminated` when SIGTERM comes, unless it is ignored or handled already."""

    def stop(number: int, frame: FrameType | None) -> None:
        raise Terminated

    main = threading.current_thread() is threading.main_thread()
    if not main or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield
        return
    signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
