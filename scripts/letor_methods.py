"""The rankers that are compared, each with its parameters chosen by cross-validation."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from letor_data import Fold, Queries
from sklearn.linear_model import Ridge
from sklearn.model_selection import GroupKFold

from rankpursuit import RankingPursuitCV, RankRLSCV, RankSVM, SparseRankRLSCV
from rankpursuit.metrics import ndcg_error

FOLDS = 5
ROUNDS = 300


@dataclass(frozen=True)
class Fitted:
    """A fitted ranker: how it predicts, how many bytes it takes, and what was chosen."""

    predict: Callable[[np.ndarray], np.ndarray]
    size: int
    about: str


@dataclass(frozen=True)
class Method:
    """A ranker, and the most rows that it is given."""

    title: str
    fit: Callable[[Queries], Fitted]
    most_rows: int = 10**9

    def takes(self, fold: Fold) -> bool:
        """Say whether the fold is not too large."""
        return len(fold.train.y) <= self.most_rows


def pursuit(n_basis: int) -> Callable[[Queries], Fitted]:
    """Return ranking pursuit with at most so many functions, all else by its defaults."""

    def fit(train: Queries) -> Fitted:
        model = RankingPursuitCV(n_basis, scoring="ndcg@10", random_state=0)
        return _kept(model.fit(train.X, train.y, train.groups))

    return fit


def random_points(n_basis: int) -> Callable[[Queries], Fitted]:
    """Return sparse RankRLS: as many functions, of points drawn at random."""

    def fit(train: Queries) -> Fitted:
        model = SparseRankRLSCV(n_basis, scoring="ndcg@10", random_state=0)
        return _kept(model.fit(train.X, train.y, train.groups))

    return fit


def rank_rls(train: Queries) -> Fitted:
    """Fit RankRLS with all points."""
    return _kept(RankRLSCV(scoring="ndcg@10").fit(train.X, train.y, train.groups))


def rank_svm(train: Queries) -> Fitted:
    """Fit a linear RankSVM."""

    def build(C: float) -> Any:
        return RankSVM(C, kernel="linear", loss="squared_hinge", group_weight="equal")

    return _searched(train, build, [{"C": 10.0**power} for power in range(-3, 3)])


def centred_ridge(train: Queries) -> Fitted:
    """Fit a linear ridge regression on scores and features less their means in the query."""

    class Centred:
        def __init__(self, alpha: float) -> None:
            self._model = Ridge(alpha=alpha, fit_intercept=False)

        def fit(self, X: np.ndarray, y: np.ndarray, groups: np.ndarray) -> Centred:
            _, codes, sizes = np.unique(groups, return_inverse=True, return_counts=True)
            order = np.argsort(codes, kind="stable")
            starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
            means = np.add.reduceat(np.column_stack([X, y])[order], starts) / sizes[:, None]
            self._model.fit(X - means[codes, :-1], y - means[codes, -1])
            return self

        def predict(self, X: np.ndarray) -> np.ndarray:
            return self._model.predict(X)

    return _searched(train, Centred, [{"alpha": 10.0**power} for power in range(-2, 5)])


def lightgbm(train: Queries) -> Fitted:
    """Fit LightGBM's lambdarank."""
    from lightgbm import LGBMRanker

    def build(num_leaves: int, learning_rate: float, n_estimators: int) -> Any:
        model = LGBMRanker(
            num_leaves=num_leaves,
            learning_rate=learning_rate,
            n_estimators=n_estimators,
            n_jobs=2,
            verbose=-1,
            random_state=0,
        )
        return _Boosted(model, "num_iteration")

    return _searched(train, build, _grid("num_leaves", (7, 15, 31)), staged=True)


def xgboost(train: Queries) -> Fitted:
    """Fit XGBoost's rank:ndcg."""
    from xgboost import XGBRanker

    def build(max_depth: int, learning_rate: float, n_estimators: int) -> Any:
        model = XGBRanker(
            max_depth=max_depth,
            learning_rate=learning_rate,
            n_estimators=n_estimators,
            objective="rank:ndcg",
            n_jobs=2,
            random_state=0,
        )
        return _Boosted(model, "iteration_range")

    return _searched(train, build, _grid("max_depth", (3, 4, 6)), staged=True)


