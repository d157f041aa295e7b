"""Measure what the defaults of the rankers should be: ``python scripts/defaults.py``.

Writes ``results/defaults.md``: pairwise errors on data of different kinds, for every fitting,
weight of groups, ridge and number of functions of ranking pursuit, and for the weights of groups of
the other rankers; then the defaults on data that took no part in the choice. Takes two minutes.
Needs LETOR MQ2008 under $RANKPURSUIT_DATA/letor.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pandas as pd
from ranking_data import DATA_SETS, Array, Fold
from ranking_measures import per_query
from sklearn.preprocessing import StandardScaler
from tqdm import tqdm

from rankpursuit import RankingPursuit, RankSVM, SparseRankRLS
from rankpursuit.kernels import gaussian_stack, squared_distances
from rankpursuit.preferences import GroupPreferences, GroupWeight
from rankpursuit.reporting.render import markdown_columns
from rankpursuit.solvers import pursue_gram, ridge_gram
from rankpursuit.solvers.pursuit import Fitting, GramSums
from rankpursuit.writing import write_atomically

SETS = ("letor", "smooth", "uneven", "linear", "diabetes")
HELD_BACK = ("ratings", "wine", "cancer")
FITTINGS, WEIGHTS = get_args(Fitting), get_args(GroupWeight)
RIDGES = (0.0, 0.01, 0.1, 1.0, 10.0, 100.0)
SIZES = (10, 25, 50, 100, 200)
CANDIDATES = 1000
CHOSEN = ("backfit", "equal", 1.0)
FUNCTIONS = 100
MOST_OF_SVM = 500

PAGE = """# The defaults of the rankers
Made by `python scripts/defaults.py`. With nothing set, a ranker does what does well over data of
different kinds:

{sets}

It was then tried on data that took no part in the choice:

{held_back_sets}

Numbers are pairwise errors, the share of pairs in the wrong order: means over the test queries in
which scores differ. Features are scaled, and gamma is "scale".

`RankingPursuit()` is back-fitted, with the ridge 1, `group_weight="equal"`, and 100 functions of
1,000 candidates. The paper's pursuit, which the experiments run, is basic, with the ridge 0,
`group_weight="pairs"` and all points as candidates.

## Fitting, weight of groups and ridge
How far the error is above the lowest of any combination, mean over the data sets, with {functions}
functions of 1,000 candidates:

{ridges}

## Number of functions
The same with the ridge 1 and `group_weight="equal"`, by the number of functions:

{sizes}

The error itself, back-fitted, and the lowest of any combination:

{by_size}

## Data that took no part in the choice
Ranking pursuit with the defaults, and the paper's with half of the points as functions, which was
the default before:

{held_back}

## Weight of groups in the other rankers
With their other defaults: sparse RankRLS with 200 points, and RankSVM with the squared hinge on
data of up to {svm} training points.

{others}
"""


def main() -> None:
    """Measure all combinations, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--page", type=Path, default=Path("results/defaults.md"))
    arguments = parser.parse_args()
    folds = [(name, _scaled(fold)) for name in SETS for fold in DATA_SETS[name].folds()]
    pursuits, others = [], []
    for name, fold in tqdm(folds, unit="fold"):
        pursuits += [{"data": name, **row} for row in measure_pursuits(fold)]
        others += [{"data": name, **row} for row in measure_others(fold)]
    held_back = [
        {"data": name, **row}
        for name in HELD_BACK
        for fold in DATA_SETS[name].folds()
        for row in measure_defaults(_scaled(fold))
    ]
    text = page(*map(pd.DataFrame, (pursuits, others, held_back)))
    write_atomically(arguments.page, text.encode())
    print(f"wrote {arguments.page}")


def measure_pursuits(fold: Fold) -> Iterator[dict[str, Any]]:
    """Yield the error of every combination on a fold: one pass over its rows a weight."""
    train = fold.train
    drawn = np.sort(np.random.default_rng(0).permutation(len(train.y))[:CANDIDATES])
    kernel, new = (_kernel(fold, X, drawn) for X in (train.X, fold.test.X))
    steps = np.minimum(SIZES, len(drawn))
    for weight in WEIGHTS:
        sums = GramSums.empty(1, len(drawn))
        sums.add(0, kernel[0], train.y, GroupPreferences(train.groups, weight))
        square = np.array([sums.square])
        problem = ridge_gram(sums.gram, sums.products, square, kernel[:, drawn], RIDGES)
        values = np.broadcast_to(new, (len(RIDGES), *new.shape[1:]))
        for fitting in FITTINGS:
            path = pursue_gram(*problem, int(steps[-1]), fitting=fitting)
            found = path.predict(values, steps)
            for (i, ridge), (j, size) in product(enumerate(RIDGES), enumerate(SIZES)):
                yield {
                    "fitting": fitting,
                    "weight": weight,
                    "ridge": ridge,
                    "functions": size,
                    "error": _error(fold, found[i, j]),
                }


