"""Measure how time and memory grow with points and unscored points, up to a million rows."""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from benchmarks.harness import (
    Entries,
    Options,
    Subject,
    alternate,
    goal_row,
    in_new_process,
    peak_megabytes,
)

from rankpursuit import RankingPursuit, SemiSupervisedRankingPursuit

N_BASIS, N_SCORED, N_CANDIDATES = 20, 100, 500
POINTS, UNSCORED = (500, 1000, 2000, 4000, 8000), (2000, 4000, 8000, 16000, 32000)
EXPONENTS = ("growth", "exponent", "goal", "met")
DETAILS = ("growth", "size", "measured")

NOTE = f"""\
Fits have {N_BASIS} basis functions and one BLAS thread; a time is the lowest over the rounds, each
the second of two fits in a row, so that memory is allocated. Memory is the peak of all arrays that
a fit allocates (tracemalloc): the kernel of the n points with the candidates, so n x n if every
point is a candidate, but not the input. The exponent is the slope of the logarithms, by least
squares."""


def data(n_points: int) -> tuple[np.ndarray, np.ndarray]:
    """Return points and scores."""
    X = np.random.default_rng(0).normal(size=(n_points, 5))
    return X, X[:, 0] + np.sin(X[:, 1])


def fit_points(n_points: int, n_candidates: int | None = None) -> Callable[[], Any]:
    """Return a fit of ranking pursuit, by default with every point in the dictionary."""
    options = {"fitting": "basic", "ridge": 0.0, "gamma": 0.2, "random_state": 0}
    model = RankingPursuit(N_BASIS, n_candidates=n_candidates, **options)
    return partial(model.fit, *data(n_points))


def fit_unscored(n_unscored: int) -> Callable[[], Any]:
    """Return a fit of SS ranking pursuit with a shared basis of 100 candidates."""
    X, y = data(N_SCORED + n_unscored)
    y[N_SCORED:] = np.nan
    options = {"views": "features", "shared_basis": True, "gamma": 0.2, "random_state": 0}
    model = SemiSupervisedRankingPursuit(N_BASIS, n_candidates=N_SCORED, **options)
    return partial(model.fit, X, y)


def megabytes(fit: Callable[[], Any]) -> float:
    """Return the peak of what a fit allocates."""
    tracemalloc.start()
    fit()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / 1e6


def rows(options: Options) -> Entries:
    """Measure times and memory at several sizes, and their exponents."""
    by_candidates = partial(fit_points, n_candidates=N_CANDIDATES)
    pursuit, shared = "ranking pursuit", "SS ranking pursuit, shared basis"
    for title, every_size, counted, unit, work, goal in (
        (pursuit, POINTS, "points", "s", fit_points, 2.1),
        (shared, UNSCORED, "unscored points", "s", fit_unscored, 1.15),
        (pursuit, POINTS, "points", "MB", fit_points, 2.1),
        (f"{pursuit}, {N_CANDIDATES} candidates", POINTS, "points", "MB", by_candidates, 1.1),
    ):
        sizes = every_size[: 2 if options.small else None]
        if unit == "MB":
            values = np.array([megabytes(work(size)) for size in sizes])
        else:
            twice = [call for size in sizes for call in (work(size),) * 2]
            values = np.array([taken.min() for taken in alternate(options.rounds, *twice)[1::2]])
        name = f"{title}: {unit} against {counted}"
        yield EXPONENTS, goal_row(name, exponent(sizes, values), f"at most {goal:g}")
        for size, value in zip(sizes, values, strict=True):
            yield DETAILS, [title, f"{size} {counted}", f"{value:.3g} {unit}"]


def exponent(sizes: Sequence[int], values: np.ndarray) -> float:
    """Return the slope of log value over log size, by least squares."""
    return float(np.polyfit(np.log(sizes), np.log(values), 1)[0])


SUBJECT = Subject("Growth", NOTE, rows)

# A million rows

N_ROWS, N_FEATURES, BLOCK = 1_000_000, 50, 4_096
MANY_CANDIDATES, MANY_BASIS = 1_000, 100
GAMMA = 0.5 / N_FEATURES
GOALS = ("goal", "measured", "wanted", "met")
MILLION = ("rows", "fit, s", "floor, s", "ratio", "peak, MB")

MILLION_NOTE = f"""\
`RankingPursuit(...).fit` on up to {N_ROWS:,} rows with {N_FEATURES} features in queries of 15 to
25, {MANY_CANDIDATES:,} candidates, {MANY_BASIS} functions with refits and a ridge. The rows are
mapped into memory; each size is fitted in a process of its own. The floor is, block by block, the
product of the rows with the candidates, its exponential, and the product of the result with itself,
before the fit and after it. The exponent is that of the time in units of the floor, whose work is
linear in the rows. Memory is the peak resident set of the process, the mapped file included."""


def write(folder: Path, n_rows: int) -> None:
    """Write features and scores in blocks."""
    rng = np.random.default_rng(0)
    with (folder / "X").open("wb") as features, (folder / "y").open("wb") as scores:
        for start in range(0, n_rows, 50_000):
            X = rng.normal(size=(min(50_000, n_rows - start), N_FEATURES))
            noise = rng.normal(size=len(X))
            X.tofile(features)
            (np.sin(2.0 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * noise).tofile(scores)


def floor_seconds(X: np.ndarray) -> float:
    """Return the seconds of the work that no method can avoid."""
    candidates = (-2.0 * GAMMA * X[:MANY_CANDIDATES]).T.copy()
    values, seconds = np.zeros((BLOCK, MANY_CANDIDATES)), 0.0
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
    X = np.memmap(folder / "X", mode="r", dtype=np.float64).reshape(-1, N_FEATURES)[:n_rows]
    y, sizes = (
        np.fromfile(folder / "y", count=n_rows),
        np.random.default_rng(1).integers(15, 26, size=n_rows // 15 + 1),
    )
    groups = np.repeat(np.arange(len(sizes)), sizes)[:n_rows]
    options = {"fitting": "backfit", "ridge": 1.0, "gamma": GAMMA, "random_state": 0}
    model = RankingPursuit(MANY_BASIS, n_candidates=MANY_CANDIDATES, **options)
    floors = [floor_seconds(X)]
    begun = time.perf_counter()
    model.fit(X, y, groups)
    seconds = time.perf_counter() - begun
    floors.append(floor_seconds(X))
    return seconds, float(np.mean(floors)), peak_megabytes()


def million_rows(options: Options) -> Entries:
    """Fit an eighth, a quarter, half and all of the rows."""
    n_rows = 40_000 if options.small else N_ROWS
    sizes = [n_rows // 8, n_rows // 4, n_rows // 2, n_rows]
    with TemporaryDirectory() as folder:
        write(Path(folder), n_rows)
        found = [in_new_process(fit, Path(folder), size) for size in sizes]
    seconds, floors, peaks = np.array(found).T
    ratios = seconds / floors
    title = "RankingPursuit(...).fit"
    yield GOALS, goal_row(f"{title}: time over the floor", float(ratios[-1]), "at most 1.5")
    yield GOALS, goal_row(f"{title}: peak memory in MB", float(peaks[-1]), "below 2000")
    slope = 1.0 + exponent(sizes, ratios)
    yield GOALS, goal_row("exponent of time against rows", slope, "at most 1.05")
    for size, one, ratio in zip(sizes, found, ratios, strict=True):
        yield MILLION, [size, *one[:2], float(ratio), one[2]]


MILLION_ROWS = Subject("A million rows", MILLION_NOTE, million_rows)
