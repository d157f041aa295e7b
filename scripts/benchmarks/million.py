"""Fit a million rows, by candidates and by products of functions: time over a floor, and memory."""

from __future__ import annotations

import time
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd

from benchmarks.growth import Curve, draw
from benchmarks.harness import Entries, Options, Subject, goal_row, in_new_process, peak_megabytes
from rankpursuit import PairDictionary, RankingPursuit, sizes_from_groups
from rankpursuit.metrics import pairwise_accuracy

N_ROWS, N_FEATURES, N_CANDIDATES, N_BASIS, BLOCK = 1_000_000, 50, 1_000, 100, 4_096
GAMMA = 0.5 / N_FEATURES
GOALS = ("goal", "measured", "wanted", "met")
DETAILS = ("rows", "fit, s", "floor, s", "ratio", "peak, MB")

NOTE = f"""\
`RankingPursuit(...).fit` on up to {N_ROWS:,} rows with {N_FEATURES} features in queries of 15 to
25, {N_CANDIDATES:,} candidates, {N_BASIS} functions with refits and a ridge. The rows are a file of
seeded random numbers, mapped into memory; each size is fitted in a process of its own. The floor
is, block by block, the product of the rows with the candidates, its exponential, and the product of
the result with itself: the mean of one before the fit and one after it. The exponent is that of the
time in units of the floor, whose work is linear in the rows. Memory is the peak resident set of the
process, the mapped file and the floor's block included."""