def _grid(size: str, values: tuple[int, ...]) -> list[dict[str, Any]]:
    rates = (0.03, 0.1)
    return [{size: v, "learning_rate": rate} for v, rate in product(values, rates)]


class _Boosted:
    """A boosted ranker, which takes its rows query by query and can stop after fewer trees."""

    def __init__(self, model: Any, limit: str) -> None:
        self._model, self._limit = model, limit

    def fit(self, X: np.ndarray, y: np.ndarray, groups: np.ndarray) -> _Boosted:
        order = np.argsort(groups, kind="stable")
        _, sizes = np.unique(groups, return_counts=True)
        self._model.fit(X[order], y[order].astype(int), group=sizes)
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        return np.asarray(self._model.predict(X), dtype=float)

    def predict_with(self, X: np.ndarray, trees: int) -> np.ndarray:
        """Predict with the first trees only."""
        limit = (0, trees) if self._limit == "iteration_range" else trees
        return np.asarray(self._model.predict(X, **{self._limit: limit}), dtype=float)


def _searched(
    train: Queries, build: Callable[..., Any], grid: list[dict[str, Any]], *, staged: bool = False
) -> Fitted:
    """Choose parameters, and the number of trees, by NDCG@10 over folds of queries; fit again."""
    stages = list(range(20, ROUNDS + 1, 20)) if staged else [None]
    scores = np.zeros((len(grid), len(stages)))
    for inside, outside in GroupKFold(FOLDS).split(train.X, train.y, train.groups):
        for number, parameters in enumerate(grid):
            most = {"n_estimators": ROUNDS} if staged else {}
            model = build(**parameters, **most)
            model.fit(train.X[inside], train.y[inside], train.groups[inside])
            for at, trees in enumerate(stages):
                X = train.X[outside]
                found = model.predict(X) if trees is None else model.predict_with(X, trees)
                scores[number, at] += _ndcg(train, outside, found)
    best, at = np.unravel_index(scores.argmax(), scores.shape)
    chosen = grid[best] | ({"n_estimators": stages[at]} if staged else {})
    model = build(**chosen).fit(train.X, train.y, train.groups)
    about = ", ".join(f"{key} {value:g}" for key, value in chosen.items())
    return Fitted(model.predict, _bytes(model), about)


def _ndcg(train: Queries, rows: np.ndarray, predictions: np.ndarray) -> float:
    y, groups = train.y[rows], train.groups[rows]
    return 1.0 - float(ndcg_error(y, predictions, groups, k=10, gain="exponential"))


def _kept(model: Any) -> Fitted:
    about = ", ".join(f"{key} {value:.3g}" for key, value in model.best_params_.items())
    size = sum(f.points.nbytes + f.coef.nbytes for f in model.best_estimator_.expansions())
    return Fitted(model.predict, size, about)


def _bytes(model: Any) -> int:
    inner = getattr(model, "_model", model)
    if hasattr(inner, "booster_"):
        return len(inner.booster_.model_to_string())
    if hasattr(inner, "get_booster"):
        return len(inner.get_booster().save_raw())
    return len(pickle.dumps(inner))


METHODS = {
    **{
        f"pursuit-{n}": Method(f"ranking pursuit, at most {n} functions", pursuit(n))
        for n in (25, 50, 100, 200)
    },
    **{
        f"random-{n}": Method(f"sparse RankRLS, {n} random points", random_points(n), 20_000)
        for n in (25, 50, 100, 200)
    },
    "rank_rls": Method("RankRLS, all points", rank_rls, 10_000),
    "rank_svm": Method("RankSVM, linear", rank_svm, 20_000),
    "ridge": Method("linear ridge on centred scores", centred_ridge),
    "lightgbm": Method("LightGBM lambdarank", lightgbm),
    "xgboost": Method("XGBoost rank:ndcg", xgboost),
}
