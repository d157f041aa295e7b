"""What a case may cost, and which outcomes are right."""

from __future__ import annotations

import resource
import signal
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

from rankpursuit.errors import ConfigError, RankpursuitError

SECONDS = 10.0
"""Of work on one case."""
WAITING = 5
"""How many times longer it may take by the clock: other programs may run."""
MEMORY = 1_000_000_000
"""Bytes of one case, beyond what the libraries take."""
LONGEST_LINE = 3000
"""Characters of a message."""

TOLD: Counter[str] = Counter()
"""Outcomes that modules tell, ``accepted`` and ``refused``; the front end counts them."""


class Hang(BaseException):
    """A case took too long; no ``except Exception`` can swallow it."""


def limit_memory() -> None:
    """Let this process take `MEMORY` more than it has now; more is a `MemoryError`."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + MEMORY, hard))


@contextmanager
def time_limit(seconds: float = SECONDS) -> Iterator[None]:
    """Raise `Hang` in the main thread after so many seconds of work, or many more of waiting."""

    def ring(signum: int, frame: FrameType | None) -> None:
        raise Hang(f"more than {seconds:g} seconds of work, or {WAITING * seconds:g} of waiting")

    timers = {signal.SIGPROF: signal.ITIMER_PROF, signal.SIGALRM: signal.ITIMER_REAL}
    before = {number: signal.signal(number, ring) for number in timers}
    signal.setitimer(signal.ITIMER_PROF, seconds)
    signal.setitimer(signal.ITIMER_REAL, WAITING * seconds)
    try:
        yield
    finally:
        for number, timer in timers.items():
            signal.setitimer(timer, 0.0)
            signal.signal(number, before[number])


def described(error: BaseException) -> str:
    """Return an error with the line of code that raised it."""
    place = error.__traceback__
    where = ""
    while place is not None:
        file = place.tb_frame.f_code.co_filename
        if file != __file__:
            where = f" at {file}:{place.tb_lineno}"
        place = place.tb_next
    return f"{type(error).__name__}: {str(error)[:200]!r}{where}"


def attempt(call: Callable[[], Any]) -> tuple[Any, str | None]:
    """Call something with hostile input; return its value, and what is wrong if anything is.

    Tells ``accepted`` or ``refused``.
    """
    try:
        value = call()
    except RankpursuitError as error:
        TOLD["refused"] += 1
        lines = error.faults if isinstance(error, ConfigError) else [str(error)]
        return None, next(filter(None, map(wrong_line, lines or [""])), None)
    except Exception as error:
        return None, described(error)
    TOLD["accepted"] += 1
    return value, None


def wrong_line(line: str) -> str | None:
    """Return what is wrong with a message, if anything is."""
    if not line.strip():
        return "an empty message"
    if len(line) > LONGEST_LINE:
        return f"a message of {len(line):,} characters: {line[:100]!r}"
    if "Traceback" in line:
        return f"a message with a traceback: {line[:200]!r}"
    return None
