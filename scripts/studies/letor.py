"""Compare the rankers with gradient boosting and linear models, on real and drawn queries."""

from __future__ import annotations

import json
import re
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
from pages import RESULTS, write_part
from sklearn.base import BaseEstimator
from sklearn.model_selection import GroupKFold
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from rankpursuit import (
    AdditiveDictionary,
    RankingPursuit,
    RankingPursuitCV,
    RankRLS,
    RankRLSCV,
    SparseRankRLSCV,
    UnionDictionary,
)
from rankpursuit.estimators.dictionaries import Term
from rankpursuit.estimators.inspection import chosen_terms
from rankpursuit.metrics import Array, ndcg_error
from rankpursuit.reporting.render import markdown_columns
from rankpursuit.reporting.statistics import Comparison, compare
from rankpursuit.writing import write_atomically
from studies.rankings import DATA_SETS, Queries, load_folds, ndcg, per_query

KEPT = RESULTS / "letor.json"
PAGE = RESULTS / "letor.md"
SETS = {
    "letor": "LETOR MQ2008",
    "movielens": "MovieLens 1M",
    "patients": "diabetes patients",
    "smooth": "smooth",
    "large": "smooth, 40,000 rows",
    "additive": "additive",
    "interactions": "interactions",
    "rotated": "rotated",
    "steps": "steps",
    "plane": "linear",
}
COSTS = ("letor", "movielens", "large")  # sets of the table of times and sizes
STAGES, RATES = range(20, 301, 20), (0.03, 0.1)
BY_NDCG = {"scoring": "ndcg@10"}


class Fitted(NamedTuple):
    """A fitted ranker: how it predicts, its bytes, functions and features, and what was chosen."""

    predict: Callable[[Array], Array]
    size: int
    n_functions: int
    n_features: int
    about: str


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
    about = ", ".join(f"{key} {value:g}" for key, value in chosen.items())
    model = build(**chosen).fit(*train)
    n_features = np.count_nonzero(model.model.feature_importances_)
    return Fitted(model.predict, model.size, STAGES[at], n_features, about)


# The rankers of this package


def pursuit(train: Queries, **options: Any) -> Fitted:
    """Fit ranking pursuit, which chooses its own parameters."""
    model = RankingPursuitCV(random_state=0, **options).fit(*train)
    terms = chosen_terms(model)
    n_features = len({feature for term in terms for feature in term.features})
    size = 8 * sum(2 * len(term.features) + 1 for term in terms)
    if model.X_basis_ is not None:
        size = model.coef_.nbytes + model.X_basis_.nbytes
    about = ", ".join(
        f"{key} {value if isinstance(value, str) else format(value, '.3g')}"
        for key, value in model.best_params_.items()
    )
    return Fitted(model.predict, size, len(terms), n_features, about)


def linear(train: Queries) -> Fitted:
    """Fit RankRLS with a linear kernel: one weight for each feature."""
    model = RankRLSCV(kernel="linear", **BY_NDCG).fit(*train)
    weights = model.coef_
    used = np.count_nonzero(weights)
    about = f"alpha {model.best_params_['alpha']:g}"
    return Fitted(model.predict, weights.nbytes, used, used, about)


def rank_rls(train: Queries) -> Fitted:
    """Fit RankRLS with all points, with what cross-validation of 200 random ones chooses."""
    chosen = SparseRankRLSCV([200], random_state=0, **BY_NDCG).fit(*train)
    gamma, alpha = (chosen.best_params_[name] for name in ("gamma", "alpha"))
    scale = chosen.scaler_.transform
    model = RankRLS(alpha, gamma=gamma).fit(scale(train.X), train.y, train.groups)
    size = model.coef_.nbytes + model.X_basis_.nbytes
    about = f"gamma {gamma:.3g}, alpha {alpha:.3g}"
    used = np.count_nonzero(np.ptp(train.X, axis=0))
    return Fitted(lambda X: model.predict(scale(X)), size, len(train.y), used, about)


class PairKernels(BaseEstimator):
    """Gaussian kernels over given pairs of features, in three widths, at random training points."""

    def __init__(self, pairs: Sequence[tuple[int, int]], n_points: int = 40) -> None:
        self.pairs, self.n_points = pairs, n_points

    def fit(self, X: Array) -> Self:
        """Draw the points."""
        points = X[np.random.default_rng(0).permutation(len(X))[: self.n_points]]
        every = product(self.pairs, points, (0.5, 1.0, 2.0))
        self.terms = [Term("kernel", own, tuple(x[list(own)]), (w,)) for own, x, w in every]
        return self

    def columns(self, X: Array, which: Sequence[int]) -> Array:
        """Return the values of some functions."""
        terms = [self.terms[number] for number in which]
        features = np.array([term.features for term in terms])
        centres, widths = (np.array([term[at] for term in terms]) for at in (2, 3))
        squares = sum(np.square(X[:, features[:, at]] - centres[:, at]) for at in (0, 1))
        return np.exp(-0.5 * squares / np.square(widths[:, 0]))


