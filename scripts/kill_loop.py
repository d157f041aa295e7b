"""Kill runs at random moments: ``python scripts/kill_loop.py --kills 50``.

Starts ``rp-run``, kills it, starts it again, until it ends by itself, and begins anew, until there
were so many kills. The moments, the signals and the numbers of workers follow from the seed. Every
run must end with the bytes of a run that nobody killed, and a stopped one in one line.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import yaml

RESULTS = ("repeats.csv", "users.csv.gz", "curves.csv")
SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
CONFIG = {
    "name": "killed",
    "data": {"name": "synthetic", "n_users": 150, "n_items": 60, "seed": 3},
    "protocol": {
        "groups": [[15, 30], [31, 60]],
        "test_user_bounds": [20, 60],
        "reference_users": 10,
        "test_users": 40,
        "holdout_users": 40,
        "scored_share": 0.5,
    },
    "kernel": {"widths": [0.5, 4, 16, 64]},
    "metrics": ["disagreement", "squared_error"],
    "repeats": 3,
    "seed": 7,
    "algorithms": {
        "rls": {"lambda": [0.125, 1, 8]},
        "rank_svm": {"C": [0.01, 0.1], "loss": "squared_hinge"},
        "ranking_pursuit": {"n_basis": [0.25, 0.5, 1.0]},
        "semi_supervised_ranking_pursuit": {"n_basis": [0.25, 0.5, 1.0], "nu": [0.5, 2]},
    },
}
_LIMIT = 300.0  # seconds after which a run hangs


@dataclass
class Summary:
    """What a loop of kills saw.

    Attributes
    ----------
    kills : Counter
        Kills by signal.
    runs : int
        Runs that came to their end, with the right bytes.
    early : int
        Kills before the command had begun, of which it can say nothing.
    faults : list of str
    seconds : float
    """

    kills: Counter[str] = field(default_factory=Counter)
    runs: int = 0
    early: int = 0
    faults: list[str] = field(default_factory=list)
    seconds: float = 0.0

    def __str__(self) -> str:
        by_signal = ", ".join(f"{name} {self.kills[name]}" for name in sorted(self.kills))
        outcome = f"{len(self.faults)} FAULTS" if self.faults else "all with the same bytes"
        return (
            f"{self.kills.total()} kills ({by_signal}; {self.early} before the command began), "
            f"{self.runs} runs ended, {outcome}; {self.seconds:.0f} s"
        )


def kill_loop(folder: Path, kills: int, *, seed: int = 0) -> Summary:
    """Kill runs at random moments until there were so many kills.

    Parameters
    ----------
    folder : Path
        Gets the config and a folder for each run.
    kills : int
    seed : int
        Of the moments, signals and numbers of workers.
    """
    begun, draw, summary = time.monotonic(), random.Random(seed), Summary()
    config = folder / "killed.yaml"
    config.write_text(yaml.safe_dump(CONFIG), encoding="utf-8")
    _run(config, folder / "whole", 1, folder / "said").wait(_LIMIT)
    duration = time.monotonic() - begun
    wanted, starts = _contents(folder / "whole"), 0
    while summary.kills.total() < kills:
        output = folder / f"run{summary.runs}"
        while True:
            starts += 1
            said = folder / f"said{starts}"
            process = _run(config, output, draw.choice((1, 2)), said)
            kill, alone = draw.choice(SIGNALS), draw.random() < 0.5
            moment = draw.uniform(0.0, duration)
            if summary.kills.total() < kills and not _ends_within(process, moment):
                _kill(process, kill, alone=alone)
                summary.kills[kill.name] += 1
            process.wait(_LIMIT)
            if process.returncode == 0:
                break
            fault = _fault(process.returncode, kill, said.read_text(errors="replace"))
            summary.early += process.returncode in (-signal.SIGTERM, -signal.SIGINT)
            if fault:
                summary.faults.append(f"{output}: {fault}")
                break
        if not summary.faults and _contents(output) != wanted:
            summary.faults.append(f"{output}: other bytes than those of a run that nobody killed")
        if summary.faults:
            break
        summary.runs += 1
    summary.seconds = time.monotonic() - begun
    return summary


def _run(config: Path, output: Path, n_jobs: int, said: Path) -> subprocess.Popen[bytes]:
    """Start the command; what it says goes to a file, which processes left over cannot block."""
    program = "from rankpursuit.cli.run import main; main(prog_name='rp-run')"
    options = [str(config), "--output", str(output), "-j", str(n_jobs), "--quiet"]
    with said.open("wb") as errors:
        return subprocess.Popen(
            [sys.executable, "-c", program, *options],
            stdout=subprocess.DEVNULL,
            stderr=errors,
            start_new_session=True,
        )


def _ends_within(process: subprocess.Popen[bytes], seconds: float) -> bool:
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        return False
    return True


def _kill(process: subprocess.Popen[bytes], kill: signal.Signals, *, alone: bool) -> None:
    """Signal the command alone, as ``kill`` does, or with its workers, as a terminal does."""
    if alone:
        process.send_signal(kill)
    else:
        os.killpg(process.pid, kill)


def _fault(status: int, kill: signal.Signals, said: str) -> str | None:
    """Return what is wrong with how a run ended."""
    if status == -kill:  # killed, or before the command had begun
        return None
    if kill is signal.SIGKILL or status != 128 + kill:
        return f"status {status} after {kill.name}: {said}"
    lines = said.splitlines()
    if len(lines) != 1 or not lines[0].startswith("stopped; "):
        return f"not one line after {kill.name}: {said}"
    return None


def _contents(output: Path) -> dict[str, bytes]:
    """Return the results, and the names of all other files but the store's."""
    folder = output / str(CONFIG["name"])
    found = {name: (folder / name).read_bytes() for name in RESULTS}
    return found | {path.name: b"" for path in folder.iterdir() if path.name not in RESULTS}


def main() -> None:
    """Kill, and print a line of what was seen."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=50, help="default: %(default)s")
    parser.add_argument("--seed", type=int, default=0, help="default: %(default)s")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        summary = kill_loop(Path(folder), arguments.kills, seed=arguments.seed)
    print(summary)
    if summary.faults:
        sys.exit("\n".join(summary.faults))


if __name__ == "__main__":
    main()
