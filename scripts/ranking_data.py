"""Data that rankers are compared on: parts of LETOR MQ2008, and queries drawn at random.

All data sets come as folds: queries to learn from and other queries to judge by.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.model_selection import KFold

from rankpursuit.datasets import load_letor

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Queries:
    """Documents of queries: features, grades or scores, and the query of each."""

    X: Array
    y: Array
    groups: NDArray[np.int64]


@dataclass(frozen=True)
class Fold:
    """Queries to learn from, and others to judge by."""

    name: str
    train: Queries
    test: Queries

    def scaled(self, scale: Callable[[Array], Array]) -> Fold:
        """Return the same fold with other features."""
        parts = [replace(part, X=scale(part.X)) for part in (self.train, self.test)]
        return Fold(self.name, *parts)


@dataclass(frozen=True)
class DataSet:
    """What a data set is, and its folds."""

    title: str
    about: str
    folds: Callable[[], list[Fold]]
    n_folds: int


def letor_folder() -> Path:
    """Return where the parts of MQ2008 are expected."""
    return Path(os.environ.get("RANKPURSUIT_DATA", "data")) / "letor" / "MQ2008"


@cache
def letor() -> list[Fold]:
    """Each part of MQ2008 once to judge by, with the other two to learn from."""
    parts = [load_letor(letor_folder() / f"S{number}.txt") for number in (1, 2, 3)]
    folds = []
    for number, test in enumerate(parts):
        others = [part for at, part in enumerate(parts) if at != number]
        joined = [np.concatenate([getattr(p, key) for p in others]) for key in ("X", "y", "groups")]
        fold = Fold(f"S{number + 1}", Queries(*joined), Queries(test.X, test.y, test.groups))
        folds.append(fold)
    return folds


def smooth(n_queries: int, n_folds: int) -> list[Fold]:
    """Draw queries of 20 documents with 50 features, of which ten matter, graded 0 to 4."""

    def draw(rng: np.random.Generator, n_queries: int) -> Queries:
        X = rng.normal(size=(n_queries * 20, 50))
        utility = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + np.abs(X[:, 3]) + X[:, 4:10].sum(1) / 4
        noisy = utility + utility.std() / 3 * rng.normal(size=len(X))
        ranks = noisy.reshape(n_queries, 20).argsort(axis=1).argsort(axis=1)
        return Queries(X, (ranks // 4).ravel().astype(float), np.repeat(np.arange(n_queries), 20))

    return _drawn(draw, n_queries, n_folds)


def uneven(n_queries: int, n_folds: int) -> list[Fold]:
    """Draw queries of 2 to 200 documents with 10 features, each query with tastes of its own."""

    def draw(rng: np.random.Generator, n_queries: int) -> Queries:
        sizes = np.exp(rng.uniform(np.log(2.0), np.log(200.0), size=n_queries)).astype(int)
        groups = np.repeat(np.arange(n_queries), sizes)
        X, tastes = rng.normal(size=(len(groups), 10)), rng.normal(size=(n_queries, 10))
        common = X[:, 0] + np.sin(2 * X[:, 1]) + X[:, 2] * X[:, 3]
        own = 0.5 * np.einsum("ij,ij->i", X, tastes[groups])
        return Queries(X, common + own + rng.normal(size=len(groups)), groups)

    return _drawn(draw, n_queries, n_folds)


def linear(n_queries: int, n_folds: int) -> list[Fold]:
    """Draw queries of 10 documents with 20 features and a linear utility, half of it noise."""

    def draw(rng: np.random.Generator, n_queries: int) -> Queries:
        X = rng.normal(size=(n_queries * 10, 20))
        utility = X[:, :5].sum(axis=1) + np.sqrt(5.0) * rng.normal(size=len(X))
        groups = np.repeat(np.arange(n_queries), 10)
        return Queries(X, utility + 10.0 * rng.normal(size=n_queries)[groups], groups)

    return _drawn(draw, n_queries, n_folds)


def ratings(n_users: int, n_folds: int) -> list[Fold]:
    """Draw users who rate 8 to 40 items from 1 to 5, each with a level of their own."""

    def draw(rng: np.random.Generator, n_users: int) -> Queries:
        groups = np.repeat(np.arange(n_users), rng.integers(8, 41, size=n_users))
        X, level = rng.uniform(size=(len(groups), 15)), 3.0 * rng.normal(size=n_users)[groups]
        utility = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2
        utility += 10 * X[:, 3] + 5 * X[:, 4] + 2 * rng.normal(size=len(groups)) + level
        return Queries(X, np.clip(np.round(utility / 5.0), 1.0, 5.0), groups)

    return _drawn(draw, n_users, n_folds)


def one_ranking(load: Callable[..., tuple[Array, Array]], n_folds: int) -> list[Fold]:
    """Take data of scikit-learn as one ranking, without any groups."""
    X, y = load(return_X_y=True)
    y = y.astype(float)
    groups = np.zeros(len(y), dtype=np.int64)
    return [
        Fold(
            str(number),
            Queries(X[train], y[train], groups[train]),
            Queries(X[test], y[test], groups[test]),
        )
        for number, (train, test) in enumerate(
            KFold(n_folds, shuffle=True, random_state=0).split(X)
        )
    ]


def _drawn(
    draw: Callable[[np.random.Generator, int], Queries], n_queries: int, n_folds: int
) -> list[Fold]:
    """Draw folds with seeds of their own, each with at least 100 queries to judge by."""
    folds = []
    for seed in range(n_folds):
        rng = np.random.default_rng(seed)
        folds.append(Fold(str(seed), draw(rng, n_queries), draw(rng, max(100, n_queries // 5))))
    return folds


DATA_SETS = {
    "letor": DataSet(
        "LETOR MQ2008",
        "parts S1 to S3 of LETOR MQ2008, each once to judge by and the other two to learn from: "
        "471 queries, 9,630 documents, 46 features, grades 0 to 2",
        letor,
        3,
    ),
    "smooth": DataSet(
        "Smooth utility, 2,000 rows",
        "3 draws of 100 queries to learn from and 100 to judge by, of 20 documents, 50 normal "
        "features x, utility sin(2 x1) + x2 x3 + |x4| + (x5 + ... + x10) / 4 and normal noise of a "
        "third of its spread, grades 0 to 4 by fifths of the query",
        lambda: smooth(100, 3),
        3,
    ),
    "uneven": DataSet(
        "Queries of uneven size",
        "3 draws of 60 queries of 2 to 200 documents (uniform in the logarithm), 10 normal "
        "features x, scores x1 + sin(2 x2) + x3 x4 + t'x / 2 and normal noise of spread 1, with "
        "normal tastes t of the query",
        lambda: uneven(60, 3),
        3,
    ),
    "linear": DataSet(
        "Linear utility",
        "5 draws of 30 queries of 10 documents, 20 normal features x, scores x1 + ... + x5 and "
        "normal noise of the same spread",
        lambda: linear(30, 5),
        5,
    ),
    "diabetes": DataSet(
        "Diabetes",
        "scikit-learn's diabetes data as one ranking, without groups, in 5 folds: 442 points, 10 "
        "features",
        lambda: one_ranking(load_diabetes, 5),
        5,
    ),
    "wine": DataSet(
        "Wine",
        "scikit-learn's wine data, 178 points, 13 features, ranked by the number of the class",
        lambda: one_ranking(load_wine, 5),
        5,
    ),
    "cancer": DataSet(
        "Breast cancer",
        "scikit-learn's breast cancer data, 569 points, 30 features, benign above malignant",
        lambda: one_ranking(load_breast_cancer, 5),
        5,
    ),
    "ratings": DataSet(
        "Ratings",
        "3 draws of 40 users who rate 8 to 40 items from 1 to 5: 15 uniform features x, utility "
        "10 sin(pi x1 x2) + 20 (x3 - 1/2)^2 + 10 x4 + 5 x5, normal noise of spread 2 and a level "
        "of the user, rounded",
        lambda: ratings(40, 3),
        3,
    ),
    "large": DataSet(
        "Smooth utility, 40,000 rows",
        "one draw of 2,000 queries to learn from and 400 to judge by, of the same utility",
        lambda: smooth(2000, 1),
        1,
    ),
}
