"""Data sets and measures that rankers are compared by; each data set comes as folds of queries."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.model_selection import KFold
from sklearn.preprocessing import StandardScaler

from rankpursuit.datasets import load_letor
from rankpursuit.metrics import disagreement_error, mean_average_precision, ndcg_error
from studies.library import Array


class Queries(NamedTuple):
    """Documents of queries: features, grades or scores, and the query of each."""

    X: Array
    y: Array
    groups: NDArray[np.int64]


class Fold(NamedTuple):
    """Queries to learn from, and others to test on."""

    name: str
    train: Queries
    test: Queries

    def scaled(self) -> Fold:
        """Return the fold with features scaled by those of the training queries."""
        scale = StandardScaler().fit(self.train.X).transform
        parts = (part._replace(X=scale(part.X)) for part in (self.train, self.test))
        return Fold(self.name, *parts)


def letor_folder() -> Path:
    """Return where the parts of MQ2008 are expected."""
    return Path(os.environ.get("RANKPURSUIT_DATA", "data")) / "letor" / "MQ2008"


def letor(n_folds: int) -> list[Fold]:
    """Test on each part of MQ2008 once, and learn from the others."""
    parts = [Queries(*load_letor(letor_folder() / f"S{at + 1}.txt")) for at in range(n_folds)]
    folds = []
    for number, test in enumerate(parts):
        others = [part for part in parts if part is not test]
        train = Queries(*(np.concatenate(arrays) for arrays in zip(*others, strict=True)))
        folds.append(Fold(f"S{number + 1}", train, test))
    return folds


def smooth(rng: np.random.Generator, n_queries: int) -> Queries:
    """Draw queries of 20 documents with 50 features, of which ten matter, graded 0 to 4."""
    X = rng.normal(size=(n_queries * 20, 50))
    utility = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + np.abs(X[:, 3]) + X[:, 4:10].sum(1) / 4
    noisy = utility + utility.std() / 3 * rng.normal(size=len(X))
    ranks = noisy.reshape(n_queries, 20).argsort(axis=1).argsort(axis=1)
    return Queries(X, (ranks // 4).ravel().astype(float), np.repeat(np.arange(n_queries), 20))


def uneven(rng: np.random.Generator, n_queries: int) -> Queries:
    """Draw queries of 2 to 200 documents with 10 features, each query with its own tastes."""
    sizes = np.exp(rng.uniform(np.log(2.0), np.log(200.0), size=n_queries)).astype(int)
    groups = np.repeat(np.arange(n_queries), sizes)
    X, tastes = rng.normal(size=(len(groups), 10)), rng.normal(size=(n_queries, 10))
    common = X[:, 0] + np.sin(2 * X[:, 1]) + X[:, 2] * X[:, 3]
    own = 0.5 * np.einsum("ij,ij->i", X, tastes[groups])
    return Queries(X, common + own + rng.normal(size=len(groups)), groups)


def linear(rng: np.random.Generator, n_queries: int) -> Queries:
    """Draw queries of 10 documents with 20 features and a linear utility, half of it noise."""
    X = rng.normal(size=(n_queries * 10, 20))
    utility = X[:, :5].sum(axis=1) + np.sqrt(5.0) * rng.normal(size=len(X))
    groups = np.repeat(np.arange(n_queries), 10)
    return Queries(X, utility + 10.0 * rng.normal(size=n_queries)[groups], groups)


def ratings(rng: np.random.Generator, n_users: int) -> Queries:
    """Draw users who rate 8 to 40 items from 1 to 5, each with a level of their own."""
    groups = np.repeat(np.arange(n_users), rng.integers(8, 41, size=n_users))
    X, level = rng.uniform(size=(len(groups), 15)), 3.0 * rng.normal(size=n_users)[groups]
    utility = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2
    utility += 10 * X[:, 3] + 5 * X[:, 4] + 2 * rng.normal(size=len(groups)) + level
    return Queries(X, np.clip(np.round(utility / 5.0), 1.0, 5.0), groups)


def drawn(draw: Callable[..., Queries], n_queries: int, n_folds: int) -> list[Fold]:
    """Draw folds with a seed each, and at least 100 queries to test on."""
    rngs = [np.random.default_rng(seed) for seed in range(n_folds)]
    n_test = max(100, n_queries // 5)
    return [Fold(str(n), draw(rng, n_queries), draw(rng, n_test)) for n, rng in enumerate(rngs)]


def one_ranking(load: Callable[..., tuple[Array, Array]], n_folds: int) -> list[Fold]:
    """Split data of scikit-learn as one ranking, without groups."""
    X, y = load(return_X_y=True)
    whole = Queries(X, y.astype(float), np.zeros(len(y), dtype=np.int64))
    folds = []
    for rows in KFold(n_folds, shuffle=True, random_state=0).split(X):
        train, test = (Queries(*(array[part] for array in whole)) for part in rows)
        folds.append(Fold(str(len(folds)), train, test))
    return folds


DATA_SETS: dict[str, tuple[int, Callable[[int], list[Fold]]]] = {
    "letor": (3, letor),
    "smooth": (3, partial(drawn, smooth, 100)),
    "uneven": (3, partial(drawn, uneven, 60)),
    "linear": (5, partial(drawn, linear, 30)),
    "diabetes": (5, partial(one_ranking, load_diabetes)),
    "wine": (5, partial(one_ranking, load_wine)),
    "cancer": (5, partial(one_ranking, load_breast_cancer)),
    "ratings": (3, partial(drawn, ratings, 40)),
    "large": (1, partial(drawn, smooth, 2000)),
}  # the number of folds, and how they are made


def load_folds(name: str) -> list[Fold]:
    """Load or draw the folds of a data set."""
    n_folds, make = DATA_SETS[name]
    return make(n_folds)


MEASURES: dict[str, Callable[[Array, Array], float]] = {
    "ndcg": lambda y, f: 1.0 - float(ndcg_error(y, f, k=10, gain="exponential")),
    "map": lambda y, f: float(mean_average_precision(y, f)),
    "error": lambda y, f: float(disagreement_error(y, f, ties="untied")),
}
"""NDCG@10 with gains 2^grade - 1, average precision (relevant: above 0), pairwise error."""


def per_query(
    test: Queries, predictions: Array, measures: Collection[str] = tuple(MEASURES)
) -> dict[str, list[float]]:
    """Return measures of each query whose documents have different grades."""
    found: dict[str, list[float]] = {name: [] for name in measures}
    for query in np.unique(test.groups):
        own = test.groups == query
        y, f = test.y[own], predictions[own]
        if y.max() > y.min():
            for name in measures:
                found[name].append(MEASURES[name](y, f))
    return found
