"""Infer which set-up the published figures are consistent with: ``python scripts/inference.py``.

Reads what ``make inference`` ran into ``results/inference/REFERENCE_USERS/``: errors over the whole
grids. A set-up is a number of reference users and a rule of choice (`inference_grids`). It is
fitted, for each data set, on its supervised table, and judged on the others. The chi-square of a
cell is the squared difference of measured and published error in standard errors, ours and the
paper's together. Writes ``results/inference.md``, ``.csv`` and ``reference_users.svg``.
"""

from __future__ import annotations

import argparse
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from inference_grids import RULES, USERS_OF_UNIT, Array, Rule, load_grids, tested
from pages import ROOT, write_part
from study_figures import draw_reference_users

from rankpursuit.experiments.catalogue import METRICS
from rankpursuit.experiments.run.folder import RunFolder
from rankpursuit.reporting.columns import markdown_columns
from rankpursuit.reporting.expected import load_expected
from rankpursuit.reporting.published import (
    published_claims,
    published_size,
    published_tables,
    small_difference,
)
from rankpursuit.writing import write_atomically

RUNS = ROOT / "results" / "inference"
TABLES = {
    "jester": {1: "jester_supervised", 2: "jester_semi_supervised", 5: "jester_supervised"},
    "movielens": {3: "movielens_supervised", 4: "movielens_semi_supervised"},
}
FITTED = {"jester": 1, "movielens": 3}
TITLES = {"jester": "Jester", "movielens": "MovieLens"}
DEFAULT = Rule()
DRAWS = 1000


@dataclass(frozen=True)
class Cells:
    """The cells of a table in one set-up: published figures, and errors of each unit."""

    keys: list[tuple[str, str, str]]
    published: Array
    units: Array

    @property
    def measured(self) -> Array:
        """Mean errors, shape (cells,)."""
        return self.units.mean(axis=1)

    @property
    def variance(self) -> Array:
        """Variance of measured less published: of our mean, the paper's, and its rounding."""
        of_unit = self.units.var(axis=1, ddof=1)
        size = published_size()
        theirs = USERS_OF_UNIT * of_unit / (size.users * size.repeats)
        step = np.array([10.0 ** -METRICS[metric].decimals for metric, *_ in self.keys])
        return of_unit / self.units.shape[1] + theirs + step**2 / 12

    def chi_square(self, measured: Array | None = None) -> Array:
        """Sum over cells; with means of several draws, shape (draws, cells), of each draw."""
        measured = self.measured if measured is None else measured
        return ((measured - self.published) ** 2 / self.variance).sum(axis=-1)


Setups = dict[tuple[int, Rule], dict[int, Cells]]
"""The cells of each table, by number of reference users and rule of choice."""


def is_new(table: int, metric: str, algorithm: str) -> bool:
    """Whether a table prints a cell for the first time: Table 5 repeats Table 1."""
    return table != 5 or metric != "disagreement" or algorithm.startswith("combined")


def cells_of(table: int, errors: dict[tuple[str, str, str], Array]) -> Cells:
    """Put the errors of units beside the published cells of a table."""
    keys, values = [], []
    for metric, algorithm, group, value in published_tables()[table].each_cell():
        if is_new(table, metric, algorithm):
            keys.append((metric, group, algorithm))
            values.append(value)
    return Cells(keys, np.array(values), np.stack([errors[key] for key in keys]))


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


def within(table: int, cells: Cells) -> int:
    """Count cells within the tolerance of full-size results."""
    tolerances = load_expected().tolerances
    limits = np.array([tolerances[table, metric] for metric, *_ in cells.keys])
    return int((np.abs(cells.measured - cells.published) <= limits + 1e-9).sum())


def explore(data: str, folder: Path) -> Setups:
    """Return the cells of each table in every set-up of a data set that was run."""
    found: Setups = {}
    for place in sorted(
        (p for p in folder.iterdir() if p.name.isdigit()), key=lambda p: int(p.name)
    ):
        names = dict.fromkeys(TABLES[data].values())
        if not all(RunFolder(place / name).has_results for name in names):
            continue
        grids = {name: load_grids(place / name) for name in names}
        for rule in RULES:
            errors = {name: dict(tested(grids[name], rule)) for name in names}
            found[int(place.name), rule] = {
                table: cells_of(table, errors[name]) for table, name in TABLES[data].items()
            }
    return found


