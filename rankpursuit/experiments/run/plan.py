"""The plan: every unit of work of a run, listed before anything runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rankpursuit.datasets.ratings import Ratings
from rankpursuit.errors import TooFewUsersError
from rankpursuit.experiments.config import Group, Protocol, Role
from rankpursuit.experiments.evaluate import Cell, Unit
from rankpursuit.experiments.protocol import build_task, check_numbers, draw_users, group_users

CHUNK = 10
"""Users of a unit, which is what a killed run loses for each worker: on average half a second of
work on Jester, one and a half on MovieLens."""
_ROLES: tuple[Role, ...] = ("holdout", "test")


@dataclass(frozen=True)
class Plan:
    """The units of a run, by cell and role."""

    units: dict[tuple[Cell, Role], tuple[Unit, ...]]

    @property
    def cells(self) -> list[Cell]:
        """All cells, repeat by repeat."""
        return sorted({cell for cell, _ in self.units})

    @property
    def repeats(self) -> list[int]:
        """All repeats."""
        return sorted({cell.repeat for cell in self.cells})

    def of(self, cells: Iterable[Cell], role: Role) -> Iterator[Unit]:
        """Units of some cells and one role."""
        for cell in cells:
            yield from self.units[cell, role]


def make_plan(
    ratings: Ratings, protocol: Protocol, *, seed: int, repeats: int, groups: Sequence[Group]
) -> Plan:
    """List the units of a run.

    Parameters
    ----------
    ratings : Ratings
    protocol : Protocol
    seed : int
    repeats : int
    groups : sequence of Group
        Those of the protocol's groups to run.

    Raises
    ------
    TooFewUsersError
        If there are too few users to draw test, hold-out or reference users from.
    """
    _check_sizes(ratings, protocol, seed, groups)
    units: dict[tuple[Cell, Role], tuple[Unit, ...]] = {}
    for repeat in range(repeats):
        for group in groups:
            cell = Cell(repeat, group)
            for role in _ROLES:
                drawn = draw_users(
                    ratings, protocol, seed=seed, group=group, repeat=repeat, role=role
                )
                # Users of one size share a unit, which evaluates them together.
                users = drawn[np.argsort(ratings.counts[drawn], kind="stable")].tolist()
                chunks = [users[start : start + CHUNK] for start in range(0, len(users), CHUNK)]
                units[cell, role] = tuple(
                    Unit(cell, role, chunk, tuple(part)) for chunk, part in enumerate(chunks)
                )
    return Plan(units)


def _check_sizes(ratings: Ratings, protocol: Protocol, seed: int, groups: Sequence[Group]) -> None:
    """Raise a `TooFewUsersError` with all that there are too few users for."""
    faults: list[str] = []
    for group in groups:
        try:
            check_numbers(ratings, protocol, group)
            members = group_users(ratings, group)
            for role in _ROLES:
                key: dict[str, Any] = {"seed": seed, "group": group, "repeat": 0, "role": role}
                users = draw_users(ratings, protocol, **key)
                of_group = np.isin(users, members)  # who would be missing among the reference users
                build_task(ratings, protocol, **key, user=int(users[np.argmax(of_group)]))
        except TooFewUsersError as error:
            faults += error.faults
    if faults:
        raise TooFewUsersError(*dict.fromkeys(faults))
