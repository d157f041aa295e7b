"""Timing, goals, and one Markdown file with a section for each benchmark."""

from __future__ import annotations

import operator
import os
import re
import resource
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date
from functools import cache
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import joblib
import numpy as np
from matplotlib.figure import Figure
from tabulate import tabulate

from rankpursuit.errors import DataNotFoundError
from rankpursuit.experiments.config import Experiment, load_experiment, ratings_of
from rankpursuit.experiments.store import provenance
from rankpursuit.writing import replacing, write_atomically

CONFIGS = Path(__file__).parents[2] / "configs"
SYNTHETIC = "data={name: synthetic, n_users: 3000, n_items: 100}"

Row = list[Any]  # a title, values, the goal, and whether it is met (empty if there is no goal)
Entries = Iterator[tuple[tuple[str, ...], Row]]  # rows, each with the headers of its table


@dataclass(frozen=True)
class Options:
    """Rounds of timing, whether sizes are small (to try a benchmark), and where figures go."""

    rounds: int = 5
    small: bool = False
    folder: Path | None = None


@dataclass(frozen=True)
class Subject:
    """A section of the file: its title, a note, its rows, and the name of its figure."""

    title: str
    note: str
    measure: Callable[[Options], Entries]
    figure: str = ""


def overrides(name: str) -> list[str]:
    """Return what replaces the data of a config if they are missing: synthetic ratings."""
    try:
        ratings_of(load_experiment(CONFIGS / f"{name}.yaml").data)
    except DataNotFoundError:
        return [SYNTHETIC]
    return []


def load(name: str, *settings: str) -> Experiment:
    """Load a shipped config, with synthetic ratings if its data are missing."""
    return load_experiment(CONFIGS / f"{name}.yaml", [*settings, *overrides(name)])


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


def is_met(goal: str, value: float) -> bool | str:
    """Return whether a value meets a goal such as "at least 40"; empty without a goal."""
    if not goal:
        return ""
    words, limit = goal.rsplit(" ", 1)
    compare = {"at least": operator.ge, "at most": operator.le, "below": operator.lt}[words]
    return bool(compare(value, float(limit)))


def in_new_process(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function of a module in a process of its own, whose peak memory is its own."""
    with get_context("spawn").Pool(1) as pool:
        return pool.apply(function, arguments)


def peak_megabytes() -> float:
    """Return the peak memory of this process (Linux: of its current program)."""
    status = Path("/proc/self/status")
    if status.exists():
        return float(re.search(r"VmHWM:\s*(\d+)", status.read_text())[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def save_figure(figure: Figure, path: Path) -> None:
    """Write a figure; the same bytes for the same figure."""
    options = {"facecolor": "white", "bbox_inches": "tight", "metadata": {"Date": None}}
    with replacing(path) as file:
        figure.savefig(file, format=path.suffix[1:], **options)


def measure(name: str, subject: Subject, options: Options, markdown: Path | None) -> list[str]:
    """Measure a subject and print its tables; return the titles of rows that miss their goal.

    The file is rewritten after every row, so that an interrupted benchmark keeps what it has.
    """
    tables: dict[tuple[str, ...], list[Row]] = {}

    def write(state: str) -> None:
        picture = f"![{subject.title}]({subject.figure})" if subject.figure else ""
        made = f"`python scripts/bench.py {name}`, {date.today()}."
        parts = [made, subject.note, picture, state, render(tables, "pipe")]
        if markdown:
            write_section(markdown, subject.title, "\n\n".join(filter(None, parts)))

    print(f"\n{subject.title}\n{subject.note}\n", flush=True)
    for headers, row in subject.measure(options):
        print(f"measured: {row[0]}", file=sys.stderr, flush=True)
        tables.setdefault(headers, []).append(row)
        write("Not finished.")
    write("")
    print(render(tables, "simple"), flush=True)
    return [row[0] for rows in tables.values() for row in rows if row[-1] is False]


def render(tables: dict[tuple[str, ...], list[Row]], style: str) -> str:
    """Return the tables as text; values that are strings stay as they are."""
    options = {"tablefmt": style, "floatfmt": ".2f", "intfmt": ","}
    return "\n\n".join(
        tabulate(rows, headers, disable_numparse=isinstance(rows[0][1], str), **options)
        for headers, rows in tables.items()
    )


def write_section(path: Path, title: str, body: str) -> None:
    """Write a section of the file in place of its earlier version.

    Sections that were measured on another machine or with other versions are dropped.
    """
    head = f"# Benchmarks\n{environment()}.\n"
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    kept = re.split(r"^## ", text, flags=re.MULTILINE)[1:] if text.startswith(head) else []
    sections = {section.partition("\n")[0]: section.partition("\n")[2] for section in kept}
    sections[title] = f"{body}\n"
    parts = [f"## {name}\n{text.rstrip()}\n" for name, text in sections.items()]
    write_atomically(path, "\n".join([head, *parts]).encode())


@cache
def environment() -> str:
    """Return the machine and the versions in one line."""
    origin = provenance()
    gigabytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    versions = {"rankpursuit": origin["rankpursuit"], "Python": origin["python"]}
    versions |= {name: origin["packages"][name] for name in ("numpy", "scipy", "scikit-learn")}
    machine = origin["machine"]
    return (
        f"{machine['processor']}, {joblib.cpu_count()} cores, {gigabytes:.0f} GB, "
        f"{machine['system']}; "
        + ", ".join(f"{name} {version}" for name, version in versions.items())
    )
