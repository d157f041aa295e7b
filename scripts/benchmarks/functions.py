"""Fit products of functions to a million rows: time next to its floor, memory, and LightGBM."""

from __future__ import annotations

import time
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from benchmarks.harness import Entries, Options, Subject, in_new_process, is_met, peak_megabytes
from benchmarks.million import N_FEATURES, N_ROWS, write
from rankpursuit import PairDictionary, RankingPursuit, sizes_from_groups
from rankpursuit.metrics import pairwise_accuracy

KNOTS, N_BASIS, BLOCK, TIMED, TREES, N_TEST = 9, 50, 8_192, 3, 100, 20_000
N_FUNCTIONS = N_FEATURES * (KNOTS + 1)
GOALS = ("goal", "measured", "wanted", "met")
DETAILS = ("rows", "fit, s", "floor, s", "peak, MB", "accuracy", "LightGBM, s", "its accuracy")

NOTE = f"""\
`RankingPursuit(..., dictionary=PairDictionary(...)).fit` on {N_ROWS:,} rows in single precision,
with {N_FEATURES} features in queries of 15 to 25: {N_FUNCTIONS} functions of one feature, all
products of two of different features, {N_BASIS} functions chosen with refits. The floor is one
product of the matrix of function values, rows weighted, with itself for each step and one for the
scores, by blocks of {BLOCK:,} rows; {TIMED} are timed. Seconds are those of the processor, with one
thread. Memory is the peak resident set of the process after the fit. LightGBM's ranker fits
{TREES} trees to the same rows, with grades by fifths of the query; accuracy is that of the pairs of
{N_TEST:,} other rows."""


def load(folder: Path, n_rows: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the rows, their scores and their groups."""
    X = np.memmap(folder / "X", mode="r", dtype=np.float64).reshape(-1, N_FEATURES)[:n_rows]
    sizes = np.random.default_rng(1).integers(15, 26, size=n_rows // 15 + 1)
    groups = np.repeat(np.arange(len(sizes)), sizes)[:n_rows]
    return X.astype(np.float32), np.fromfile(folder / "y", count=n_rows), groups


def floor_seconds(n_rows: int) -> float:
    """Return the seconds of the matrix products of a fit."""
    values = np.random.default_rng(0).normal(size=(BLOCK, N_FUNCTIONS)).astype(np.float32)
    begun = time.process_time()
    for _ in range(TIMED * n_rows // BLOCK):
        values.T @ (1.5 * values)
    return (time.process_time() - begun) * (N_BASIS + 1) / TIMED


def fit(folder: Path, n_rows: int) -> tuple[float, float, float, float]:
    """Fit the rows; return seconds, those of the floor, peak memory in MB, and the accuracy."""
    X, y, groups = load(folder, n_rows)
    dictionary = PairDictionary(KNOTS, [1.0], factor_knots=KNOTS)
    model = RankingPursuit(N_BASIS, dictionary=dictionary, ridge=0.01)
    begun = time.process_time()
    model.fit(X[:-N_TEST], y[:-N_TEST], groups[:-N_TEST])
    seconds, peak = time.process_time() - begun, peak_megabytes()
    test = slice(len(y) - N_TEST, None)
    accuracy = pairwise_accuracy(y[test], model.predict(X[test]), groups[test])
    return seconds, floor_seconds(n_rows), peak, float(accuracy)


def boost(folder: Path, n_rows: int) -> tuple[float, float] | None:
    """Fit LightGBM; return seconds and accuracy, None if it is not installed."""
    try:
        import lightgbm
    except ImportError:
        return None
    X, y, groups = load(folder, n_rows)
    order = np.lexsort([y, groups])
    sizes = sizes_from_groups(groups)
    places = np.concatenate([np.arange(size) * 5 // size for size in sizes])
    grades = np.empty(len(y), dtype=int)
    grades[order] = places
    model = lightgbm.LGBMRanker(n_estimators=TREES, n_jobs=1, verbose=-1)
    begun = time.process_time()
    train = slice(len(y) - N_TEST)
    model.fit(X[train], grades[train], group=sizes_from_groups(groups[train]))
    seconds = time.process_time() - begun
    test = slice(len(y) - N_TEST, None)
    accuracy = pairwise_accuracy(y[test], np.asarray(model.predict(X[test])), groups[test])
    return seconds, float(accuracy)


def rows(options: Options) -> Entries:
    """Fit all rows."""
    n_rows = 60_000 if options.small else N_ROWS
    with TemporaryDirectory() as folder:
        write(Path(folder), n_rows)
        seconds, floor, peak, accuracy = in_new_process(fit, Path(folder), n_rows)
        boosted = in_new_process(boost, Path(folder), n_rows) or (float("nan"), float("nan"))
    for title, value, goal in (
        ("products of functions: time over the floor", seconds / floor, "at most 2"),
        ("products of functions: peak memory in MB", peak, "below 4000"),
    ):
        yield GOALS, [title, value, goal, is_met(goal, value)]
    yield DETAILS, [n_rows, seconds, floor, peak, accuracy, *boosted]


SUBJECT = Subject("Products of functions", NOTE, rows, "")
