"""Measure speed, memory and growth against their goals: ``python scripts/bench.py [SUBJECT ...]``.

``make bench`` runs all subjects but ``cluster`` and writes results/benchmarks.md. Timings are taken
in alternating rounds; ratios are medians over the rounds. Real ratings are used if available,
synthetic ratings otherwise. The exit status is 1 if a goal is missed.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from benchmarks import functions, growth, million, runs, speed
from benchmarks.harness import Options, environment, measure
from threadpoolctl import threadpool_limits

SUBJECTS = {
    "startup": runs.STARTUP,
    "speed": speed.SUBJECT,
    "growth": growth.SUBJECT,
    "million": million.SUBJECT,
    "functions": functions.SUBJECT,
    "cluster": runs.CLUSTER,
}


def main() -> None:
    """Measure the subjects, and exit with status 1 if a goal is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("subjects", nargs="*", metavar="SUBJECT", help=", ".join(SUBJECTS))
    parser.add_argument("--markdown", type=Path, help="write tables to this file, figures near it")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--small", action="store_true", help="small sizes, to try a subject")
    arguments = parser.parse_args()
    names = arguments.subjects or [name for name in SUBJECTS if name != "cluster"]
    if unknown := set(names) - set(SUBJECTS):
        parser.error(f"no subject {', '.join(unknown)}; there are {', '.join(SUBJECTS)}")
    folder = arguments.markdown.parent if arguments.markdown else None
    options = Options(arguments.rounds, arguments.small, folder)
    print(environment())
    missed = []
    with threadpool_limits(limits=1):
        for name in names:
            missed += measure(name, SUBJECTS[name], options, arguments.markdown)
    if missed:
        sys.exit("goal missed: " + "; ".join(missed))


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
