"""Regression checks of results: cells, claims and recomputed repeats.

``configs/expected/NAME.yaml`` has the expected results of one config: the cells known to lie
outside the tolerance around the published figures, and the verdicts on the paper's claims.

A recomputed repeat has one rule for all methods and processors. A mean error may differ by what
one pair of items is worth, or by `ROUNDING`; the hold-out users must choose the same parameters, or
others whose hold-out error is as good to that tolerance. In the second case the cell is computed
once more at the parameters on record, so that test errors of the same parameters are compared.
"""

from __future__ import annotations

import datetime
import math
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import yaml
from pydantic import BaseModel
from tabulate import tabulate

from rankpursuit.errors import DataNotFoundError, ResultsError, RunError
from rankpursuit.experiments import run_experiment
from rankpursuit.experiments.config import load_experiment, ratings_of
from rankpursuit.experiments.names import shipped_folder, suggestion
from rankpursuit.experiments.registry import AXES, METRICS, WIDTH, find_axis, grid_axes
from rankpursuit.experiments.store import provenance
from rankpursuit.reporting.claims import (
    Outcome,
    claims_about,
    is_within,
    judge_claims,
    published_tables,
    published_tolerance,
)
from rankpursuit.reporting.notes import is_full_size, size_note
from rankpursuit.reporting.results import KEY, Results, load_results, title_of
from rankpursuit.reporting.tables import CELL, published_cells

ROUNDING = 1e-6
"""Relative difference of errors that rounding explains: 1e-9 is usual."""


class Expectation(BaseModel, extra="forbid", frozen=True):
    """Expected results of one config."""

    config: str  # path below ``configs/``, without its extension
    table: int  # the published table that it reproduces
    known_deviations: dict[str, dict[str, dict[str, float]]]
    """Measured values on record, by metric, algorithm and group."""
    claims: dict[str, Outcome]  # verdicts on record, by the claim's id

    @property
    def name(self) -> str:
        """Name of the experiment, and of its folder of results."""
        return Path(self.config).name


def _no_rows() -> pd.DataFrame:
    return pd.DataFrame(columns=[*CELL, "passed"])


@dataclass
class Check:
    """Outcome of a check; every frame has a column ``passed``."""

    runs: dict[int, Results] = field(default_factory=dict)  # checked runs, by table
    cells: pd.DataFrame = field(default_factory=_no_rows)
    """A row for each distinct published cell: `CELL`, ``published``, ``measured``, ``target`` and
    the ``tolerance`` around it, ``status``."""
    claims: pd.DataFrame = field(default_factory=_no_rows)
    """A row for each claim: ``id``, ``table``, ``verdict``, ``expected``, ``because``, and the
    ``sentence`` that says it in words."""
    recomputed: dict[str, pd.DataFrame] = field(default_factory=dict)
    """For each config, the recomputed cells; see `compare_repeats`."""
    problems: list[str] = field(default_factory=list)
    """Missing results or records; any of them fails the check."""
    notes: list[str] = field(default_factory=list)  # parts not checked, with the reason

    @property
    def passed(self) -> bool:
        """Return whether everything is as expected and nothing is missing."""
        frames = (self.cells, self.claims, *self.recomputed.values())
        return not self.problems and all(frame["passed"].all() for frame in frames)


