"""The plan: every unit of work of a run, listed before anything runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from rankpursuit.datasets.ratings import Ratings
from rankpursuit.experiments.config import Group, Protocol, Role
from rankpursuit.experiments.tasks import build_task, draw_users

CHUNK = 10
"""Users of a unit, which is what a killed run loses for each worker: on average half a second of
work on Jester, one and a half on MovieLens."""


@dataclass(frozen=True, order=True)
class Cell:
    """One group of reference users in one repeat."""

    repeat: int
    group: Group


@dataclass(frozen=True)
class Unit:
    """A chunk of the users of one cell and role.

    Attributes
    ----------
    cell : Cell
    role : {"holdout", "test"}
    chunk : int
        Number of the chunk.
    users : tuple of int
    """

    cell: Cell
    role: Role
    chunk: int
    users: tuple[int, ...]


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
    units: dict[tuple[Cell, Role], tuple[Unit, ...]] = {}
    roles: tuple[Role, ...] = ("holdout", "test")
    for repeat in range(repeats):
        for group in groups:
            cell = Cell(repeat, group)
            for role in roles:
                drawn = draw_users(
                    ratings, protocol, seed=seed, group=group, repeat=repeat, role=role
                )
                # Users of one size share a unit, which evaluates them together.
                users = drawn[np.argsort(ratings.counts[drawn], kind="stable")].tolist()
                if repeat == 0:  # a group that is too small for its reference users shows here
                    build_task(
                        ratings,
                        protocol,
                        seed=seed,
                        group=group,
                        repeat=repeat,
                        role=role,
                        user=users[0],
                    )
                chunks = [users[start : start + CHUNK] for start in range(0, len(users), CHUNK)]
                units[cell, role] = tuple(
                    Unit(cell, role, chunk, tuple(part)) for chunk, part in enumerate(chunks)
                )
    return Plan(units)
