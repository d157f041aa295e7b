"""The regression of the published numbers: cells, claims and recomputed repeats.

``configs/expected/NAME.yaml`` holds what is expected of the results of one config: how far a cell
may lie from the published one, the cells that are known to lie further off, the verdicts on the
paper's claims, and how far a repeat that is computed again may lie from the reference.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import pandas as pd
import yaml
from pydantic import BaseModel, Field, ValidationError
from tabulate import tabulate

from rankpursuit.errors import DataNotFoundError, ResultsError
from rankpursuit.experiments.config import load_experiment, ratings_of
from rankpursuit.experiments.methods import AXES, METRICS
from rankpursuit.experiments.names import shipped_folder
from rankpursuit.reporting.claims import Outcome, Verdict, judge_claims
from rankpursuit.reporting.published import claims_about, published_tables
from rankpursuit.reporting.results import Results, load_results, title_of
from rankpursuit.reporting.tables import is_full_size, size_note

Status = Literal["within tolerance", "known deviation", "unexpected", "missing"]
KEY = ["metric", "algorithm", "group", "repeat"]
NonNegative = Annotated[float, Field(ge=0)]


class Tolerance(BaseModel, extra="forbid", frozen=True):
    """How far the cells of a table may lie from the published ones, and why."""

    tolerance: NonNegative
    reason: Annotated[str, Field(min_length=1)]


class Expectation(BaseModel, extra="forbid", frozen=True):
    """Expected results of one config."""

    config: str  # path below ``configs/``, without its ending
    table: int  # the published table that it reproduces
    tolerances: dict[str, Tolerance]  # by metric, around the published figures
    pinned: dict[str, NonNegative]
    """By metric, how far a known deviation may move from the value on record."""
    recomputed: dict[str, NonNegative]
    """Relative tolerance of a repeat that is computed again, by algorithm or ``default``."""
    known_deviations: dict[str, dict[str, dict[str, float]]]
    """Measured values on record, by metric, algorithm and group."""
    claims: dict[str, Outcome]  # verdicts on record, by the claim's id

    @property
    def name(self) -> str:
        """Name of the experiment, and of its folder of results."""
        return Path(self.config).name


@dataclass(frozen=True)
class CellCheck:
    """A cell of a published table: `tolerance` is around `target`."""

    table: int
    metric: str
    algorithm: str
    group: str
    published: float
    measured: float | None
    target: float
    tolerance: float
    status: Status

    @property
    def passed(self) -> bool:
        """Return whether the cell is as expected."""
        return self.status in ("within tolerance", "known deviation")


@dataclass(frozen=True)
class ClaimCheck:
    """The verdict on a claim and the one on record."""

    verdict: Verdict
    expected: Outcome | None

    @property
    def passed(self) -> bool:
        """Return whether the verdict is the one on record."""
        return self.verdict.outcome == self.expected


@dataclass
class Check:
    """Outcome of a check."""

    cells: list[CellCheck] = field(default_factory=list)
    claims: list[ClaimCheck] = field(default_factory=list)
    recomputed: dict[str, pd.DataFrame] = field(default_factory=dict)
    """For each config, the cells computed again, see `compare_repeats`."""
    problems: list[str] = field(default_factory=list)
    """Results or records that are missing; any of them fails the check."""
    notes: list[str] = field(default_factory=list)  # what was not checked and why

    @property
    def passed(self) -> bool:
        """Return whether everything is as expected and nothing is missing."""
        again = all(frame["passed"].all() for frame in self.recomputed.values())
        checks: list[CellCheck | ClaimCheck] = [*self.cells, *self.claims]
        return again and not self.problems and all(one.passed for one in checks)

    def as_dict(self) -> dict[str, Any]:
        """Return everything as plain values for JSON."""
        return {
            "passed": self.passed,
            "problems": self.problems,
            "notes": self.notes,
            "cells": [asdict(one) for one in self.cells],
            "claims": [
                {
                    "id": one.verdict.claim.id,
                    "verdict": one.verdict.outcome,
                    "expected": one.expected,
                    "because": one.verdict.reason,
                    "mean_difference": [asdict(size) for size in one.verdict.sizes],
                    "evidence": [asdict(evidence) for evidence in one.verdict.evidence],
                }
                for one in self.claims
            ],
            "recomputed": {
                name: frame.to_dict("records") for name, frame in self.recomputed.items()
            },
        }


def load_expectations(folder: Path) -> dict[int, Expectation]:
    """Read the expectations in a folder, by the number of their table."""
    found: dict[int, Expectation] = {}
    for path in sorted(folder.glob("*.yaml")):
        try:
            one = Expectation.model_validate(yaml.safe_load(path.read_text(encoding="utf-8")))
        except yaml.YAMLError as error:
            raise ResultsError(f"{path}: cannot be read: {error}") from error
        except ValidationError as error:
            where = [f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors()]
            raise ResultsError(f"{path}: {'; '.join(where)}") from error
        if one.table in found:
            raise ResultsError(f"{path}: Table {one.table} has two files of expectations")
        found[one.table] = one
    if not found:
        raise ResultsError(f"{folder}: no files of expectations (NAME.yaml)")
    return dict(sorted(found.items()))


def expectation_folder(*, inferred: bool = False) -> Path:
    """Return the folder of the expectations that come with the package."""
    return shipped_folder() / ("inferred/expected" if inferred else "expected")


def published_tolerances() -> dict[tuple[int, str], float]:
    """Return the tolerance around the published figures by table and metric."""
    return {
        (number, metric): one.tolerance
        for number, expected in load_expectations(expectation_folder()).items()
        for metric, one in expected.tolerances.items()
    }


def _run_folders(
    folder: Path, expectations: Mapping[int, Expectation], only: Sequence[str]
) -> dict[int, Path]:
    """Return the folder of each table to check: `folder` is one of them or holds all of them."""
    names = [one.name for one in expectations.values()]
    for name in only:
        if name not in names:
            raise ResultsError(f"--only {name}: no such table; there are {', '.join(names)}")
    if not (folder / "repeats.csv").is_file():
        return {
            number: folder / one.name
            for number, one in expectations.items()
            if not only or one.name in only
        }
    table = load_results(folder).table
    if table is None or table not in expectations:
        raise ResultsError(f"{folder}: reproduces no published table, so there is nothing to check")
    return {table: folder}


def check_results(
    folder: Path, expectations: Mapping[int, Expectation], *, only: Sequence[str] = ()
) -> Check:
    """Check runs against the paper and against what is on record.

    `folder` has a folder for each config, such as ``results/reference``, or is that of one run.
    Every table of `expectations` must be there; `only` narrows the check to these configs.
    """
    check = Check()
    runs: dict[int, Results] = {}
    paths = _run_folders(folder, expectations, only)
    for number, path in paths.items():
        if not path.is_dir():
            check.problems.append(f"Table {number}: no results in {path}")
            continue
        run = load_results(path)
        if run.table != number:
            check.problems.append(f"{path}: of Table {run.table}, expected Table {number}")
        elif not is_full_size(run):
            check.problems.append(f"{path}: too small to check. {size_note(run)}")
        else:
            runs[number] = run
            check.cells += check_cells(run, expectations[number])
            for metric in published_tables()[number].cells:
                if not _has_tolerance(expectations[number], metric):
                    check.problems.append(f"Table {number}: no tolerance on record for {metric}")
    on_record = {name: v for one in expectations.values() for name, v in one.claims.items()}
    check.claims = [
        ClaimCheck(verdict, on_record.get(verdict.claim.id))
        for verdict in judge_claims(list(runs.values()))
        if not verdict.absent
    ]
    judged = {one.verdict.claim.id for one in check.claims}
    for claim in claims_about(expectations):
        if not set(claim.tables) <= expectations.keys():
            continue
        if claim.id not in on_record:
            check.problems.append(f"claim {claim.id}: no verdict on record")
        elif claim.id not in judged and len(paths) == len(expectations):
            check.problems.append(f"claim {claim.id}: not judged, since results are missing")
    return check


def _has_tolerance(expected: Expectation, metric: str) -> bool:
    return metric in expected.tolerances and metric in expected.pinned


def check_cells(run: Results, expected: Expectation) -> list[CellCheck]:
    """Compare every published cell of a run's table with what is expected of it."""
    means = run.repeats.groupby(["metric", "algorithm", "group"])["test_error"].mean().to_dict()
    cells = []
    for metric, label, group, published in published_tables()[expected.table].each_cell():
        if not _has_tolerance(expected, metric):
            continue  # reported by `check_results`
        known = expected.known_deviations.get(metric, {}).get(label, {}).get(group)
        status: Status = "within tolerance"
        target, tolerance = published, expected.tolerances[metric].tolerance
        if known is not None:
            status, target, tolerance = "known deviation", known, expected.pinned[metric]
        measured = means.get((metric, label, group))
        if measured is None:
            status = "missing"
        elif abs(measured - target) > tolerance + 1e-9:  # exactly at its tolerance is within it
            status = "unexpected"
        cell = (expected.table, metric, label, group)
        cells.append(CellCheck(*cell, published, measured, target, tolerance, status))
    return cells


