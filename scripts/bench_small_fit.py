"""Time fits of 50 points, where checks and calls take longer than the arithmetic.

Run alone it prints its table: ``python scripts/bench_small_fit.py``. ``make bench`` has it too.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from bench_file import environment, exit_if_missed, is_met
from bench_timing import alternate
from tabulate import tabulate
from threadpoolctl import threadpool_limits

from rankpursuit import RLS, KernelMatchingPursuit, RankingPursuit, RankRLS, RankSVM

HEADERS = ["fit of 50 points", "ms, fastest tenth", "median", "goal", "met"]
GOAL = "at most 2"
_WARM, _ROUNDS = 5, 100
_MODELS = {
    "RLS": RLS(),
    "RLS, linear": RLS(kernel="linear"),
    "RankRLS": RankRLS(),
    "RankSVM, squared hinge": RankSVM(loss="squared_hinge"),
    "matching pursuit, basic": KernelMatchingPursuit(fitting="basic", ridge=0.0),
    "ranking pursuit, basic": RankingPursuit(fitting="basic", ridge=0.0),
    "ranking pursuit, back-fitted": RankingPursuit(fitting="backfit", ridge=0.0),
    "ranking pursuit, pre-fitted": RankingPursuit(fitting="prefit", ridge=0.0),
    "ranking pursuit, back-fitted with a ridge": RankingPursuit(fitting="backfit", ridge=1.0),
}


def small_fit_rows() -> list[list[Any]]:
    """Return a row for each model, from times in alternating rounds.

    A fit is shorter than what another program may take of the processor at a time, so the goal is
    one of the fastest tenth.
    """
    rng = np.random.default_rng(0)
    X, groups = rng.normal(size=(50, 10)), np.repeat(np.arange(5), 10)
    y = X[:, 0] + np.sin(X[:, 1])
    fits = [partial(model.fit, X, y, groups) for model in _MODELS.values()]
    rows = []
    for name, seconds in zip(_MODELS, alternate(_WARM + _ROUNDS, *fits), strict=True):
        times = 1e3 * seconds[_WARM:]
        fast, median = np.quantile(times, [0.1, 0.5])
        rows.append([name, fast, median, GOAL, is_met(GOAL, fast)])
    return rows


def main() -> None:
    """Measure, print, and exit with 1 if a goal is missed."""
    with threadpool_limits(limits=1):
        rows = small_fit_rows()
    print(f"{environment()}\n\n{tabulate(rows, headers=HEADERS, floatfmt='.2f')}")
    exit_if_missed(row[0] for row in rows if row[-1] is False)


if __name__ == "__main__":
    main()
