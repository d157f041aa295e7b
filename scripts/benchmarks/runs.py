"""Time whole runs: start-up, two workers, a Dask cluster."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from functools import partial

from benchmarks.harness import Entries, Options, Subject, alternate, overrides, ratio_row
from rankpursuit.cli.run import main

INSTEAD = ("ours / instead", "ours, ms per task", "instead, ms", "ratio", "spread", "goal", "met")
CHECK = ("check", "value", "goal", "met")
BACKENDS = ("run with two workers", "local, s", "Dask, s", "ratio", "spread", "goal", "met")
WAIT = ("wait", "seconds", "import numpy", "ratio", "spread", "goal", "met")
WITHOUT_PROFILER = {"distributed.worker.profile.enabled": False}
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


def startup_rows(options: Options) -> Entries:
    """Time what a newcomer waits for next to ``python -c "import numpy"``, in new processes."""
    with tempfile.TemporaryDirectory() as folder:

        def start(*words: str) -> None:
            command = [sys.executable, "-c", *words]
            subprocess.run(command, cwd=folder, capture_output=True, check=False)

        for title, (words, goal) in WAITS.items():
            waits = partial(start, RP_RUN, *words), partial(start, "import numpy")
            own, numpy = alternate(options.rounds, *waits)
            yield WAIT, ratio_row(title, own, numpy, own / numpy, 1.0, goal)


def run(name: str, settings: dict[str, object], *words: str) -> None:
    """Run a config of the repository with ``rp-run``, in this process and a temporary folder."""
    values = [f"{key}={value}" for key, value in settings.items()] + overrides(name)
    options = [word for value in values for word in ("--set", value)]
    with tempfile.TemporaryDirectory() as folder:
        main([name, "--quiet", "--output", folder, *words, *options], standalone_mode=False)


def sized(users: int, repeats: int = 1) -> dict[str, object]:
    """Return the settings of a run with this number of test and hold-out users per group."""
    return {"protocol.test_users": users, "protocol.holdout_users": users, "repeats": repeats}


def worker_rows(options: Options) -> Entries:
    """Compare a run of about 20 seconds with one worker and with two, started before the clock."""
    if (os.cpu_count() or 1) < 2:
        return
    users, repeats = (10, 1) if options.small else (60, 2)
    cold, warm = alternate(2, lambda: run("jester_supervised", sized(20), "-j", "2"))[0]
    work = partial(run, "jester_supervised", sized(users, repeats), "-j")
    one, two = alternate(options.rounds, lambda: work("1"), lambda: work("2"))
    scale = 1e3 / (2 * 3 * users * repeats)  # both roles, three groups
    title = "whole run, two workers / one"
    yield INSTEAD, ratio_row(title, two, one, one / two, scale, "at least 1.9")
    yield CHECK, ["starting two workers, once per run", f"{cold - warm:.1f} s", "", ""]


def cluster_rows(options: Options) -> Entries:
    """Compare two workers of a Dask cluster with two local ones."""
    import dask  # an optional dependency
    from distributed import LocalCluster

    users = 20 if options.small else 120
    with dask.config.set(WITHOUT_PROFILER), LocalCluster(2, threads_per_worker=1) as cluster:
        remote_workers = ("--scheduler", cluster.scheduler_address)
        work = partial(run, "jester_supervised", sized(users))
        both = (lambda: work("-j", "2"), lambda: work(*remote_workers))
        alternate(1, *both)  # workers read the ratings
        local, remote = alternate(options.rounds, *both)
    title = f"jester_supervised, {users} users"
    yield BACKENDS, ratio_row(title, local, remote, remote / local, 1.0, "at most 1.10")


NOTE = """\
Whole runs with two workers, local and of a Dask cluster on this machine without Dask's profiler."""

STARTUP = Subject("Start-up", "", startup_rows)
CLUSTER = Subject("On a cluster", NOTE, cluster_rows)
