"""Attack the package with hostile input: ``python scripts/fuzz.py --cases 100000 [--only KIND]``.

Runs the cases of every kind in ``scripts/fuzzing/``, each with a limit on its time and memory, and
prints a table of the outcomes and the first seeds that went wrong. To see one of them again:
``python scripts/fuzz.py --only KIND --seed SEED --cases 1``. The status is 1 if any went wrong.
"""

from __future__ import annotations

import argparse
import faulthandler
import os
import shutil
import signal
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec
from multiprocessing import active_children, get_context
from pathlib import Path

from fuzzing import NAMES
from fuzzing.guard import TOLD, Hang, described, limit_memory, time_limit
from tabulate import tabulate
from tqdm import tqdm

TOGETHER = 20
"""Cases that a worker gets at a time."""
_LAST_SECONDS = 90.0
"""After which a case that hears no signal is killed with its process."""
SHOWN = 20
"""Wrong cases of a kind that are told."""


@dataclass
class Outcomes:
    """What became of the cases of one kind."""

    cases: int = 0
    told: Counter[str] = field(default_factory=Counter)
    wrong: dict[int, str] = field(default_factory=dict)

    def add(self, other: Outcomes) -> None:
        """Take in more cases."""
        self.cases += other.cases
        self.told += other.told
        self.wrong |= other.wrong

    def row(self, name: str) -> list[object]:
        """Return a row of the table."""
        counts = [f"{self.told[word]:,}" if self.told else "" for word in ("accepted", "refused")]
        return [name, f"{self.cases:,}", *counts, f"{len(self.wrong):,}"]


def main() -> None:
    """Attack, and print what became of it."""
    options = _options()
    missing = [name for name in options.only if find_spec(f"fuzzing.{name}") is None]
    for name in missing:
        print(f"{name}: no such module yet, left out", file=sys.stderr)
    found = {name: Outcomes() for name in options.only if name not in missing}
    stopped = False
    try:
        for name, outcomes in found.items():
            for part in _attack(name, options):
                outcomes.add(part)
    except KeyboardInterrupt:
        stopped = True
        print("stopped; what was finished:", file=sys.stderr)
    rows = [outcomes.row(name) for name, outcomes in found.items()]
    print(tabulate(rows, ["kind", "cases", "accepted", "refused", "wrong"], stralign="right"))
    for name, outcomes in found.items():
        for seed, words in sorted(outcomes.wrong.items())[:SHOWN]:
            print(f"{name} {seed}: {words}")
    if stopped:
        raise SystemExit(130)
    if any(outcomes.wrong for outcomes in found.values()):
        raise SystemExit(1)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--cases", type=int, default=1000, help="of each kind")
    parser.add_argument("--only", action="append", choices=NAMES, help="this kind; repeatable")
    parser.add_argument("--seed", type=int, default=0, help="of the first case")
    parser.add_argument("--jobs", type=int, default=2, help="worker processes")
    options = parser.parse_args()
    if min(options.cases, options.jobs) < 1 or options.seed < 0:
        parser.error("--cases and --jobs are at least 1, and --seed is at least 0")
    options.only = options.only or list(NAMES)
    return options


def _attack(name: str, options: argparse.Namespace) -> Iterator[Outcomes]:
    """Run the cases of one kind; yield what became of them, some at a time."""
    last = options.seed + options.cases
    left = [range(at, min(at + TOGETHER, last)) for at in range(options.seed, last, TOGETHER)]
    with tqdm(total=options.cases, desc=name, unit=" cases") as bar:
        while left:
            with _Workers(name, options.jobs) as workers:
                under_way = workers.submit_all(left)
                left = []
                for future in as_completed(under_way):
                    seeds = under_way[future]
                    outcomes = _result(future)
                    if outcomes is None:  # one case takes all that wait with it
                        left.append(seeds)
                        continue
                    bar.update(outcomes.cases)
                    yield outcomes
            left.sort(key=lambda seeds: seeds.start)
            suspects, left = left[: options.jobs], left[options.jobs :]
            for seed in (seed for seeds in suspects for seed in seeds):
                with _Workers(name, 1) as workers:
                    (future,) = workers.submit_all([range(seed, seed + 1)])
                    outcomes = _result(future)
                bar.update(1)
                yield outcomes or Outcomes(1, wrong={seed: "killed its process"})


def _result(future: Future[Outcomes]) -> Outcomes | None:
    """Return the outcomes of some cases; None if their process was killed."""
    try:
        return future.result()
    except BrokenProcessPool:
        return None


class _Workers:
    """Processes that run cases of one kind; a context manager that leaves none behind."""

    def __init__(self, name: str, jobs: int) -> None:
        self._name = name
        self._folder = Path(tempfile.mkdtemp(prefix="fuzz-"))
        self._pool = ProcessPoolExecutor(
            jobs, get_context("spawn"), initializer=_begin, initargs=(name, str(self._folder))
        )

    def submit_all(self, parts: list[range]) -> dict[Future[Outcomes], range]:
        """Hand out cases, to processes that are started here and leave Ctrl-C to this one.

        They inherit that it is blocked. Here it waits until all is handed out.
        """
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            return {self._pool.submit(_run, self._name, seeds): seeds for seeds in parts}
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def __enter__(self) -> _Workers:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:
            for process in active_children():
                process.kill()
        self._pool.shutdown(wait=True, cancel_futures=True)
        shutil.rmtree(self._folder, ignore_errors=True)


def _begin(name: str, folder: str) -> None:
    """Prepare a worker: no data of the machine, and limited memory."""
    empty = Path(folder) / "empty"
    empty.mkdir(exist_ok=True)
    os.environ["RANKPURSUIT_DATA"] = os.environ["RANKPURSUIT_CACHE"] = str(empty)
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    tempfile.tempdir = folder
    import_module(f"fuzzing.{name}")
    limit_memory()


def _run(name: str, seeds: range) -> Outcomes:
    outcomes = Outcomes()
    for seed in seeds:
        faulthandler.dump_traceback_later(_LAST_SECONDS, exit=True)
        words = run_case(name, seed)
        faulthandler.cancel_dump_traceback_later()
        outcomes.add(Outcomes(1, Counter(TOLD), {} if words is None else {seed: words}))
        TOLD.clear()
    return outcomes


def run_case(name: str, seed: int) -> str | None:
    """Run one case in this process, in a folder of its own; return what is wrong, if anything."""
    attack = import_module(f"fuzzing.{name}").attack
    folder = Path(tempfile.mkdtemp(prefix=f"{name}-"))
    try:
        with time_limit():
            return attack(seed, folder)
    except (Hang, Exception) as error:
        return described(error)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