def measure_defaults(fold: Fold) -> Iterator[dict[str, Any]]:
    """Yield the error of ranking pursuit with nothing set, and as the paper has it."""
    paper = RankingPursuit(0.5, fitting="basic", ridge=0.0, group_weight="pairs", n_candidates=None)
    for title, model in (("the paper's", paper), ("the defaults", RankingPursuit())):
        model.set_params(gamma="scale").fit(fold.train.X, fold.train.y, fold.train.groups)
        yield {"pursuit": title, "error": _error(fold, model.predict(fold.test.X))}


def measure_others(fold: Fold) -> Iterator[dict[str, Any]]:
    """Yield the error of the other rankers on a fold with each weight."""
    train = fold.train
    for weight in WEIGHTS:
        shared: dict[str, Any] = {"gamma": "scale", "group_weight": weight}
        models = {"sparse RankRLS": SparseRankRLS(200, random_state=0, **shared)}
        if len(train.y) <= MOST_OF_SVM:
            models["RankSVM"] = RankSVM(loss="squared_hinge", **shared)
        for title, model in models.items():
            found = model.fit(train.X, train.y, train.groups).predict(fold.test.X)
            yield {"method": title, "weight": weight, "error": _error(fold, found)}


def _scaled(fold: Fold) -> Fold:
    return fold.scaled(StandardScaler().fit(fold.train.X).transform)


def _kernel(fold: Fold, X: Array, drawn: np.ndarray) -> Array:
    """Gaussian kernel of points with some training points, shape (1, len(X), len(drawn))."""
    train = fold.train.X
    return gaussian_stack(
        squared_distances(X, train[drawn]), [1.0 / (train.shape[1] * train.var())]
    )


def _error(fold: Fold, predictions: Array) -> float:
    return float(np.mean(per_query(fold.test, predictions, ["error"])["error"]))


def page(pursuits: pd.DataFrame, others: pd.DataFrame, held_back: pd.DataFrame) -> str:
    """Return the page of all measurements."""
    keys = ["fitting", "weight", "ridge", "functions"]
    errors = pursuits.groupby([*keys, "data"]).error.mean().unstack()[list(SETS)]
    excess = (errors - errors.min()).mean(axis=1)
    by_size = errors.xs(CHOSEN)
    by_weight = others.groupby(["method", "weight", "data"]).error.mean().unstack()[list(SETS)]
    by_pursuit = held_back.groupby(["pursuit", "data"]).error.mean().unstack()[list(HELD_BACK)]
    return PAGE.format(
        sets=_listed(SETS),
        held_back_sets=_listed(HELD_BACK),
        held_back=_table(
            ["pursuit", *HELD_BACK], [((title,), row) for title, row in by_pursuit.iterrows()]
        ),
        functions=FUNCTIONS,
        svm=MOST_OF_SVM,
        ridges=_table(
            ["fitting", "group_weight", *(f"ridge {ridge:g}" for ridge in RIDGES)],
            [
                ((one, weight), [excess[one, weight, ridge, FUNCTIONS] for ridge in RIDGES])
                for one, weight in product(FITTINGS, WEIGHTS)
            ],
        ),
        sizes=_table(
            ["fitting", *map(str, SIZES)],
            [((one,), [excess[one, *CHOSEN[1:], size] for size in SIZES]) for one in FITTINGS],
        ),
        by_size=_table(
            ["functions", *SETS],
            [*(((size,), by_size.loc[size]) for size in SIZES), (("lowest",), errors.min())],
        ),
        others=_table(
            ["method", "group_weight", *SETS], [(key, row) for key, row in by_weight.iterrows()]
        ),
    )


def _listed(names: Sequence[str]) -> str:
    return "\n".join(f"- {name}: {DATA_SETS[name].about}" for name in names)


def _table(header: list[str], rows: list[tuple[tuple, Any]]) -> str:
    words = [[*key, *("" if np.isnan(x) else f"{x:.3f}" for x in values)] for key, values in rows]
    n_keys = len(rows[0][0])
    return markdown_columns(header, words, "l" * n_keys + "r" * (len(header) - n_keys))


if __name__ == "__main__":
    main()
