"""Compare the rankers with gradient boosting and linear models, on LETOR and drawn queries."""

from __future__ import annotations

import json
import re
import time
import warnings
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple, Self

import click
import numpy as np
import pandas as pd
from benchmarks.harness import environment, in_new_process, peak_megabytes
from pages import write_part
from sklearn.linear_model import Ridge
from sklearn.model_selection import GroupKFold
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from rankpursuit import RankingPursuitCV, RankRLS, RankSVM, SparseRankRLSCV
from rankpursuit.estimators.inspection import chosen_terms
from rankpursuit.metrics import ndcg_error
from rankpursuit.reporting.render import markdown_columns
from rankpursuit.reporting.statistics import compare
from rankpursuit.writing import write_atomically
from studies.library import RESULTS, Array
from studies.rankings import DATA_SETS, Queries, letor_folder, load_folds, per_query

KEPT = RESULTS / "letor.json"
SETS = ("letor", "smooth", "large")
SIZES, STAGES, RATES = (25, 50, 100, 200), range(20, 301, 20), (0.03, 0.1)
NO_LIMIT = 10**9


class Fitted(NamedTuple):
    """A fitted ranker: how it predicts, how many bytes it takes, and what was chosen."""

    predict: Callable[[Array], Array]
    size: int
    about: str


def searched(
    train: Queries,
    build: Callable[..., Any],
    grid: list[dict[str, Any]],
    stages: Sequence[int] = (),
) -> Fitted:
    """Fit with the parameters that have the highest NDCG@10 over five folds of queries.

    `stages` are numbers of trees to try with each, of models with ``staged(X, stages)``.
    """
    scores = np.zeros((len(grid), max(1, len(stages))))
    most = {"n_estimators": max(stages)} if stages else {}
    for inside, outside in GroupKFold(5).split(train.X, train.y, train.groups):
        X, y, groups = (array[outside] for array in train)
        for number, parameters in enumerate(grid):
            model = build(**parameters, **most).fit(*(array[inside] for array in train))
            found = model.staged(X, stages) if stages else [model.predict(X)]
            scores[number] += 1.0 - np.asarray(
                ndcg_error(y, np.array(found), groups, k=10, gain="shifted")
            )
    best, at = np.unravel_index(scores.argmax(), scores.shape)
    chosen = grid[best] | ({"n_estimators": stages[at]} if stages else {})
    model = build(**chosen).fit(*train)
    about = ", ".join(f"{key} {value:g}" for key, value in chosen.items())
    return Fitted(model.predict, getattr(model, "size", 0), about)


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


class Linear:
    """A linear model on scaled features, or on those less their means in the query."""

    def __init__(self, model: Any, centred: bool = False) -> None:
        self.model, self.scaler, self.centred = model, StandardScaler(), centred

    def fit(self, X: Array, y: Array, groups: np.ndarray) -> Self:
        """Fit to rows in any order."""
        X = self.scaler.fit_transform(X)
        if self.centred:
            rows = pd.DataFrame(np.column_stack([X, y]))
            rows -= rows.groupby(groups).transform("mean")
            self.model.fit(rows.to_numpy()[:, :-1], rows.to_numpy()[:, -1])
        else:
            self.model.fit(X, y, groups)
        self.size = 8 * (X.shape[1] + 1)
        return self

    def predict(self, X: Array) -> Array:
        """Predict scores."""
        return self.model.predict(self.scaler.transform(X))


def chosen_by(ranker: type, *sizes: Any, **options: Any) -> Callable[[Queries], Fitted]:
    """Return the fit of a ranker that chooses its own parameters."""

    def fit(train: Queries) -> Fitted:
        model = ranker(*sizes, random_state=0, **options).fit(*train)
        shown = {
            key: value if isinstance(value, str) else f"{value:.3g}"
            for key, value in model.best_params_.items()
        }
        about = ", ".join(f"{key} {value}" for key, value in shown.items())
        return Fitted(model.predict, expansion_bytes(model), about)

    return fit


def expansion_bytes(model: Any) -> int:
    """Return the bytes of basis points and coefficients."""
    points = model.best_estimator_.X_basis_  # none in a linear model
    if getattr(model.best_estimator_, "dictionary_", None) is not None:
        return 8 * sum(2 * len(term.features) + 1 for term in chosen_terms(model))
    return model.coef_.nbytes + (0 if points is None else points.nbytes)


