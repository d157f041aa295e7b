"""Fit ranking pursuit to 20,000 points in 200 groups; print time, peak memory and accuracy.

Run it as ``python scripts/large.py``.
"""

import resource
import time

import numpy as np

from rankpursuit import RankingPursuit

N_POINTS, N_GROUPS, N_FEATURES, N_CANDIDATES, N_BASIS = 20_000, 200, 10, 1_000, 100


def main() -> None:
    """Fit, predict, print."""
    rng = np.random.default_rng(0)
    groups, X = rng.integers(N_GROUPS, size=N_POINTS), rng.normal(size=(N_POINTS, N_FEATURES))
    offsets = 10.0 * rng.normal(size=N_GROUPS)
    y = np.sin(2.0 * X[:, 0]) + X[:, 1] ** 2 + offsets[groups] + 0.3 * rng.normal(size=N_POINTS)
    print(f"{N_POINTS} points, {N_GROUPS} groups, {N_CANDIDATES} candidates, {N_BASIS} functions")
    for fitting in ("basic", "backfit"):
        options = {"n_candidates": N_CANDIDATES, "gamma": 0.1, "random_state": 0}
        model = RankingPursuit(N_BASIS, fitting=fitting, **options)
        start = time.perf_counter()
        model.fit(X, y, groups)
        seconds = time.perf_counter() - start
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        score = model.score(X, y, groups)
        print(f"{fitting:>8}: {seconds:5.1f} s, peak {peak:.0f} MB, pairwise accuracy {score:.3f}")


if __name__ == "__main__":
    main()
