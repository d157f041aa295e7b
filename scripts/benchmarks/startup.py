"""Time what a newcomer waits for next to ``python -c "import numpy"``, in new processes."""

from __future__ import annotations

import subprocess
import sys
import tempfile

from benchmarks.harness import Entries, Options, Subject, alternate, ratio_row

RP_RUN = "from rankpursuit.cli.run import main; main(prog_name='rp-run')"
ONE_UNIT = ["demo", "--fresh", "--only", "rls", "--repeats", "1", "--groups", "20-40"]
ONE_UNIT += ["--set", "protocol.test_users=10", "--set", "protocol.holdout_users=10"]
WAITS = {
    "rp-run --help": (["--help"], "at most 2.3"),
    "rp-run of a mistyped config": (["dmo.yaml"], "at most 3.8"),
    "rp-run of one algorithm and ten users": (ONE_UNIT, "at most 23"),
    "rp-run demo": (["demo", "--fresh"], "at most 61"),
}
"""Words after ``rp-run``, and the goal: 0.3, 0.5, 3 and 8 s where numpy's import takes 0.13 s."""
HEADERS = ("wait", "seconds", "import numpy", "ratio", "spread", "goal", "met")


def rows(options: Options) -> Entries:
    """Time all waits."""
    with tempfile.TemporaryDirectory() as folder:

        def start(*words: str) -> None:
            command = [sys.executable, "-c", *words]
            subprocess.run(command, cwd=folder, capture_output=True, check=False)

        for title, (words, goal) in WAITS.items():
            own, numpy = alternate(
                options.rounds,
                lambda words=words: start(RP_RUN, *words),
                lambda: start("import numpy"),
            )
            yield HEADERS, ratio_row(title, own, numpy, own / numpy, 1.0, goal)


SUBJECT = Subject("Start-up", "", rows)