def recompute(
    folder: Path,
    expectations: Mapping[int, Expectation],
    check: Check,
    *,
    repeats: int,
    only: Sequence[str] = (),
    n_jobs: int = -1,
) -> None:
    """Run the first repeats of each table anew, from the data, and compare them with a reference.

    `check` gets the comparisons, and a note for each table whose data is not there; the other
    parameters are those of `check_results` and ``rp-run``.
    """
    wanted = {}
    for number, path in _run_folders(folder, expectations, only).items():
        if not (path / "config.yaml").is_file():
            continue  # reported by `check_results`
        config = expectations[number].config
        experiment = load_experiment(shipped_folder() / f"{config}.yaml")
        if load_experiment(path / "config.yaml").digest() != experiment.digest():
            check.problems.append(f"{path}: not of the config {config}, as it is now")
            continue
        try:
            ratings_of(experiment.data)
        except DataNotFoundError as error:
            check.notes.append(f"Table {number}: not computed again: {error}")
            continue
        wanted[number] = path
    if not wanted:
        return
    with tempfile.TemporaryDirectory() as output:
        files = [str(shipped_folder() / f"{expectations[one].config}.yaml") for one in wanted]
        command = [sys.executable, "-m", "rankpursuit", "run", *files]
        command += ["--repeats", str(repeats), "--output", output, "--n-jobs", str(n_jobs)]
        done = subprocess.run(command, stdout=subprocess.DEVNULL, check=False)
        if done.returncode:
            check.problems.append(f"rp-run ended with status {done.returncode}")
        for number, path in wanted.items():
            expected = expectations[number]
            reference = pd.read_csv(path / "repeats.csv")  # read whole by `check_results`
            file = Path(output) / expected.name / "repeats.csv"
            again = pd.read_csv(file) if file.exists() else reference[:0]
            check.recomputed[expected.config] = compare_repeats(reference, again, expected, repeats)


