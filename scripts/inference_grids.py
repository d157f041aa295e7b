"""Errors over the grids that the runs of ``configs/inference`` keep, and rules of choice over them.

A unit is ten random users of one group: the hold-out users of one repeat. Parameters are chosen on
some units and tested on another one, so that any rule of choice, and any size of the hold-out, is
judged from the same runs.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rankpursuit.experiments.config import group_name, load_experiment, ratings_of
from rankpursuit.experiments.export import RunFolder
from rankpursuit.experiments.methods import grid_axes
from rankpursuit.experiments.run import Run
from rankpursuit.experiments.store import Identity, Store

Array = NDArray[np.float64]
USERS_OF_UNIT = 10
RP, SPARSE = "ranking_pursuit", "sparse_rank_rls"


@dataclass(frozen=True)
class Grid:
    """An algorithm's errors on the units of a group: shape (units, widths, *axes)."""

    axes: dict[str, tuple[float, ...]]
    errors: Array


Grids = dict[tuple[str, str, str], Grid]
"""By metric, group and algorithm."""


@dataclass(frozen=True, order=True)
class Rule:
    """A rule of choice.

    Attributes
    ----------
    holdout : int
        Number of hold-out units; 0: all but the one that is tested.
    power : int or None
        The power of two at which lambda is fixed in RLS and both RankRLS; None: it is tuned.
    shared : bool
        Whether one width serves all methods: that with the lowest sum of their errors, each
        relative to its lowest.
    size : {"holdout", "pursuit"}
        What decides the size of sparse RankRLS's subset: the hold-out, or ranking pursuit's P.
    """

    holdout: int = 0
    power: int | None = None
    shared: bool = False
    size: str = "holdout"

    def __str__(self) -> str:
        users = f"{USERS_OF_UNIT * self.holdout} hold-out users" if self.holdout else "hold-out"
        lam = "lambda tuned" if self.power is None else f"lambda 2^{self.power}"
        width = "one width" if self.shared else "own widths"
        size = "random subset as large as ranking pursuit's P" if self.size == "pursuit" else ""
        return ", ".join(filter(None, [users, lam, width, size]))


POWERS = (None, -5, -3, -1, 1, 3, 5, 7)
RULES = [
    Rule(*options)
    for options in itertools.product((0, 1, 3), POWERS, (False, True), ("holdout", "pursuit"))
]


def load_grids(folder: Path) -> Grids:
    """Read the errors over the grids of a run, of every unit that has all algorithms."""
    run_folder = RunFolder(folder)
    experiment = load_experiment(run_folder.config)
    identity = Identity(experiment.digest(), ratings_of(experiment.data).checksum())
    found: dict[tuple[str, str, str], list[Array]] = {}
    with Store(run_folder.store, identity) as store:
        run = Run.of(experiment, 1).everything(store)
        for cell in run.plan.cells:
            results = {label: run.results(store, cell, "holdout", label) for label in run.labels}
            if not all(results.values()):
                continue
            for label, (result,) in results.items():
                for metric, sums in result.sums.items():
                    key = (metric, group_name(cell.group), label)
                    found.setdefault(key, []).append(sums / USERS_OF_UNIT)
    return {
        key: Grid(
            grid_axes(experiment.algorithms[key[2]], experiment.kernel.widths), np.stack(units)
        )
        for key, units in found.items()
    }


def n_units(grids: Grids) -> int:
    """Return how many units every grid has."""
    return min(len(grid.errors) for grid in grids.values())


def first_units(grids: Grids, n: int) -> Grids:
    """Return the grids of the first units only."""
    return {key: Grid(grid.axes, grid.errors[:n]) for key, grid in grids.items()}


def tested(grids: Grids, rule: Rule) -> Iterator[tuple[tuple[str, str, str], Array]]:
    """Yield the errors of each unit, shape (units,), with parameters chosen on others."""
    for metric, group in dict.fromkeys(key[:2] for key in grids):
        here = {key[2]: grid for key, grid in grids.items() if key[:2] == (metric, group)}
        chosen_on = {label: _holdout_sums(_fixed(grid, rule), rule) for label, grid in here.items()}
        if rule.shared:
            _keep_one_width(chosen_on)
        places = {label: _lowest(sums) for label, sums in chosen_on.items()}
        if rule.size == "pursuit":
            places[SPARSE] = _lowest(_of_pursuits_size(here, chosen_on[SPARSE], places[RP]))
        for label, grid in here.items():
            errors = _fixed(grid, rule)
            at = np.arange(len(errors))
            yield (metric, group, label), errors.reshape(len(errors), -1)[at, places[label]]


def _fixed(grid: Grid, rule: Rule) -> Array:
    """Errors where lambda has the value of the rule; its axis stays, with one value."""
    names = list(grid.axes)
    if rule.power is None or "lambdas" not in names:
        return grid.errors
    at = grid.axes["lambdas"].index(2.0**rule.power)
    return grid.errors.take([at], axis=1 + names.index("lambdas"))


def _holdout_sums(errors: Array, rule: Rule) -> Array:
    """For each unit, the sums of errors over the units on which its parameters are chosen."""
    if not rule.holdout:
        return errors.sum(axis=0) - errors
    after = np.arange(len(errors))[:, None] + np.arange(1, rule.holdout + 1)
    return errors[after % len(errors)].sum(axis=1)


def _lowest(sums: Array) -> NDArray[np.intp]:
    return sums.reshape(len(sums), -1).argmin(axis=1)


def _keep_one_width(sums: dict[str, Array]) -> None:
    """Make all widths but the one that is best for all methods together too bad to be chosen."""
    of_width = {label: s.reshape(*s.shape[:2], -1).min(axis=2) for label, s in sums.items()}
    total = np.sum([s / s.min(axis=1, keepdims=True) for s in of_width.values()], axis=0)
    best = total.argmin(axis=1)
    for label, of_label in sums.items():
        other = np.arange(of_label.shape[1]) != best[:, None]
        beside = other.reshape(*other.shape, *[1] * (of_label.ndim - 2))
        sums[label] = np.where(beside, np.inf, of_label)


def _of_pursuits_size(here: dict[str, Grid], sums: Array, places: NDArray[np.intp]) -> Array:
    """Make all sizes of the random subset but that nearest to ranking pursuit's P too bad."""
    pursuit = here[RP]
    at = np.unravel_index(places, pursuit.errors.shape[1:])[-1]
    shares = np.asarray(pursuit.axes["n_basis"])[at]
    sizes = np.asarray(here[SPARSE].axes["n_basis"])
    nearest = np.abs(sizes - shares[:, None]).argmin(axis=1)
    other = np.arange(len(sizes)) != nearest[:, None]
    return np.where(other[:, None, :, None], np.inf, sums)