def screened(train: Queries) -> Fitted:
    """Fit functions of one feature, and kernels over the pairs that a pursuit of products chose."""
    X = StandardScaler().fit_transform(train.X)
    first = RankingPursuit(100, dictionary="pairs").fit(X, train.y, train.groups)
    found = [term.features for term in chosen_terms(first) if len(term.features) == 2]
    pairs = list(dict.fromkeys(found))[:20]
    kernels = [PairKernels(pairs)] if pairs else []
    dictionary = UnionDictionary([AdditiveDictionary(), *kernels])
    return pursuit(train, dictionary=dictionary, **BY_NDCG)


class Method(NamedTuple):
    """A ranker, and the maximum number of rows that it is given."""

    title: str
    fit: Callable[[Queries], Fitted]
    most_rows: float = np.inf


METHODS = {
    "nothing-set": Method("`RankingPursuitCV()`", pursuit),
    "kernel": Method("kernel", partial(pursuit, dictionary="kernel", **BY_NDCG)),
    "additive": Method("additive", partial(pursuit, dictionary="additive", **BY_NDCG)),
    "pairs": Method("pairs", partial(pursuit, dictionary="pairs", **BY_NDCG)),
    "rank-rls": Method("RankRLS", rank_rls, 10_000),
    "linear": Method("linear", linear),
    "lightgbm": Method("LightGBM", partial(boosted, LightGBM, "num_leaves", (7, 31))),
    "xgboost": Method("XGBoost", partial(boosted, XGBoost, "max_depth", (3, 6))),
    "screened": Method("screened pairs", screened, 10_000),
}
DICTIONARIES = ("kernel", "additive", "pairs")
LISTED = [name for name in METHODS if name != "screened"]  # in the tables of all methods