def rank_rls(train: Queries) -> Fitted:
    """Fit RankRLS with all points, with what cross-validation of 200 random ones chooses."""
    chosen = SparseRankRLSCV([SIZES[-1]], scoring="ndcg@10", random_state=0).fit(*train)
    gamma, alpha = (chosen.best_params_[name] for name in ("gamma", "alpha"))
    scale = chosen.scaler_.transform
    model = RankRLS(alpha, gamma=gamma).fit(scale(train.X), train.y, train.groups)
    about = f"gamma {gamma:.3g}, alpha {alpha:.3g}"
    return Fitted(lambda X: model.predict(scale(X)), expansion_bytes(model), about)


def rank_svm(train: Queries) -> Fitted:
    """Fit a linear RankSVM."""
    options = {"kernel": "linear", "loss": "squared_hinge", "group_weight": "equal"}
    grid = [{"C": 10.0**power} for power in range(-4, 2)]
    return searched(train, lambda C: Linear(RankSVM(C, **options)), grid)


def centred_ridge(train: Queries) -> Fitted:
    """Fit a linear ridge regression on scores and features less their means in the query."""
    grid = [{"alpha": 10.0**power} for power in range(-2, 5)]
    return searched(train, lambda alpha: Linear(Ridge(alpha, fit_intercept=False), True), grid)


def boosted(build: Callable[..., Any], size: str, values: Sequence[int], train: Queries) -> Fitted:
    """Fit boosting, with the size of its trees, its rate and its number of trees chosen."""
    grid = [{size: one, "learning_rate": rate} for one, rate in product(values, RATES)]
    return searched(train, build, grid, STAGES)


class Method(NamedTuple):
    """A ranker, and the most rows that it is given."""

    title: str
    fit: Callable[[Queries], Fitted]
    most_rows: int = NO_LIMIT


NOTHING_SET = "`RankingPursuitCV()`, nothing set but the seed"
METHODS = {"nothing-set": Method(NOTHING_SET, chosen_by(RankingPursuitCV))}
for n in SIZES:
    fit = chosen_by(RankingPursuitCV, n, dictionary="kernel", scoring="ndcg@10")
    METHODS[f"pursuit-{n}"] = Method(f"ranking pursuit, at most {n} functions", fit)
for name, title in (("additive", "functions of one feature"), ("pairs", "and products of two")):
    fit = chosen_by(RankingPursuitCV, dictionary=name, scoring="ndcg@10")
    METHODS[name] = Method(f"ranking pursuit, {title}", fit)
for n in SIZES:
    fit = chosen_by(SparseRankRLSCV, [n], scoring="ndcg@10")
    METHODS[f"random-{n}"] = Method(f"sparse RankRLS, {n} random points", fit)