def write(folder: Path, n_rows: int) -> None:
    """Write features and scores in blocks."""
    rng = np.random.default_rng(0)
    with (folder / "X").open("wb") as features, (folder / "y").open("wb") as scores:
        for start in range(0, n_rows, 50_000):
            X = rng.normal(size=(min(50_000, n_rows - start), N_FEATURES))
            noise = rng.normal(size=len(X))
            X.tofile(features)
            (np.sin(2.0 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * noise).tofile(scores)


def load(folder: Path, n_rows: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the first rows, mapped into memory, their scores and their groups."""
    X = np.memmap(folder / "X", mode="r", dtype=np.float64).reshape(-1, N_FEATURES)[:n_rows]
    sizes = np.random.default_rng(1).integers(15, 26, size=n_rows // 15 + 1)
    groups = np.repeat(np.arange(len(sizes)), sizes)[:n_rows]
    return X, np.fromfile(folder / "y", count=n_rows), groups


# By candidates


def floor_seconds(X: np.ndarray) -> float:
    """Return the seconds of the work that no method can avoid."""
    candidates = (-2.0 * GAMMA * X[:N_CANDIDATES]).T.copy()
    values, seconds = np.zeros((BLOCK, N_CANDIDATES)), 0.0
    for start in range(0, len(X), BLOCK):
        block = np.array(X[start : start + BLOCK])
        out = values[: len(block)]
        begun = time.perf_counter()
        np.matmul(block, candidates, out=out)
        np.exp(out, out=out)
        out.T @ out
        seconds += time.perf_counter() - begun
    return seconds


def fit(folder: Path, n_rows: int) -> tuple[float, float, float]:
    """Fit the first rows; return seconds, those of the floor, and peak memory in MB."""
    X, y, groups = load(folder, n_rows)
    options = {"fitting": "backfit", "ridge": 1.0, "gamma": GAMMA, "random_state": 0}
    model = RankingPursuit(N_BASIS, n_candidates=N_CANDIDATES, **options)
    floors = [floor_seconds(X)]
    begun = time.perf_counter()
    model.fit(X, y, groups)
    seconds = time.perf_counter() - begun
    floors.append(floor_seconds(X))
    return seconds, float(np.mean(floors)), peak_megabytes()


def rows(options: Options) -> Entries:
    """Fit an eighth, a quarter, half and all of the rows."""
    n_rows = 40_000 if options.small else N_ROWS
    sizes = [n_rows // 8, n_rows // 4, n_rows // 2, n_rows]
    with TemporaryDirectory() as folder:
        write(Path(folder), n_rows)
        found = [in_new_process(fit, Path(folder), size) for size in sizes]
    seconds, floors, peaks = np.array(found).T
    ratios = seconds / floors
    exponent = 1.0 + float(np.polyfit(np.log(sizes), np.log(ratios), 1)[0])
    title = "RankingPursuit(...).fit"
    yield GOALS, goal_row(f"{title}: time over the floor", float(ratios[-1]), "at most 1.5")
    yield GOALS, goal_row(f"{title}: peak memory in MB", float(peaks[-1]), "below 2000")
    yield GOALS, goal_row("exponent of time against rows", exponent, "at most 1.05")
    for size, one, ratio in zip(sizes, found, ratios, strict=True):
        yield DETAILS, [size, *one[:2], float(ratio), one[2]]
    if options.folder:
        curves = [
            Curve("fit", sizes, "rows", "s", seconds, 1.05),
            Curve("floor", sizes, "rows", "s", floors, 1.05),
            Curve("fit", sizes, "rows", "MB", peaks, 1.0),
        ]
        draw(options.folder / SUBJECT.figure, curves)


SUBJECT = Subject("A million rows", NOTE, rows, "million.svg")


# By products of functions

KNOTS, N_PRODUCTS, PRODUCT_BLOCK, TIMED, TREES, N_TEST = 9, 50, 8_192, 3, 100, 20_000
N_FUNCTIONS = N_FEATURES * (KNOTS + 1)
TRAIN, TEST = slice(-N_TEST), slice(-N_TEST, None)
PRODUCT_DETAILS = ("rows", "fit, s", "floor, s", "peak, MB", "accuracy")
PRODUCT_DETAILS += ("LightGBM, s", "its accuracy")

PRODUCT_NOTE = f"""\
`RankingPursuit(..., dictionary=PairDictionary(...)).fit` on {N_ROWS:,} rows in single precision,
with {N_FEATURES} features in queries of 15 to 25: {N_FUNCTIONS} functions of one feature, all
products of two of different features, {N_PRODUCTS} functions chosen with refits. The floor is one
product of the matrix of function values, rows weighted, with itself for each step and one for the
scores, by blocks of {PRODUCT_BLOCK:,} rows; {TIMED} are timed. Seconds are those of the processor,
with one thread. Memory is the peak resident set of the process after the fit. LightGBM's ranker
fits {TREES} trees to the same rows, with grades by fifths of the query; accuracy is that of the
pairs of {N_TEST:,} other rows."""


def product_floor_seconds(n_rows: int) -> float:
    """Return the seconds of the matrix products of a fit."""
    values = np.random.default_rng(0).normal(size=(PRODUCT_BLOCK, N_FUNCTIONS)).astype(np.float32)
    begun = time.process_time()
    for _ in range(TIMED * n_rows // PRODUCT_BLOCK):
        values.T @ (1.5 * values)
    return (time.process_time() - begun) * (N_PRODUCTS + 1) / TIMED


def fit_products(folder: Path, n_rows: int) -> tuple[float, float, float, float]:
    """Fit the rows; return seconds, those of the floor, peak memory in MB, and the accuracy."""
    X, y, groups = load(folder, n_rows)
    dictionary = PairDictionary(KNOTS, [1.0], factor_knots=KNOTS)
    model = RankingPursuit(N_PRODUCTS, dictionary=dictionary, ridge=0.01)
    X = X.astype(np.float32)
    begun = time.process_time()
    model.fit(X[TRAIN], y[TRAIN], groups[TRAIN])
    seconds, peak = time.process_time() - begun, peak_megabytes()
    accuracy = pairwise_accuracy(y[TEST], model.predict(X[TEST]), groups[TEST])
    return seconds, product_floor_seconds(n_rows), peak, float(accuracy)


def boost(folder: Path, n_rows: int) -> tuple[float, float]:
    """Fit LightGBM; return seconds and accuracy, NaN if it is not installed."""
    try:
        import lightgbm
    except ImportError:
        return float("nan"), float("nan")
    X, y, groups = load(folder, n_rows)
    queries = pd.Series(y).groupby(groups)
    grades = (queries.rank("first") - 1) * 5 // queries.transform("size")
    model = lightgbm.LGBMRanker(n_estimators=TREES, n_jobs=1, verbose=-1)
    X = X.astype(np.float32)
    begun = time.process_time()
    model.fit(X[TRAIN], grades[TRAIN], group=sizes_from_groups(groups[TRAIN]))
    seconds = time.process_time() - begun
    accuracy = pairwise_accuracy(y[TEST], np.asarray(model.predict(X[TEST])), groups[TEST])
    return seconds, float(accuracy)


def product_rows(options: Options) -> Entries:
    """Fit all rows."""
    n_rows = 60_000 if options.small else N_ROWS
    with TemporaryDirectory() as folder:
        write(Path(folder), n_rows)
        seconds, floor, peak, accuracy = in_new_process(fit_products, Path(folder), n_rows)
        boosted = in_new_process(boost, Path(folder), n_rows)
    title = "products of functions"
    yield GOALS, goal_row(f"{title}: time over the floor", seconds / floor, "at most 2")
    yield GOALS, goal_row(f"{title}: peak memory in MB", peak, "below 4000")
    yield PRODUCT_DETAILS, [n_rows, seconds, floor, peak, accuracy, *boosted]


PRODUCTS = Subject("Products of functions", PRODUCT_NOTE, product_rows)
