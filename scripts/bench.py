"""Time every method at the paper's full grid beside what a user would write instead.

Run it as ``make bench`` or ``python scripts/bench.py [--markdown FILE]``. All timings are of one
run on the same tasks with one BLAS thread, in alternating rounds; ratios are medians over the
rounds. The real Jester ratings are used when they are at hand, synthetic ratings otherwise. The
exit status is 1 if a ratio misses its goal.
"""

from __future__ import annotations

import argparse
import platform
import sys
import time
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import scipy
import sklearn
from bench_baselines import (
    kernel_ridge_grid,
    kernel_ridge_on_pairs_grid,
    loop_over_pairs,
    orthogonal_mp_grid,
    svc_grid,
)
from bench_floor import floor_seconds
from tabulate import tabulate
from threadpoolctl import threadpool_limits

from rankpursuit import __version__
from rankpursuit.datasets import Ratings, load_jester, make_ratings
from rankpursuit.errors import DataNotFoundError
from rankpursuit.experiments.config import Experiment, load_experiment
from rankpursuit.experiments.methods import predict_grid
from rankpursuit.experiments.problem import Problem
from rankpursuit.experiments.tasks import build_task, draw_users
from rankpursuit.metrics import disagreement_error

ROUNDS = 5
CONFIGS = Path(__file__).parents[1] / "configs"


def load() -> tuple[str, Ratings]:
    """Return Jester if it is here, synthetic ratings of its shape otherwise."""
    try:
        return "Jester", load_jester()
    except DataNotFoundError:
        return "synthetic ratings", make_ratings(3000, 100)


def problems_of(ratings: Ratings, experiment: Experiment, n_tasks: int) -> list[Problem]:
    """Return hold-out tasks of the middle group, with the kernels of all widths."""
    key = {"seed": experiment.seed, "group": experiment.protocol.groups[1], "repeat": 0}
    users = draw_users(ratings, experiment.protocol, role="holdout", **key)[:n_tasks]
    return [
        Problem.of(
            build_task(ratings, experiment.protocol, role="holdout", user=int(user), **key),
            experiment.kernel.widths,
            experiment.kernel.parameter,
        )
        for user in users
    ]


def alternate(*functions: Callable[[], Any]) -> list[np.ndarray]:
    """Time functions in turn, round after round; return the seconds of each round."""
    seconds: list[list[float]] = [[] for _ in functions]
    for _ in range(ROUNDS):
        for function, taken in zip(functions, seconds, strict=True):
            begun = time.perf_counter()
            function()
            taken.append(time.perf_counter() - begun)
    return [np.array(taken) for taken in seconds]


def compare(
    title: str, goal: float, problems: list[Problem], spec: Any, other: Callable[[Problem], Any]
) -> list[Any]:
    """Return a row: our time a task, the other's, their ratio with its spread, the goal."""

    def ours() -> None:
        for problem in problems:
            predict_grid(problem, spec, slice(problem.n_train, None))

    def theirs() -> None:
        for problem in problems:
            other(problem)

    own, others = alternate(ours, theirs)
    ratios = others / own
    scale = 1e3 / len(problems)
    return [
        title,
        np.median(own) * scale,
        np.median(others) * scale,
        np.median(ratios),
        f"{ratios.min():.0f} to {ratios.max():.0f}",
        f"at least {goal:g}",
        bool(np.median(ratios) >= goal),
    ]


def ratio_rows(ratings: Ratings, supervised: Experiment, semi: Experiment) -> list[list[Any]]:
    """Compare each method with what a user would write instead."""
    crrp = load_experiment(CONFIGS / "jester_crrp.yaml").algorithms
    algorithms = supervised.algorithms
    widths = supervised.kernel.widths
    few = problems_of(ratings, supervised, 3)
    smallest = [min(problems_of(ratings, supervised, 40), key=lambda p: p.n_scored)]
    halved = problems_of(ratings, semi, 1)
    ss = semi.algorithms["semi_supervised_ranking_pursuit"]
    svm = algorithms["rank_svm"].model_copy(update={"loss": "hinge"})
    rows = [
        compare(
            "RLS / KernelRidge",
            100,
            few,
            algorithms["rls"],
            lambda p: kernel_ridge_grid(p, widths, algorithms["rls"].lambdas),
        ),
        compare(
            "RankRLS / KernelRidge on centred scores",
            100,
            few,
            algorithms["rank_rls"],
            lambda p: kernel_ridge_on_pairs_grid(p, widths, algorithms["rank_rls"].lambdas),
        ),
    ]
    for title, label, form in (
        ("matching pursuit / orthogonal_mp", "kernel_matching_pursuit", "points"),
        ("ranking pursuit / orthogonal_mp", "ranking_pursuit", "pairs"),
        ("CRRP / orthogonal_mp", "combined_ranking_regression_pursuit", "both"),
    ):
        spec = (crrp | algorithms)[label].model_copy(update={"fitting": "backfit"})
        rows.append(
            compare(title, 8, few, spec, lambda p, form=form: orthogonal_mp_grid(p, widths, form))
        )
    rows.append(
        compare(
            "RankSVM / SVC on the kernel of pairs",
            40,
            smallest,
            svm,
            lambda p: svc_grid(p, widths, svm.C),
        )
    )
    rows.append(
        compare(
            "SS ranking pursuit / loop over pairs", 50, halved, ss, lambda p: loop_over_pairs(p, ss)
        )
    )
    return rows


