"""Execution of a plan: a map over its units, with the store as the only state.

Round r evaluates the hold-out users of repeat r and the test users of repeat r - 1, whose
parameters are known by then: one round keeps all workers busy, and a repeat is complete as early
as can be.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol as Interface

import numpy as np

from rankpursuit.experiments.config import Experiment
from rankpursuit.experiments.evaluate import AlgorithmResult, Array, Job, UnitResult
from rankpursuit.experiments.plan import Cell, Plan
from rankpursuit.experiments.protocol import Role, group_name
from rankpursuit.experiments.selection import Choice, choose, criteria, grid_axes, joint_error
from rankpursuit.experiments.store import Store, unit_key

Evaluate = Callable[[Experiment, Iterable[Job]], Iterator[UnitResult]]
"""Evaluates units somewhere, in any order: `Local.evaluate`, `Cluster.evaluate`."""


class Progress(Interface):
    """What a run tells while it goes on."""

    def start(self, n_users: int, n_done: int) -> None:
        """Begin, with so many users in all and so many done in an earlier run."""

    def add(self, result: UnitResult, *, earlier: bool) -> None:
        """Take the results of a unit, of this run or of an earlier one."""


@dataclass(frozen=True)
class Run:
    """An experiment, its plan, and the algorithms of it to run."""

    experiment: Experiment
    plan: Plan
    labels: tuple[str, ...]

    def results(self, store: Store, cell: Cell, role: Role, label: str) -> list[AlgorithmResult]:
        """Return an algorithm's results on all units of a cell and role; none if one is missing."""
        found = [store.load(unit, label) for unit in self.plan.units[cell, role]]
        return [result for result in found if result] if all(found) else []

    def choices(self, store: Store, cell: Cell) -> dict[str, dict[str, Choice]]:
        """Return the choices of all algorithms whose hold-out users are done."""
        errors = {
            label: mean_errors(
                self.results(store, cell, "holdout", label), self.experiment.protocol.holdout_users
            )
            for label in self.labels
        }
        return {label: self.choose(label, found) for label, found in errors.items() if found}

    def choose(self, label: str, errors: Mapping[str, Array]) -> dict[str, Choice]:
        """Return the choice of one algorithm for each metric, given its errors over the grid."""
        spec, kernel = self.experiment.algorithms[label], self.experiment.kernel
        axes = grid_axes(spec, kernel.widths)
        found: dict[str, Choice] = {}
        for metric in self.experiment.metrics:
            used = criteria(spec.method, self.experiment.tuning, metric)
            error = joint_error([errors[name] for name in used])
            choice = choose(error, axes, wide_is_smooth=kernel.parameter == "sigma")
            found[metric] = replace(choice, holdout_error=float(errors[metric][choice.index]))
        return found


def mean_errors(results: Sequence[AlgorithmResult], n_users: int) -> dict[str, Array]:
    """Mean errors over the users of all units, summed in the order of the units."""
    if not results:
        return {}
    return {
        metric: np.sum([result.sums[metric] for result in results], axis=0) / n_users
        for metric in results[0].sums
    }


def execute(run: Run, store: Store, progress: Progress, evaluate: Evaluate) -> Iterator[str]:
    """Run what is missing in the store.

    Parameters
    ----------
    run : Run
    store : Store
    progress : Progress
    evaluate : callable
        Evaluates the units.

    Yields
    ------
    str
        A line for every failure, as it happens.
    """
    _tell_earlier(run, store, progress)
    by_repeat = [
        [cell for cell in run.plan.cells if cell.repeat == repeat] for repeat in run.plan.repeats
    ]
    for holdout, test in zip([*by_repeat, []], [[], *by_repeat], strict=True):
        # The largest tasks of a cell are its last. Small ones at the end keep all workers busy.
        jobs = reversed(list(_jobs(run, store, holdout, test)))
        for result in evaluate(run.experiment, jobs):
            store.save(result)
            progress.add(result, earlier=False)
            for label, reason in result.failures.items():
                cell = result.unit.cell
                yield (
                    f"{label} failed, group {group_name(cell.group)}, repeat {cell.repeat + 1}, "
                    f"{result.unit.role} {reason}"
                )


def _jobs(run: Run, store: Store, holdout: list[Cell], test: list[Cell]) -> Iterator[Job]:
    """Units with the algorithms that are missing in the store."""
    finished = store.finished()
    for unit in run.plan.of(holdout, "holdout"):
        missing = tuple(x for x in run.labels if x not in finished.get(unit_key(unit), ()))
        if missing:
            yield unit, missing, {}
    for cell in test:
        choices = run.choices(store, cell)
        for unit in run.plan.of([cell], "test"):
            missing = tuple(x for x in choices if x not in finished.get(unit_key(unit), ()))
            if missing:
                yield unit, missing, {label: choices[label] for label in missing}


def _tell_earlier(run: Run, store: Store, progress: Progress) -> None:
    """Tell the progress what an earlier run has done."""
    finished = store.finished()
    done = [
        unit
        for units in run.plan.units.values()
        for unit in units
        if finished.get(unit_key(unit), set()) >= set(run.labels)
    ]
    total = sum(len(unit.users) for units in run.plan.units.values() for unit in units)
    progress.start(total, sum(len(unit.users) for unit in done))
    for unit in done:
        if unit.role == "test":
            results = {label: store.load(unit, label) for label in run.labels}
            found = {label: result for label, result in results.items() if result}
            progress.add(UnitResult(unit, found, {}), earlier=True)
