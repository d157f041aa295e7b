"""The page of the comparison: means over queries, paired differences with intervals, costs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from bench_file import environment
from letor_data import DATA_SETS
from letor_methods import METHODS

from rankpursuit.reporting.columns import markdown_columns
from rankpursuit.reporting.statistics import compare

MEASURES = {"ndcg": "NDCG@10", "map": "MAP", "error": "pairwise error"}
REFERENCE = "lightgbm"
HEAD = """# Ranking pursuit beside gradient boosting
Made by `python scripts/letor.py` (LightGBM and XGBoost installed; LETOR MQ2008 under
`$RANKPURSUIT_DATA/letor`, of which nothing is kept here).

Each part of the data is the test set once. Parameters, the width, the ridge and the number of
functions (for boosting the depth, the rate and the number of trees) are chosen by five-fold
cross-validation over the queries of the rest, by NDCG@10; nothing is tuned by hand. Measures are
means over the test queries that have documents of different grades, gains 2^grade - 1. A difference
is to LightGBM on the same queries, with a 95% bootstrap interval. Seconds of fitting include the
choice of parameters; memory is what the fit adds to a process of its own.
"""


def write_page(kept: dict[str, Any], path: Path) -> None:
    """Write the tables of all data sets that were measured."""
    parts = [HEAD, environment(), ""]
    for name, data in DATA_SETS.items():
        found = {method: _folds(kept, name, method) for method in METHODS}
        measured = {method: folds for method, folds in found.items() if folds}
        if measured:
            parts += [f"## {data.title[0].upper()}{data.title[1:]}", "", _table(measured), ""]
            if "pursuit-25" in measured and "random-25" in measured:
                parts += ["Chosen points against as many random ones:", "", _pairs(measured), ""]
    path.write_text("\n".join(parts), encoding="utf-8")


def _folds(kept: dict[str, Any], name: str, method: str) -> list[dict[str, Any]]:
    return [
        value
        for key, value in kept.items()
        if key.startswith(f"{name}/") and key.endswith(f"/{method}")
    ]


def _queries(folds: list[dict[str, Any]], measure: str) -> np.ndarray:
    return np.concatenate([fold["queries"][measure] for fold in folds])


def _table(measured: dict[str, list[dict[str, Any]]]) -> str:
    header = ["method", *MEASURES.values(), "NDCG@10 less LightGBM's", "fit, s", "predict, ms"]
    header += ["memory, MB", "model, kB", "chosen in the first fold"]
    rows = []
    for method, folds in measured.items():
        means = [f"{_queries(folds, measure).mean():.3f}" for measure in MEASURES]
        difference = ""
        if REFERENCE in measured and method != REFERENCE:
            difference = _difference(folds, measured[REFERENCE])
        costs = [
            f"{np.mean([fold['fit_seconds'] for fold in folds]):.1f}",
            f"{1e3 * np.mean([fold['predict_seconds'] for fold in folds]):.0f}",
            f"{max(fold['memory_mb'] for fold in folds):.0f}",
            f"{np.mean([fold['size_kb'] for fold in folds]):.0f}",
        ]
        rows.append([METHODS[method].title, *means, difference, *costs, folds[0]["about"]])
    return markdown_columns(header, rows, "l" + "r" * (len(header) - 2) + "l")


def _difference(folds: list[dict[str, Any]], others: list[dict[str, Any]]) -> str:
    found = compare(_queries(folds, "ndcg"), _queries(others, "ndcg"))
    low, high = found.interval
    return f"{found.mean:+.3f} ({low:+.3f} to {high:+.3f})"


def _pairs(measured: dict[str, list[dict[str, Any]]]) -> str:
    rows = []
    for n in (25, 50, 100, 200):
        chosen, drawn = measured.get(f"pursuit-{n}"), measured.get(f"random-{n}")
        if chosen and drawn and len(chosen) == len(drawn):
            rows.append([str(n), _difference(chosen, drawn)])
    return markdown_columns(["functions", "NDCG@10 of chosen less that of random"], rows, "rr")