def share_rows(ratings: Ratings, supervised: Experiment, semi: Experiment) -> list[list[Any]]:
    """Return the shares of whole tasks that are the metric and bare library calls."""
    rows = []
    for title, experiment in (("supervised", supervised), ("semi-supervised", semi)):
        problems = problems_of(ratings, experiment, 6)
        key = {"seed": experiment.seed, "group": experiment.protocol.groups[1], "repeat": 0}
        grids = [
            [predict_grid(p, spec, slice(p.n_train, None)).values for p in problems]
            for spec in experiment.algorithms.values()
        ]

        def whole(problems=problems, experiment=experiment, key=key) -> None:
            for problem in problems:
                task = build_task(
                    ratings, experiment.protocol, role="holdout", user=problem.task.user, **key
                )
                built = Problem.of(task, experiment.kernel.widths, experiment.kernel.parameter)
                for spec in experiment.algorithms.values():
                    grid = predict_grid(built, spec, slice(built.n_train, None))
                    disagreement_error(built.test_scores, grid.values)

        def metric(problems=problems, grids=grids) -> None:
            for of_spec in grids:
                for problem, values in zip(problems, of_spec, strict=True):
                    disagreement_error(problem.test_scores, values)

        whole_seconds, metric_seconds = alternate(whole, metric)
        floors = [sum(floor_seconds(p, experiment) for p in problems) for _ in range(ROUNDS)]
        per_task = 1e3 / len(problems)
        share = np.median(metric_seconds / whole_seconds)
        above = np.median(whole_seconds / np.array(floors))
        rows.append(
            [
                f"metric of a {title} task",
                np.median(metric_seconds) * per_task,
                np.median(whole_seconds) * per_task,
                share,
                "",
                "below 0.15",
                bool(share < 0.15),
            ]
        )
        rows.append(
            [
                f"{title} task over its floor",
                np.median(floors) * per_task,
                np.median(whole_seconds) * per_task,
                above,
                "",
                "at most 3",
                bool(above <= 3.0),
            ]
        )
    return rows


def main() -> None:
    """Measure, print, and exit with 1 if a goal is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--markdown", type=Path, help="also write the tables to this file")
    arguments = parser.parse_args()
    name, ratings = load()
    supervised = load_experiment(CONFIGS / "jester_supervised.yaml")
    semi = load_experiment(CONFIGS / "jester_semi_supervised.yaml")
    with threadpool_limits(limits=1):
        ratios = ratio_rows(ratings, supervised, semi)
        shares = share_rows(ratings, supervised, semi)
    parts = [
        ["ours / instead", "ours, ms a task", "instead, ms", "ratio", "spread", "goal", "met"],
        ["part", "part, ms a task", "whole, ms a task", "ratio", "", "goal", "met"],
    ]
    head = (
        f"Tasks of {name}, {ROUNDS} rounds, one BLAS thread; rankpursuit {__version__}, "
        f"Python {platform.python_version()}, numpy {np.__version__}, scipy {scipy.__version__}, "
        f"scikit-learn {sklearn.__version__}; {date.today()}"
    )
    texts = {
        style: "\n\n".join(
            tabulate(rows, headers=header, tablefmt=style, floatfmt=("", ".2f", ".1f", ".2f"))
            for header, rows in zip(parts, (ratios, shares), strict=True)
        )
        for style in ("simple", "github")
    }
    print(f"{head}\n\n{texts['simple']}")
    if arguments.markdown:
        command = "`python scripts/bench.py --markdown results/benchmarks.md`"
        text = f"# Benchmarks\n{head}. Made by {command}.\n\n{texts['github']}\n"
        arguments.markdown.write_text(text, encoding="utf-8")
    missed = [row[0] for row in [*ratios, *shares] if not row[-1]]
    if missed:
        sys.exit("goal missed: " + "; ".join(missed))


if __name__ == "__main__":
    main()
