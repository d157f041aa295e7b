"""A word on what takes long and shows no progress by itself."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from rankpursuit.cli._common import echo

_SECONDS = 2.0


@contextmanager
def telling(text: str) -> Iterator[None]:
    """Print a line on the terminal if the block takes longer than two seconds."""
    if not sys.stderr.isatty():
        yield
        return
    timer = threading.Timer(_SECONDS, echo, (text,), {"err": True})
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
