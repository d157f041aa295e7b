"""The page of the comparison: means over queries, paired differences with intervals, costs."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from bench_file import environment
from letor_methods import METHODS, NO_LIMIT, SIZES
from ranking_data import DATA_SETS, DataSet

from rankpursuit.reporting.render import markdown_columns
from rankpursuit.reporting.statistics import Comparison, compare

MEASURES = {"ndcg": "NDCG@10", "map": "MAP", "error": "pairwise error"}
REFERENCE, SPARSE = "lightgbm", "pursuit-100"
BOOSTING = ("lightgbm", "xgboost")
HEAD = """# Ranking pursuit beside gradient boosting
Made by `python scripts/letor.py` (`pip install '.[bench]'` for LightGBM and XGBoost; LETOR MQ2008
under `$RANKPURSUIT_DATA/letor`, of which nothing is kept here).

Every method learns from some queries and is judged on others. Its parameters are chosen by NDCG@10
(linear gains) in five-fold cross-validation over the queries to learn from, and it is then fitted
to all of those: for the pursuit the width, the ridge and the number of functions, for RankRLS the
width and the ridge (with all points: those that 200 random points choose), for boosting the size
of the trees, the rate and the number of trees, for the linear models the penalty. Nothing is tuned
by hand for a data set; but the defaults of the pursuit, and the widths that it tries, were chosen
with a look at errors on LETOR and on the smooth utility among others (results/defaults.md), which
may favour it a little here. `RankingPursuitCV()` with nothing set but the seed chooses by pairwise
accuracy among up to 100 functions.

