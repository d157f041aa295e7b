"""Compare the rankers with gradient boosting and linear models, on real and drawn queries."""

from __future__ import annotations

import json
import time
import warnings
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple, Self

import click
import numpy as np
import pandas as pd
from benchmarks.harness import environment, in_new_process, peak_megabytes
from pages import BOOSTING, RESULTS, ROOT, write_csv, write_pages, write_part
from sklearn.model_selection import GroupKFold
from studies.rankings import DATA_SETS, Queries, load_folds, ndcg, per_query
from threadpoolctl import threadpool_limits

from rankpursuit import PathCV, RankingPursuitCV, RankRLS, SparseRankRLS
from rankpursuit.estimators.inspection import chosen_terms
from rankpursuit.metrics import Array, ndcg_error
from rankpursuit.reporting.statistics import compare
from rankpursuit.writing import write_atomically

KEPT = RESULTS / "boosting.json"
PAGE = ROOT / "docs" / "guide" / "comparison.rst"
SETS = {
    "letor": "LETOR MQ2008",
    "movielens": "MovieLens 1M",
    "bikes": "bikes",
    "patients": "diabetes patients",
    "smooth": "smooth",
    "large": "smooth, 40,000 rows",
    "additive": "additive",
    "interactions": "interactions",
    "rotated": "rotated",
    "steps": "steps",
    "plane": "linear",
}
COSTS = ("letor", "movielens", "large")  # sets with times and sizes
COST_COLUMNS = ("fit_seconds", "predict_ms", "memory_mb", "size_kb", "functions", "features")
STAGES, RATES = range(20, 301, 20), (0.03, 0.1)
BY_NDCG = {"scoring": "ndcg@10"}


class Fitted(NamedTuple):
    """A fitted ranker: how it predicts, its bytes, functions and features, and what was chosen."""

    predict: Callable[[Array], Array]
    size: int
    n_functions: int
    n_features: int
    chosen: dict[str, Any]


# Boosting


class LightGBM:
    """A boosted ranker that takes its rows query by query and can stop after fewer trees."""

    package, ranker, options = "lightgbm", "LGBMRanker", {"verbose": -1}

    def __init__(self, **parameters: Any) -> None:
        ranker = getattr(__import__(self.package), self.ranker)
        self.model = ranker(**parameters, **self.options, n_jobs=1, random_state=0)

    def fit(self, X: Array, y: Array, groups: np.ndarray) -> Self:
        """Fit to rows in any order."""
        order = np.argsort(groups, kind="stable")
        _, sizes = np.unique(groups, return_counts=True)
        self.model.fit(X[order], y[order].astype(int), group=sizes)
        return self

    def predict(self, X: Array) -> Array:
        """Predict with all trees."""
        return np.asarray(self.model.predict(X), dtype=float)

    def staged(self, X: Array, stages: Sequence[int]) -> list[Array]:
        """Predict with the first trees only; the trees between two stages are used once."""
        steps = zip((0, *stages), stages, strict=False)
        parts = [{"start_iteration": low, "num_iteration": high - low} for low, high in steps]
        return list(np.cumsum([self.model.predict(X, raw_score=True, **x) for x in parts], axis=0))

    @property
    def size(self) -> int:
        """Bytes of the model as its package writes it."""
        return len(self.model.booster_.model_to_string())


class XGBoost(LightGBM):
    """The same for XGBoost."""

    package, ranker, options = "xgboost", "XGBRanker", {"objective": "rank:ndcg"}

    def staged(self, X: Array, stages: Sequence[int]) -> list[Array]:
        """Predict with the first trees only."""
        return [self.model.predict(X, iteration_range=(0, trees)) for trees in stages]

    @property
    def size(self) -> int:
        """Bytes of the model as its package writes it."""
        return len(self.model.get_booster().save_raw())


