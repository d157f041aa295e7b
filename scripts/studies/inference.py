"""Infer which set-up the published figures are consistent with.

A set-up is a number of reference users, a rule of filling their missing ratings, and a rule of
choosing parameters. It is fitted, for each data set, to its supervised table, and judged on the
others. The chi-square of a cell is the squared difference of measured and published error in
standard errors, ours and the paper's together.

Runs keep errors over whole grids for units of 50 random users. Parameters are chosen on some units
and tested on another, so that any rule of choice is judged from the same runs.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NamedTuple

import click
import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pages import RESULTS, runs, write_csv, write_pages

from rankpursuit.experiments.config import load_experiment
from rankpursuit.experiments.protocol import group_name
from rankpursuit.experiments.registry import METHODS, METRICS, grid_axes
from rankpursuit.experiments.run import Run, Tally
from rankpursuit.experiments.store import RunFolder, Store
from rankpursuit.metrics import Array
from rankpursuit.reporting import claims as paper

TABLES = {
    "jester": {1: "jester_supervised", 2: "jester_semi_supervised", 5: "jester_supervised"},
    "movielens": {3: "movielens_supervised", 4: "movielens_semi_supervised"},
}
"""The run behind each published table; the first table of a data set is fitted."""
UNIT_USERS, DRAWS = 50, 1000
PURSUIT, SPARSE = "ranking_pursuit", "sparse_rank_rls"
COMPARISONS = ("outperforms", "comparable")  # rules of claims

Key = tuple[str, str, str]  # metric, group and algorithm


class Grid(NamedTuple):
    """Errors of an algorithm on the units of a group, shape (units, widths, *axes)."""

    axes: dict[str, tuple[float, ...]]
    errors: Array


Grids = dict[Key, Grid]


class Features(NamedTuple):
    """Features of a run; the folder of its results is called after them."""

    fill_over: str
    reference_users: int


class Rule(NamedTuple):
    """A rule of choice."""

    holdout: int = 0  # number of hold-out units; 0: all but the one that is tested
    power: int | None = None  # of two, at which lambda is fixed; None: lambda is tuned
    shared: str = "none"  # one width for "all" methods, or for all as the "ranking" ones choose it
    size: str = "holdout"  # "pursuit": sparse RankRLS has as many functions as ranking pursuit


DEFAULT = Rule()
WIDTHS = ("none", "all", "ranking")
POWERS = (None, -4, -2, 0, 2, 4, 6)  # lambda = 1 is RLScore's default
RULES = [Rule(*one) for one in itertools.product((0, 1), POWERS, WIDTHS, ("holdout", "pursuit"))]


def load_grids(folder: Path) -> Grids:
    """Read the errors over the grids of a run, of every unit that has all algorithms."""
    experiment = load_experiment(RunFolder(folder).config)
    run, found = Run.of(experiment, 1), dict[Key, list[Array]]()
    with Store(RunFolder(folder).store, run.identity()) as store:
        tally = Tally(run, store)
        for cell in tally.run.plan.cells:
            results = tally.holdout(cell)
            if len(results) == len(experiment.algorithms):
                for label, result in results.items():
                    for metric, means in result.sums.items():
                        key = (metric, group_name(cell.group), label)
                        found.setdefault(key, []).append(means)
    widths, specs = experiment.kernel.widths, experiment.algorithms
    axes = {label: grid_axes(spec, widths) for label, spec in specs.items()}
    return {key: Grid(axes[key[2]], np.stack(units)) for key, units in found.items()}


def tested(grids: Grids, rule: Rule, n_units: int | None = None) -> Iterator[tuple[Key, Array]]:
    """Yield the errors of the first units, shape (units,), with parameters chosen on others."""
    for metric, group in dict.fromkeys(key[:2] for key in grids):
        here = {key[2]: grid for key, grid in grids.items() if key[:2] == (metric, group)}
        errors = {label: _at_fixed_lambda(grid, rule)[:n_units] for label, grid in here.items()}
        sums = {label: _holdout_sums(values, rule) for label, values in errors.items()}
        if rule.shared != "none":
            _keep_one_width(sums, rule.shared)
        places = {label: _lowest(values) for label, values in sums.items()}
        if rule.size == "pursuit":
            places[SPARSE] = _lowest(_at_pursuit_size(here, sums[SPARSE], places[PURSUIT]))
        for label, values in errors.items():
            at = np.arange(len(values)), places[label]
            yield (metric, group, label), values.reshape(len(values), -1)[at]


def _at_fixed_lambda(grid: Grid, rule: Rule) -> Array:
    """Errors at the rule's lambda; its axis stays, with one value."""
    if rule.power is None or "lambdas" not in grid.axes:
        return grid.errors
    at = grid.axes["lambdas"].index(2.0**rule.power)
    return grid.errors.take([at], axis=1 + list(grid.axes).index("lambdas"))


