"""Execution of a plan: a map over its units, with the store as the only state.

Round r evaluates the hold-out users of repeat r and the test users of repeat r - 1, whose
parameters are known by then: one round keeps all workers busy, and a repeat is complete as early
as can be.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from rankpursuit.experiments.config import Experiment, group_name
from rankpursuit.experiments.evaluate import Cell, Job, UnitResult
from rankpursuit.experiments.run.bundles import Pace, in_bundles
from rankpursuit.experiments.run.progress import Progress
from rankpursuit.experiments.run.run import Run
from rankpursuit.experiments.run.store import Store, unit_key

Evaluate = Callable[[Experiment, Iterable[Job]], Iterator[list[UnitResult]]]
"""Evaluates units somewhere, in any order: `Backend.evaluate`."""


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
        jobs = list(_jobs(run, store, holdout, test))[::-1]
        pace = Pace()
        for results in evaluate(run.experiment, in_bundles(jobs, pace)):
            store.save(*results)
            for result in results:
                pace.add(result)
                progress.add(result, earlier=False)
                yield from _failures(result)


def _failures(result: UnitResult) -> Iterator[str]:
    cell, role = result.unit.cell, result.unit.role
    for label, reason in result.failures.items():
        where = f"group {group_name(cell.group)}, repeat {cell.repeat + 1}"
        yield f"{label} failed, {where}, {role} {reason}"


def _jobs(run: Run, store: Store, holdout: list[Cell], test: list[Cell]) -> Iterator[Job]:
    """Units, one a job, with the algorithms that are missing in the store."""
    finished = store.finished()
    for unit in run.plan.of(holdout, "holdout"):
        missing = tuple(x for x in run.labels if x not in finished.get(unit_key(unit), ()))
        if missing:
            yield (unit,), missing, {}
    for cell in test:
        choices = run.choices(store, cell)
        for unit in run.plan.of([cell], "test"):
            missing = tuple(x for x in choices if x not in finished.get(unit_key(unit), ()))
            if missing:
                yield (unit,), missing, {label: choices[label] for label in missing}


def _tell_earlier(run: Run, store: Store, progress: Progress) -> None:
    """Tell the progress what an earlier run has done."""
    finished = store.finished()
    done = [
        unit
        for units in run.plan.units.values()
        for unit in units
        if finished.get(unit_key(unit), frozenset()) >= set(run.labels)
    ]
    total = sum(len(unit.users) for units in run.plan.units.values() for unit in units)
    progress.start(total, sum(len(unit.users) for unit in done))
    for unit in done:
        if unit.role == "test":
            results = {label: store.load(unit, label) for label in run.labels}
            found = {label: result for label, result in results.items() if result}
            progress.add(UnitResult(unit, found, {}), earlier=True)