def boosted(build: Callable[..., Any], size: str, values: Sequence[int], train: Queries) -> Fitted:
    """Fit boosting with the highest NDCG@10 over five folds of queries.

    The size of the trees, the rate and, by staged predictions, the number of trees are chosen.
    """
    grid = [{size: one, "learning_rate": rate} for one, rate in product(values, RATES)]
    scores = np.zeros((len(grid), len(STAGES)))
    for inside, outside in GroupKFold(5).split(train.X, train.y, train.groups):
        X, y, groups = (array[outside] for array in train)
        for number, parameters in enumerate(grid):
            model = build(**parameters, n_estimators=max(STAGES))
            found = np.array(model.fit(*(array[inside] for array in train)).staged(X, STAGES))
            scores[number] += 1.0 - ndcg_error(y, found, groups, k=10, gain="shifted")
    best, at = np.unravel_index(scores.argmax(), scores.shape)
    chosen = grid[best] | {"n_estimators": STAGES[at]}
    model = build(**chosen).fit(*train)
    n_features = np.count_nonzero(model.model.feature_importances_)
    return Fitted(model.predict, model.size, STAGES[at], n_features, chosen)


# The rankers of this package


def pursuit(train: Queries, **options: Any) -> Fitted:
    """Fit ranking pursuit, which chooses its own parameters."""
    model = RankingPursuitCV(random_state=0, **options).fit(*train)
    terms = chosen_terms(model)
    n_features = len({feature for term in terms for feature in term.features})
    size = 8 * sum(2 * len(term.features) + 1 for term in terms)
    if model.X_basis_ is not None:
        size = model.coef_.nbytes + model.X_basis_.nbytes
    return Fitted(model.predict, size, len(terms), n_features, model.best_params_)


def linear(train: Queries) -> Fitted:
    """Fit RankRLS with a linear kernel: one weight for each feature."""
    model = PathCV(RankRLS(kernel="linear"), **BY_NDCG).fit(*train)
    used = np.count_nonzero(model.coef_)
    return Fitted(model.predict, model.coef_.nbytes, used, used, model.best_params_)


def rank_rls(train: Queries) -> Fitted:
    """Fit RankRLS with all points, with what cross-validation of 200 random ones chooses."""
    grid = {"n_basis": [200], "alpha": None, "gamma": None}
    chosen = PathCV(SparseRankRLS(random_state=0), grid, **BY_NDCG).fit(*train)
    gamma, alpha = (chosen.best_params_[name] for name in ("gamma", "alpha"))
    scale = chosen.scaler_.transform
    model = RankRLS(alpha, gamma=gamma).fit(scale(train.X), train.y, train.groups)
    size = model.coef_.nbytes + model.X_basis_.nbytes
    used = np.count_nonzero(np.ptp(train.X, axis=0))
    best = chosen.best_params_
    return Fitted(lambda X: model.predict(scale(X)), size, len(train.y), used, best)


METHODS: dict[str, Callable[[Queries], Fitted]] = {
    "RankingPursuitCV()": pursuit,
    "kernel": partial(pursuit, dictionary="kernel", **BY_NDCG),
    "additive": partial(pursuit, dictionary="additive", **BY_NDCG),
    "grown": partial(pursuit, dictionary="grown", **BY_NDCG),
    "grown, average": partial(pursuit, dictionary="grown", average=True, **BY_NDCG),
    "RankRLS": rank_rls,
    "linear": linear,
    BOOSTING: partial(boosted, LightGBM, "num_leaves", (7, 31)),
    "XGBoost": partial(boosted, XGBoost, "max_depth", (3, 6)),
}
MOST_ROWS = {"RankRLS": 10_000}


def measure(method: str, data: str, fold: str) -> dict[str, Any] | None:
    """Fit a method to a fold and test it; return None if its package is not installed.

    Uses one thread, and measures processor time, so that other programs add little.
    """
    warnings.simplefilter("ignore")
    threadpool_limits(1)
    _, train, test = next(one for one in load_folds(data) if one.name == fold)
    reset_peak = Path("/proc/self/clear_refs")
    if reset_peak.exists():
        reset_peak.write_text("5")
    before, begun = peak_megabytes(), time.process_time()
    try:
        fitted = METHODS[method](train)
    except ImportError:
        return None
    done, memory = time.process_time(), peak_megabytes() - before
    predictions = fitted.predict(test.X)
    taken = time.process_time() - done
    costs = (done - begun, 1e6 * taken / len(predictions), memory, fitted.size / 1e3)
    sizes = fitted.n_functions, fitted.n_features
    return dict(zip(COST_COLUMNS, map(float, (*costs, *sizes)), strict=True)) | {
        "chosen": {key: str(value) for key, value in fitted.chosen.items()},
        "ndcg": per_query(test, predictions, ndcg).round(6).tolist(),
    }


