"""What a run tells while it goes on."""

from __future__ import annotations

from typing import Protocol

from rankpursuit.experiments.evaluate import UnitResult


class Progress(Protocol):
    """Is told what a run does."""

    def start(self, n_users: int, n_done: int) -> None:
        """Begin, with so many users in all and so many done in an earlier run."""

    def add(self, result: UnitResult, *, earlier: bool) -> None:
        """Take the results of a unit, of this run or of an earlier one."""


class Silent:
    """Shows nothing, and remembers how much there was to do."""

    n_users = n_done = 0

    @property
    def was_finished(self) -> bool:
        """Whether an earlier run did all there was to do."""
        return 0 < self.n_users == self.n_done

    def start(self, n_users: int, n_done: int) -> None:
        """Remember the numbers of users."""
        self.n_users, self.n_done = n_users, n_done

    def add(self, result: UnitResult, *, earlier: bool) -> None:
        """Show nothing."""