def _holdout_sums(errors: Array, rule: Rule) -> Array:
    """For each unit, the sums of errors over the units on which its parameters are chosen."""
    if not rule.holdout:
        return errors.sum(axis=0) - errors
    after = np.arange(len(errors))[:, None] + np.arange(1, rule.holdout + 1)
    return errors[after % len(errors)].sum(axis=1)


def _lowest(sums: Array) -> NDArray[np.intp]:
    return sums.reshape(len(sums), -1).argmin(axis=1)


def _keep_one_width(sums: dict[str, Array], chosen_by: str) -> None:
    """Set the sums of all widths to infinity, except for the best for several methods together."""
    by_width = [
        s.reshape(*s.shape[:2], -1).min(axis=2)
        for label, s in sums.items()
        if chosen_by == "all" or METHODS[label].rank_only
    ]
    best = np.sum([s / s.min(axis=1, keepdims=True) for s in by_width], axis=0).argmin(axis=1)
    for values in sums.values():
        other = np.arange(values.shape[1]) != best[:, None]
        values[other] = np.inf


def _at_pursuit_size(here: dict[str, Grid], sums: Array, places: NDArray[np.intp]) -> Array:
    """Set all sizes of the random subset to infinity but that nearest to ranking pursuit's P."""
    at = np.unravel_index(places, here[PURSUIT].errors.shape[1:])[-1]
    chosen = np.asarray(here[PURSUIT].axes["n_basis"])[at]
    sizes = np.asarray(here[SPARSE].axes["n_basis"])
    nearest = np.abs(sizes - chosen[:, None]).argmin(axis=1)
    other = np.arange(len(sizes)) != nearest[:, None]
    return np.where(other[:, None, :, None], np.inf, sums)


@dataclass(frozen=True)
class Cells:
    """The cells of a published table next to the errors of each unit of users in a set-up."""

    table: int
    keys: list[Key]
    published: Array  # (cells,)
    spread: Array  # (cells,): standard deviation over users in the run with the text's set-up
    units: Array  # (cells, units)

    @property
    def measured(self) -> Array:
        """Mean errors, shape (cells,)."""
        return self.units.mean(axis=1)

    def chi_square(self, measured: Array | None = None) -> Array:
        """Sum over cells; with means of several draws, shape (draws, cells), of each draw."""
        measured = self.measured if measured is None else measured
        size = paper.published_size()
        ours, theirs = UNIT_USERS * self.units.shape[1], size.users * size.repeats
        step = np.array([10.0 ** -METRICS[metric].decimals for metric, *_ in self.keys])
        variance = self.spread**2 * (1 / ours + 1 / theirs) + step**2 / 12  # the paper rounds
        return ((measured - self.published) ** 2 / variance).sum(axis=-1)

    @property
    def within(self) -> int:
        """Number of cells within the tolerance of full-size results."""
        limits = [paper.published_tolerance(metric) for metric, *_ in self.keys]
        return int(paper.is_within(self.measured - self.published, limits).sum())

    @property
    def agreeing(self) -> tuple[int, int]:
        """Number of comparisons of the claims about this table that hold by means, and of all."""
        means, agree = dict(zip(self.keys, self.measured, strict=True)), list[bool]()
        groups = dict.fromkeys(group for _, group, _ in self.keys)
        for claim in paper.published_claims():
            if claim.tables == (self.table,) and claim.rule in COMPARISONS:
                metric = claim.options.get("metric", "disagreement")
                limit = paper.small_difference(metric) if claim.rule == "comparable" else 0.0
                sides = claim.options["first"], claim.options["second"]
                for group, *labels in itertools.product(groups, *sides):
                    first, second = (means.get((metric, group, label)) for label in labels)
                    if first is not None and second is not None:
                        agree.append(first - second < limit)
        return sum(agree), len(agree)