def describe(setups: Setups) -> pd.DataFrame:
    """Return a row for each set-up and table."""
    return pd.DataFrame(
        [
            {"reference_users": number, **asdict(rule), "table": table}
            | {"chi_square": float(cells.chi_square()), "cells": len(cells.keys)}
            | {"within_tolerance": within(table, cells)}
            | dict(zip(("comparisons_agree", "comparisons"), agreeing(table, cells), strict=True))
            for (number, rule), tables in setups.items()
            for table, cells in tables.items()
        ]
    )


def interval(setups: Setups, table: int) -> dict[int, float]:
    """Return how often each number of reference users fits best, over draws of the users.

    A number of reference users fits as well as its best rule does. Users are the same for all
    numbers, so that units are drawn for all of them together.
    """
    n_units = next(iter(setups.values()))[table].units.shape[1]
    drawn = np.random.default_rng(0).integers(n_units, size=(DRAWS, n_units))
    weights = np.stack([np.bincount(one, minlength=n_units) for one in drawn]) / n_units
    lowest: dict[int, Array] = {}
    for (number, _), tables in setups.items():
        cells = tables[table]
        value = cells.chi_square(weights @ cells.units.T)
        lowest[number] = np.minimum(lowest.get(number, np.inf), value)
    numbers = list(lowest)
    best = np.stack(list(lowest.values())).argmin(axis=0)
    return {number: float((best == at).mean()) for at, number in enumerate(numbers)}


def main() -> None:
    """Write the tables and the figure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?", default=RUNS, help="default: %(default)s")
    arguments = parser.parse_args()
    frames, parts, curves = [], [], {}
    for data in TABLES:
        setups = explore(data, arguments.folder)
        if not setups:
            raise SystemExit(f"{arguments.folder}: no complete runs of {data}; make inference")
        frames.append(describe(setups).assign(data=data))
        parts.append(report(data, setups, interval(setups, FITTED[data])))
        curves[data] = {
            number: tables[FITTED[data]]
            for (number, rule), tables in setups.items()
            if rule == DEFAULT
        }
    text = pd.concat(frames).to_csv(index=False, float_format="%.6g")
    write_atomically(ROOT / "results" / "inference.csv", text.encode())
    write_part(ROOT / "results" / "inference.md", "inference", "\n\n".join(parts))
    draw_reference_users(ROOT / "results" / "reference_users.svg", curves)
    print("\n\n".join(parts))


def report(data: str, setups: Setups, shares: dict[int, float]) -> str:
    """Return the chi-square table of a data set, and what cannot be told apart."""
    tables, table = list(TABLES[data]), FITTED[data]
    fitted = {setup: float(cells[table].chi_square()) for setup, cells in setups.items()}
    best = min(fitted, key=fitted.__getitem__)
    rows = []
    for number in dict.fromkeys(number for number, _ in setups):
        of_number = [setup for setup in setups if setup[0] == number]
        for setup in dict.fromkeys([(number, DEFAULT), min(of_number, key=fitted.__getitem__)]):
            cells = setups[setup]
            chi = [cells[t].chi_square() for t in tables]
            rows.append(
                [number, f"{setup[1]}{' (**best**)' * (setup == best)}"]
                + [f"{value:.0f}" for value in (*chi, sum(chi))]
                + [" ".join(str(within(t, cells[t])) for t in tables)]
                + [" ".join(str(agreeing(t, cells[t])[0]) for t in tables)]
            )
    n_cells = {t: len(setups[best][t].keys) for t in tables}
    n_comparisons = [str(agreeing(t, setups[best][t])[1]) for t in tables]
    headers = [
        "reference users",
        "rule of choice",
        *(f"chi², {n} cells of Table {t}" for t, n in n_cells.items()),
        "chi² in all",
        f"cells within tolerance, Tables {' '.join(map(str, tables))}",
        f"comparisons that agree, of {' '.join(n_comparisons)}",
    ]
    indistinct = [str(number) for number, share in shares.items() if share >= 0.025]
    told = ", ".join(f"{number}: {share:.0%}" for number, share in shares.items() if share > 0)
    n_users = USERS_OF_UNIT * setups[best][table].units.shape[1]
    return (
        f"### {TITLES[data]}\n\n{markdown_columns(headers, rows, 'rl' + 'r' * (len(headers) - 2))}"
        f"\n\n{len(setups)} set-ups were tried, with {n_users} users a group, fitted to Table "
        f"{table} and judged on the others. Over {DRAWS} draws of the users the best fit has this "
        f"number of reference users in this share of draws: {told}. Not to be told apart: "
        f"{', '.join(indistinct)}."
    )


if __name__ == "__main__":
    main()
