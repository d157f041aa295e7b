"""Measure what the defaults of the rankers should be: pairwise errors on data of several kinds."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any, get_args

import click
import numpy as np
import pandas as pd
from pages import RESULTS, write_part
from tqdm import tqdm

from rankpursuit import RankingPursuit, RankSVM, SparseRankRLS
from rankpursuit.kernels import gaussian_stack, squared_distances
from rankpursuit.preferences import GroupPreferences, GroupWeight
from rankpursuit.reporting.render import markdown_columns
from rankpursuit.solvers import pursue_gram, ridge_gram
from rankpursuit.solvers.pursuit import Fitting, GramSums
from studies.rankings import Array, Fold, load_folds, pairwise_error, per_query

SETS = ["letor", "smooth", "uneven", "linear", "diabetes"]
HELD_BACK = ["ratings", "wine", "cancer"]
FITTINGS, WEIGHTS = get_args(Fitting), get_args(GroupWeight)
RIDGES, SIZES = (0.0, 0.01, 0.1, 1.0, 10.0, 100.0), (10, 25, 50, 100, 200)
CANDIDATES, FUNCTIONS, SVM_POINTS = 1000, 100, 500


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
        sums = GramSums.of(kernel, y, GroupPreferences(groups, weight))
        square = np.array([sums.square])
        problem = ridge_gram(sums.gram, sums.products, square, kernel[:, drawn], RIDGES)
        values = np.broadcast_to(new, (len(RIDGES), *new.shape[1:]))
        for fitting in FITTINGS:
            found = pursue_gram(*problem, int(steps[-1]), fitting=fitting).predict(values, steps)
            errors = mean_error(fold, found)
            for (i, ridge), (j, size) in product(enumerate(RIDGES), enumerate(SIZES)):
                row = {"fitting": fitting, "weight": weight, "ridge": ridge, "functions": size}
                yield row | {"error": errors[i, j]}


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


def to_markdown(keys: list[str], frame: pd.DataFrame) -> str:
    """Return a data frame with its index as the first columns."""
    words = frame.map(lambda x: "" if np.isnan(x) else f"{x:.3f}").rename_axis(keys).reset_index()
    sides = "l" * len(keys) + "r" * frame.shape[1]
    return markdown_columns([str(name) for name in words], words.to_numpy().tolist(), sides)


@click.command()
def main() -> None:
    """Measure what the defaults of the rankers should be, in about two minutes.

    Writes results/defaults.md. Needs LETOR MQ2008 under $RANKPURSUIT_DATA/letor.
    """
    errors = mean_errors(SETS, measure_pursuits)
    excess = (errors - errors.min()).mean(axis=1)
    ridges = excess.xs(FUNCTIONS, level="functions").unstack()
    ridges = ridges.loc[list(product(FITTINGS, WEIGHTS))].rename(columns="ridge {:g}".format)
    sizes = excess.xs(("equal", 1.0), level=("weight", "ridge")).unstack().loc[list(FITTINGS)]
    by_size = errors.xs(("backfit", "equal", 1.0))
    by_size.loc["lowest"] = errors.min()
    parts = {
        "ridges": (["fitting", "group_weight"], ridges),
        "sizes": (["fitting"], sizes),
        "errors-by-size": (["functions"], by_size),
        "held-back": (["pursuit"], mean_errors(HELD_BACK, measure_defaults)),
        "others": (["method", "group_weight"], mean_errors(SETS, measure_others)),
    }
    for name, (keys, frame) in parts.items():
        write_part(RESULTS / "defaults.md", name, to_markdown(keys, frame))
