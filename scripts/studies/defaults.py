"""Measure what the defaults of the rankers should be: pairwise errors on data of several kinds."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any, get_args

import click
import numpy as np
import pandas as pd
from tqdm import tqdm

from rankpursuit import RankingPursuit, RankSVM, SparseRankRLS
from rankpursuit.kernels import gaussian_stack, squared_distances
from rankpursuit.preferences import GroupPreferences, GroupWeight
from rankpursuit.solvers import pursue_gram, ridge_gram
from rankpursuit.solvers.pursuit import Fitting, GramSums
from rankpursuit.writing import write_atomically
from studies.library import RESULTS, Array, markdown_table
from studies.rankings import DATA_SETS, Fold, per_query

SETS = ["letor", "smooth", "uneven", "linear", "diabetes"]
HELD_BACK = ["ratings", "wine", "cancer"]
FITTINGS, WEIGHTS = get_args(Fitting), get_args(GroupWeight)
RIDGES, SIZES = (0.0, 0.01, 0.1, 1.0, 10.0, 100.0), (10, 25, 50, 100, 200)
CANDIDATES, FUNCTIONS, SVM_POINTS = 1000, 100, 500

PAGE = """# The defaults of the rankers
Made by `python scripts/study.py defaults`. With nothing set, a ranker does what does well over data
of different kinds:

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


def measure_pursuits(fold: Fold) -> Iterator[dict[str, Any]]:
    """Yield the error of every combination on a fold: one pass over its rows for each weight."""
    X, y, groups = fold.train
    drawn = np.sort(np.random.default_rng(0).permutation(len(y))[:CANDIDATES])
    gamma = 1.0 / (X.shape[1] * X.var())
    kernel, new = (
        gaussian_stack(squared_distances(points, X[drawn]), [gamma]) for points in (X, fold.test.X)
    )
    steps = np.minimum(SIZES, len(drawn))
    for weight in WEIGHTS:
        sums = GramSums.empty(1, len(drawn))
        sums.add(0, kernel[0], y, GroupPreferences(groups, weight))
        square = np.array([sums.square])
        problem = ridge_gram(sums.gram, sums.products, square, kernel[:, drawn], RIDGES)
        values = np.broadcast_to(new, (len(RIDGES), *new.shape[1:]))
        for fitting in FITTINGS:
            found = pursue_gram(*problem, int(steps[-1]), fitting=fitting).predict(values, steps)
            for (i, ridge), (j, size) in product(enumerate(RIDGES), enumerate(SIZES)):
                row = {"fitting": fitting, "weight": weight, "ridge": ridge, "functions": size}
                yield row | {"error": _error(fold, found[i, j])}


def measure_defaults(fold: Fold) -> Iterator[dict[str, Any]]:
    """Yield the error of ranking pursuit with nothing set, and as the paper has it."""
    paper = RankingPursuit(0.5, fitting="basic", ridge=0.0, group_weight="pairs", n_candidates=None)
    for title, model in (("the paper's", paper), ("the defaults", RankingPursuit())):
        model.set_params(gamma="scale").fit(*fold.train)
        yield {"pursuit": title, "error": _error(fold, model.predict(fold.test.X))}


def measure_others(fold: Fold) -> Iterator[dict[str, Any]]:
    """Yield the error of the other rankers on a fold with each weight."""
    for weight in WEIGHTS:
        shared: dict[str, Any] = {"gamma": "scale", "group_weight": weight}
        models = {"sparse RankRLS": SparseRankRLS(200, random_state=0, **shared)}
        if len(fold.train.y) <= SVM_POINTS:
            models["RankSVM"] = RankSVM(loss="squared_hinge", **shared)
        for title, model in models.items():
            found = model.fit(*fold.train).predict(fold.test.X)
            yield {"method": title, "weight": weight, "error": _error(fold, found)}


def _error(fold: Fold, predictions: Array) -> float:
    return float(np.mean(per_query(fold.test, predictions, ["error"])["error"]))


def mean_errors(names: list[str], measure: Any) -> pd.DataFrame:
    """Return mean errors over folds, a column for each data set, a row for each combination."""
    folds = [(name, fold.scaled()) for name in names for fold in DATA_SETS[name].folds()]
    rows = [row | {"data": name} for name, fold in tqdm(folds) for row in measure(fold)]
    found = pd.DataFrame(rows)
    keys = [key for key in found if key != "error"]
    return found.groupby(keys).error.mean().unstack()[names]


def _listed(names: list[str]) -> str:
    return "\n".join(f"- {name}: {DATA_SETS[name].about}" for name in names)


def _table(keys: list[str], frame: pd.DataFrame) -> str:
    """Return a data frame with its index as the first columns."""
    rows = []
    for key, values in frame.iterrows():
        words = ["" if np.isnan(x) else f"{x:.3f}" for x in values]
        rows.append([*(key if isinstance(key, tuple) else [key]), *words])
    sides = "l" * len(keys) + "r" * frame.shape[1]
    return markdown_table([*keys, *map(str, frame.columns)], rows, sides)


@click.command()
def main() -> None:
    """Measure what the defaults of the rankers should be, in about two minutes.

    Writes results/defaults.md. Needs LETOR MQ2008 under $RANKPURSUIT_DATA/letor.
    """
    errors = mean_errors(SETS, measure_pursuits)
    excess = (errors - errors.min()).mean(axis=1)
    ridges = excess.xs(FUNCTIONS, level="functions").unstack()
    ridges = ridges.loc[list(product(FITTINGS, WEIGHTS))].add_prefix("ridge ")
    sizes = excess.xs(("equal", 1.0), level=("weight", "ridge")).unstack().loc[list(FITTINGS)]
    by_size = errors.xs(("backfit", "equal", 1.0))
    by_size.loc["lowest"] = errors.min()
    text = PAGE.format(
        sets=_listed(SETS),
        held_back_sets=_listed(HELD_BACK),
        functions=FUNCTIONS,
        svm=SVM_POINTS,
        ridges=_table(["fitting", "group_weight"], ridges),
        sizes=_table(["fitting"], sizes),
        by_size=_table(["functions"], by_size),
        held_back=_table(["pursuit"], mean_errors(HELD_BACK, measure_defaults)),
        others=_table(["method", "group_weight"], mean_errors(SETS, measure_others)),
    )
    write_atomically(RESULTS / "defaults.md", text.encode())
    click.echo(f"wrote {RESULTS / 'defaults.md'}")