# Measurements


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
        fitted = METHODS[method].fit(train)
    except ImportError:
        return None
    done, memory = time.process_time(), peak_megabytes() - before
    predictions = fitted.predict(test.X)
    taken = time.process_time() - done
    return {
        "fit_seconds": done - begun,
        "predict_ms": 1e6 * taken / len(predictions),
        "memory_mb": memory,
        "size_kb": fitted.size / 1e3,
        "functions": int(fitted.n_functions),
        "features": int(fitted.n_features),
        "about": fitted.about,
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
        too_large = len(fold.train.y) > METHODS[method].most_rows
        if too_large or (key in kept_fits() and not fresh):
            continue
        click.echo(f"{key} ... ", nl=False)
        found = in_new_process(measure, method, name, fold.name)
        if found is None:
            click.echo("skipped: its package is not installed (pip install '.[bench]')")
            continue
        write_atomically(KEPT, json.dumps(kept_fits() | {key: found}).encode())
        click.echo(f"{found['fit_seconds']:.1f} s, {found['about']}")


# The page

Fits = dict[str, dict[str, Any]]  # of one data set, by method


def finished(kept: dict[str, Any]) -> dict[str, Fits]:
    """Return the methods that have all folds of a data set: means, and NDCG@10 of all queries.

    Includes data sets with both LightGBM and `RankingPursuitCV()`, by LightGBM's lead, descending.
    """
    measured: dict[str, Fits] = {}
    for data, method in product(SETS, METHODS):
        keys = sorted(key for key in kept if re.fullmatch(f"{data}/[^/]*/{method}", key))
        if len(keys) == DATA_SETS[data][0]:
            folds = pd.DataFrame([kept[key] for key in keys])
            found = measured.setdefault(data, {})[method] = dict(folds.mean(numeric_only=True))
            found |= {"ndcg": np.concatenate(folds["ndcg"]), "about": folds["about"]}
    leads = {
        data: lead(found, "nothing-set", "lightgbm").mean
        for data, found in measured.items()
        if found.keys() >= {"nothing-set", "lightgbm"}
    }
    return {data: measured[data] for data in sorted(leads, key=leads.__getitem__)}


def lead(found: Fits, first: str, second: str) -> Comparison:
    """Compare the NDCG@10 of two methods."""
    return compare(found[first]["ndcg"], found[second]["ndcg"])


def lead_text(found: Fits, first: str, second: str) -> str:
    """Return the mean difference of two methods with its interval, empty if one is missing."""
    if not found.keys() >= {first, second}:
        return ""
    one = lead(found, first, second)
    return f"{one.mean:+.3f} ({one.interval[0]:+.3f} to {one.interval[1]:+.3f})"


def differences(measured: dict[str, Fits]) -> str:
    """Return the lead over LightGBM of some methods, where boosting wins first."""
    methods = [name for name in LISTED if name not in ("lightgbm", "kernel", "additive")]
    rows = []
    for data, found in measured.items():
        lightgbm = found["lightgbm"]["ndcg"]
        leads = [lead_text(found, name, "lightgbm") for name in methods]
        rows.append([SETS[data], len(lightgbm), f"{lightgbm.mean():.3f}", *leads])
    header = ["data", "queries", "LightGBM", *(METHODS[name].title for name in methods)]
    return markdown_columns(header, rows, "l" + "r" * (len(header) - 1))


def verdict(measured: dict[str, Fits]) -> str:
    """Return where LightGBM is ahead of `RankingPursuitCV()`, behind it, and level."""
    sides: dict[str, list[str]] = {"ahead": [], "behind": [], "level": []}
    for data, fits in measured.items():
        found = lead(fits, "nothing-set", "lightgbm")
        low, high = found.interval
        side = "ahead" if high < 0 else "behind" if low > 0 else "level"
        sides[side].append(f"{SETS[data]} ({found.mean:+.3f})" if side != "level" else SETS[data])
    listed = {side: "; ".join(names) or "nowhere" for side, names in sides.items()}
    return (
        f"**LightGBM is ahead** of `RankingPursuitCV()` on: {listed['ahead']}. **It is behind** "
        f"on: {listed['behind']}. **Level**, by the intervals: {listed['level']}."
    )


def means(measured: dict[str, Fits]) -> str:
    """Return the NDCG@10 of every method on every data set, the highest in bold."""
    rows = []
    for data, fits in measured.items():
        found = {name: f"{fits[name]['ndcg'].mean():.3f}" for name in LISTED if name in fits}
        best = max(found.values())
        cells = [found.get(name, "") for name in LISTED]
        rows.append([SETS[data], *(f"**{x}**" if x == best else x for x in cells)])
    header = ["data", *(METHODS[name].title for name in LISTED)]
    return markdown_columns(header, rows, "l" + "r" * len(LISTED))


def costs(measured: dict[str, Fits]) -> str:
    """Return times and sizes of each method on some of the data sets."""
    columns = {
        "fit, s": ("fit_seconds", ".1f"),
        "predict, ms": ("predict_ms", ".1f"),
        "memory, MB": ("memory_mb", ".0f"),
        "model, kB": ("size_kb", ".1f"),
        "functions or trees": ("functions", ".0f"),
        "features": ("features", ".0f"),
    }
    rows = []
    for data, name in product(COSTS, LISTED):
        if found := measured.get(data, {}).get(name):
            cells = [format(found[key], shown) for key, shown in columns.values()]
            rows.append([SETS[data], METHODS[name].title, *cells])
    return markdown_columns(["data", "method", *columns], rows, "ll" + "r" * len(columns))


def auto(measured: dict[str, Fits]) -> str:
    """Return what `RankingPursuitCV()` chooses, and what another dictionary would have brought."""
    rows = []
    for data, found in measured.items():
        if found.keys() >= set(DICTIONARIES):
            words = found["nothing-set"]["about"].str.extract(r"^dictionary (\w+)")[0]
            chosen = ", ".join(f"{name} {number}" for name, number in Counter(words).most_common())
            best = max(DICTIONARIES, key=lambda name: found[name]["ndcg"].mean())
            rows.append([SETS[data], chosen, best, lead_text(found, "nothing-set", best)])
    header = ["data", "chosen in the folds", "best of the three on test queries"]
    return markdown_columns([*header, "NDCG@10 minus that of the best"], rows, "lllr")


def screening(measured: dict[str, Fits]) -> str:
    """Return the lead of kernels over screened pairs over products, and the functions of both."""
    rows = []
    for data, found in measured.items():
        if gain := lead_text(found, "screened", "pairs"):
            sizes = [f"{found[name]['functions']:.0f}" for name in ("screened", "pairs")]
            rows.append([SETS[data], gain, *sizes])
    header = ["data", "NDCG@10 minus that of products", "functions", "functions of products"]
    return markdown_columns(header, rows, "lrrr")


@click.command("letor")
@click.option("--only", multiple=True, type=click.Choice(list(METHODS)), help="These methods.")
@click.option("--data", multiple=True, type=click.Choice(list(SETS)), help="These data sets.")
@click.option("--fresh", is_flag=True, help="Measure finished fits again.")
def main(only: tuple[str, ...], data: tuple[str, ...], fresh: bool) -> None:
    """Compare rankers with gradient boosting and linear models.

    Writes the tables of results/letor.md, in about an hour. Needs LETOR MQ2008 and MovieLens 1M
    under $RANKPURSUIT_DATA (see data/README.md), and LightGBM and XGBoost (pip install '.[bench]').
    Finished fits are kept in results/letor.json: re-run the same command to resume.
    """
    measure_all(data or SETS, only or METHODS, fresh=fresh)
    if not (measured := finished(kept_fits())):
        raise click.ClickException("no data set has all folds of LightGBM yet: page not written")
    write_part(PAGE, "environment", f"{environment()}.")
    for make in (differences, verdict, means, costs, auto, screening):
        write_part(PAGE, make.__name__, make(measured))
