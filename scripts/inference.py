"""Infer which set-up the published figures are consistent with: ``python scripts/inference.py``.

Reads what ``make inference`` ran into ``results/inference/REFERENCE_USERS/``: errors over the whole
grids. A set-up is a number of reference users and a rule of choice (`inference_grids`). It is
fitted, for each data set, on its supervised table, and judged on the others. The chi-square of a
cell is the squared difference of measured and published error in standard errors, ours and the
paper's together. Writes ``results/inference.md``, ``.csv`` and ``reference_users.svg``.
"""

from __future__ import annotations

import argparse
import itertools
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pandas as pd
from inference_cells import Cells, agreeing, cells_of, within
from inference_grids import (
    RULES,
    USERS_OF_UNIT,
    Array,
    Rule,
    first_units,
    load_grids,
    n_units,
    tested,
)
from pages import ROOT, write_part
from study_figures import draw_reference_users

from rankpursuit.experiments.export import RunFolder
from rankpursuit.reporting.columns import markdown_columns
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


Setups = dict[tuple[int, Rule], dict[int, Cells]]
"""The cells of each table, by number of reference users and rule of choice."""


def explore(data: str, folder: Path) -> Setups:
    """Return the cells of each table in every set-up of a data set, on the users that all have.

    A number of reference users without results of the table that is fitted is left out; of another
    table, that table is.
    """
    places = sorted((path for path in folder.iterdir() if path.name.isdigit()), key=_number)
    grids = {
        (place, name): load_grids(place / name)
        for place in places
        for name in dict.fromkeys(TABLES[data].values())
        if RunFolder(place / name).has_results
    }
    common = {
        name: min(n_units(of) for (_, other), of in grids.items() if other == name)
        for name in dict.fromkeys(name for _, name in grids)
    }
    found: Setups = {}
    for place, rule in itertools.product(places, RULES):
        if (place, TABLES[data][FITTED[data]]) in grids:
            errors = {
                name: dict(tested(first_units(grids[place, name], common[name]), rule))
                for name in common
                if (place, name) in grids
            }
            found[_number(place), rule] = {
                table: cells_of(table, errors[name])
                for table, name in TABLES[data].items()
                if name in errors
            }
    return found


def _number(place: Path) -> int:
    return int(place.name)


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
            chi = {t: f"{of.chi_square():.0f}" for t, of in cells.items()}
            right = {t: str(agreeing(t, of)[0]) for t, of in cells.items()}
            inside = {t: str(within(t, of)) for t, of in cells.items()}
            rows.append(
                [number, f"{setup[1]}{' (**best**)' * (setup == best)}"]
                + [chi.get(t, "") for t in tables]
                + [
                    f"{sum(of.chi_square() for of in cells.values()):.0f}"
                    * (chi.keys() == set(tables))
                ]
                + [" ".join(of.get(t, "-") for t in tables) for of in (inside, right)]
            )
    a_full = next(cells for cells in setups.values() if len(cells) == len(tables))
    headers = [
        "reference users",
        "rule of choice",
        *(f"chi², {len(a_full[t].keys)} cells of Table {t}" for t in tables),
        "chi² in all",
        f"cells within tolerance, Tables {' '.join(map(str, tables))}",
        f"comparisons that agree, of {' '.join(str(agreeing(t, a_full[t])[1]) for t in tables)}",
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
