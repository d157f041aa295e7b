"""Measure what the defaults of the rankers should be."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any, get_args

import click
import numpy as np
import pandas as pd
from pages import RESULTS, write_csv, write_pages
from studies.rankings import Fold, load_folds, pairwise_error, per_query
from tqdm import tqdm

from rankpursuit import RankingPursuit, RankSVM, SparseRankRLS
from rankpursuit.metrics import Array
from rankpursuit.preferences import GroupWeight
from rankpursuit.solvers.pursuit import Fitting

SETS = ["letor", "smooth", "uneven", "linear", "diabetes"]
HELD_BACK = ["ratings", "wine", "cancer"]
FITTINGS, WEIGHTS = get_args(Fitting), get_args(GroupWeight)
RIDGES, SIZES = (0.0, 0.01, 0.1, 1.0, 10.0, 100.0), (10, 25, 50, 100, 200)
CANDIDATES, FUNCTIONS, SVM_POINTS = 1000, 100, 500


def measure_pursuits(fold: Fold) -> Iterator[dict[str, Any]]:
    """Yield the error of every combination on a fold."""
    X = fold.train.X
    drawn = np.sort(np.random.default_rng(0).permutation(len(X))[:CANDIDATES])
    for fitting, weight, ridge in product(FITTINGS, WEIGHTS, RIDGES):
        options = {"fitting": fitting, "group_weight": weight, "ridge": ridge}
        model = RankingPursuit(max(SIZES), gamma=1.0 / (X.shape[1] * X.var()), **options)
        model.fit_blocks([fold.train], candidates=X[drawn])
        staged = np.array(list(model.staged_predict(fold.test.X)))
        errors = mean_error(fold, staged[np.minimum(SIZES, len(staged)) - 1])
        row = {"fitting": fitting, "weight": weight, "ridge": ridge}
        for size, error in zip(SIZES, errors, strict=True):
            yield row | {"functions": size, "error": error}


def measure_defaults(fold: Fold) -> Iterator[dict[str, Any]]:
    """Yield the error of ranking pursuit with nothing set, and as the paper has it."""
    paper = RankingPursuit(0.5, fitting="basic", ridge=0.0, group_weight="pairs", n_candidates=None)
    for title, model in (("the paper's", paper), ("the defaults", RankingPursuit())):
        model.set_params(gamma="scale").fit(*fold.train)
        yield {"pursuit": title, "error": mean_error(fold, model.predict(fold.test.X))}


def measure_others(fold: Fold) -> Iterator[dict[str, Any]]:
    """Yield the error of the other rankers on a fold with each weight."""
    for weight in WEIGHTS:
        shared: dict[str, Any] = {"gamma": "scale", "group_weight": weight}
        models = {"sparse RankRLS": SparseRankRLS(200, random_state=0, **shared)}
        if len(fold.train.y) <= SVM_POINTS:
            models["RankSVM"] = RankSVM(loss="squared_hinge", **shared)
        for title, model in models.items():
            found = model.fit(*fold.train).predict(fold.test.X)
            yield {"method": title, "weight": weight, "error": mean_error(fold, found)}


def mean_error(fold: Fold, predictions: Array) -> Any:
    """Return the mean error over the test queries of predictions (..., documents)."""
    return per_query(fold.test, predictions, pairwise_error).mean(axis=0)


def mean_errors(names: list[str], measure: Any) -> pd.DataFrame:
    """Return mean errors over folds, a column for each data set, a row for each combination."""
    folds = [(name, fold.scaled()) for name in names for fold in load_folds(name)]
    rows = [row | {"data": name} for name, fold in tqdm(folds) for row in measure(fold)]
    found = pd.DataFrame(rows)
    keys = [key for key in found if key != "error"]
    return found.groupby(keys).error.mean().unstack()[names]


@click.command("defaults")
def main() -> None:
    """Measure what the defaults of the rankers should be, in about five minutes.

    Writes results/defaults.csv. Needs LETOR MQ2008 under $RANKPURSUIT_DATA/letor.
    """
    errors = mean_errors(SETS, measure_pursuits)
    excess = (errors - errors.min()).mean(axis=1)
    ridges = excess.xs(FUNCTIONS, level="functions").unstack().loc[list(product(FITTINGS, WEIGHTS))]
    sizes = excess.xs(("equal", 1.0), level=("weight", "ridge")).unstack().loc[list(FITTINGS)]
    by_size = errors.xs(("backfit", "equal", 1.0))
    by_size.loc["lowest"] = errors.min()
    tables = {
        "ridges": ridges.rename(columns="ridge {:g}".format),
        "sizes": sizes,
        "errors-by-size": by_size,
        "held-back": mean_errors(HELD_BACK, measure_defaults),
        "others": mean_errors(SETS, measure_others),
    }
    rows = [
        [name, row if isinstance(row, str | int) else ", ".join(row), *cell]
        for name, table in tables.items()
        for row, values in table.iterrows()
        for cell in values.dropna().items()
    ]
    columns = ["table", "row", "column", "error"]
    write_csv(RESULTS / "defaults.csv", pd.DataFrame(rows, columns=columns))
    write_pages()
