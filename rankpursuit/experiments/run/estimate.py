"""What a run would do, and about how long it would take, going by a few users of each group."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace

from rankpursuit.experiments.config import Role, group_name
from rankpursuit.experiments.evaluate import Choice, Unit, evaluate_unit
from rankpursuit.experiments.methods import grid_axes
from rankpursuit.experiments.run.run import Run

_TIMED_USERS = 3
"""Users timed in each of two units of a group."""
TIMED_USERS = 2 * _TIMED_USERS
"""Users of each group that an estimate goes by."""


@dataclass(frozen=True)
class Estimate:
    """What a run would do.

    Attributes
    ----------
    groups : tuple of str
        Names of the groups.
    repeats, units : int
    users : dict of str to int
        Number of hold-out users and of test users.
    grids : dict of str to int
        Points of the grid of each algorithm.
    seconds : float
        Of work in all.
    """

    groups: tuple[str, ...]
    repeats: int
    units: int
    users: dict[Role, int]
    grids: dict[str, int]
    seconds: float


def estimate(run: Run) -> Estimate:
    """Count what a run would do, and time a few of its users."""
    experiment, plan = run.experiment, run.plan
    units = [unit for part in plan.units.values() for unit in part]
    roles: tuple[Role, ...] = ("holdout", "test")
    return Estimate(
        groups=tuple(dict.fromkeys(group_name(cell.group) for cell in plan.cells)),
        repeats=len(plan.repeats),
        units=len(units),
        users={role: sum(len(u.users) for u in units if u.role == role) for role in roles},
        grids={
            label: math.prod(
                len(values)
                for values in grid_axes(
                    experiment.algorithms[label], experiment.kernel.widths
                ).values()
            )
            for label in run.labels
        },
        seconds=_seconds(run),
    )


def _seconds(run: Run) -> float:
    """Seconds of work in all, from a few users of each group."""
    total = 0.0
    for cell in [cell for cell in run.plan.cells if cell.repeat == run.plan.repeats[0]]:
        choices: dict[str, dict[str, Choice]] = {}
        roles: tuple[Role, ...] = ("holdout", "test")
        for role in roles:
            units = run.plan.units[cell, role]
            if not units:
                continue
            # Units are sorted by the number of ratings of their users.
            quartiles = units[len(units) // 4], units[3 * len(units) // 4]
            few = tuple(user for unit in quartiles for user in unit.users[:_TIMED_USERS])
            seconds, choices = _time(run, replace(units[0], users=few), choices)
            n_users = len(run.plan.repeats) * sum(len(unit.users) for unit in units)
            total += seconds / len(few) * n_users
    return total


def _time(
    run: Run, unit: Unit, choices: dict[str, dict[str, Choice]]
) -> tuple[float, dict[str, dict[str, Choice]]]:
    """Time one unit, and choose parameters by it."""
    experiment = run.experiment
    evaluate_unit(experiment, replace(unit, users=unit.users[:1]), run.labels, choices)  # warm up
    begun = time.perf_counter()
    result = evaluate_unit(experiment, unit, run.labels, choices)
    seconds = time.perf_counter() - begun
    if unit.role == "holdout":
        choices = {
            label: run.choose(label, of_label.sums) for label, of_label in result.results.items()
        }
    return seconds, choices
