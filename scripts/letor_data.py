"""The data of the comparison: the parts of LETOR MQ2008 at hand, and synthetic queries."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rankpursuit.datasets.letor import load_letor

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Queries:
    """Documents of queries: features, grades, and the query of each."""

    X: Array
    y: Array
    groups: NDArray[np.int64]


@dataclass(frozen=True)
class Fold:
    """A split of queries."""

    name: str
    train: Queries
    test: Queries


@dataclass(frozen=True)
class DataSet:
    """A data set: what it is, in a sentence, and its folds."""

    title: str
    folds: Callable[[], list[Fold]]


@cache
def letor() -> list[Fold]:
    """Each part of MQ2008 once as the test set."""
    folder = Path(os.environ.get("RANKPURSUIT_DATA", "data")) / "letor" / "MQ2008"
    parts = [load_letor(folder / f"S{number}.txt") for number in (1, 2, 3)]
    folds = []
    for number, test in enumerate(parts):
        others = [part for at, part in enumerate(parts) if at != number]
        joined = [np.concatenate([getattr(p, key) for p in others]) for key in ("X", "y", "groups")]
        fold = Fold(f"S{number + 1}", Queries(*joined), Queries(test.X, test.y, test.groups))
        folds.append(fold)
    return folds


def synthetic(n_queries: int) -> list[Fold]:
    """Draw queries of 20 documents with 50 features, of which ten matter.

    The utility of a document is ``sin(2 x1) + x2 x3 + |x4| + (x5 + ... + x10) / 4`` with noise of a
    third of its spread; its grade from 0 to 4 is by fifths within its query.
    """
    folds = []
    for name, queries, seed in (("a", n_queries, 0), ("b", n_queries, 1)):
        rng = np.random.default_rng(seed)
        folds.append(Fold(name, _draw(rng, queries), _draw(rng, max(200, queries // 5))))
    return folds


def _draw(rng: np.random.Generator, n_queries: int) -> Queries:
    X = rng.normal(size=(n_queries * 20, 50))
    utility = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + np.abs(X[:, 3]) + X[:, 4:10].sum(1) / 4
    noisy = utility + utility.std() / 3 * rng.normal(size=len(X))
    ranks = noisy.reshape(n_queries, 20).argsort(axis=1).argsort(axis=1)
    return Queries(X, (ranks // 4).ravel().astype(float), np.repeat(np.arange(n_queries), 20))


DATA_SETS = {
    "letor": DataSet("LETOR MQ2008, parts S1 to S3, 46 features, grades 0 to 2", letor),
    "smooth": DataSet("synthetic, 10,000 rows, 50 features", lambda: synthetic(500)),
    "large": DataSet("synthetic, 200,000 rows, 50 features", lambda: synthetic(10_000)),
}
