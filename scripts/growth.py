"""How time and memory grow: with the points, with the unscored points, with the tasks.

Run it as ``python scripts/growth.py [--figure FILE] [--markdown FILE]``: a table of what was
measured with the fitted exponents, and a log-log figure. The exit status is 1 if an exponent
misses its goal.
"""

from __future__ import annotations

import argparse
import time
import tracemalloc
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from bench_file import environment, exit_if_missed, is_met, write_section
from bench_steps import Step, Tables, measured
from bench_timing import load
from growth_figure import draw
from tabulate import tabulate
from threadpoolctl import threadpool_limits

from rankpursuit import RankingPursuit, SemiSupervisedRankingPursuit
from rankpursuit.experiments.backends import Local
from rankpursuit.experiments.export import RunFolder
from rankpursuit.experiments.run import Progress, Run, execute
from rankpursuit.experiments.store import Identity, Store

N_BASIS, N_SCORED, N_CANDIDATES = 20, 100, 500
POINTS = (500, 1000, 2000, 4000, 8000)
UNSCORED = (2000, 4000, 8000, 16000, 32000)
TASKS = (10, 40, 160, 640)
SUMMARY, DETAILS = "exponents", "details"

NOTE = f"""\
Fits have {N_BASIS} basis functions and one BLAS thread; a time is the least of {{rounds}} rounds,
each the second of two fits in a row, so that its memory is at hand.
Memory is the peak of all arrays that a fit allocates (tracemalloc): the kernel of the n points with
the candidates among them, so n x n where every point is a candidate, but not the input. A task is a
user of a small synthetic experiment with all eight algorithms, through runner and store: the time
of a whole run over the number of tasks. The exponent is the slope of the logarithms,
by least squares."""


@dataclass(frozen=True)
class Curve:
    """Something that grows: how it is measured, and the largest exponent that is wanted."""

    title: str
    sizes: tuple[int, ...]
    counted: str
    unit: str
    measure: Callable[[int], float]
    goal: float


@dataclass(frozen=True)
class Growth:
    """A curve as it was measured."""

    curve: Curve
    values: np.ndarray

    @property
    def exponent(self) -> float:
        """The slope of log value over log size, by least squares."""
        return float(np.polyfit(np.log(self.curve.sizes), np.log(self.values), 1)[0])


