"""Data sets and measures that rankers are compared by; each data set comes as folds of queries."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

import click
import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import ortho_group
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.model_selection import KFold
from sklearn.preprocessing import StandardScaler

from rankpursuit.datasets import load_letor, load_movielens
from rankpursuit.metrics import Array, disagreement_error, ndcg_error


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


def data_folder(name: str) -> Path:
    """Return the folder of a data set that must be there."""
    folder = Path(os.environ.get("RANKPURSUIT_DATA", "data")) / name
    if not folder.is_dir():
        raise click.ClickException(f"no data in {folder}: set RANKPURSUIT_DATA (data/README.md)")
    return folder


def letor(n_folds: int) -> list[Fold]:
    """Test on each part of MQ2008 once, and learn from the others."""
    folder = data_folder("letor/MQ2008")
    parts = [Queries(*load_letor(folder / f"S{at + 1}.txt")) for at in range(n_folds)]
    folds = []
    for number, test in enumerate(parts):
        others = [part for part in parts if part is not test]
        train = Queries(*(np.concatenate(arrays) for arrays in zip(*others, strict=True)))
        folds.append(Fold(f"S{number + 1}", train, test))
    return folds


def movielens(n_folds: int) -> list[Fold]:
    """Rank the movies of a user by genres and year; learn from 200 users, test on 200 others."""
    folder = data_folder("movielens/ml-1m")
    columns = {"sep": "::", "engine": "python", "encoding": "latin-1", "header": None}
    movies = pd.read_csv(folder / "movies.dat", names=["movie", "title", "genres"], **columns)
    features = movies.set_index("movie")["genres"].str.get_dummies("|").astype(float)
    features["year"] = (
        movies.set_index("movie")["title"].str.extract(r"\((\d{4})\)")[0].astype(float)
    )
    table = load_movielens(folder)
    X = features.loc[table.item_ids].to_numpy()

    def draw(rng: np.random.Generator, users: NDArray[np.int64]) -> Queries:
        rated = [np.arange(table.offsets[user], table.offsets[user + 1]) for user in users]
        rows = [rng.permutation(own)[:40] for own in rated]
        groups, own = np.repeat(users, [len(part) for part in rows]), np.concatenate(rows)
        return Queries(X[table.items[own]], table.values[own] - 1.0, groups)

    folds = []
    for seed in range(n_folds):
        rng = np.random.default_rng(seed)
        users = rng.permutation(table.n_users)
        folds.append(Fold(str(seed), draw(rng, users[:200]), draw(rng, users[200:400])))
    return folds


def patients(n_folds: int) -> list[Fold]:
    """Rank batches of 20 patients of scikit-learn's diabetes data, graded by fifths of all."""
    X, y = load_diabetes(return_X_y=True)
    grades = np.searchsorted(np.quantile(y, [0.2, 0.4, 0.6, 0.8]), y).astype(float)
    batches = np.random.default_rng(0).permutation(len(y)) % 22
    folds = []
    for number in range(n_folds):
        held_out = batches % n_folds == number
        parts = ((X[own], grades[own], batches[own]) for own in (~held_out, held_out))
        folds.append(Fold(str(number), *(Queries(*part) for part in parts)))
    return folds


