"""Put mistakes into the code, one at a time, and see whether the tests notice them.

The mistakes are in ``scripts/mutations.yaml``: a file (or a pattern, if the text may move between
files), a text that occurs in it once, its replacement, and the tests that should fail. Each runs
in a copy of the working tree. Survivors name tests to write.

    python scripts/mutate.py --jobs 2
    python scripts/mutate.py --only wilcoxon --only leak
    python scripts/mutate.py --record build/mutations.txt   # start it again to go on
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from queue import SimpleQueue
from typing import NamedTuple

import click
import yaml

ROOT = Path(__file__).resolve().parents[1]
LIST = Path(__file__).with_name("mutations.yaml")
TIMEOUT = 900.0
"""Seconds for the tests of one mutation; a mutation that makes them hang is caught."""
NO_TESTS_FAILED = 0
SOME_TESTS_FAILED = 1
"""Exit statuses of pytest; others are errors of collection or of its own."""


class Mutation(NamedTuple):
    """A mistake, and the tests that should notice it."""

    name: str
    file: str
    text: str
    replacement: str
    tests: list[str]

    def find(self, tree: Path) -> Path:
        """Return the one file that has the text, once; raise a ValueError otherwise."""
        files = [path for path in sorted(tree.glob(self.file)) if self.text in path.read_text()]
        counts = [path.read_text().count(self.text) for path in files]
        if counts != [1]:
            raise ValueError(f"the text occurs {sum(counts)} times in {self.file}")
        if missing := [test for test in self.tests if not (tree / test).exists()]:
            raise ValueError(f"no such tests: {', '.join(missing)}")
        return files[0]


def read_mutations(only: tuple[str, ...]) -> list[Mutation]:
    """Read the list, or the mutations whose name contains one of some words."""
    listed = [
        Mutation(name, entry["file"], *change, entry["tests"])
        for entry in yaml.safe_load(LIST.read_text(encoding="utf-8"))
        for name, changes in entry["mutations"].items()
        for change in changes.items()
    ]
    names = Counter(mutation.name for mutation in listed)
    if repeated := [name for name, count in names.items() if count > 1]:
        raise click.ClickException(f"{LIST}: names used twice: {', '.join(repeated)}")
    return [x for x in listed if not only or any(word in x.name for word in only)]


def copy_tree(folder: Path) -> Path:
    """Copy the files that git tracks, or does not ignore, into a folder."""
    names = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    for name in subprocess.check_output(names, cwd=ROOT, text=True).split("\0"):
        if name and (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    return folder


def run_tests(tree: Path, tests: list[str]) -> int:
    """Run tests until the first one fails; return pytest's exit status."""
    # Without compiled files: one that is as long and as old as its source would count as current.
    paths = {"PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE": "1"}
    options = ["-x", "-q", "-p", "no:cacheprovider", "--hypothesis-profile=unshrunk"]
    command = [sys.executable, "-m", "pytest", *options, *tests]
    try:
        done = subprocess.run(
            command, cwd=tree, env=os.environ | paths, capture_output=True, timeout=TIMEOUT
        )
    except subprocess.TimeoutExpired:
        return SOME_TESTS_FAILED
    return done.returncode


@contextmanager
def mutated(tree: Path, mutation: Mutation) -> Iterator[None]:
    """Put a mistake into a tree, and take it out again."""
    path = mutation.find(tree)
    original = path.read_text(encoding="utf-8")
    path.write_text(original.replace(mutation.text, mutation.replacement), encoding="utf-8")
    try:
        yield
    finally:
        path.write_text(original, encoding="utf-8")


def outcome_of(mutation: Mutation, trees: SimpleQueue[Path]) -> tuple[str, float]:
    """Return "caught", "SURVIVED" or an error, and the seconds that the tests took."""
    tree, begun = trees.get(), time.perf_counter()
    try:
        with mutated(tree, mutation):
            status = run_tests(tree, mutation.tests)
    except ValueError as error:
        return f"ERROR: {error}", 0.0
    finally:
        trees.put(tree)
    words = {NO_TESTS_FAILED: "SURVIVED", SOME_TESTS_FAILED: "caught"}
    outcome = words.get(status, f"ERROR: pytest ended with status {status}")
    return outcome, time.perf_counter() - begun


@click.command()
@click.option("--only", multiple=True, help="Mutations whose name contains this; repeatable.")
@click.option("--jobs", default=1, show_default=True, help="Copies of the tree to work in.")
@click.option("--trust", is_flag=True, help="Do not run the tests without a mutation first.")
@click.option("--record", type=Path, help="Append outcomes to this file; skip those it has.")
def main(only: tuple[str, ...], jobs: int, trust: bool, record: Path | None) -> None:
    """Count the mistakes that the tests notice; end with an error if one survives."""
    recorded = record.read_text(encoding="utf-8") if record and record.exists() else ""
    mutations = [x for x in read_mutations(only) if f"  {x.name}  [" not in recorded]
    trees = SimpleQueue[Path]()
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(jobs) as workers:
        for number in range(jobs):
            trees.put(copy_tree(Path(folder, str(number))))
        tests = {test for mutation in mutations for test in mutation.tests}
        present = sorted(test for test in tests if (ROOT / test).exists())
        if not trust and run_tests(Path(folder, "0"), present):
            raise click.ClickException("the tests fail without any mutation; run them first")
        counts: Counter[str] = Counter()
        outcomes = workers.map(lambda mutation: outcome_of(mutation, trees), mutations)
        for mutation, (outcome, seconds) in zip(mutations, outcomes, strict=True):
            line = f"{outcome:9}{seconds:6.1f} s  {mutation.name}  [{mutation.file}]"
            counts[outcome.partition(":")[0]] += 1
            click.echo(line)
            if record:
                with record.open("a", encoding="utf-8") as file:
                    file.write(f"{line}\n")
    click.echo(", ".join(f"{count} {word}" for word, count in sorted(counts.items())))
    sys.exit(counts["caught"] < len(mutations))


if __name__ == "__main__":
    main()
