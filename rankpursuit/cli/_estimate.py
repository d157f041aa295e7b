"""What a run would do, and about how long it would take."""

from __future__ import annotations

import math
import time
from dataclasses import replace

import click

from rankpursuit.experiments.evaluate import evaluate_unit
from rankpursuit.experiments.plan import Unit
from rankpursuit.experiments.protocol import Role, group_name
from rankpursuit.experiments.runner import Run
from rankpursuit.experiments.selection import Choice, grid_axes

_TIMED_USERS = 3
"""Users timed in each of two units of a group."""


def describe_plan(run: Run, workers: int) -> None:
    """Print the units of a run, the number of fits, and an estimate from a few timed users."""
    experiment, plan = run.experiment, run.plan
    grids = {
        label: math.prod(
            len(values)
            for values in grid_axes(experiment.algorithms[label], experiment.kernel.widths).values()
        )
        for label in run.labels
    }
    units = [unit for part in plan.units.values() for unit in part]
    holdout = sum(len(unit.users) for unit in units if unit.role == "holdout")
    test = sum(len(unit.users) for unit in units if unit.role == "test")
    groups = ", ".join(dict.fromkeys(group_name(cell.group) for cell in plan.cells))
    click.echo(f"{experiment.name}: groups {groups}; {len(plan.repeats)} repeats")
    click.echo(f"  {holdout:,} hold-out users and {test:,} test users in {len(units):,} units")
    for label, size in grids.items():
        click.echo(f"  {label}: {size:,} points of the grid, {size * holdout:,} hold-out fits")
    seconds = _estimate(run) / workers
    hours, minutes = divmod(round(seconds / 60), 60)
    duration = f"{hours} h {minutes} min" if hours else f"{max(1, minutes)} min"
    click.echo(
        f"  about {duration} with {workers} workers, going by {2 * _TIMED_USERS} users a group"
    )


def _estimate(run: Run) -> float:
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
