"""``rp-check``: compare results with the paper and with what is known to differ from it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rankpursuit.cli._common import Command, echo, terminal_width
from rankpursuit.cli._results import load_all, results_argument
from rankpursuit.wording import counted

if TYPE_CHECKING:
    from rankpursuit.reporting.check import Check


@click.command(cls=Command, short_help="Check results against the paper.")
@results_argument
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
@click.option("--evidence", is_flag=True, help="Also print every comparison behind a verdict.")
@click.option("--allow-small", is_flag=True, help="Only list runs smaller than the paper's.")
@click.option(
    "--expected",
    type=click.Path(dir_okay=False, path_type=Path),
    help="File of tolerances, known deviations and verdicts; default: that of the package.",
)
def main(
    results: tuple[Path, ...],
    as_json: bool,
    evidence: bool,
    allow_small: bool,
    expected: Path | None,
) -> None:
    r"""Check RESULTS, folders that rp-run wrote, against the paper; by default, all in results/.

    Every cell must lie within the tolerance of its table around the published figure, or, if it is
    a known deviation, around the value on record; every claim must have the verdict on record.
    Tolerances and reasons: rankpursuit/reporting/expected.yaml. The status is 0 if all is as
    expected, otherwise 1. Runs smaller than the paper's are too small to check, and fail.

    \b
    Examples:
      rp-check
      rp-check results/jester_crrp --json
      rp-check quick --allow-small
    """
    import json

    from rankpursuit.reporting.check import check_results, check_tables
    from rankpursuit.reporting.expected import load_expected
    from rankpursuit.reporting.render import to_text

    check = check_results(load_all(results), load_expected(expected), allow_small=allow_small)
    if as_json:
        echo(json.dumps(check.as_dict(), indent=2))
    else:
        echo(to_text(check_tables(check), terminal_width()))
        for line in [*(_evidence(check) if evidence else ()), *check.notes, *_closing(check)]:
            echo(line)
    if not check.passed:
        raise SystemExit(1)


def _evidence(check: Check) -> Iterator[str]:
    """Tell what is behind each verdict, a line for each comparison."""
    for claim in check.claims:
        verdict = claim.verdict
        yield f"{verdict.claim.id}: {verdict.outcome}. The paper says: {verdict.claim.says}"
        yield f"  {verdict.sentence}"
        for one in verdict.evidence:
            yield f"  {'agrees' if one.agrees else 'differs'}  {one.text}"
        yield ""


def _closing(check: Check) -> Iterator[str]:
    statuses = [one.status for one in check.cells]
    counts = ", ".join(f"{statuses.count(s)} {s}" for s in dict.fromkeys(statuses))
    judged = check.judged_claims
    wrong = sum(not one.passed for one in judged)
    left = len(check.claims) - len(judged)
    unjudged = f", {left} not judged by runs that are too small" if left else ""
    yield (
        f"{counted(len(statuses), 'cell')}: {counts}; {counted(len(judged), 'claim')}: {wrong} not "
        f"as on record{unjudged}"
    )
    if check.passed and set(statuses) <= {"too small", "missing"}:
        yield "nothing was checked: every run is smaller than the paper's"
    else:
        yield "check passed" if check.passed else "check FAILED"
