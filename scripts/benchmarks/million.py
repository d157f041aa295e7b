"""Fit ranking pursuit to a million rows: time next to its floor, memory, growth."""

from __future__ import annotations

import time
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from benchmarks.growth import Curve, draw
from benchmarks.harness import Entries, Options, Subject, in_new_process, is_met, peak_megabytes
from rankpursuit import RankingPursuit

N_ROWS, N_FEATURES, N_CANDIDATES, N_BASIS, BLOCK = 1_000_000, 50, 1_000, 100, 4_096
GAMMA = 0.5 / N_FEATURES
GOALS = ("goal", "measured", "wanted", "met")
DETAILS = ("rows", "fit, s", "floor, s", "ratio", "peak, MB", "")

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
    X = np.memmap(folder / "X", mode="r", dtype=np.float64).reshape(-1, N_FEATURES)[:n_rows]
    y = np.fromfile(folder / "y", count=n_rows)
    sizes = np.random.default_rng(1).integers(15, 26, size=n_rows // 15 + 1)
    groups = np.repeat(np.arange(len(sizes)), sizes)[:n_rows]
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
    for title, value, goal in (
        ("RankingPursuit(...).fit: time over the floor", float(ratios[-1]), "at most 1.5"),
        ("RankingPursuit(...).fit: peak memory in MB", float(peaks[-1]), "below 2000"),
        ("exponent of time against rows", exponent, "at most 1.05"),
    ):
        yield GOALS, [title, value, goal, is_met(goal, value)]
    for size, one, ratio in zip(sizes, found, ratios, strict=True):
        yield DETAILS, [size, *one[:2], float(ratio), one[2], ""]
    if options.folder:
        curves = [
            Curve("fit", sizes, "rows", "s", seconds, 1.05),
            Curve("floor", sizes, "rows", "s", floors, 1.05),
            Curve("fit", sizes, "rows", "MB", peaks, 1.0),
        ]
        draw(options.folder / SUBJECT.figure, curves)


SUBJECT = Subject("A million rows", NOTE, rows, "million.svg")
