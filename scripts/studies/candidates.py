"""Compare ways to draw the candidates of ranking pursuit, at equal cost, on LETOR MQ2008."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import product

import click
import numpy as np
import pandas as pd
from benchmarks.harness import environment
from pages import RESULTS, write_part
from scipy.stats import sem
from sklearn.cluster import kmeans_plusplus
from tabulate import tabulate
from tqdm import tqdm

from rankpursuit import RankingPursuit
from rankpursuit.kernels import gaussian_stack, squared_distances
from rankpursuit.metrics import Array, disagreement_error, ndcg_error
from studies.rankings import Fold, Queries, load_folds, per_query

NUMBERS = (25, 100, 400)
N_BASIS, RIDGE, SEEDS = 25, 1.0, 10
MEASURES = (disagreement_error, partial(ndcg_error, k=10, gain="shifted"))

Draw = Callable[[Queries, int, np.random.Generator], np.ndarray]


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
    factor = np.linalg.cholesky(columns.T @ columns + RIDGE * square + 1e-8 * np.eye(number))
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


def errors(folds: list[Fold], draw: Draw, number: int) -> Array:
    """Return disagreement and NDCG errors of each test query, means over seeds, (2, queries)."""
    found = []
    for _, train, test in folds:
        options = {"fitting": "backfit", "ridge": RIDGE, "group_weight": "equal"}
        model = RankingPursuit(N_BASIS, gamma=1.0 / train.X.shape[1], **options)
        predicted = []
        for seed in range(SEEDS):
            rows = np.sort(draw(train, number, np.random.default_rng([seed, number])))
            model.fit_blocks([train], candidates=train.X[rows])
            predicted.append(model.predict(test.X))
        by_seed = [per_query(test, np.array(predicted), measure) for measure in MEASURES]
        found.append(np.mean(by_seed, axis=2))
    return np.concatenate(found, axis=1)


@click.command()
def main() -> None:
    """Compare ways to draw candidates on LETOR MQ2008; writes results/candidates.md."""
    folds = [fold.scaled() for fold in load_folds("letor")]
    rows = []
    for number, way in tqdm(list(product(NUMBERS, WAYS)), "draws", leave=False):
        n_uniform = same_cost(way, number, folds[0].test.X.shape[1])
        base = errors(folds, uniform, n_uniform)
        gains = base - errors(folds, WAYS[way], number)
        rows.append([way, number, n_uniform])
        for error, gain in zip(base, gains, strict=True):
            rows[-1] += [f"{error.mean():.4f}", f"{gain.mean():+.4f} ± {sem(gain):.4f}"]
    headers = ["drawn", "N", "uniform N", "error of uniform", "gain", "1 - NDCG@10", "gain"]
    table = tabulate(rows, headers, "pipe", disable_numparse=True)
    write_part(RESULTS / "candidates.md", "candidates", f"{environment()}.\n\n{table}")
    click.echo(table)
