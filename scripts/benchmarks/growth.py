"""Measure how time and memory grow with points, unscored points and tasks."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from pages import save_figure

from benchmarks.harness import Entries, Options, Subject, alternate, goal_row
from benchmarks.runs import run, sized
from rankpursuit import RankingPursuit, SemiSupervisedRankingPursuit
from rankpursuit.reporting.figures import figure_style

N_BASIS, N_SCORED, N_CANDIDATES = 20, 100, 500
POINTS, UNSCORED = (500, 1000, 2000, 4000, 8000), (2000, 4000, 8000, 16000, 32000)
TASKS = (40, 160, 640)
EXPONENTS = ("growth", "exponent", "goal", "met")
DETAILS = ("growth", "size", "measured")
UNITS = {"s": "Time of a fit", "MB": "Peak memory of a fit", "ms per task": "Time per task"}
COLORS = ("#d1500a", "#1b74b3")

NOTE = f"""\
Fits have {N_BASIS} basis functions and one BLAS thread; a time is the lowest over the rounds, each
the second of two fits in a row, so that memory is allocated. Memory is the peak of all arrays that
a fit allocates (tracemalloc): the kernel of the n points with the candidates, so n x n if every
point is a candidate, but not the input. A task is a user of a small synthetic experiment with all
eight algorithms: the time of `rp-run` over the number of tasks. The exponent is the slope of the
logarithms, by least squares."""


@dataclass(frozen=True)
class Curve:
    """Values at several sizes, and the largest exponent that is wanted."""

    title: str
    sizes: Sequence[int]
    counted: str
    unit: str
    values: np.ndarray
    goal: float

    @property
    def exponent(self) -> float:
        """The slope of log value over log size, by least squares."""
        return float(np.polyfit(np.log(self.sizes), np.log(self.values), 1)[0])


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


def run_tasks(n_tasks: int) -> Callable[[], Any]:
    """Return a run of hold-out and test users, half of the tasks each, of similar sizes."""
    settings = sized(n_tasks // 2) | {
        "data": "{name: synthetic, n_users: 6000, n_items: 100}",
        "protocol.groups": [[20, 40]],
        "protocol.test_user_bounds": [50, 60],
    }
    return partial(run, "demo", settings, "-j", "1")


def megabytes(fit: Callable[[], Any]) -> float:
    """Return the peak of what a fit allocates."""
    tracemalloc.start()
    fit()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / 1e6


def curves(options: Options) -> list[tuple[Any, ...]]:
    """Return what is measured: title, sizes, counted, unit, work of a size, goal."""
    few = 2 if options.small else None
    points, unscored, tasks = (sizes[:few] for sizes in (POINTS, UNSCORED, TASKS))
    by_candidates = partial(fit_points, n_candidates=N_CANDIDATES)
    pursuit, shared = "ranking pursuit", "SS ranking pursuit, shared basis"
    return [
        (pursuit, points, "points", "s", fit_points, 2.1),
        (shared, unscored, "unscored points", "s", fit_unscored, 1.15),
        (pursuit, points, "points", "MB", fit_points, 2.1),
        (f"{pursuit}, {N_CANDIDATES} candidates", points, "points", "MB", by_candidates, 1.1),
        ("a run of all algorithms", tasks, "tasks", "ms per task", run_tasks, 0.05),
    ]


def rows(options: Options) -> Entries:
    """Measure all curves, and draw them."""
    found = []
    for title, sizes, counted, unit, work, goal in curves(options):
        if unit == "MB":
            values = np.array([megabytes(work(size)) for size in sizes])
        else:
            prepared = [work(size) for size in sizes]
            twice = [call for one in prepared for call in (one, one)]
            values = np.array([taken.min() for taken in alternate(options.rounds, *twice)[1::2]])
            values = 1e3 * values / sizes if unit == "ms per task" else values
        curve = Curve(title, sizes, counted, unit, values, goal)
        name = f"{title}: {unit} against {counted}"
        yield EXPONENTS, goal_row(name, curve.exponent, f"at most {goal:g}")
        for size, value in zip(sizes, values, strict=True):
            yield DETAILS, [title, f"{size} {counted}", f"{value:.3g} {unit}"]
        found.append(curve)
    if options.folder:
        draw(options.folder / SUBJECT.figure, found)


def draw(path: Path, found: Sequence[Curve]) -> None:
    """Write the figure, a panel for each unit, with lines of the exponents that are the goals."""
    units = list(dict.fromkeys(curve.unit for curve in found))
    with figure_style():
        figure = Figure(figsize=(3.5 * len(units), 5.2))
        for axes, unit in zip(figure.subplots(1, len(units)), units, strict=True):
            drawn = [curve for curve in found if curve.unit == unit]
            for curve, color in zip(drawn, COLORS, strict=False):
                sizes = np.array(curve.sizes, dtype=float)
                goal = curve.values[0] * (sizes / sizes[0]) ** curve.goal
                label = f"{curve.title}: {curve.exponent:.2f}"
                axes.loglog(sizes, curve.values, "o-", color=color, label=label)
                axes.loglog(sizes, goal, ":", color=color, label=f"goal: at most {curve.goal:g}")
            counted = " or ".join(dict.fromkeys(curve.counted for curve in drawn))
            axes.set(title=UNITS[unit], xlabel=f"number of {counted}", ylabel=unit)
            all_sizes = sorted({size for curve in drawn for size in curve.sizes})
            axes.minorticks_off()
            axes.set_xticks(all_sizes, [f"{size:,}" for size in all_sizes], rotation=45)
            low, high = axes.get_ylim()
            if high < 10 * low:  # a flat curve: show that it is flat
                axes.set_ylim(low / 3, high * 3)
            axes.legend(loc="upper left", bbox_to_anchor=(-0.08, -0.28), title="exponents")
        save_figure(figure, path)


SUBJECT = Subject("Growth", NOTE, rows, "growth.svg")
