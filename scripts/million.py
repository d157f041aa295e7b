"""Ranking pursuit on a million rows: one pass, time beside its floor, memory, growth.

Run it as ``python scripts/million.py [--rows N] [--figure FILE] [--markdown FILE]``. The rows lie
in a file that is mapped into memory; a process of its own fits them and tells its peak memory. The
floor is what no method can do without: the kernel values, by a product of matrices and the
exponential, and the products of all functions with each other, in the same blocks. The exit status
is 1 if a goal is missed.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from bench_file import environment, exit_if_missed, is_met, write_section
from growth import Curve, Growth
from growth_figure import draw
from tabulate import tabulate
from tqdm import tqdm

from rankpursuit import RankingPursuit
from rankpursuit.kernels import GaussianColumns, gaussian_stack, squared_distances
from rankpursuit.preferences import GroupPreferences
from rankpursuit.solvers.pursuit import BLOCK_ENTRIES, ridge_paths, sum_rows

N_FEATURES, N_CANDIDATES, N_BASIS, ROWS_A_QUERY = 50, 1_000, 100, 20
RIDGES = (0.0, 1.0, 10.0, 100.0, 1000.0)
GAMMA = 0.5 / N_FEATURES
ROWS = 1_000_000
SHARES = (0.125, 0.25, 0.5, 1.0)
FLOOR_ROWS = 125_000

NOTE = f"""\
Ranking pursuit of {{rows:,}} rows with {N_FEATURES} features in queries of about {ROWS_A_QUERY},
{N_CANDIDATES:,} candidates, {N_BASIS} functions with refits, all prefixes, {len(RIDGES)} ridges.
The rows are a file of seeded random numbers, mapped into memory; each size is fitted by a process
of its own. The floor is, block by block, the product of the rows with the candidates, its
exponential, and the product of the result with itself; each block of it is timed right before the
fit gets to the same rows, so that both meet the same load of the machine. The exponent is that of
the time in units of the floor, whose work is linear in the rows. Memory is the peak resident set of
the process, the mapped file and the floor's block included. `RankingPursuit(...).fit` is what a
user calls: the same with one ridge and all checks; its time is that of the least rows, over a floor
before it and one after it, and its memory that of all rows."""


@dataclass(frozen=True)
class Data:
    """Rows in files of a folder."""

    folder: Path
    n_rows: int

    @property
    def X(self) -> np.ndarray:
        """Features, mapped into memory, shape (n_rows, n_features)."""
        return np.memmap(self.folder / "X", mode="r", dtype=np.float64).reshape(-1, N_FEATURES)[
            : self.n_rows
        ]

    @property
    def y(self) -> np.ndarray:
        """Scores, shape (n_rows,)."""
        return np.fromfile(self.folder / "y", count=self.n_rows)

    @property
    def groups(self) -> np.ndarray:
        """Queries, shape (n_rows,)."""
        sizes = np.random.default_rng(1).integers(
            ROWS_A_QUERY - 5, ROWS_A_QUERY + 6, size=self.n_rows // (ROWS_A_QUERY - 5) + 1
        )
        return np.repeat(np.arange(len(sizes)), sizes)[: self.n_rows]


def write(folder: Path, n_rows: int) -> None:
    """Write rows in blocks."""
    rng = np.random.default_rng(0)
    with (folder / "X").open("wb") as features, (folder / "y").open("wb") as scores:
        for start in tqdm(range(0, n_rows, 50_000), "rows", leave=False):
            X = rng.normal(size=(min(50_000, n_rows - start), N_FEATURES))
            X.tofile(features)
            noise = rng.normal(size=len(X))
            (np.sin(2.0 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * noise).tofile(scores)


class Floor:
    """The kernel values of a fit, timed by the bare work on the same rows before."""

    def __init__(self, candidates: np.ndarray, progress: tqdm) -> None:
        self._columns = GaussianColumns(candidates, GAMMA)
        self._transposed = (-2.0 * GAMMA * candidates).T.copy()
        self._progress = progress
        self._values = np.empty((0, 0))
        self.seconds = 0.0

    def __call__(self, X: np.ndarray, out: np.ndarray) -> None:
        """Do the bare work, and then put the kernel values where the fit wants them."""
        X = np.array(X)  # the fit pays for reading the rows
        self.bare(X)
        self._columns(X, out)
        self._progress.update(len(X))

    def bare(self, X: np.ndarray) -> None:
        """Do the bare work, and add its seconds."""
        if len(self._values) < len(X):
            self._values = np.zeros((len(X), self._transposed.shape[1]))
        values = self._values[: len(X)]
        begun = time.perf_counter()
        np.matmul(X, self._transposed, out=values)
        np.exp(values, out=values)
        values.T @ values
        self.seconds += time.perf_counter() - begun


def fit(data: Data) -> dict[str, float]:
    """Fit all prefixes and ridges; return seconds, those of the floor, and peak memory in MB."""
    X, y, groups = data.X, data.y, data.groups
    rows = np.sort(np.random.default_rng(2).choice(data.n_rows, N_CANDIDATES, replace=False))
    with tqdm(total=data.n_rows, desc=f"{data.n_rows:,} rows", leave=False) as progress:
        begun = time.perf_counter()
        candidates = X[rows]
        floor = Floor(candidates, progress)
        sums = sum_rows(floor, N_CANDIDATES, X, y, GroupPreferences(groups))
        kernel = gaussian_stack(squared_distances(candidates), [GAMMA])
        path = ridge_paths(sums, kernel, RIDGES, N_BASIS, fitting="backfit")
        seconds = time.perf_counter() - begun - floor.seconds
    assert path.n_steps.tolist() == [N_BASIS] * len(RIDGES)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"seconds": seconds, "floor": floor.seconds, "megabytes": peak}


def use(data: Data) -> dict[str, float]:
    """Fit as a user does; return seconds, those of the floor around it, and peak memory in MB."""
    X, y, groups = data.X, data.y, data.groups
    model = RankingPursuit(
        N_BASIS,
        fitting="backfit",
        ridge=1.0,
        n_candidates=N_CANDIDATES,
        gamma=GAMMA,
        random_state=0,
    )
    before = bare_floor(X)
    begun = time.perf_counter()
    model.fit(X, y, groups)
    seconds = time.perf_counter() - begun
    floor = 0.5 * (before + bare_floor(X))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"seconds": seconds, "floor": floor, "megabytes": peak}


def bare_floor(X: np.ndarray) -> float:
    """Return the seconds of the bare work, in blocks of the same size, by the first rows."""
    step, n_rows = BLOCK_ENTRIES // (N_CANDIDATES + N_FEATURES), min(FLOOR_ROWS, len(X))
    with tqdm(total=n_rows, desc="floor", leave=False) as progress:
        floor = Floor(np.array(X[:N_CANDIDATES]), progress)
        for start in range(0, n_rows, step):
            floor.bare(X[start : min(start + step, n_rows)])
            progress.update(step)
    return floor.seconds * len(X) / n_rows


WORK = {"path": fit, "use": use}


def apart(work: str, data: Data) -> dict[str, float]:
    """Do work in a process of its own."""
    command = [sys.executable, __file__, "--rows", str(data.n_rows), "--folder", str(data.folder)]
    done = subprocess.run([*command, "--work", work], stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout)


def summary_rows(
    sizes: list[int], found: list[dict[str, float]], used: list[dict[str, float]]
) -> list[list[Any]]:
    """Return a row for each goal: what was measured, and whether it is met."""
    ratios = np.array([one["seconds"] / one["floor"] for one in found])
    exponent = 1.0 + float(np.polyfit(np.log(sizes), np.log(ratios), 1)[0])
    of_use = float(np.median([one["seconds"] / one["floor"] for one in used[:-1]]))
    goals = [
        ("time over the floor", float(ratios[-1]), "at most 1.5"),
        ("peak memory in MB", found[-1]["megabytes"], "below 2000"),
        ("exponent of time against rows", exponent, "at most 1.05"),
        ("RankingPursuit(...).fit: time over the floor", of_use, "at most 1.5"),
        ("RankingPursuit(...).fit: peak memory in MB", used[-1]["megabytes"], "below 2000"),
    ]
    return [[name, value, goal, is_met(goal, value)] for name, value, goal in goals]


def growths(sizes: list[int], found: list[dict[str, float]]) -> list[Growth]:
    """Return the curves of the figure."""
    curves = {"seconds": ("fit", "s", 1.05), "floor": ("floor", "s", 1.05)}
    curves["megabytes"] = ("fit", "MB", 1.0)
    return [
        Growth(
            Curve(title, tuple(sizes), "rows", unit, float, goal),
            np.array([one[key] for one in found]),
        )
        for key, (title, unit, goal) in curves.items()
    ]


def main() -> None:
    """Measure, print, and exit with 1 if a goal is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=ROWS, help="rows of the largest fit")
    parser.add_argument("--figure", type=Path, help="draw the curves into this SVG file")
    parser.add_argument("--markdown", type=Path, help="also write the tables to this file")
    parser.add_argument("--folder", type=Path, help="fit the rows in this folder, and no more")
    parser.add_argument("--work", choices=WORK, default="path", help="what to do with them")
    arguments = parser.parse_args()
    if arguments.folder:
        print(json.dumps(WORK[arguments.work](Data(arguments.folder, arguments.rows))))
        return
    sizes = [int(share * arguments.rows) for share in SHARES]
    with TemporaryDirectory() as name:
        folder = Path(name)
        write(folder, arguments.rows)
        found = [apart("path", Data(folder, size)) for size in sizes]
        used = [apart("use", Data(folder, size)) for size in (*[sizes[0]] * 3, sizes[-1])]
    summary = summary_rows(sizes, found, used)
    details = [
        [f"{size:,}", one["seconds"], one["floor"], one["seconds"] / one["floor"], one["megabytes"]]
        for size, one in zip(sizes, found, strict=True)
    ]
    headers = ["rows", "fit, s", "floor, s", "ratio", "peak, MB"]
    formats = ("", ".1f", ".1f", ".2f", ".0f")
    texts = {
        style: "\n\n".join(
            [
                tabulate(summary, ["goal", "measured", "wanted", "met"], style, floatfmt=".2f"),
                tabulate(details, headers, style, floatfmt=formats, disable_numparse=[0]),
            ]
        )
        for style in ("simple", "pipe")
    }
    note = NOTE.format(rows=arguments.rows)
    print(f"{environment()}\n{note}\n\n{texts['simple']}")
    if arguments.figure:
        draw(arguments.figure, growths(sizes, found))
    if arguments.markdown:
        picture = f"\n\n![Growth]({arguments.figure.name})" if arguments.figure else ""
        write_section(arguments.markdown, "A million rows", f"{note}{picture}\n\n{texts['pipe']}")
    exit_if_missed(row[0] for row in summary if not row[-1])


if __name__ == "__main__":
    main()
