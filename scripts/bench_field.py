"""Fits beside those of other rankers, on one table of queries, each with the settings of a user.

A package that is not installed is skipped with a word.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np
from bench_timing import alternate, row

from rankpursuit import RankingPursuit, RankRLS

N_QUERIES, PER_QUERY, N_FEATURES, N_BASIS, N_TREES = 50, 40, 20, 100, 100
GAMMA = 1.0 / N_FEATURES
TABLE = f"fit of {N_QUERIES * PER_QUERY:,} points in {N_QUERIES} queries"

Fit = Callable[[np.ndarray, np.ndarray, np.ndarray], Any]


def field_rows(rounds: int) -> dict[str, list[list[Any]]]:
    """Return a row for each of the other rankers: the time of our fit, of theirs, their ratio."""
    X, y, queries = _queries()
    rows = []
    for title, package, ours, theirs in (
        ("RankRLS / QueryRankRLS of RLScore", "rlscore", _rank_rls, _rlscore),
        ("ranking pursuit / LGBMRanker", "lightgbm", _ranking_pursuit, _lightgbm),
        ("ranking pursuit / XGBRanker", "xgboost", _ranking_pursuit, _xgboost),
    ):
        try:
            import_module(package)
        except ImportError:
            rows.append([title, None, None, None, f"{package} is not installed", "", ""])
            continue
        ours(X, y, queries), theirs(X, y, queries)  # a first fit loads what it needs
        own, others = alternate(
            rounds, lambda fit=ours: fit(X, y, queries), lambda fit=theirs: fit(X, y, queries)
        )
        rows.append(row(title, own, others, others / own, 1, ""))
    return {TABLE: rows}


def _queries() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Points with grades from 0 to 4, and the query of each; queries differ in their level."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N_QUERIES * PER_QUERY, N_FEATURES))
    queries = np.repeat(np.arange(N_QUERIES), PER_QUERY)
    utility = (
        X[:, 0] + np.sin(2.0 * X[:, 1]) + X[:, 2] * X[:, 3] + rng.normal(size=N_QUERIES)[queries]
    )
    grades = np.searchsorted(np.quantile(utility, [0.5, 0.7, 0.85, 0.95]), utility)
    return X, grades.astype(np.float64), queries


def _rank_rls(X: np.ndarray, y: np.ndarray, queries: np.ndarray) -> Any:
    return RankRLS(alpha=1.0, gamma=GAMMA).fit(X, y, groups=queries)


def _ranking_pursuit(X: np.ndarray, y: np.ndarray, queries: np.ndarray) -> Any:
    return RankingPursuit(N_BASIS, fitting="backfit", gamma=GAMMA).fit(X, y, groups=queries)


def _rlscore(X: np.ndarray, y: np.ndarray, queries: np.ndarray) -> Any:
    learner = import_module("rlscore.learner").QueryRankRLS
    return learner(X, y, list(queries), regparam=1.0, kernel="GaussianKernel", gamma=GAMMA)


def _lightgbm(X: np.ndarray, y: np.ndarray, queries: np.ndarray) -> Any:
    ranker = import_module("lightgbm").LGBMRanker(n_estimators=N_TREES, n_jobs=1, verbose=-1)
    return ranker.fit(X, y.astype(int), group=np.bincount(queries))


def _xgboost(X: np.ndarray, y: np.ndarray, queries: np.ndarray) -> Any:
    ranker = import_module("xgboost").XGBRanker(n_estimators=N_TREES, n_jobs=1)
    return ranker.fit(X, y.astype(int), qid=queries)