def load_expectations(folder: Path) -> dict[int, Expectation]:
    """Read the expectations in a folder, by the number of their table."""
    texts = [path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.yaml"))]
    found = [Expectation.model_validate(yaml.safe_load(text)) for text in texts]
    if not found:
        raise ResultsError(f"{folder}: no expected results (NAME.yaml)")
    return {one.table: one for one in sorted(found, key=lambda one: one.table)}


def expectation_folder(*, inferred: bool = False) -> Path:
    """Return the folder of the expectations that come with the package."""
    return shipped_folder() / ("inferred/expected" if inferred else "expected")


def check_results(
    folder: Path, expectations: Mapping[int, Expectation], *, only: Sequence[str] = ()
) -> Check:
    """Check runs against the paper and the record.

    `folder` has a folder for each config, such as ``results/reference``. Every table of
    `expectations` is required; `only` restricts the check to these configs.
    """
    names = {number: one.name for number, one in expectations.items()}
    for name in only:
        if name not in names.values():
            known = suggestion(name, names.values())
            raise ResultsError(f"--only {name}: no such table; {known}")
    wanted = {number: name for number, name in names.items() if not only or name in only}
    check = Check()
    for number, name in wanted.items():
        path = folder / name
        if not path.is_dir():
            check.problems.append(f"Table {number}: no results in {path}")
            continue
        run = load_results(path)
        if run.table != number:
            check.problems.append(f"{path}: results of Table {run.table}, expected Table {number}")
        elif not is_full_size(run):
            check.problems.append(f"{path}: too small to check. {size_note(run)}")
        else:
            check.runs[number] = run
    on_record = {name: v for one in expectations.values() for name, v in one.claims.items()}
    verdicts = [one for one in judge_claims(list(check.runs.values())) if not one.absent]
    judged = {one.claim.id for one in verdicts}
    for claim in claims_about(expectations):
        if not set(claim.tables) <= expectations.keys():
            continue
        if claim.id not in on_record:
            check.problems.append(f"claim {claim.id}: no verdict on record")
        elif claim.id not in judged and wanted == names:
            check.problems.append(f"claim {claim.id}: not judged, since results are missing")
    if check.runs:
        cells = [check_cells(run, expectations[number]) for number, run in check.runs.items()]
        check.cells = pd.concat(cells)
    if verdicts:
        check.claims = pd.DataFrame(
            {
                "id": one.claim.id,
                "table": one.claim.tables[-1],
                "verdict": one.outcome,
                "expected": on_record.get(one.claim.id),
                "because": one.reason,
                "sentence": one.sentence,
                "passed": one.outcome == on_record.get(one.claim.id),
            }
            for one in verdicts
        )
    return check


def check_cells(run: Results, expected: Expectation) -> pd.DataFrame:
    """Compare every distinct published cell of a run's table with its expected value."""
    cells = published_cells(run).drop(columns=["difference", "within"])
    cells = cells.assign(
        target=cells["published"],
        tolerance=cells["metric"].map(published_tolerance),
        status="within tolerance",
    )
    for at, (_, metric, label, group) in enumerate(cells[CELL].itertuples(index=False)):
        known = expected.known_deviations.get(metric, {}).get(label, {}).get(group)
        if known is not None:  # expected to the last printed digit
            pinned = known, 10.0 ** -METRICS[metric].decimals, "known deviation"
            cells.loc[at, ["target", "tolerance", "status"]] = pinned
    passed = is_within(cells["measured"] - cells["target"], cells["tolerance"])
    cells.loc[~passed, "status"] = "unexpected"
    cells.loc[cells["measured"].isna(), "status"] = "missing"
    return cells.assign(passed=passed)


def recompute(
    check: Check, expectations: Mapping[int, Expectation], *, repeats: int, n_jobs: int = -1
) -> None:
    """Run the first repeats of each checked table again, from the data, and compare them.

    Adds the comparisons to `check`, and a note for each table whose data is missing.
    """
    for number, run in check.runs.items():
        expected = expectations[number]
        config = shipped_folder() / f"{expected.config}.yaml"
        experiment = load_experiment(config)
        if run.experiment.digest() != experiment.digest():
            check.problems.append(
                f"{run.folder}: from another version of the config {expected.config}; re-run it"
            )
            continue
        try:
            ratings_of(experiment.data)
            again = run_experiment(config, repeats=repeats, n_jobs=n_jobs, quiet=False)
        except DataNotFoundError as error:
            check.notes.append(f"Table {number}: not recomputed: {error}")
        except RunError as error:
            check.problems.append(f"{expected.config}: {error}")
        else:
            frame = compare_repeats(run, again, repeats, partial(_at_record, run, config, n_jobs))
            check.recomputed[expected.config] = frame


def _at_record(run: Results, config: Path, n_jobs: int, cell: Any) -> pd.DataFrame:
    """Compute a cell again with the parameters that the reference has for it."""
    label = cell["algorithm"]
    grids = grid_axes(run.experiment.algorithms[label], run.experiment.kernel.widths)
    overrides = []
    for key, values in grids.items():
        axis = find_axis(key)
        where = "kernel.widths" if axis is WIDTH else f"algorithms.{label}.{axis.column}"
        value = next(value for value in values if value == cell[axis.column])
        overrides.append(f"{where}=[{value}]")
    return run_experiment(
        config,
        repeats=cell["repeat"],
        only=[label],
        groups=[cell["group"]],
        overrides=overrides,
        n_jobs=n_jobs,
    )


def pair_of_items(run: Results) -> float:
    """Return what one pair is worth in the error of the user with the fewest test items."""
    protocol = run.experiment.protocol
    n_items = protocol.test_user_bounds[0]
    return 1.0 / math.comb(n_items - protocol.sizes(n_items)[0], 2)


def compare_repeats(
    run: Results,
    again: pd.DataFrame,
    repeats: int,
    at_record: Callable[[Any], pd.DataFrame],
) -> pd.DataFrame:
    """Compare the first repeats of a run with recomputed ones: a row for each cell.

    `at_record` takes a row of ``run.repeats`` and computes it again with its parameters. Columns:
    the key of the cell; its error on ``record`` and ``again``; their absolute ``difference``, and
    the one ``allowed``; the ``choice``, which names parameters that differ; ``passed``.
    """
    axes = [axis.column for axis in AXES.values() if axis.column in run.repeats]
    anew = again.set_index(KEY)
    pair, rows = pair_of_items(run), []
    for cell in run.repeats[run.repeats["repeat"] <= repeats].to_dict("records"):
        key, on_record = tuple(cell[name] for name in KEY), cell["test_error"]
        counts_pairs = not METRICS[cell["metric"]].offset_sensitive
        allowed = max(ROUNDING * on_record, counts_pairs * pair / cell["n_users"])
        row = {name: cell[name] for name in KEY} | {"record": on_record, "again": math.nan}
        rows.append(row | {"allowed": allowed, "choice": "missing", "passed": False})
        if key not in anew.index:
            continue
        found = anew.loc[key]
        other = [axis for axis in axes if not _same(cell[axis], found[axis])]
        choice = ", ".join(f"{axis} {found[axis]:g} instead of {cell[axis]:g}" for axis in other)
        as_good = True
        if other:
            best, found = found["holdout_error"], at_record(cell).set_index(KEY).loc[key]
            errors = np.array([cell["holdout_error"], best])
            as_good = bool((np.abs(errors - found["holdout_error"]) <= allowed).all())
            choice += ", as good for the hold-out users" * as_good
        near = abs(found["test_error"] - on_record) <= allowed
        rows[-1] |= {"again": found["test_error"], "choice": choice or "same"}
        rows[-1] |= {"passed": as_good and near}
    frame = pd.DataFrame(rows)
    frame.insert(6, "difference", (frame["again"] - frame["record"]).abs())
    return frame


def _same(first: float, second: float) -> bool:
    """Return whether two chosen parameters are equal; NaN where a method has none."""
    return bool(np.isclose(first, second, rtol=1e-9, atol=0.0, equal_nan=True))


def check_text(check: Check) -> str:
    """Return the outcome as tables and lines for the terminal."""
    parts = []
    for number, cells in check.cells.groupby("table"):
        rows = [_cell_row(one) for one in cells.itertuples()]
        heads = ["", "published", "measured", "diff.", "expected", "status"]
        sides = ("left", *["right"] * 4, "left")
        text = tabulate(rows, heads, disable_numparse=True, colalign=sides)
        parts.append(f"Table {number}: {published_tables()[number].title}\n{text}")
    if len(check.claims):
        names = {"id": "claim", "verdict": "verdict", "expected": "on record", "because": "because"}
        rows = check.claims[list(names)].rename(columns=names)
        parts.append("Claims\n" + tabulate(rows, "keys", showindex=False, missingval="none"))
        sentences = zip(check.claims["id"], check.claims["sentence"], strict=True)
        lines = [textwrap.fill(": ".join(pair), 100, subsequent_indent="  ") for pair in sentences]
        parts.append("\n".join(lines))
    for name, frame in check.recomputed.items():
        parts.append(_recomputed_text(name, frame))
    if check.recomputed:
        machines = {"Reference": next(iter(check.runs.values())).provenance, "Again": provenance()}
        parts.append(
            "\n".join(
                f"{what}: {of['machine']['processor']}, {of['machine']['blas']}"
                for what, of in machines.items()
            )
        )
    counts = check.cells["status"].value_counts() if len(check.cells) else {}
    found = ", ".join(f"{count} {status}" for status, count in counts.items())
    again = [frame["passed"] for frame in check.recomputed.values()]
    closing = [
        *(f"note: {note}" for note in check.notes),
        *(f"* {problem}" for problem in check.problems),
        f"{len(check.cells)} distinct cells: {found or 'none'}",
        f"{len(check.claims)} claims: {(~check.claims['passed']).sum()} differ from the record",
    ]
    if again:
        differ = sum((~one).sum() for one in again)
        closing.append(
            f"{sum(map(len, again))} recomputed cells: {differ} differ from the reference"
        )
    closing.append("check passed" if check.passed else "check FAILED")
    return "\n\n".join([*parts, "\n".join(closing)])


def sign(check: Check, command: str) -> str:
    """Return the lines about a check to add to ``results/log.md``."""
    facts = provenance()
    machine, packages = facts["machine"], facts["packages"]
    recomputed = pd.concat([frame["passed"] for frame in check.recomputed.values()] or [_no_rows()])
    return (
        f"- {datetime.date.today()}, rankpursuit {facts['rankpursuit']} ({facts['commit']}), "
        f"`{command}`: {'passed' if check.passed else 'FAILED'}; {len(check.cells)} cells, "
        f"{len(check.claims)} claims, {len(recomputed)} recomputed cells\n"
        f"  on {machine['system']}, {machine['processor']}, {machine['blas']}, Python "
        f"{facts['python']}, {', '.join(map(' '.join, packages.items()))}\n"
        "  signed: NAME, and what was done differently, if anything"
    )


def _recomputed_text(name: str, frame: pd.DataFrame) -> str:
    """Return a line on the recomputed cells of a table, and those that differ."""
    worst = frame.loc[(frame["difference"] / frame["allowed"]).fillna(np.inf).idxmax()]
    where = ", ".join(str(worst[key]) for key in KEY)
    text = (
        f"{name}: {frame['passed'].sum()} of {len(frame)} recomputed cells agree with the "
        f"reference; largest difference {worst['difference']:.1e} of {worst['allowed']:.1e} "
        f"allowed ({where})"
    )
    telling = frame[~frame["passed"] | (frame["choice"] != "same")]
    if len(telling):
        columns = telling.assign(passed=np.where(telling["passed"], "", "* differs"))
        text += "\n" + tabulate(columns.rename(columns={"passed": ""}), "keys", showindex=False)
    return text


def _cell_row(one: Any) -> list[str]:
    digits = METRICS[one.metric].decimals
    measured = difference = ""
    if pd.notna(one.measured):
        measured = f"{one.measured:.{digits + 1}f}"
        difference = f"{one.measured - one.published:+.{digits + 1}f}"
    several = len(published_tables()[one.table].cells) > 1
    name = f"{title_of(one.algorithm)}, {one.group}" + f", {one.metric}" * several
    expected = f"{one.target:.{digits}f} ± {one.tolerance:.{digits}f}"
    status = one.status if one.passed else f"* {one.status}"
    return [name, f"{one.published:.{digits}f}", measured, difference, expected, status]