def kept_fits() -> dict[str, Any]:
    """Return the finished fits, by data set, fold and method."""
    return json.loads(KEPT.read_text(encoding="utf-8")) if KEPT.exists() else {}


def measure_all(sets: Iterable[str], methods: Collection[str], *, fresh: bool) -> None:
    """Measure every method on every fold, and keep each as it ends."""
    folds = [(name, fold) for name in sets for fold in load_folds(name)]
    for (name, fold), method in product(folds, methods):
        key = f"{name}/{fold.name}/{method}"
        too_large = len(fold.train.y) > MOST_ROWS.get(method, np.inf)
        if too_large or (key in kept_fits() and not fresh):
            continue
        click.echo(f"{key} ... ", nl=False)
        found = in_new_process(measure, method, name, fold.name)
        if found is None:
            click.echo("skipped: its package is not installed (pip install '.[bench]')")
            continue
        write_atomically(KEPT, json.dumps(kept_fits() | {key: found}).encode())
        click.echo(f"{found['fit_seconds']:.1f} s, {found['chosen']}")


def summary(kept: dict[str, Any]) -> pd.DataFrame:
    """Return a row for each data set with all folds of LightGBM, and each method with all folds.

    Differences in NDCG@10 from LightGBM are paired over the test queries.
    """
    rows = []
    for data, title in SETS.items():
        complete = {}
        for name in METHODS:
            folds = [
                fit for key, fit in sorted(kept.items()) if key.split("/")[::2] == [data, name]
            ]
            if len(folds) == DATA_SETS[data][0]:
                complete[name] = pd.DataFrame(folds)
        ndcgs = {name: np.concatenate(folds["ndcg"]) for name, folds in complete.items()}
        for name, folds in complete.items() if BOOSTING in complete else ():
            row = {"data": title, "method": name, "queries": len(ndcgs[name])}
            row["ndcg"] = ndcgs[name].mean()
            if name != BOOSTING:
                lead = compare(ndcgs[name], ndcgs[BOOSTING])
                row |= dict(zip(("low", "high"), lead.interval, strict=True))
                row["difference"] = lead.mean
            if data in COSTS:
                row |= folds[list(COST_COLUMNS)].mean()
            chosen = Counter(x["dictionary"] for x in folds["chosen"] if "dictionary" in x)
            row["chosen"] = ", ".join(f"{word} {n}" for word, n in chosen.most_common())
            rows.append(row)
    columns = ["data", "method", "queries", "ndcg", "difference", "low", "high"]
    return pd.DataFrame(rows, columns=[*columns, *COST_COLUMNS, "chosen"])


@click.command("boosting")
@click.option("--only", multiple=True, type=click.Choice(list(METHODS)), help="These methods.")
@click.option("--data", multiple=True, type=click.Choice(list(SETS)), help="These data sets.")
@click.option("--fresh", is_flag=True, help="Measure finished fits again.")
def main(only: tuple[str, ...], data: tuple[str, ...], fresh: bool) -> None:
    """Compare rankers with gradient boosting and linear models.

    Writes results/boosting.csv, in about an hour. Needs LETOR MQ2008, MovieLens 1M and bikes under
    $RANKPURSUIT_DATA (see data/README.md), and LightGBM and XGBoost (pip install '.[bench]').
    Finished fits are kept in results/boosting.json: re-run the same command to resume.
    """
    measure_all(data or SETS, only or METHODS, fresh=fresh)
    measured = summary(kept_fits())
    if measured.empty:
        raise click.ClickException("no data set has all folds of LightGBM yet: nothing written")
    write_csv(RESULTS / "boosting.csv", measured)
    write_part(PAGE, "environment", f"{environment()}.")
    write_pages()
