"""Fit ranking pursuit to 20,000 points in 200 groups; print time, peak memory and accuracy.

Run it as ``python scripts/large.py``.
"""

import resource
import time

import numpy as np

from rankpursuit import RankingPursuit

N_POINTS, N_GROUPS, N_FEATURES, N_CANDIDATES, N_BASIS = 20_000, 200, 10, 1_000, 100


def megabytes() -> float:
    """Peak resident memory of this process."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    """Fit, predict, print."""
    rng = np.random.default_rng(0)
    groups = rng.integers(N_GROUPS, size=N_POINTS)
    X = rng.normal(size=(N_POINTS, N_FEATURES))
    offsets = 10.0 * rng.normal(size=N_GROUPS)
    y = np.sin(2.0 * X[:, 0]) + X[:, 1] ** 2 + offsets[groups] + 0.3 * rng.normal(size=N_POINTS)
    before = megabytes()
    print(f"{N_POINTS} points, {N_GROUPS} groups, {N_CANDIDATES} candidates, {N_BASIS} functions")
    for fitting in ("basic", "backfit"):
        model = RankingPursuit(
            N_BASIS, fitting=fitting, n_candidates=N_CANDIDATES, gamma=0.1, random_state=0
        )
        start = time.perf_counter()
        model.fit(X, y, groups)
        seconds = time.perf_counter() - start
        score = model.score(X, y, groups)
        print(
            f"{fitting:>8}: {seconds:5.1f} s, peak {megabytes():.0f} MB "
            f"({before:.0f} MB before), pairwise accuracy {score:.3f}"
        )


if __name__ == "__main__":
    main()