@cache
def spreads(table: int) -> pd.Series:
    """Return the standard deviation over users of each cell of a committed run."""
    return runs()[table].users.groupby(["metric", "group", "algorithm"])["error"].std()


def cells_of(table: int, errors: dict[Key, Array]) -> Cells:
    """Put the errors of units next to the cells that a table is the first to print."""
    each_cell = paper.published_tables()[table].each_cell()
    published = {(metric, group, label): value for metric, label, group, value in each_cell}
    spread = [spreads(table)[key] for key in published]
    units = np.stack([errors[key] for key in published])
    values = np.array(list(published.values()))
    return Cells(table, list(published), values, np.array(spread), units)


Setups = dict[tuple[Features, Rule], dict[int, Cells]]  # the cells of each table, by set-up


def explore(data: str, folder: Path) -> Setups:
    """Return the cells of each table in every set-up of a data set, on the users that all have.

    Features are skipped unless each table has results.
    """
    names = set(TABLES[data].values())
    grids: dict[Features, dict[str, Grids]] = {}
    for place in folder.glob("*-*"):
        if all(RunFolder(place / name).has_results for name in names):
            fill, _, number = place.name.partition("-")
            features = Features(fill, int(number))
            grids[features] = {name: load_grids(place / name) for name in names}
    setups: Setups = {}
    for features, rule in itertools.product(sorted(grids), RULES):
        errors = {}
        for name, own in grids[features].items():
            n_units = min(len(x.errors) for one in grids.values() for x in one[name].values())
            errors[name] = dict(tested(own, rule, n_units))
        tables = TABLES[data].items()
        setups[features, rule] = {table: cells_of(table, errors[name]) for table, name in tables}
    return setups


def describe(data: str, setups: Setups) -> pd.DataFrame:
    """Return a row for each set-up and table, and how often its features fit best."""
    fitted = next(iter(TABLES[data]))
    samples = best_in_samples(setups, fitted)
    names = [*Features._fields, *Rule._fields, "table", "chi_square", "cells", "within_tolerance"]
    names += ["comparisons_agree", "comparisons", "data", "best_in_samples"]
    rows = []
    for (features, rule), tables in setups.items():
        for table, cells in tables.items():
            row = [*features, *rule, table, float(cells.chi_square()), len(cells.keys)]
            share = samples[features] if table == fitted else None
            rows.append([*row, cells.within, *cells.agreeing, data, share])
    return pd.DataFrame(rows, columns=names)


def best_in_samples(setups: Setups, table: int) -> dict[Features, float]:
    """Return how often each kind of features fits best, over draws of the users.

    Features fit as well as their best rule of choice does. Users are the same for all, so that
    units are drawn for all of them together.
    """
    n_units = next(iter(setups.values()))[table].units.shape[1]
    drawn = np.random.default_rng(0).integers(n_units, size=(DRAWS, n_units))
    weights = np.stack([np.bincount(one, minlength=n_units) for one in drawn]) / n_units
    lowest: dict[Features, Array] = {}
    for (features, _), tables in setups.items():
        value = tables[table].chi_square(weights @ tables[table].units.T)
        lowest[features] = np.minimum(lowest.get(features, np.inf), value)
    best = np.stack(list(lowest.values())).argmin(axis=0)
    return {features: float((best == at).mean()) for at, features in enumerate(lowest)}


@click.command("inference")
@click.argument("folder", type=click.Path(path_type=Path), default=RESULTS / "inference")
def main(folder: Path) -> None:
    """Infer the paper's set-up from the runs of ``make inference``.

    Writes results/inference.csv.
    """
    frames = []
    for data in TABLES:
        setups = explore(data, folder)
        if not setups:
            raise click.ClickException(f"{folder}: no complete runs of {data}; make inference")
        frames.append(describe(data, setups))
    write_csv(RESULTS / "inference.csv", pd.concat(frames))
    write_pages()
