"""The cells of a published table beside what a set-up measured, and how well they agree."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from inference_grids import USERS_OF_UNIT, Array
from pages import runs

from rankpursuit.experiments.methods import METRICS
from rankpursuit.reporting.expected import load_expected
from rankpursuit.reporting.published import (
    published_claims,
    published_size,
    published_tables,
    small_difference,
)


@dataclass(frozen=True)
class Cells:
    """The cells of a table in one set-up.

    Attributes
    ----------
    keys : list
        Metric, group and algorithm of each cell.
    published : ndarray of shape (cells,)
    spread : ndarray of shape (cells,)
        Standard deviation over users, in the full-size runs with the text's set-up.
    units : ndarray of shape (cells, units)
        Errors of each unit of users.
    """

    keys: list[tuple[str, str, str]]
    published: Array
    spread: Array
    units: Array

    @property
    def measured(self) -> Array:
        """Mean errors, shape (cells,)."""
        return self.units.mean(axis=1)

    @property
    def variance(self) -> Array:
        """Variance of measured less published: of our mean, the paper's, and its rounding."""
        size = published_size()
        ours, theirs = USERS_OF_UNIT * self.units.shape[1], size.users * size.repeats
        step = np.array([10.0 ** -METRICS[metric].decimals for metric, *_ in self.keys])
        return self.spread**2 * (1 / ours + 1 / theirs) + step**2 / 12

    def chi_square(self, measured: Array | None = None) -> Array:
        """Sum over cells; with means of several draws, shape (draws, cells), of each draw."""
        measured = self.measured if measured is None else measured
        return ((measured - self.published) ** 2 / self.variance).sum(axis=-1)


def is_new(table: int, metric: str, algorithm: str) -> bool:
    """Whether a table prints a cell for the first time: Table 5 repeats Table 1."""
    return table != 5 or metric != "disagreement" or algorithm.startswith("combined")


@cache
def spreads(table: int) -> dict[tuple[str, str, str], float]:
    """Return the standard deviation over users of each cell of a committed run."""
    users = runs()[table].users
    return users.groupby(["metric", "group", "algorithm"])["error"].std().to_dict()


def cells_of(table: int, errors: dict[tuple[str, str, str], Array]) -> Cells:
    """Put the errors of units beside the published cells of a table."""
    keys, values = [], []
    for metric, algorithm, group, value in published_tables()[table].each_cell():
        if is_new(table, metric, algorithm):
            keys.append((metric, group, algorithm))
            values.append(value)
    spread = np.array([spreads(table)[key] for key in keys])
    return Cells(keys, np.array(values), spread, np.stack([errors[key] for key in keys]))


def agreeing(table: int, cells: Cells) -> tuple[int, int]:
    """Count comparisons of the claims about one table that come out by their means, and all."""
    means = dict(zip(cells.keys, cells.measured, strict=True))
    right = total = 0
    for claim in published_claims():
        rules = {"outperforms": 0.0, "lower_mean": 0.0, "comparable": None}
        if claim.tables != (table,) or claim.rule not in rules:
            continue
        metric = claim.options.get("metric", "disagreement")
        limit = rules[claim.rule]
        limit = small_difference(metric) if limit is None else limit
        for group in dict.fromkeys(group for _, group, _ in cells.keys):
            for one in claim.options["first"]:
                for two in claim.options["second"]:
                    sides = (metric, group, one), (metric, group, two)
                    if all(side in means for side in sides):
                        right += means[sides[0]] - means[sides[1]] < limit
                        total += 1
    return right, total


@cache
def tolerances() -> dict[tuple[int, str], float]:
    """Return the tolerances of full-size results, by table and metric."""
    return load_expected().tolerances


def within(table: int, cells: Cells) -> int:
    """Count cells within the tolerance of full-size results."""
    limits = np.array([tolerances()[table, metric] for metric, *_ in cells.keys])
    return int((np.abs(cells.measured - cells.published) <= limits + 1e-9).sum())
