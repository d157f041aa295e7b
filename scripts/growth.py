"""How time and memory grow: with the points, with the unscored points, with the tasks.

Run it as ``python scripts/growth.py [--figure FILE]``: a table of times and fitted exponents, and
a log-log figure. The exit status is 1 if an exponent misses its goal.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
from tabulate import tabulate
from threadpoolctl import threadpool_limits

from rankpursuit import RankingPursuit, SemiSupervisedRankingPursuit

N_BASIS = 20
ROUNDS = 3
POINTS = (500, 1000, 2000, 4000, 8000)
UNSCORED = (2000, 4000, 8000, 16000, 32000)
N_SCORED = 100


def data(n_points: int) -> tuple[np.ndarray, np.ndarray]:
    """Return points and scores."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_points, 5))
    return X, X[:, 0] + np.sin(X[:, 1])


def fit_points(n_points: int) -> None:
    """Fit ranking pursuit with every point in the dictionary."""
    RankingPursuit(N_BASIS, gamma=0.2).fit(*data(n_points))


def fit_unscored(n_unscored: int) -> None:
    """Fit SS ranking pursuit with a shared basis of 100 candidates."""
    X, y = data(N_SCORED + n_unscored)
    y[N_SCORED:] = np.nan
    SemiSupervisedRankingPursuit(
        N_BASIS,
        views="features",
        shared_basis=True,
        n_candidates=N_SCORED,
        gamma=0.2,
        random_state=0,
    ).fit(X, y)


FITS = {"points": fit_points, "unscored": fit_unscored}
GOALS = {"points": 2.1, "unscored": 1.15}


def measure(kind: str, size: int) -> tuple[float, float]:
    """Return seconds and peak megabytes of a fit, in a process of its own."""
    command = [sys.executable, __file__, "--one", kind, str(size)]
    finished = subprocess.run(command, capture_output=True, text=True, check=True)
    seconds, megabytes = finished.stdout.split()
    return float(seconds), float(megabytes)


def one(kind: str, size: int) -> None:
    """Fit a few times and print the least time and the peak memory."""
    with threadpool_limits(limits=1):
        FITS[kind](200)
        taken = []
        for _ in range(ROUNDS):
            begun = time.perf_counter()
            FITS[kind](size)
            taken.append(time.perf_counter() - begun)
    print(min(taken), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


def draw(path: Path, rows: dict[str, list[tuple[int, float, float]]]) -> None:
    """Draw time against size, on logarithmic axes."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(5.5, 4), layout="constrained")
    styles = {
        "points": ("o-", "ranking pursuit, points"),
        "unscored": ("s--", "SS ranking pursuit, unscored points"),
    }
    for kind, (style, label) in styles.items():
        sizes, seconds, _ = zip(*rows[kind], strict=True)
        axes.loglog(sizes, seconds, style, label=f"{label} (exponent {slope(rows[kind]):.2f})")
    axes.set(xlabel="number of points", ylabel="seconds", title=f"{N_BASIS} basis functions")
    axes.legend()
    axes.grid(alpha=0.3, which="both")
    figure.savefig(path)


def slope(rows: list[tuple[int, float, float]]) -> float:
    """Return the exponent: the slope of log time over log size, by least squares."""
    sizes, seconds, _ = zip(*rows, strict=True)
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])


def main() -> None:
    """Measure, print, draw."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--figure", type=Path)
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        one(arguments.one[0], int(arguments.one[1]))
        return
    rows = {
        kind: [(size, *measure(kind, size)) for size in sizes]
        for kind, sizes in (("points", POINTS), ("unscored", UNSCORED))
    }
    table = [(kind, *row) for kind in rows for row in rows[kind]]
    print(tabulate(table, headers=["grows", "size", "seconds", "peak MB"], floatfmt=".3g"))
    missed = False
    for kind, goal in GOALS.items():
        exponent = slope(rows[kind])
        print(f"{kind}: exponent {exponent:.2f}, goal at most {goal:g}")
        missed |= exponent > goal
    if arguments.figure:
        draw(arguments.figure, rows)
    sys.exit(int(missed))


if __name__ == "__main__":
    main()
