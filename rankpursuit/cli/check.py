"""``rp-check``: compare results with the paper, the record, and a new run."""

from __future__ import annotations

import os
from pathlib import Path

import click

from rankpursuit.cli._common import REFERENCE, Command, echo, no_such, typed_command


@click.command(cls=Command, short_help="Check results against the paper and the record.")
@click.argument("results", required=False, type=click.Path(path_type=Path))
@click.option(
    "--only",
    multiple=True,
    metavar="NAME",
    help="Check only this table, e.g. jester_crrp; repeatable.",
)
@click.option(
    "--recompute",
    type=click.IntRange(min=0),
    default=0,
    metavar="N",
    help="Re-run the first N repeats of each table and compare them with RESULTS.",
)
@click.option("--n-jobs", "-j", type=int, default=-1, help="Worker processes for --recompute.")
@click.option("--sign", is_flag=True, help="Print lines about this check for results/log.md.")
@click.option("--inferred", is_flag=True, help="Check the inferred set-up, in RESULTS/inferred.")
def main(
    results: Path | None,
    only: tuple[str, ...],
    recompute: int,
    n_jobs: int,
    sign: bool,
    inferred: bool,
) -> None:
    r"""Check RESULTS, a folder with the runs of the five tables; by default, results/reference.

    Every distinct cell must be within tolerance of the published figure or, if it is a known
    deviation, equal the value on record. Every claim of the paper must have the verdict on record.
    All five tables are required, at full size; --only restricts the check to some. With
    --recompute, the first repeats are also computed again from the data, with the current code, and
    must agree with RESULTS; if the data is missing, this step is skipped with a note.

    The exit status is 0 if everything is as expected, otherwise 1. The record is in
    configs/expected/NAME.yaml.

    \b
    Examples:
      rp-check
      rp-check --recompute 1 --sign
      rp-check results --only jester_supervised
    """
    from rankpursuit.reporting import check as checking

    folder = results or REFERENCE
    if not os.path.isdir(folder):  # False, not an error, for an invalid name
        raise no_such("folder of results", folder, "rp-check needs a folder with the five tables")
    folder = folder / "inferred" if inferred else folder
    expectations = checking.load_expectations(checking.expectation_folder(inferred=inferred))
    check = checking.check_results(folder, expectations, only=only)
    if recompute:
        checking.recompute(check, expectations, repeats=recompute, n_jobs=n_jobs)
    echo(checking.check_text(check))
    if sign:
        lines = checking.sign(check, typed_command("rp-check"))
        echo(f"\nTo sign, add to results/log.md:\n{lines}")
    if not check.passed:
        raise SystemExit(1)
