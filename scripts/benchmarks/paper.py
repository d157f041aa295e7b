"""Time runs of the paper's tables next to those of another commit."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import tarfile
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.harness import Entries, Options, Subject, load, overrides, ratio_row

BEFORE = "4751976"  # the fastest commit so far
ROOT = Path(__file__).parents[2]
TABLES = (
    "jester_supervised",
    "jester_semi_supervised",
    "movielens_supervised",
    "movielens_semi_supervised",
    "jester_crrp",
)
HEADERS = ("table", "here, s of CPU", "there, s of CPU", "here / there", "spread", "goal", "met")
NOTE = """\
CPU time of a run with one repeat and 100 hold-out and 100 test users per group, in one process with
one thread, after a small run that loads the data; medians over alternating rounds. The methods are
those that the shipped config of both commits has; stores and files are written too."""

# Runs `rp-run` with the words of each line of standard input, and answers with its CPU seconds.
SERVER = """
import json, sys, time
from rankpursuit.cli.run import main
for line in sys.stdin:
    begun = time.process_time()
    main(json.loads(line), standalone_mode=False)
    print(time.process_time() - begun, flush=True)
"""


class Process:
    """A process that runs experiments with the package in some folder."""

    def __init__(self, package: Path, results: str) -> None:
        environment = os.environ | {"PYTHONPATH": str(package), "OPENBLAS_NUM_THREADS": "1"}
        self._configs, self._results = package / "configs", results
        self._process = subprocess.Popen(
            [sys.executable, "-c", SERVER],
            cwd=results,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __enter__(self) -> Process:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()

    def seconds(self, name: str, labels: list[str], users: int, *words: str) -> float:
        """Run a config with some users of each role; return the CPU time."""
        config = str(self._configs / f"{name}.yaml")
        line = [config, "--fresh", "--quiet", "--n-jobs=1", "--repeats=1"]
        line += [f"--output={self._results}", *words, *(f"--only={label}" for label in labels)]
        for role in ("test_users", "holdout_users"):
            line += ["--set", f"protocol.{role}={users}"]
        line += [word for setting in overrides(name) for word in ("--set", setting)]
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None and stdout is not None
        print(json.dumps(line), file=stdin, flush=True)
        return float(stdout.readline())


def installed(commit: str, folder: str) -> Path:
    """Put the files of a commit into a folder, which gets a folder for it; return that."""
    archive = subprocess.check_output(["git", "-C", ROOT, "archive", commit])
    with tarfile.open(fileobj=io.BytesIO(archive)) as files:
        files.extractall(Path(folder) / "package", filter="data")
    return Path(folder) / "package"


def rows(options: Options) -> Entries:
    """Run each table here and there in turn."""
    users, rounds = (10, 1) if options.small else (100, min(options.rounds, 3))
    with ExitStack() as stack:
        folders = [stack.enter_context(tempfile.TemporaryDirectory()) for _ in range(2)]
        packages = [ROOT, installed(options.against, folders[1])]
        both = [
            stack.enter_context(Process(*place)) for place in zip(packages, folders, strict=True)
        ]
        for name in TABLES:
            labels = _labels(name, packages[1])
            for process in both:
                process.seconds(name, labels[:1], 10, "--groups=20-40")
            taken = [
                [process.seconds(name, labels, users) for process in both] for _ in range(rounds)
            ]
            here, there = np.array(taken).T
            goal = "at most 0.95"
            yield HEADERS, ratio_row(name, here, there, here / there, 1.0, goal)


def _labels(name: str, package: Path) -> list[str]:
    """Return the algorithms of a shipped config that that of the other package has too."""
    command = "from rankpursuit.experiments.config import load_experiment as load; "
    command += "import sys; print(*load(sys.argv[1]).algorithms)"
    environment: Any = os.environ | {"PYTHONPATH": str(package)}
    words = [sys.executable, "-c", command, package / "configs" / f"{name}.yaml"]
    other = subprocess.check_output(words, env=environment, cwd=package, text=True).split()
    return [label for label in load(name).algorithms if label in other]


SUBJECT = Subject("The paper's tables", NOTE, rows)
