"""Ways to draw the candidates of ranking pursuit, at equal cost, on learning-to-rank files.

Run it as ``python scripts/candidates.py [--markdown FILE] FILE FILE ...`` with svmlight files with
query ids, each a part of the data: every part is the test part once, and the others are trained on.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Callable
from pathlib import Path

import numpy as np
from bench_file import environment
from sklearn.cluster import kmeans_plusplus
from sklearn.preprocessing import StandardScaler
from tabulate import tabulate
from tqdm import tqdm

from rankpursuit import RankingPursuit
from rankpursuit.datasets import Letor, load_letor
from rankpursuit.kernels import gaussian_stack, squared_distances
from rankpursuit.metrics import disagreement_error, ndcg_error
from rankpursuit.writing import write_atomically

NUMBERS = (25, 100, 400)
N_BASIS, RIDGE, SEEDS = 25, 1.0, 10

NOTE = f"""\
Ranking pursuit with {N_BASIS} functions and refits, ridge {RIDGE:g}, queries of equal weight,
features scaled, gamma 1 / number of features, on {{parts}} parts of {{rows:,}} rows in all: each
part is the test part once, with {SEEDS} seeds. Drawn N candidates: *by query*, as many from each;
*k-means++*, far from each other; *leverage*, by the ridge leverage scores of all rows, estimated
with N uniform points. The last two look at all rows and N points first, so the uniform candidates
that they are compared with are more, at the same cost. The gain is the error with uniform
candidates less that of the other, with a standard error over the test queries, each with its mean
over the seeds."""

Draw = Callable[[Letor, int, np.random.Generator], np.ndarray]


def uniform(data: Letor, number: int, rng: np.random.Generator) -> np.ndarray:
    """Draw among all rows."""
    return rng.choice(len(data.y), number, replace=False)


def by_query(data: Letor, number: int, rng: np.random.Generator) -> np.ndarray:
    """Draw the same number from each query, but for one, and as many as there are from small ones.

    Rows in random order are taken query after query, a row of each, until there are enough.
    """
    order = rng.permutation(len(data.y))
    queries = data.groups[order]
    sort = np.argsort(queries, kind="stable")
    _, starts, sizes = np.unique(queries[sort], return_index=True, return_counts=True)
    turn = np.empty(len(order), dtype=np.intp)
    turn[sort] = np.arange(len(order)) - np.repeat(starts, sizes)
    return order[np.argsort(turn, kind="stable")[:number]]


def far_apart(data: Letor, number: int, rng: np.random.Generator) -> np.ndarray:
    """Draw as k-means++ does."""
    seed = int(rng.integers(2**31))
    return kmeans_plusplus(data.X, number, random_state=seed, n_local_trials=1)[1]


def by_leverage(data: Letor, number: int, rng: np.random.Generator) -> np.ndarray:
    """Draw by ridge leverage scores, estimated with as many uniform points."""
    landmarks = data.X[uniform(data, number, rng)]
    columns, square = _kernel(data.X, landmarks), _kernel(landmarks, landmarks)
    factor = np.linalg.cholesky(columns.T @ columns + RIDGE * square + 1e-8 * np.eye(number))
    scores = np.square(np.linalg.solve(factor, columns.T)).sum(axis=0)
    return rng.choice(len(data.y), number, replace=False, p=scores / scores.sum())


WAYS: dict[str, Draw] = {"by query": by_query, "k-means++": far_apart, "leverage": by_leverage}


def same_cost(way: str, number: int, n_features: int) -> int:
    """Return the number of uniform candidates of the same cost.

    For each row, kernel values of N candidates take N d products and sums N^2 / 2. k-means++ takes
    N d more, and leverage scores all of it again and the solution of N equations, N^2.
    """
    own = number * n_features + number**2 / 2
    extra = {"by query": 0.0, "k-means++": number * n_features, "leverage": own + number**2}[way]
    return round(np.sqrt(n_features**2 + 2.0 * (own + extra)) - n_features)


def _kernel(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    return gaussian_stack(squared_distances(X, Y), [1.0 / X.shape[1]])[0]


def errors(train: Letor, test: Letor, candidates: list[np.ndarray]) -> np.ndarray:
    """Return disagreement and NDCG errors of each test query, means over draws, (2, queries)."""
    gamma = 1.0 / train.X.shape[1]
    model = RankingPursuit(
        N_BASIS, fitting="backfit", ridge=RIDGE, group_weight="equal", gamma=gamma
    )
    predicted = np.array(
        [
            model.fit_blocks([train], candidates=train.X[np.sort(rows)]).predict(test.X)
            for rows in candidates
        ]
    )
    found = []
    for query in np.unique(test.groups):
        own = test.groups == query
        if np.ptp(test.y[own]) > 0.0:
            ranked = test.y[own], predicted[:, own]
            top = ndcg_error(*ranked, k=10, gain="shifted")
            found.append([np.mean(disagreement_error(*ranked)), np.mean(top)])
    return np.array(found).T


def splits(parts: list[Letor]) -> list[tuple[Letor, Letor]]:
    """Return training and test data, features scaled, for each part as the test part."""
    pairs = []
    for number, test in enumerate(parts):
        rest = [part for other, part in enumerate(parts) if other != number]
        X, y, groups = (np.concatenate(columns) for columns in zip(*rest, strict=True))
        scaler = StandardScaler().fit(X)
        train = Letor(scaler.transform(X), y, groups)
        pairs.append((train, test._replace(X=scaler.transform(test.X))))
    return pairs


def measured(pairs: list[tuple[Letor, Letor]], draw: Draw, number: int) -> np.ndarray:
    """Return errors of every test query, means over the seeds, shape (2, queries)."""
    found = []
    for train, test in pairs:
        seeds = (np.random.default_rng([seed, number]) for seed in range(SEEDS))
        found.append(errors(train, test, [draw(train, number, rng) for rng in seeds]))
    return np.concatenate(found, axis=1)


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", type=Path, nargs="+", help="svmlight files with query ids")
    parser.add_argument("--markdown", type=Path, help="also write the table to this file")
    arguments = parser.parse_args()
    parts = [load_letor(file) for file in arguments.files]
    pairs, n_features = splits(parts), parts[0].X.shape[1]
    rows = []
    for number, way in tqdm(list(itertools.product(NUMBERS, WAYS)), "draws", leave=False):
        n_uniform = same_cost(way, number, n_features)
        base, found = measured(pairs, uniform, n_uniform), measured(pairs, WAYS[way], number)
        gains = base - found
        spread = gains.std(axis=1, ddof=1) / np.sqrt(gains.shape[1])
        rows.append([way, number, n_uniform])
        for metric in range(2):
            rows[-1] += [
                f"{base[metric].mean():.4f}",
                f"{gains[metric].mean():+.4f} ± {spread[metric]:.4f}",
            ]
    headers = ["drawn", "N", "uniform N", "error of uniform", "gain", "1 - NDCG@10", "gain"]
    note = NOTE.format(parts=len(parts), rows=sum(len(part.y) for part in parts))
    print(f"{note}\n\n{tabulate(rows, headers, disable_numparse=True)}")
    if arguments.markdown:
        names = " ".join(file.name for file in arguments.files)
        text = (
            f"# Candidates\n`python scripts/candidates.py {names}`; {environment()}.\n\n{note}\n\n"
            f"{tabulate(rows, headers, 'pipe', disable_numparse=True)}\n"
        )
        write_atomically(arguments.markdown, text.encode())


if __name__ == "__main__":
    main()
