"""Measure speed, memory and growth against their goals: ``python scripts/bench.py [SUBJECT ...]``.

``make bench`` runs all subjects and writes results/benchmarks.md. Timings are taken in alternating
rounds; ratios are medians over the rounds. Real ratings are used if available, synthetic ratings
otherwise. The exit status is 1 if a goal is missed.
"""

from __future__ import annotations

import sys

import click
from benchmarks import growth, paper, speed
from benchmarks.harness import Options, environment, measure
from pages import RESULTS
from threadpoolctl import threadpool_limits

SUBJECTS = {
    "startup": speed.STARTUP,
    "paper": paper.SUBJECT,
    "speed": speed.SUBJECT,
    "growth": growth.SUBJECT,
    "million": growth.MILLION_ROWS,
}


@click.command(help=__doc__)
@click.argument("subjects", nargs=-1, type=click.Choice(list(SUBJECTS)))
@click.option("--write", is_flag=True, help="Write the parts of results/benchmarks.md.")
@click.option("--rounds", default=5, show_default=True)
@click.option("--small", is_flag=True, help="Small sizes, to try a subject.")
@click.option(
    "--against",
    metavar="COMMIT",
    default=paper.BEFORE,
    show_default=True,
    help="The commit that the subject paper compares with; it gets a folder of its own.",
)
def main(subjects: tuple[str, ...], write: bool, rounds: int, small: bool, against: str) -> None:
    """Measure the subjects, and exit with status 1 if a goal is missed."""
    options = Options(rounds, small, RESULTS if write else None, against)
    click.echo(environment())
    missed = []
    with threadpool_limits(limits=1):
        for name in subjects or SUBJECTS:
            missed += measure(name, SUBJECTS[name], options)
    if missed:
        sys.exit("goal missed: " + "; ".join(missed))


if __name__ == "__main__":
    main()
