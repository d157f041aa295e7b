"""Measure what the defaults of the rankers should be, and how candidates should be drawn."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from typing import Any, get_args

import click
import numpy as np
import pandas as pd
from pages import RESULTS, write_part
from scipy.stats import sem
from sklearn.cluster import kmeans_plusplus
from tqdm import tqdm

from rankpursuit import RankingPursuit, RankSVM, SparseRankRLS
from rankpursuit.kernels import gaussian_stack, squared_distances
from rankpursuit.metrics import Array, disagreement_error, ndcg_error
from rankpursuit.preferences import GroupPreferences, GroupWeight
from rankpursuit.reporting.render import markdown_columns
from rankpursuit.solvers import pursue_gram, ridge_gram
from rankpursuit.solvers.pursuit import Fitting, GramSums
from studies.rankings import Fold, Queries, load_folds, pairwise_error, per_query

PAGE = RESULTS / "defaults.md"
SETS = ["letor", "smooth", "uneven", "linear", "diabetes"]
HELD_BACK = ["ratings", "wine", "cancer"]
FITTINGS, WEIGHTS = get_args(Fitting), get_args(GroupWeight)
RIDGES, SIZES = (0.0, 0.01, 0.1, 1.0, 10.0, 100.0), (10, 25, 50, 100, 200)
CANDIDATES, FUNCTIONS, SVM_POINTS = 1000, 100, 500
NUMBERS, FEW, SEEDS = (25, 100, 400), 25, 10  # candidates, functions and seeds of drawing
DRAWING_ERRORS = (disagreement_error, partial(ndcg_error, k=10, gain="shifted"))

Draw = Callable[[Queries, int, np.random.Generator], np.ndarray]


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


# Ways to draw candidates, at equal cost, on LETOR MQ2008


def uniform(data: Queries, number: int, rng: np.random.Generator) -> np.ndarray:
    """Draw among all rows."""
    return rng.choice(len(data.y), number, replace=False)


def by_query(data: Queries, number: int, rng: np.random.Generator) -> np.ndarray:
    """Draw a row of each query in turn, until there are enough."""
    order = rng.permutation(len(data.y))
    turn = pd.Series(order).groupby(data.groups[order]).cumcount()
    return order[np.argsort(turn, kind="stable")[:number]]


def far_apart(data: Queries, number: int, rng: np.random.Generator) -> np.ndarray:
    """Draw as k-means++ does."""
    seed = int(rng.integers(2**31))
    return kmeans_plusplus(data.X, number, random_state=seed, n_local_trials=1)[1]


def by_leverage(data: Queries, number: int, rng: np.random.Generator) -> np.ndarray:
    """Draw by ridge leverage scores, estimated with as many uniform points."""
    landmarks, gamma = data.X[uniform(data, number, rng)], 1.0 / data.X.shape[1]
    columns = gaussian_stack(squared_distances(data.X, landmarks), [gamma])[0]
    square = gaussian_stack(squared_distances(landmarks, landmarks), [gamma])[0]
    factor = np.linalg.cholesky(columns.T @ columns + square + 1e-8 * np.eye(number))
    scores = np.square(np.linalg.solve(factor, columns.T)).sum(axis=0)
    return rng.choice(len(data.y), number, replace=False, p=scores / scores.sum())


WAYS: dict[str, Draw] = {"by query": by_query, "k-means++": far_apart, "leverage": by_leverage}


def same_cost(way: str, number: int, n_features: int) -> int:
    """Return the number of uniform candidates of the same cost.

    For each row, kernel values of N candidates take N d products and their sums N^2 / 2. k-means++
    takes N d more; leverage scores take all of it again, and N^2 to solve N equations.
    """
    own = number * n_features + number**2 / 2
    extra = {"by query": 0.0, "k-means++": number * n_features, "leverage": own + number**2}[way]
    return round(np.sqrt(n_features**2 + 2.0 * (own + extra)) - n_features)


def query_errors(folds: list[Fold], draw: Draw, number: int) -> Array:
    """Return disagreement and NDCG errors of each test query, means over seeds, (2, queries)."""
    found = []
    for _, train, test in folds:
        model = RankingPursuit(FEW, gamma=1.0 / train.X.shape[1])
        predicted = []
        for seed in range(SEEDS):
            rows = np.sort(draw(train, number, np.random.default_rng([seed, number])))
            model.fit_blocks([train], candidates=train.X[rows])
            predicted.append(model.predict(test.X))
        by_seed = [per_query(test, np.array(predicted), measure) for measure in DRAWING_ERRORS]
        found.append(np.mean(by_seed, axis=2))
    return np.concatenate(found, axis=1)


def compare_draws() -> str:
    """Return the gain of each way to draw candidates over uniform ones of the same cost."""
    folds = [fold.scaled() for fold in load_folds("letor")]
    rows = []
    for number, way in tqdm(list(product(NUMBERS, WAYS))):
        n_uniform = same_cost(way, number, folds[0].test.X.shape[1])
        base = query_errors(folds, uniform, n_uniform)
        gains = base - query_errors(folds, WAYS[way], number)
        rows.append([way, number, n_uniform])
        for error, gain in zip(base, gains, strict=True):
            rows[-1] += [f"{error.mean():.4f}", f"{gain.mean():+.4f} ± {sem(gain):.4f}"]
    headers = ["drawn", "N", "uniform N", "error of uniform", "gain", "1 - NDCG@10", "gain"]
    return markdown_columns(headers, rows, "lrrrrrr")


@click.command("defaults")
def main() -> None:
    """Measure what the defaults of the rankers should be, in about three minutes.

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
        cells = frame.astype(object).where(frame.notna(), None)  # no NaN in the page
        table = cells.rename_axis(keys).reset_index()
        write_part(PAGE, name, table.to_markdown(index=False, floatfmt=".3f", missingval=""))
    write_part(PAGE, "candidates", compare_draws())
