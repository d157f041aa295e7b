"""Small units in one job: what a scheduler and a store take for each job is paid less often.

The units of a job are evaluated one by one and stored one by one, though in one transaction: what
they give does not depend on their company.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rankpursuit.experiments.config import Role
from rankpursuit.experiments.evaluate import Cell, Job, UnitResult

SECONDS = 1.0
"""Work of a job, which is also what a killed run loses for each worker."""
_TAIL = 1000
"""A job gets no larger share than this of the units that are left, so that hundreds of workers end
at about the same time. Plans of the size of the paper's have one unit a job."""


class Pace:
    """Seconds that a unit takes, on average so far, for each role."""

    def __init__(self) -> None:
        self._taken: dict[Role, tuple[float, int]] = {}

    def add(self, result: UnitResult) -> None:
        """Take in how long a unit took."""
        seconds, number = self._taken.get(result.unit.role, (0.0, 0))
        seconds += sum(of_label.seconds for of_label in result.results.values())
        self._taken[result.unit.role] = seconds, number + 1

    def units(self, role: Role) -> int:
        """Return how many units make a job; one as long as that is not known."""
        seconds, number = self._taken.get(role, (0.0, 0))
        return max(1, int(number * SECONDS / seconds)) if seconds > 0.0 else 1


def in_bundles(jobs: Sequence[Job], pace: Pace) -> Iterator[Job]:
    """Join neighbours of one cell and role, as many as the pace allows when they are asked for."""
    start = 0
    while start < len(jobs):
        ((first, *_), labels, choices) = jobs[start]
        most = min(pace.units(first.role), (len(jobs) - start) // _TAIL)
        end = start + 1
        while end < start + most and _kind(jobs[end]) == _kind(jobs[start]):
            end += 1
        yield tuple(unit for units, _, _ in jobs[start:end] for unit in units), labels, choices
        start = end


def _kind(job: Job) -> tuple[Cell, Role, tuple[str, ...]]:
    """Return what units of one job have in common."""
    (unit, *_), labels, _ = job
    return unit.cell, unit.role, labels
