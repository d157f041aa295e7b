"""The regression of published numbers: every cell and every claim against what is expected."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from rankpursuit.errors import ResultsError
from rankpursuit.experiments.methods import METRICS
from rankpursuit.reporting.claims import Verdict, judge_claims
from rankpursuit.reporting.coverage import is_full_size, size_note
from rankpursuit.reporting.expected import CellKey, Deviation, Expected
from rankpursuit.reporting.published import published_tables
from rankpursuit.reporting.results import Results, title_of
from rankpursuit.reporting.table import EMPTY, Cell, Part, Table
from rankpursuit.reporting.tables import signed

Status = Literal["within tolerance", "known deviation", "unexpected", "missing", "too small"]

_SLACK = 1e-9  # so that a cell exactly at its tolerance is within it


@dataclass(frozen=True)
class CellCheck:
    """A cell: what was published, what was measured, and how that stands to what is expected.

    ``tolerance`` is around ``target``: the published figure, or that on record if it is known to
    deviate.
    """

    cell: CellKey
    published: float
    measured: float | None
    target: float
    tolerance: float
    status: Status

    @property
    def passed(self) -> bool:
        """Whether the cell is as expected."""
        return self.status in ("within tolerance", "known deviation")


@dataclass(frozen=True)
class ClaimCheck:
    """A claim's verdict, and the one on record, if there is one."""

    verdict: Verdict
    expected: str | None

    @property
    def passed(self) -> bool:
        """Whether the verdict is the one on record, or none is."""
        return self.expected in (None, self.verdict.outcome)


@dataclass(frozen=True)
class Check:
    """The outcome of a check.

    Attributes
    ----------
    cells : tuple of CellCheck
    claims : tuple of ClaimCheck
    notes : tuple of str
        What was not checked, and why.
    passed : bool
    small : frozenset of int
        Tables whose runs are too small to be checked.
    """

    cells: tuple[CellCheck, ...]
    claims: tuple[ClaimCheck, ...]
    notes: tuple[str, ...]
    passed: bool
    small: frozenset[int] = frozenset()

    @property
    def judged_claims(self) -> tuple[ClaimCheck, ...]:
        """The claims about tables whose runs are large enough."""
        return tuple(
            one for one in self.claims if not self.small.intersection(one.verdict.claim.tables)
        )

    def as_dict(self) -> dict[str, Any]:
        """Return everything for JSON."""
        return {
            "passed": self.passed,
            "notes": list(self.notes),
            "cells": [
                one.cell._asdict() | {k: v for k, v in asdict(one).items() if k != "cell"}
                for one in self.cells
            ],
            "claims": [
                {
                    "id": one.verdict.claim.id,
                    "verdict": one.verdict.outcome,
                    "because": one.verdict.reason,
                    "mean_difference": [asdict(size) for size in one.verdict.sizes],
                    "in_words": one.verdict.sentence,
                    "expected": one.expected,
                    "evidence": [asdict(evidence) for evidence in one.verdict.evidence],
                }
                for one in self.claims
            ],
        }


def check_results(
    runs: Sequence[Results], expected: Expected, *, allow_small: bool = False
) -> Check:
    """Check runs against the paper and what is known to differ from it.

    Parameters
    ----------
    runs : sequence of Results
    expected : Expected
    allow_small : bool
        Whether runs that are smaller than the paper's are only listed. Otherwise they fail.

    Raises
    ------
    ResultsError
        If no run reproduces a published table, or two the same.
    """
    by_table: dict[int, Results] = {}
    notes = []
    for run in runs:
        if run.table is None:
            notes.append(f"{run.folder}: reproduces no published table, nothing to check")
        elif run.table in by_table:
            both = f"{by_table[run.table].folder} and {run.folder}"
            raise ResultsError(f"{both} are both of Table {run.table}: give one of them")
        else:
            by_table[run.table] = run
    if not by_table:
        raise ResultsError("none of the results reproduces a published table: nothing to check")
    small = {number for number, run in by_table.items() if not is_full_size(run)}
    notes += [f"{by_table[n].folder}: too small to check. {size_note(by_table[n])}" for n in small]
    cells = tuple(one for run in by_table.values() for one in _check_cells(run, expected))
    claims = tuple(
        ClaimCheck(verdict, expected.claims.get(verdict.claim.id))
        for verdict in judge_claims(list(by_table.values()))
        if not verdict.absent
    )
    passed = (
        (allow_small or not small)
        and all(one.passed for one in cells if one.cell.table not in small)
        and all(one.passed for one in claims if not set(one.verdict.claim.tables) & small)
    )
    return Check(cells, claims, tuple(notes), passed, frozenset(small))


def _check_cells(run: Results, expected: Expected) -> Iterator[CellCheck]:
    assert run.table is not None
    small, known = not is_full_size(run), expected.known
    means = run.repeats.groupby(["metric", "algorithm", "group"])["test_error"].mean().to_dict()
    tolerances = expected.tolerances
    for metric, label, group, published in published_tables()[run.table].each_cell():
        key = CellKey(run.table, metric, label, group)
        if key[:2] not in tolerances:
            raise ResultsError(f"no tolerance is declared for {metric} in Table {run.table}")
        measured = means.get((metric, label, group))
        yield _check_cell(
            key, published, measured, tolerances[key[:2]], known.get(key), small=small
        )


def _check_cell(
    key: CellKey,
    published: float,
    measured: float | None,
    tolerance: float,
    known: Deviation | None,
    *,
    small: bool,
) -> CellCheck:
    target = known.measured if known else published
    tolerance = known.tolerance if known else tolerance
    status: Status
    if measured is None:
        status = "missing"
    elif small:
        status = "too small"
    elif abs(measured - target) > tolerance + _SLACK:
        status = "unexpected"
    else:
        status = "known deviation" if known else "within tolerance"
    return CellCheck(key, published, measured, target, tolerance, status)


def check_tables(check: Check) -> list[Table]:
    """Return a table of all cells for each published table, and one of the claims."""
    tables = []
    for number in dict.fromkeys(one.cell.table for one in check.cells):
        here = [one for one in check.cells if one.cell.table == number]
        parts = tuple(
            Part(METRICS[metric].task, dict(_row(one) for one in here if one.cell.metric == metric))
            for metric in dict.fromkeys(one.cell.metric for one in here)
        )
        title = published_tables()[number].full_title
        columns = ("published", "measured", "diff.", "expected", "status")
        tables.append(Table(f"check-{number}", title, columns, parts))
    if check.claims:
        rows: dict[str, tuple[Cell, ...]] = {
            one.verdict.claim.id: (
                Cell(one.verdict.outcome),
                Cell(one.expected or "not on record"),
                Cell(one.verdict.reason),
                Cell(one.verdict.size),
            )
            for one in check.claims
        }
        columns = ("verdict", "on record", "because", "mean difference")
        tables.append(Table("check-claims", "Claims", columns, (Part("claim", rows),), align="l"))
    return tables


def _row(one: CellCheck) -> tuple[str, tuple[Cell, ...]]:
    digits = METRICS[one.cell.metric].decimals
    found = (EMPTY, EMPTY)
    if one.measured is not None:
        found = (
            Cell(f"{one.measured:.{digits + 1}f}"),
            Cell(signed(one.measured - one.published, digits + 1)),
        )
    cells = (
        Cell(f"{one.published:.{digits}f}"),
        *found,
        Cell(f"{one.target:.{digits}f} ± {one.tolerance:.{digits}f}"),
        Cell(one.status, best=one.status in ("unexpected", "missing")),
    )
    return f"{title_of(one.cell.algorithm)}, {one.cell.group}", cells
