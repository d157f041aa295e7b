"""A run: what of an experiment is to be run, and what its results choose."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from rankpursuit.errors import ConfigError
from rankpursuit.experiments.config import Experiment, Role, group_name, ratings_of
from rankpursuit.experiments.evaluate import (
    AlgorithmResult,
    Array,
    Cell,
    Choice,
    choose,
    criteria,
    joint_error,
)
from rankpursuit.experiments.methods import grid_axes
from rankpursuit.experiments.run.plan import Plan, make_plan
from rankpursuit.experiments.run.store import Identity, Store


@dataclass(frozen=True)
class Run:
    """An experiment, its plan, and the algorithms of it to run."""

    experiment: Experiment
    plan: Plan
    labels: tuple[str, ...]

    @classmethod
    def of(
        cls,
        experiment: Experiment,
        repeats: int | None = None,
        only: Sequence[str] = (),
        groups: Sequence[str] = (),
    ) -> Self:
        """Plan an experiment, or a part of it.

        Parameters
        ----------
        experiment : Experiment
        repeats : int, optional
            The first so many repeats, which may be more than the experiment declares. Default: all.
        only : sequence of str
            Labels of algorithms. Default: all.
        groups : sequence of str
            Names of groups, such as ``20-40``. Default: all.

        Raises
        ------
        ConfigError
            With a fault for each algorithm and group that the experiment does not have, and one
            for too many repeats.
        TooFewUsersError
            If there are too few users to draw test, hold-out or reference users from.
        """
        names = {group_name(group): group for group in experiment.protocol.groups}
        faults = [
            f"{what} {word}: {experiment.name} has no such {kind}; it has {', '.join(known)}"
            for what, kind, words, known in (
                ("--only", "algorithm", only, experiment.algorithms),
                ("--groups", "group", groups, names),
            )
            for word in words
            if word not in known
        ]
        repeats = repeats or experiment.repeats
        if excess := experiment.excess_work(repeats):
            faults.append(f"--repeats: {excess}")
        if faults:
            raise ConfigError(faults)
        plan = make_plan(
            ratings_of(experiment.data),
            experiment.protocol,
            seed=experiment.seed,
            repeats=repeats,
            groups=[group for name, group in names.items() if not groups or name in groups],
        )
        labels = [label for label in experiment.algorithms if not only or label in only]
        return cls(experiment, plan, tuple(labels))

    def identity(self) -> Identity:
        """Return what a store of this run belongs to."""
        return Identity(self.experiment.digest(), ratings_of(self.experiment.data).checksum())

    def everything(self, store: Store) -> Self:
        """Return the whole experiment, of which this is a part, with all repeats of the store."""
        stored = [repeat + 1 for repeat, *_ in store.finished()]
        return self.of(
            self.experiment, max([len(self.plan.repeats), self.experiment.repeats, *stored])
        )

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