METHODS |= {
    "rank-rls": Method("RankRLS, all points", rank_rls, 10_000),
    "rank-svm": Method("RankSVM, linear", rank_svm),
    "ridge": Method("linear ridge on centred scores", centred_ridge),
    "lightgbm": Method("LightGBM lambdarank", partial(boosted, LightGBM, "num_leaves", (7, 31))),
    "xgboost": Method("XGBoost rank:ndcg", partial(boosted, XGBoost, "max_depth", (3, 6))),
}


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
    queries = per_query(test, predictions)
    return {
        "fit_seconds": done - begun,
        "predict_seconds": time.process_time() - done,
        "predicted": len(predictions),
        "memory_mb": memory,
        "size_kb": fitted.size / 1e3,
        "about": fitted.about,
        "queries": {name: [round(x, 6) for x in found] for name, found in queries.items()},
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


MEASURES = {"ndcg": "NDCG@10", "map": "MAP", "error": "pairwise error"}
REFERENCES = {"lightgbm": "NDCG@10 minus LightGBM's", "pursuit-100": "minus that of 100 functions"}

Folds = list[dict[str, Any]]  # the fits of one method


def section(kept: dict[str, Any], data: str) -> str:
    """Return the tables of a data set, of methods that all folds are kept of; empty if none."""
    measured: dict[str, Folds] = {}
    for method in METHODS:
        keys = sorted(key for key in kept if re.fullmatch(f"{data}/[^/]*/{method}", key))
        if len(keys) == DATA_SETS[data][0]:
            measured[method] = [kept[key] for key in keys]
    if not measured:
        return ""
    missing = "; ".join(
        f"{title} (given at most {most:,} rows)" if most < NO_LIMIT else title
        for name, (title, _, most) in METHODS.items()
        if name not in measured
    )
    text = verdict(measured) + (f"\nNot measured: {missing}." if missing else "")
    parts = [f"{environment()}.", quality_table(measured), text, cost_table(measured)]
    pairs = [(measured.get(f"pursuit-{n}"), measured.get(f"random-{n}"), n) for n in SIZES]
    rows = [[n, difference(one, two)] for one, two, n in pairs if one and two]
    if rows:
        parts.append("Chosen points minus as many random ones:")
        parts.append(markdown_columns(["functions", "NDCG@10"], rows, "rr"))
    return "\n\n".join(parts)


def values(folds: Folds, measure: str = "ndcg") -> Array:
    """Return a measure of all test queries."""
    return np.concatenate([fold["queries"][measure] for fold in folds])


def difference(folds: Folds, others: Folds) -> str:
    """Return the mean difference of the NDCG@10 of two methods, with its interval."""
    found = compare(values(folds), values(others))
    return f"{found.mean:+.3f} ({found.interval[0]:+.3f} to {found.interval[1]:+.3f})"


def quality_table(measured: dict[str, Folds]) -> str:
    """Return the mean measures of each method, and its differences from the references."""
    references = {name: title for name, title in REFERENCES.items() if name in measured}
    headers, rows = ["method", *MEASURES.values(), *references.values()], []
    for method, folds in measured.items():
        row = [METHODS[method].title, *(f"{values(folds, name).mean():.3f}" for name in MEASURES)]
        row += ["" if method == x else difference(folds, measured[x]) for x in references]
        rows.append(row)
    return markdown_columns(headers, rows, "l" + "r" * (len(headers) - 1))


def verdict(measured: dict[str, Folds]) -> str:
    """Return which methods are ahead of LightGBM or behind it, by the intervals."""
    if "lightgbm" not in measured:
        return "LightGBM was not measured."
    lightgbm = values(measured["lightgbm"])
    found = {name: compare(values(folds), lightgbm) for name, folds in measured.items()}
    ahead = [METHODS[name].title for name, one in found.items() if one.interval[0] > 0]
    behind = [METHODS[name].title for name, one in found.items() if one.interval[1] < 0]
    intervals = f"by the intervals over {len(lightgbm)} queries"
    others = {name: one for name, one in found.items() if name not in ("lightgbm", "xgboost")}
    if others and all(one.interval[1] < 0 for one in others.values()):
        best = max(others, key=lambda name: values(measured[name]).mean())
        return (
            f"Boosting wins: {intervals}, LightGBM is ahead of every method that is not boosting, "
            f"of the best of them ({METHODS[best].title}) by {-others[best].mean:.3f}."
        )
    return (
        f"{intervals.capitalize()}, ahead of LightGBM: {'; '.join(ahead) or 'none'}. "
        f"Behind it: {'; '.join(behind) or 'none'}. Any others are level with it."
    )


def cost_table(measured: dict[str, Folds]) -> str:
    """Return times, memory and size of each method."""
    headers = ["method", "fit, s", "predict, ms", "memory, MB", "model, kB", "chosen, first fold"]
    rows = []
    for method, folds in measured.items():
        found = pd.DataFrame(folds)
        per_1000 = (1e6 * found["predict_seconds"] / found["predicted"]).mean()
        row = [f"{found['fit_seconds'].mean():.1f}", f"{per_1000:.1f}"]
        row += [f"{found['memory_mb'].max():.0f}", f"{found['size_kb'].mean():.1f}"]
        rows.append([METHODS[method].title, *row, folds[0]["about"]])
    return markdown_columns(headers, rows, "lrrrrl")


@click.command()
@click.option("--only", multiple=True, type=click.Choice(list(METHODS)), help="These methods.")
@click.option("--data", multiple=True, type=click.Choice(SETS), help="These data sets.")
@click.option("--fresh", is_flag=True, help="Measure finished fits again.")
def main(only: tuple[str, ...], data: tuple[str, ...], fresh: bool) -> None:
    """Compare rankers with gradient boosting and linear models.

    Writes the tables of results/letor.md. Needs LETOR MQ2008 under $RANKPURSUIT_DATA/letor (see
    data/README.md), and LightGBM and XGBoost (pip install '.[bench]') for their rows. Finished fits
    are kept in results/letor.json: re-run the same command to resume.
    """
    if "letor" in (data or SETS) and not letor_folder().is_dir():
        raise click.ClickException("no LETOR MQ2008: set RANKPURSUIT_DATA, or use --data smooth")
    measure_all(data or SETS, only or METHODS, fresh=fresh)
    for name in SETS:
        if text := section(kept_fits(), name):
            write_part(RESULTS / "letor.md", name, text)