def compare_repeats(
    reference: pd.DataFrame, again: pd.DataFrame, expected: Expectation, repeats: int
) -> pd.DataFrame:
    """Compare the first repeats with those computed again: a row for each cell.

    Errors must agree to the tolerance of the algorithm, and the same parameters must be chosen: a
    wrong factor of lambda moves the choice along the grid and leaves the error as it was. An
    algorithm with a tolerance of its own may choose others, as rounding can decide there.
    """
    choices = [axis.column for axis in AXES.values() if axis.column in reference]
    columns = [*KEY, "test_error", *choices]
    first = reference.loc[reference["repeat"] <= repeats, columns]
    both = first.merge(again.reindex(columns=columns), on=KEY, how="outer", suffixes=("", "_again"))
    default = expected.recomputed.get("default", 0.0)
    frame = both[KEY].assign(reference=both["test_error"], again=both["test_error_again"])
    frame["difference"] = (frame["again"] - frame["reference"]).abs() / frame["reference"]
    frame["tolerance"] = [expected.recomputed.get(label, default) for label in frame["algorithm"]]
    chosen, anew = (
        both[[f"{name}{end}" for name in choices]].fillna(-1.0).to_numpy(dtype=float)
        for end in ("", "_again")
    )
    frame["same_choice"] = np.isclose(chosen, anew, rtol=1e-9).all(axis=1)
    agrees = frame["difference"] <= frame["tolerance"]  # False if one of them is missing
    frame["passed"] = agrees & (frame["same_choice"] | (frame["tolerance"] > default))
    return frame


def check_text(check: Check) -> str:
    """Return the outcome as tables and lines for the terminal."""
    parts = []
    for number in dict.fromkeys(one.table for one in check.cells):
        rows = [_cell_row(one) for one in check.cells if one.table == number]
        heads = ["", "published", "measured", "diff.", "expected", "status"]
        sides = ("left", *["right"] * 4, "left")
        text = tabulate(rows, heads, disable_numparse=True, colalign=sides)
        parts.append(f"{published_tables()[number].full_title}\n{text}")
    if check.claims:
        rows = [
            [one.verdict.claim.id, one.verdict.outcome, one.expected or "none", one.verdict.reason]
            for one in check.claims
        ]
        parts.append("Claims\n" + tabulate(rows, ["claim", "verdict", "on record", "because"]))
    for name, frame in check.recomputed.items():
        wrong = frame[~frame["passed"]].drop(columns="passed")
        head = f"{name}: {frame['passed'].sum()} of {len(frame)} cells computed again agree"
        head += f" with the reference; largest difference {frame['difference'].max():.1e}"
        rows = tabulate(wrong, "keys", showindex=False) if len(wrong) else ""
        parts.append(f"{head}\n{rows}".rstrip())
    statuses = [one.status for one in check.cells]
    counts = ", ".join(f"{statuses.count(s)} {s}" for s in dict.fromkeys(statuses))
    other = sum(not one.passed for one in check.claims)
    again = sum(len(frame) for frame in check.recomputed.values())
    moved = sum(int((~frame["passed"]).sum()) for frame in check.recomputed.values())
    closing = [
        *(f"note: {note}" for note in check.notes),
        *(f"* {problem}" for problem in check.problems),
        f"{len(statuses)} cells: {counts or 'none'}",
        f"{len(check.claims)} claims: {other} not as on record",
        f"{again} cells computed again: {moved} differ from the reference",
        "check passed" if check.passed else "check FAILED",
    ]
    return "\n\n".join([*parts, "\n".join(closing)])


def _cell_row(one: CellCheck) -> list[str]:
    digits = METRICS[one.metric].decimals
    measured = difference = ""
    if one.measured is not None:
        measured = f"{one.measured:.{digits + 1}f}"
        difference = f"{one.measured - one.published:+.{digits + 1}f}"
    several = len(published_tables()[one.table].cells) > 1
    name = f"{title_of(one.algorithm)}, {one.group}" + f", {one.metric}" * several
    expected = f"{one.target:.{digits}f} ± {one.tolerance:.{digits}f}"
    status = one.status if one.passed else f"* {one.status}"
    return [name, f"{one.published:.{digits}f}", measured, difference, expected, status]
