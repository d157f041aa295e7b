"""Time what a newcomer waits for, beside ``python -c "import numpy"``.

Run it as ``make bench`` or ``python scripts/bench_startup.py [--markdown FILE]``: the help, a
mistyped config, the first unit of a run on built-in ratings, the whole demo. Everything is timed in
processes of its own, in alternating rounds; ratios are medians over the rounds. The goals are
0.3 s, 0.5 s, 3 s and 8 s where the import of numpy takes 0.13 s. The exit status is 1 if one is
missed.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from bench_file import environment, exit_if_missed, is_met, write_section
from bench_timing import alternate
from tabulate import tabulate

RP_RUN = "from rankpursuit.cli.run import main; main(prog_name='rp-run')"
FIRST_UNIT = """
import os
from pathlib import Path
from rankpursuit.experiments.backends import Local
from rankpursuit.experiments.config import load_experiment
from rankpursuit.experiments.export import RunFolder
from rankpursuit.experiments.run import Progress
from rankpursuit.experiments.run import Run
from rankpursuit.experiments.run import run_session

class First(Progress):
    def add(self, result, *, earlier):
        raise KeyboardInterrupt

run, folder = Run.of(load_experiment("demo")), RunFolder(Path("demo"))
try:
    run_session(run, folder, Local(-1).evaluate, First())
except KeyboardInterrupt:
    os._exit(0)
"""
WAITS = {
    "rp-run --help": ([RP_RUN, "--help"], "at most 2.3"),
    "rp-run of a mistyped config": ([RP_RUN, "dmo.yaml"], "at most 3.8"),
    "the first unit of a run": ([FIRST_UNIT], "at most 23"),
    "rp-run demo": ([RP_RUN, "demo", "--fresh"], "at most 61"),
}
HEADERS = ["wait", "seconds", "import numpy", "ratio", "spread", "goal", "met"]


def start(words: list[str], folder: str) -> None:
    """Run Python in a folder, to its end."""
    subprocess.run([sys.executable, "-c", *words], cwd=folder, capture_output=True, check=False)


def rows(rounds: int) -> list[list[Any]]:
    """Time all waits, the short ones in more rounds."""
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for title, (words, goal) in WAITS.items():
            print(f"timing {title}", file=sys.stderr, flush=True)
            own, numpy = alternate(
                rounds, partial(start, words, folder), partial(start, ["import numpy"], folder)
            )
            ratio = float(np.median(own / numpy))
            spread = f"{(own / numpy).min():.2g} to {(own / numpy).max():.2g}"
            seconds = [float(np.median(taken)) for taken in (own, numpy)]
            found.append([title, *seconds, ratio, spread, goal, is_met(goal, ratio)])
    return found


def main() -> None:
    """Measure, print, and exit with 1 if a goal is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--markdown", type=Path, help="also write the table to this file")
    parser.add_argument("--rounds", type=int, default=7)
    arguments = parser.parse_args()
    found = rows(arguments.rounds)
    texts = {
        style: tabulate(found, headers=HEADERS, tablefmt=style, floatfmt=".2f")
        for style in ("simple", "pipe")
    }
    print(f"{environment()}\n\n{texts['simple']}")
    if arguments.markdown:
        write_section(arguments.markdown, "Start-up", texts["pipe"])
    exit_if_missed(row[0] for row in found if row[-1] is False)


if __name__ == "__main__":
    main()
