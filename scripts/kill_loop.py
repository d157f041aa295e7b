"""Kill runs at random moments: ``python scripts/kill_loop.py --kills 50``.

Starts ``rp-run demo --quick``, kills it and starts it again until it ends by itself, and repeats
this until the number of kills is reached; the seed determines moments, signals and numbers of
workers. Every run must end with the bytes of an undisturbed one, and a stopped run must print
exactly one line.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import click

RESULTS = ("repeats.csv", "users.csv.gz", "curves.csv")
SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
_LIMIT = 300.0  # seconds until a run counts as hanging


def kill_loop(folder: Path, kills: int, *, seed: int = 0) -> tuple[Counter[str], list[str]]:
    """Kill runs in `folder` until the number of kills, or an error, is reached.

    Returns the kills by signal, and the errors.
    """
    draw, begun = random.Random(seed), time.monotonic()
    done, errors, runs = Counter[str](), list[str](), 0
    _start(folder, "whole", 1)[0].wait(_LIMIT)
    duration = time.monotonic() - begun
    expected = _contents(folder / "whole")
    while done.total() < kills and not errors:
        runs, output, status = runs + 1, f"run{runs}", -1
        while status != 0 and not errors:
            process, log = _start(folder, output, draw.choice((1, 2)))
            kill, to_group = draw.choice(SIGNALS), draw.random() < 0.5
            try:
                last = done.total() == kills
                process.wait(_LIMIT if last else draw.uniform(0.0, duration))
            except subprocess.TimeoutExpired:
                if last:
                    raise
                # A terminal signals the command and its workers, `kill` only the command.
                (os.killpg if to_group else os.kill)(process.pid, kill)
                done[kill.name] += 1
            status = process.wait(_LIMIT)
            printed = log.read_text(errors="replace")
            # A negative status: killed, or stopped before the command could handle signals.
            one_line = status == 128 + kill and len(printed.splitlines()) == 1
            if status not in (0, -kill) and (kill is signal.SIGKILL or not one_line):
                errors.append(f"{output}: status {status} after {kill.name}: {printed}")
        if not errors and _contents(folder / output) != expected:
            errors.append(f"{output}: bytes differ from those of an undisturbed run")
    return done, errors


def _start(folder: Path, output: str, n_jobs: int) -> tuple[subprocess.Popen[bytes], Path]:
    """Start the command; a new file gets its messages, which orphans of others do not write to."""
    command = [sys.executable, "-m", "rankpursuit", "run", "demo", "--quick", "--quiet"]
    command += ["--output", str(folder / output), "-j", str(n_jobs)]
    with tempfile.NamedTemporaryFile(dir=folder, suffix=".log", delete=False) as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)
    return process, Path(log.name)


def _contents(output: Path) -> dict[str, bytes]:
    """Return the bytes of the results, and the names of all other files."""
    return {x.name: x.read_bytes() * (x.name in RESULTS) for x in (output / "demo").iterdir()}


@click.command(help=__doc__)
@click.option("--kills", default=50, show_default=True)
@click.option("--seed", default=0, show_default=True)
def main(kills: int, seed: int) -> None:
    """Kill runs and print a summary."""
    with tempfile.TemporaryDirectory() as folder:
        done, errors = kill_loop(Path(folder), kills, seed=seed)
    print(f"{dict(done)} kills, {len(errors)} errors")
    sys.exit("\n".join(errors) or 0)


if __name__ == "__main__":
    main()