Measures are means over the test queries that have documents of different grades; the gain of a
document is 2^grade - 1, and one of a grade above 0 is relevant. Differences are paired over these
queries, with 95% bootstrap intervals. Times are seconds of the processor, all methods in one
thread, so that other work on the machine adds little: of a fit with the choice of its parameters,
and of predicting 1,000 rows. Memory is the peak that a fit adds to a process of its own; a model's
size is that of its points and coefficients, or of the file of its package.
"""


def page(kept: dict[str, Any], names: Sequence[str], before: str = "") -> str:
    """Return the tables of all data sets that were measured.

    Parameters
    ----------
    kept : dict
        The fits, by data set, fold and method. A method counts if all folds are there.
    names : sequence of str
        The data sets.
    before : str
        The page as it was: what it has of other data sets stays, if it was measured on the same
        machine with the same versions.
    """
    machine = f"{environment()}."
    earlier = _sections(before) if machine in before else {}
    parts = [HEAD, machine, ""]
    for name in names:
        data = DATA_SETS[name]
        found = {method: _folds(kept, name, method) for method in METHODS}
        measured = {method: folds for method, folds in found.items() if len(folds) == data.n_folds}
        if measured:
            parts += _section(data, measured)
        elif data.title in earlier:
            parts.append(earlier[data.title])
    return "\n".join(parts)


def _sections(page: str) -> dict[str, str]:
    """Take a page apart by the titles of its data sets."""
    parts = re.split(r"^(?=## )", page, flags=re.M)[1:]
    return {part.partition("\n")[0].removeprefix("## "): part.rstrip() + "\n" for part in parts}


def _section(data: DataSet, measured: dict[str, list[dict[str, Any]]]) -> list[str]:
    parts = [f"## {data.title}", f"{data.about[0].upper()}{data.about[1:]}.", ""]
    parts += [_quality(measured), "", _verdict(measured), *_missing(measured), ""]
    parts += [_costs(measured), ""]
    if any(f"random-{size}" in measured for size in SIZES):
        parts += ["Chosen points minus as many random ones:", "", _chosen(measured), ""]
    return parts


def _missing(measured: Collection[str]) -> list[str]:
    """Name the methods that are not there, with the most rows that they are given."""
    missing = [
        f"{method.title} (given at most {method.most_rows:,} rows)"
        if method.most_rows < NO_LIMIT
        else method.title
        for name, method in METHODS.items()
        if name not in measured
    ]
    return [f"Not measured: {'; '.join(missing)}."] if missing else []


def _folds(kept: dict[str, Any], name: str, method: str) -> list[dict[str, Any]]:
    found = {key: one for key, one in kept.items() if key.startswith(f"{name}/")}
    return [found[key] for key in sorted(found) if key.endswith(f"/{method}")]


def _queries(folds: list[dict[str, Any]], measure: str) -> np.ndarray:
    return np.concatenate([fold["queries"][measure] for fold in folds])


def _against(folds: list[dict[str, Any]], others: list[dict[str, Any]]) -> Comparison:
    return compare(_queries(folds, "ndcg"), _queries(others, "ndcg"))


def _shown(found: Comparison) -> str:
    low, high = found.interval
    return f"{found.mean:+.3f} ({low:+.3f} to {high:+.3f})"


def _quality(measured: dict[str, list[dict[str, Any]]]) -> str:
    references = [one for one in (REFERENCE, SPARSE) if one in measured]
    titles = {REFERENCE: "NDCG@10 minus LightGBM's", SPARSE: "minus that of 100 functions"}
    header = ["method", *MEASURES.values(), *(titles[one] for one in references)]
    rows = []
    for method, folds in measured.items():
        means = [f"{_queries(folds, measure).mean():.3f}" for measure in MEASURES]
        differences = [
            "" if method == one else _shown(_against(folds, measured[one])) for one in references
        ]
        rows.append([METHODS[method].title, *means, *differences])
    return markdown_columns(header, rows, "l" + "r" * (len(header) - 1))


def _verdict(measured: dict[str, list[dict[str, Any]]]) -> str:
    """Say which methods are ahead of LightGBM or behind it, by the intervals."""
    if REFERENCE not in measured:
        return "LightGBM was not measured."
    ahead, behind = [], []
    for method, folds in measured.items():
        if method != REFERENCE:
            low, high = _against(folds, measured[REFERENCE]).interval
            ahead += [method] * (low > 0)
            behind += [method] * (high < 0)
    intervals = f"by the intervals over {len(_queries(measured[REFERENCE], 'ndcg'))} queries"
    others = set(measured) - set(BOOSTING)
    if others and others <= set(behind):
        best = max(others, key=lambda method: _queries(measured[method], "ndcg").mean())
        by = -_against(measured[best], measured[REFERENCE]).mean
        return (
            f"Boosting wins: {intervals}, LightGBM is ahead of every method that is not boosting, "
            f"of the best of them ({METHODS[best].title}) by {by:.3f}."
        )
    return (
        f"{intervals.capitalize()}, ahead of LightGBM: {_joined(ahead)}. "
        f"Behind it: {_joined(behind)}. Any others are level with it."
    )


def _joined(methods: list[str]) -> str:
    return "; ".join(METHODS[method].title for method in methods) or "none"


def _costs(measured: dict[str, list[dict[str, Any]]]) -> str:
    header = [
        "method",
        "fit, s",
        "predict, ms",
        "memory, MB",
        "model, kB",
        "chosen, first fold",
    ]
    rows = []
    for method, folds in measured.items():
        per_row = [1e6 * fold["predict_seconds"] / fold["predicted"] for fold in folds]
        rows.append(
            [
                METHODS[method].title,
                f"{np.mean([fold['fit_seconds'] for fold in folds]):.1f}",
                f"{np.mean(per_row):.1f}",
                f"{max(fold['memory_mb'] for fold in folds):.0f}",
                f"{np.mean([fold['size_kb'] for fold in folds]):.1f}",
                folds[0]["about"],
            ]
        )
    return markdown_columns(header, rows, "lrrrrl")


def _chosen(measured: dict[str, list[dict[str, Any]]]) -> str:
    rows = []
    for size in SIZES:
        chosen, drawn = measured.get(f"pursuit-{size}"), measured.get(f"random-{size}")
        if chosen and drawn and len(chosen) == len(drawn):
            rows.append([str(size), _shown(_against(chosen, drawn))])
    return markdown_columns(["functions", "NDCG@10"], rows, "rr")
