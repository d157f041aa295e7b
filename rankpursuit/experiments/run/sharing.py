"""Results that two experiments have in common, computed once.

Experiments with the same data, protocol, kernel and readings have the same tasks. Where an
algorithm is declared alike in both, what one of them reports is a part of what the other does, if
that has all of its metrics: no number is different from that of a run of its own.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass, replace
from typing import Any

from rankpursuit.experiments.config import Experiment
from rankpursuit.experiments.evaluate import AlgorithmResult, Unit, UnitResult, holdout_metrics
from rankpursuit.experiments.run.folder import RunFolder
from rankpursuit.experiments.run.run import Run
from rankpursuit.experiments.run.store import Store, unit_key

_OWN = {"name", "table", "repeats", "metrics", "algorithms"}
"""What experiments with the same tasks may have of their own."""


@dataclass(frozen=True)
class Lender:
    """A run that is over, and the folder with its store."""

    run: Run
    folder: RunFolder


def lends(lender: Experiment, borrower: Experiment, label: str) -> bool:
    """Whether all that an experiment needs of an algorithm is among the results of another."""
    return (
        lender.algorithms.get(label) == borrower.algorithms[label]
        and set(borrower.metrics) <= set(lender.metrics)
        and _in_common(lender) == _in_common(borrower)
    )


def borrow(run: Run, store: Store, lender: Lender) -> int:
    """Take what is missing in the store of a run from that of another.

    Returns
    -------
    int
        The number of users whose results were taken, with one algorithm or more.
    """
    experiment = run.experiment
    labels = [label for label in run.labels if lends(lender.run.experiment, experiment, label)]
    if not labels or not lender.folder.has_store:
        return 0
    n_users, finished = 0, store.finished()
    with Store(lender.folder.store, lender.run.identity()) as other:
        for units in run.plan.units.values():
            taken = []
            for unit in units:
                missing = [x for x in labels if x not in finished.get(unit_key(unit), ())]
                results = {x: _needed(experiment, unit, x, other.load(unit, x)) for x in missing}
                found = {label: result for label, result in results.items() if result}
                if found:
                    taken.append(UnitResult(unit, found, {}))
            if taken:
                store.save(*taken)
            n_users += sum(len(result.unit.users) for result in taken)
    return n_users


def _in_common(experiment: Experiment) -> dict[str, Any]:
    return experiment.model_dump(exclude=_OWN)


def _needed(
    experiment: Experiment, unit: Unit, label: str, result: AlgorithmResult | None
) -> AlgorithmResult | None:
    """Return the part of a result that an experiment needs; the seconds stay those of all."""
    if result is None:
        return None
    wanted: Set[str] = set(experiment.metrics)
    if unit.role == "holdout":
        wanted = holdout_metrics(experiment, label)
    return replace(
        result,
        sums={metric: sums for metric, sums in result.sums.items() if metric in wanted},
        users=[user for user in result.users if user.metric in wanted],
    )