def data(n_points: int) -> tuple[np.ndarray, np.ndarray]:
    """Return points and scores."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_points, 5))
    return X, X[:, 0] + np.sin(X[:, 1])


def fit_points(n_points: int, n_candidates: int | None = None) -> Callable[[], Any]:
    """Return a fit of ranking pursuit, by default with every point in the dictionary."""
    model = RankingPursuit(
        N_BASIS,
        fitting="basic",
        ridge=0.0,
        gamma=0.2,
        n_candidates=n_candidates,
        random_state=0,
    )
    return partial(model.fit, *data(n_points))


def fit_unscored(n_unscored: int) -> Callable[[], Any]:
    """Return a fit of SS ranking pursuit with a shared basis of 100 candidates."""
    X, y = data(N_SCORED + n_unscored)
    y[N_SCORED:] = np.nan
    model = SemiSupervisedRankingPursuit(
        N_BASIS,
        views="features",
        shared_basis=True,
        n_candidates=N_SCORED,
        gamma=0.2,
        random_state=0,
    )
    return partial(model.fit, X, y)


def run_tasks(n_tasks: int) -> Callable[[], Any]:
    """Return a run of hold-out and test users, half of the tasks each, all of about one size."""
    experiment = load(
        "demo",
        "data={name: synthetic, n_users: 6000, n_items: 100}",
        "protocol.groups=[[20, 40]]",
        "protocol.test_user_bounds=[50, 60]",
        f"protocol.test_users={n_tasks // 2}",
        f"protocol.holdout_users={n_tasks // 2}",
    )
    run = Run.of(experiment, 1)

    def execute_all() -> None:
        with (
            TemporaryDirectory() as folder,
            Store(RunFolder(Path(folder)).store, Identity("", "")) as store,
        ):
            for failure in execute(run, store, Progress(), Local().evaluate):
                raise SystemExit(failure)

    return execute_all


def seconds(work: Callable[[int], Callable[[], Any]], size: int) -> float:
    """Return how long work of a size takes the second time, when its memory is at hand."""
    prepared = work(size)
    prepared()
    begun = time.perf_counter()
    prepared()
    return time.perf_counter() - begun


def milliseconds_a_task(n_tasks: int) -> float:
    """Return the time of a run over the number of its tasks."""
    return 1e3 * seconds(run_tasks, n_tasks) / n_tasks


def peak_megabytes(n_points: int, n_candidates: int | None = None) -> float:
    """Return the peak of what a fit allocates."""
    fit = fit_points(n_points, n_candidates)
    tracemalloc.start()
    fit()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / 1e6


CURVES = (
    Curve("ranking pursuit", POINTS, "points", "s", partial(seconds, fit_points), 2.1),
    Curve(
        "SS ranking pursuit, shared basis",
        UNSCORED,
        "unscored points",
        "s",
        partial(seconds, fit_unscored),
        1.15,
    ),
    Curve("ranking pursuit", POINTS, "points", "MB", peak_megabytes, 2.1),
    Curve(
        f"ranking pursuit, {N_CANDIDATES} candidates",
        POINTS,
        "points",
        "MB",
        partial(peak_megabytes, n_candidates=N_CANDIDATES),
        1.1,
    ),
    Curve("a run of all algorithms", TASKS, "tasks", "ms a task", milliseconds_a_task, 0.05),
)


def grow(curve: Curve, rounds: int) -> Growth:
    """Measure a curve round after round and keep the least values."""
    curve.measure(curve.sizes[0])
    rounds = 1 if curve.unit == "MB" else rounds
    values = [[curve.measure(size) for size in curve.sizes] for _ in range(rounds)]
    return Growth(curve, np.min(values, axis=0))


def summary_rows(growths: list[Growth]) -> list[list[Any]]:
    """Return a row for each curve: its exponent, its goal and whether it is met."""
    rows = []
    for growth in growths:
        curve, goal = growth.curve, f"at most {growth.curve.goal:g}"
        name = f"{curve.title}: {curve.unit} against {curve.counted}"
        rows.append([name, growth.exponent, goal, is_met(goal, growth.exponent)])
    return rows


def detail_rows(growths: list[Growth]) -> list[list[Any]]:
    """Return a row for each measured point."""
    return [
        [growth.curve.title, f"{size} {growth.curve.counted}", f"{value:.3g} {growth.curve.unit}"]
        for growth in growths
        for size, value in zip(growth.curve.sizes, growth.values, strict=True)
    ]


def render(found: Tables, style: str) -> str:
    """Return the tables as text."""
    headers = {SUMMARY: ["exponent", "goal", "met"], DETAILS: ["size", "measured"]}
    return "\n\n".join(
        tabulate(rows, ["growth", *headers[table]], style, floatfmt=".2f")
        for table, rows in found.items()
    )


def main() -> None:
    """Measure, print, draw, and exit with 1 if a goal is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--figure", type=Path, help="draw the curves into this SVG file")
    parser.add_argument("--markdown", type=Path, help="also write the tables to this file")
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    note = NOTE.format(rounds=arguments.rounds)
    growths: list[Growth] = []

    def step(curve: Curve) -> Step:
        def measure() -> Tables:
            growths.append(grow(curve, arguments.rounds))
            return {SUMMARY: summary_rows(growths[-1:]), DETAILS: detail_rows(growths[-1:])}

        return Step(f"{curve.title}: {curve.unit} against {curve.counted}", measure)

    def keep(found: Tables, missing: str) -> None:
        if arguments.figure and not missing:
            draw(arguments.figure, growths)
        if arguments.markdown:
            picture = f"![Growth]({arguments.figure.name})" if arguments.figure else ""
            parts = [note, picture, missing, render(found, "pipe")]
            write_section(arguments.markdown, "Growth", "\n\n".join(filter(None, parts)))

    print(f"{environment()}\n{note}\n", flush=True)
    with threadpool_limits(limits=1):
        found = measured([step(curve) for curve in CURVES], keep)
    print(render(found, "simple"))
    exit_if_missed(row[0] for row in found[SUMMARY] if not row[-1])


if __name__ == "__main__":
    main()
