"""The rankers that are compared, each with its parameters chosen by cross-validation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from letor_boosting import lightgbm, xgboost
from letor_search import Fitted, searched
from ranking_data import Fold, Queries
from sklearn.linear_model import Ridge
from sklearn.preprocessing import StandardScaler

from rankpursuit import RankingPursuitCV, RankRLS, RankSVM, SparseRankRLSCV

SIZES = (25, 50, 100, 200)
NO_LIMIT = 10**9


@dataclass(frozen=True)
class Method:
    """A ranker, and the most rows that it is given."""

    title: str
    fit: Callable[[Queries], Fitted]
    most_rows: int = NO_LIMIT

    def takes(self, fold: Fold) -> bool:
        """Say whether the fold is not too large."""
        return len(fold.train.y) <= self.most_rows


def nothing_set(train: Queries) -> Fitted:
    """Fit ranking pursuit as one would without a look at its options."""
    return _kept(RankingPursuitCV(random_state=0).fit(train.X, train.y, train.groups))


def pursuit(n_basis: int) -> Callable[[Queries], Fitted]:
    """Return ranking pursuit with at most so many functions, all else by its defaults."""

    def fit(train: Queries) -> Fitted:
        model = RankingPursuitCV(n_basis, scoring="ndcg@10", random_state=0)
        return _kept(model.fit(train.X, train.y, train.groups))

    return fit


def random_points(n_basis: int) -> Callable[[Queries], Fitted]:
    """Return sparse RankRLS: so many functions, of points drawn at random."""

    def fit(train: Queries) -> Fitted:
        model = SparseRankRLSCV([n_basis], scoring="ndcg@10", random_state=0)
        return _kept(model.fit(train.X, train.y, train.groups))

    return fit


def rank_rls(train: Queries) -> Fitted:
    """Fit RankRLS with all points, with what cross-validation of 200 random ones chooses."""
    chosen = SparseRankRLSCV([SIZES[-1]], scoring="ndcg@10", random_state=0)
    chosen.fit(train.X, train.y, train.groups)
    gamma, alpha = (chosen.best_params_[name] for name in ("gamma", "alpha"))
    model = RankRLS(alpha, gamma=gamma)
    model.fit(chosen.scaler_.transform(train.X), train.y, train.groups)

    def predict(X: np.ndarray) -> np.ndarray:
        return model.predict(chosen.scaler_.transform(X))

    return Fitted(predict, _size(model), f"gamma {gamma:.3g}, alpha {alpha:.3g}")


def rank_svm(train: Queries) -> Fitted:
    """Fit a linear RankSVM."""

    class Scaled:
        def __init__(self, C: float) -> None:
            self._scaler = StandardScaler()
            self.model = RankSVM(C, kernel="linear", loss="squared_hinge", group_weight="equal")

        def fit(self, X: np.ndarray, y: np.ndarray, groups: np.ndarray) -> Scaled:
            self.model.fit(self._scaler.fit_transform(X), y, groups)
            return self

        def predict(self, X: np.ndarray) -> np.ndarray:
            return self.model.predict(self._scaler.transform(X))

    fitted = searched(train, Scaled, [{"C": 10.0**power} for power in range(-4, 2)])
    return Fitted(fitted.predict, 8 * (train.X.shape[1] + 1), fitted.about)


def centred_ridge(train: Queries) -> Fitted:
    """Fit a linear ridge regression on scores and features less their means in the query."""

    class Centred:
        def __init__(self, alpha: float) -> None:
            self._scaler, self.model = StandardScaler(), Ridge(alpha=alpha, fit_intercept=False)

        def fit(self, X: np.ndarray, y: np.ndarray, groups: np.ndarray) -> Centred:
            X = self._scaler.fit_transform(X)
            _, codes, sizes = np.unique(groups, return_inverse=True, return_counts=True)
            order = np.argsort(codes, kind="stable")
            starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
            means = np.add.reduceat(np.column_stack([X, y])[order], starts) / sizes[:, None]
            self.model.fit(X - means[codes, :-1], y - means[codes, -1])
            return self

        def predict(self, X: np.ndarray) -> np.ndarray:
            return self.model.predict(self._scaler.transform(X))

    fitted = searched(train, Centred, [{"alpha": 10.0**power} for power in range(-2, 5)])
    return Fitted(fitted.predict, 8 * (train.X.shape[1] + 1), fitted.about)


def _kept(model: Any) -> Fitted:
    about = ", ".join(f"{key} {value:.3g}" for key, value in model.best_params_.items())
    return Fitted(model.predict, _size(model), about)


def _size(model: Any) -> int:
    """Bytes of basis points and coefficients."""
    points = model.best_estimator_.X_basis_  # none in a linear model
    return model.coef_.nbytes + (0 if points is None else points.nbytes)


METHODS = {
    "nothing-set": Method("`RankingPursuitCV()`, nothing set but the seed", nothing_set),
    **{
        f"pursuit-{n}": Method(f"ranking pursuit, at most {n} functions", pursuit(n)) for n in SIZES
    },
    **{
        f"random-{n}": Method(f"sparse RankRLS, {n} random points", random_points(n)) for n in SIZES
    },
    "rank-rls": Method("RankRLS, all points", rank_rls, 10_000),
    "rank-svm": Method("RankSVM, linear", rank_svm),
    "ridge": Method("linear ridge on centred scores", centred_ridge),
    "lightgbm": Method("LightGBM lambdarank", lightgbm),
    "xgboost": Method("XGBoost rank:ndcg", xgboost),
}
