"""Timing, goals, and the parts of results/benchmarks.md."""

from __future__ import annotations

import operator
import os
import re
import resource
import sys
import time
from collections.abc import Callable, Iterator
from datetime import date
from functools import cache
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

import joblib
import numpy as np
from pages import write_part
from tabulate import tabulate

from rankpursuit.errors import DataNotFoundError
from rankpursuit.experiments.config import Experiment, load_experiment, ratings_of
from rankpursuit.experiments.store import provenance

SYNTHETIC = "data={name: synthetic, n_users: 3000, n_items: 100}"

Row = list[Any]  # a title, values, the goal, and whether it is met (empty if there is no goal)
Entries = Iterator[tuple[tuple[str, ...], Row]]  # rows, each with the headers of its table


class Options(NamedTuple):
    """Rounds of timing, whether sizes are small (to try a benchmark), and where the page is.

    `against` is the commit to compare runs with.
    """

    rounds: int = 5
    small: bool = False
    folder: Path | None = None
    against: str = "HEAD"


class Subject(NamedTuple):
    """A section of the page: its title, a note and its rows."""

    title: str
    note: str
    measure: Callable[[Options], Entries]


def overrides(name: str) -> list[str]:
    """Return what replaces the data of a config if they are missing: synthetic ratings."""
    try:
        ratings_of(load_experiment(name).data)
    except DataNotFoundError:
        return [SYNTHETIC]
    return []


def load(name: str, *settings: str) -> Experiment:
    """Load a shipped config, with synthetic ratings if its data are missing."""
    return load_experiment(name, [*settings, *overrides(name)])


def alternate(rounds: int, *functions: Callable[[], Any]) -> list[np.ndarray]:
    """Time functions in turn, round after round; return the seconds of each round."""
    seconds: list[list[float]] = [[] for _ in functions]
    for _ in range(rounds):
        for function, taken in zip(functions, seconds, strict=True):
            begun = time.perf_counter()
            function()
            taken.append(time.perf_counter() - begun)
    return [np.array(taken) for taken in seconds]


def ratio_row(
    title: str, first: np.ndarray, second: np.ndarray, ratios: np.ndarray, scale: float, goal: str
) -> Row:
    """Return the medians of two series of times, scaled, and of their ratio with its range."""
    medians = [float(np.median(x)) for x in (scale * first, scale * second, ratios)]
    spread = f"{ratios.min():.3g} to {ratios.max():.3g}"
    return [title, *medians, spread, goal, is_met(goal, medians[2])]


def goal_row(title: str, value: float, goal: str) -> Row:
    """Return a value next to its goal."""
    return [title, value, goal, is_met(goal, value)]


def is_met(goal: str, value: float) -> bool:
    """Return whether a value meets a goal such as "at least 40"."""
    words, limit = goal.rsplit(" ", 1)
    compare = {"at least": operator.ge, "at most": operator.le, "below": operator.lt}[words]
    return bool(compare(value, float(limit)))


def in_new_process(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function of a module in a separate process, to measure its peak memory."""
    with get_context("spawn").Pool(1) as pool:
        return pool.apply(function, arguments)


def peak_megabytes() -> float:
    """Return the peak memory of this process (Linux: of its current program)."""
    status = Path("/proc/self/status")
    if status.exists():
        return float(re.search(r"VmHWM:\s*(\d+)", status.read_text())[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def measure(name: str, subject: Subject, options: Options) -> list[str]:
    """Measure a subject, print its tables and write its part of the page, if there is a folder.

    Returns the titles of rows that miss their goal.
    """
    tables: dict[tuple[str, ...], list[Row]] = {}
    print(f"\n{subject.title}\n{subject.note}\n", flush=True)
    for headers, row in subject.measure(options):
        print(f"measured: {row[0]}", file=sys.stderr, flush=True)
        tables.setdefault(headers, []).append(row)
    print(render(tables, "simple"), flush=True)
    if options.folder:
        made = f"`python scripts/bench.py {name}`, {date.today()}, {environment()}."
        parts = filter(None, [made, subject.note, render(tables, "pipe")])
        write_part(options.folder / "benchmarks.md", name, "\n\n".join(parts))
    return [row[0] for rows in tables.values() for row in rows if row[-1] is False]


def render(tables: dict[tuple[str, ...], list[Row]], style: str) -> str:
    """Return the tables as text; values that are strings stay as they are."""
    options = {"tablefmt": style, "floatfmt": ".2f", "intfmt": ","}
    return "\n\n".join(
        tabulate(rows, headers, disable_numparse=isinstance(rows[0][1], str), **options)
        for headers, rows in tables.items()
    )


@cache
def environment() -> str:
    """Return the machine and the versions in one line."""
    origin = provenance()
    machine, packages = origin["machine"], origin["packages"]
    gigabytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    parts = [machine["processor"], f"{joblib.cpu_count()} cores", f"{gigabytes:.0f} GB"]
    versions = [f"rankpursuit {origin['rankpursuit']}", f"Python {origin['python']}"]
    versions += [f"{name} {packages[name]}" for name in ("numpy", "scipy", "scikit-learn")]
    return f"{', '.join([*parts, machine['system']])}; {', '.join(versions)}"
