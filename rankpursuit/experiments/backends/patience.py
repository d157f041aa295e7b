"""How long a run waits for a cluster that has no worker, and what it says meanwhile."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from rankpursuit.errors import NoWorkerError


@dataclass(frozen=True)
class Patience:
    """How long to wait for a worker, and when to say so.

    Attributes
    ----------
    seconds : float
        Wait so long, then give up.
    first : float
        Say so after so many seconds.
    every : float
        Say so again after so many more.
    """

    seconds: float = 600.0
    first: float = 10.0
    every: float = 60.0

    @property
    def between_looks(self) -> float:
        """Seconds from one look at the cluster to the next."""
        return min(1.0, self.first / 2, self.seconds / 2)


class Waiting:
    """Counts the time without a worker.

    Parameters
    ----------
    patience : Patience
    tell : callable
        Takes lines for the user.
    remedy : str
        The command that starts a worker.
    """

    def __init__(self, patience: Patience, tell: Callable[[str], None], remedy: str) -> None:
        self._patience = patience
        self._tell = tell
        self._remedy = remedy
        self._since: float | None = None
        self._next = patience.first

    def look(self, n_workers: int) -> None:
        """Take the number of workers that there are now.

        Raises
        ------
        NoWorkerError
            If there was none for too long.
        """
        if n_workers:
            self._since, self._next = None, self._patience.first
            return
        now = time.monotonic()
        self._since = now if self._since is None else self._since
        waited = now - self._since
        if waited >= self._patience.seconds:
            raise NoWorkerError(
                f"the cluster had no worker for {self._patience.seconds:g} seconds; what was "
                f"finished is kept: start a worker ({self._remedy}) and give the same command to "
                "go on, with a longer --wait if need be"
            )
        if waited >= self._next:
            self._next = waited + self._patience.every
            left = self._patience.seconds - waited
            self._tell(
                f"no worker for {waited:.0f} seconds, waiting {left:.0f} more for one: "
                f"{self._remedy}"
            )