def bikes(n_folds: int) -> list[Fold]:
    """Rank the hours of a day by the bicycles hired, graded by fifths; 150 days to learn from."""
    table = pd.read_csv(data_folder("bikes") / "hour.csv", sep=";")
    table = table[table.groupby("dteday")["cnt"].transform("size") == 24]
    names = "season yr mnth hr holiday weekday workingday weathersit temp atemp hum windspeed"
    X, hired = table[names.split()].to_numpy(float), table["cnt"].to_numpy().reshape(-1, 24)
    grades = (hired.argsort(axis=1).argsort(axis=1) * 5 // 24).ravel().astype(float)
    days, folds = np.repeat(np.arange(len(hired)), 24), []
    for seed in range(n_folds):
        drawn = np.random.default_rng(seed).permutation(len(hired))
        rows = (np.isin(days, drawn[:150]), np.isin(days, drawn[150:400]))
        parts = (Queries(X[inside], grades[inside], days[inside]) for inside in rows)
        folds.append(Fold(str(seed), *parts))
    return folds


SIZE = 20  # documents of a drawn query


def graded(X: Array, utility: Array, rng: np.random.Generator) -> Queries:
    """Grade the documents of each query 0 to 4 by fifths of their noisy utility."""
    noisy = utility + utility.std() / 3 * rng.normal(size=len(X))
    ranks = noisy.reshape(-1, SIZE).argsort(axis=1).argsort(axis=1)
    groups = np.repeat(np.arange(len(X) // SIZE), SIZE)
    return Queries(X, (ranks // (SIZE // 5)).ravel().astype(float), groups)


def smooth(rng: np.random.Generator, n_queries: int) -> Queries:
    """Draw queries with 50 features, of which ten matter."""
    X = rng.normal(size=(n_queries * SIZE, 50))
    utility = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + np.abs(X[:, 3]) + X[:, 4:10].sum(1) / 4
    return graded(X, utility, rng)


def additive(rng: np.random.Generator, n_queries: int) -> Queries:
    """Draw queries with normal, lognormal and Poisson features and a sum of functions of six."""
    shape = (n_queries * SIZE, 10)
    parts = [rng.normal(size=shape), rng.lognormal(size=shape), rng.poisson(3.0, size=shape)]
    X = np.concatenate(parts, axis=1).astype(float)
    utility = np.tanh(2 * X[:, 0]) + np.square(X[:, 1]) / 2 + np.log(X[:, 10])
    utility += np.exp(-np.square(X[:, 11] - 1.0)) * 2 + np.sqrt(X[:, 20]) - 2.0 * (X[:, 21] == 0)
    return graded(X, utility, rng)


def interactions(rng: np.random.Generator, n_queries: int) -> Queries:
    """Draw queries with 20 uniform features and a sum of functions of four pairs of them."""
    X = rng.uniform(size=(n_queries * SIZE, 20))
    utility = 6 * (X[:, 0] - 0.5) * (X[:, 1] - 0.5) + 2 * np.maximum(X[:, 2], X[:, 3])
    utility += 2 * X[:, 4] * (X[:, 5] > 0.5) + np.sin(2 * np.pi * X[:, 6] * X[:, 7])
    return graded(X, utility, rng)


def rotated(rng: np.random.Generator, n_queries: int) -> Queries:
    """Draw queries with 10 normal features and a utility of their rotation, the same in all."""
    X = rng.normal(size=(n_queries * SIZE, 10))
    Z = X @ ortho_group.rvs(10, random_state=0)
    return graded(X, np.sin(2 * Z[:, 0]) + Z[:, 1] * Z[:, 2] + np.abs(Z[:, 3]), rng)


def steps(rng: np.random.Generator, n_queries: int) -> Queries:
    """Draw queries with 30 normal features and 12 trees of depth three, the same in all."""
    trees = np.random.default_rng(0)
    X = rng.normal(size=(n_queries * SIZE, 30))
    utility = np.zeros(len(X))
    for _ in range(12):
        features, cuts = trees.choice(30, size=3, replace=False), trees.normal(size=3) / 2
        utility += trees.normal(size=8)[(X[:, features] > cuts) @ [4, 2, 1]]
    return graded(X, utility, rng)


def plane(rng: np.random.Generator, n_queries: int) -> Queries:
    """Draw queries with 30 normal features and a utility that is linear in eight of them."""
    X = rng.normal(size=(n_queries * SIZE, 30))
    return graded(X, X[:, :8] @ np.arange(1.0, 9.0), rng)


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
    "movielens": (2, movielens),
    "bikes": (2, bikes),
    "patients": (5, patients),
    "additive": (2, partial(drawn, additive, 100)),
    "interactions": (2, partial(drawn, interactions, 100)),
    "rotated": (2, partial(drawn, rotated, 100)),
    "steps": (2, partial(drawn, steps, 100)),
    "plane": (2, partial(drawn, plane, 100)),
}  # the number of folds, and how they are made


def load_folds(name: str) -> list[Fold]:
    """Load or draw the folds of a data set."""
    n_folds, make = DATA_SETS[name]
    return make(n_folds)


def ndcg(grades: Array, predictions: Array) -> Array | float:
    """Return NDCG@10 with gains 2^grade - 1."""
    return 1.0 - ndcg_error(grades, predictions, k=10, gain="exponential")


pairwise_error = partial(disagreement_error, ties="untied")  # over pairs of different grades


def per_query(
    test: Queries, predictions: Array, measure: Callable[[Array, Array], Array | float]
) -> Array:
    """Measure each query whose documents have different grades.

    Returns an array of shape (queries, ...) for predictions of shape (..., documents).
    """
    queries = (test.groups == query for query in np.unique(test.groups))
    graded = (own for own in queries if np.ptp(test.y[own]) > 0)
    return np.array([measure(test.y[own], predictions[..., own]) for own in graded])
