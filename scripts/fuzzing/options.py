"""Hostile command lines of all commands, run in this process on a tiny experiment."""

from __future__ import annotations

import json
import os
import random
import shutil
import tempfile
from collections.abc import Callable
from contextlib import chdir
from functools import lru_cache
from pathlib import Path

from click.testing import CliRunner, Result

from fuzzing.configs import OVERRIDES, SMALL, SS
from fuzzing.guard import TOLD, described, wrong_line
from fuzzing.words import TEXTS, hostile_value
from rankpursuit.cli import check, data, init, report, run, tables

WORDS = tuple(text for text in TEXTS if "\0" not in text and "\ud800" not in text)
"""What can stand on a command line: no null character, no half of a surrogate pair."""
FOLDERS = ("laughs", "mine.csv", "loop", "fifo", "nowhere", *WORDS)
"""What is given for folders of results, and is none."""
TINY = SMALL | {
    "name": "tiny",
    "algorithms": {"rls": {"lambda": [1]}, "ranking_pursuit": {"n_basis": [0.5]}},
}
RATINGS = "user,item,rating\n" + "".join(
    f"u{i // 20},i{i % 20},{(i * 7) % 5}\n" for i in range(400)
)
COMMANDS = {
    "rp-run": run.main,
    "rp-init": init.main,
    "rp-data": data.main,
    "rp-tables": tables.main,
    "rp-check": check.main,
    "rp-report": report.main,
}
NAMED: tuple[tuple[str, ...], ...] = (
    ("rp-run", "tiny.yaml", "--n-jobs", "0"),
    ("rp-run", "tiny.yaml", "--n-jobs", "1000000"),
    ("rp-run", "tiny.yaml", "--n-jobs", "9" * 30),
    ("rp-run", "tiny.yaml", "--n-jobs", "-7"),
    ("rp-run", "tiny.yaml", "--repeats", "1000000000000"),
    ("rp-run", "tiny.yaml", "--backend", "dask", "--scheduler", "tls://127.0.0.1:1"),
    ("rp-run", "tiny.yaml", "--backend", "dask", "--scheduler", "inproc://x"),
    ("rp-run", "tiny.yaml", "--backend", "dask", "--scheduler", "\x1b[31m"),
    ("rp-run", "loop"),
    ("rp-run", "fifo"),
    ("rp-run", "/dev/zero"),
    ("rp-run", "tiny.yaml", "--set", "\x1b[31mname=1"),
    ("rp-run", "tiny.yaml", "--\x1b[31m"),
    ("rp-run", "tiny.yaml", "--only", "\u202e"),
    ("rp-data", "describe", "loop"),
    ("rp-data", "describe", "~nouser/a.csv"),
    ("rp-data", "describe", "x" * 300 + ".csv"),
    ("rp-data", "\x1b[31m"),
    ("rp-check", "results", "--expected", "/dev/zero"),
    ("rp-check", "results", "--expected", "laughs.yaml"),
    ("rp-report", "laughs"),
    *(("rp-run", "tiny.yaml", "--dry-run", "--set", override) for override in OVERRIDES),
)
"""What was once found."""


def attack(seed: int, folder: Path) -> str | None:
    """Run one hostile command line; look at its status and at what it prints."""
    rng = random.Random(seed)
    _furnish(folder)
    name, *arguments = NAMED[seed] if seed < len(NAMED) else rng.choice(KINDS)(rng)
    with chdir(folder):
        result = CliRunner().invoke(COMMANDS[name], arguments, prog_name=name)
    wrong = _wrong(result) or _left_behind(result, folder)
    return None if wrong is None else f"{name} {str(arguments)[:200]}: {wrong}"


def _furnish(folder: Path) -> None:
    """Put configs, ratings, results and traps into the folder."""
    (folder / "tiny.yaml").write_text(json.dumps(TINY))
    (folder / "mine.csv").write_text(RATINGS)
    laughs = "a: &a [x]\n" + "b: &b [*a, *a]\n" + "c: [*b, *b]\n" + "d: " + "[" * 60 + "\n"
    (folder / "laughs.yaml").write_text(laughs)
    shutil.copytree(_results(), folder / "results")
    shutil.copytree(_results() / "tiny", folder / "laughs")
    (folder / "laughs" / "config.yaml").write_text(laughs)
    os.mkfifo(folder / "fifo")
    (folder / "loop").symlink_to("loop")


@lru_cache(maxsize=1)
def _results() -> Path:
    """Run the tiny experiment once in each process."""
    folder = Path(tempfile.mkdtemp(prefix="results-"))
    (folder / "tiny.yaml").write_text(json.dumps(TINY))
    output = folder / "results"
    arguments = [str(folder / "tiny.yaml"), "-q", "-j", "1", "--output", str(output)]
    done = CliRunner().invoke(run.main, arguments)
    if done.exit_code:
        raise RuntimeError(f"the tiny experiment fails: {done.output}")
    return output


def _wrong(result: Result) -> str | None:
    """Return what is wrong with the end of a command, if anything is."""
    TOLD["refused" if result.exit_code else "accepted"] += 1
    error = result.exception
    if error is not None and not isinstance(error, SystemExit):
        return described(error)
    if result.exit_code not in (0, 1, 2):
        return f"status {result.exit_code}"
    if "out of memory" in result.stderr:
        return result.stderr[:300]
    for line in result.output.split("\n"):
        if line.strip() and wrong_line(line):
            return wrong_line(line)
        if not line.isprintable():
            return f"prints {line[:200]!r}"
    if result.exit_code and not result.output.strip():
        return f"status {result.exit_code} without a word"
    return None


def _left_behind(result: Result, folder: Path) -> str | None:
    """Return what a refused command wrote, if anything."""
    found = [path.name for path in folder.glob("out*")] if result.exit_code == 2 else []
    return f"refused, but wrote {found}" if found else None


def _run(rng: random.Random) -> list[str]:
    config = rng.choice(["tiny.yaml"] * 200 + ["loop", "fifo", "mine.csv", ".", *WORDS])
    words = ["rp-run", config, "--output", rng.choice(["out", "out/a", "mine.csv", "loop"])]
    options: list[Callable[[], list[str]]] = [
        lambda: ["--n-jobs", rng.choice(["0", "-2", "300", "x", "1", "1", "1", "1"])],
        lambda: ["--repeats", str(rng.choice([0, 1, 1001, 10**12, "x"]))],
        lambda: ["--only", rng.choice([*["rls"] * 30, "rlss", *WORDS])],
        lambda: ["--groups", rng.choice([*["15-30"] * 30, "1-2", *WORDS])],
        lambda: ["--set", f"{rng.choice(KEYS)}={json.dumps(hostile_value(rng))}"],
        lambda: ["--set", rng.choice(WORDS)],
        lambda: ["--set", f"{rng.choice(WORDS)}={rng.choice(WORDS)}"],
        lambda: ["--fresh"],
        lambda: ["--quick"],
        lambda: ["--backend", rng.choice(["local", "dask", *WORDS])],
        lambda: ["--scheduler", rng.choice(["tls://h:1", "foo://h:1", "h", *WORDS])],
        lambda: [rng.choice(WORDS)],
    ]
    for option in rng.sample(options, rng.randint(0, 3)):
        words += option()
    words += ["--dry-run"] if rng.random() < 0.5 else ["-q", "-j", "1"]
    return words


def _init(rng: random.Random) -> list[str]:
    files = ["mine.csv"] * 5 + ["loop", "fifo", ".", "tiny.yaml", "results", *WORDS]
    return ["rp-init", rng.choice(["mine", "tiny", *WORDS]), rng.choice(files)]


KEYS = (
    "repeats",
    "seed",
    "name",
    "table",
    "metrics",
    "protocol.test_users",
    "protocol.test_user_bounds",
    "protocol.groups",
    "protocol.reference_users",
    "data.n_users",
    "data.noise",
    "data.seed",
    "data",
    "kernel.widths",
    "algorithms.rls.lambda",
    "algorithms.ranking_pursuit",
    f"{SS}.n_views",
)


def _data(rng: random.Random) -> list[str]:
    match rng.randrange(5):
        case 0:
            return ["rp-data", "describe", rng.choice(["loop", "fifo", ".", "results", *WORDS])]
        case 1:
            column = rng.choice(["--user", "--item", "--rating"])
            return ["rp-data", "describe", "mine.csv", column, rng.choice(["user", *WORDS])]
        case 2:
            path = rng.choice(["mine.csv", "loop", ".", *WORDS])
            name = rng.choice(["movielens", "jester", *WORDS])
            return ["rp-data", "verify", name, "--path", path]
        case 3:
            return ["rp-data", rng.choice(["fetch", "list", *WORDS]), "--patience", "0"]
        case _:
            return ["rp-data", "fetch", f"no{rng.choice(WORDS)}"]


def _tables(rng: random.Random) -> list[str]:
    words = [
        "rp-tables",
        rng.choice([*["results", "results/tiny"] * 20, "laughs", "mine.csv", *WORDS]),
    ]
    if rng.random() < 0.3:
        words += ["--control", rng.choice(["rls", *WORDS])]
    if rng.random() < 0.3:
        words += ["--format", rng.choice(["md", "tex", "csv", "text", *WORDS])]
    if rng.random() < 0.3:
        words += ["--output", rng.choice(["new", "mine.csv", "loop"])]
    return words


def _check(rng: random.Random) -> list[str]:
    words = ["rp-check", rng.choice([*["results"] * 30, *FOLDERS])]
    if rng.random() < 0.5:
        files = ["laughs.yaml", "tiny.yaml", "mine.csv", "loop", "fifo", *WORDS]
        words += ["--expected", rng.choice(files)]
    return words + ["--json"] * (rng.random() < 0.2) + ["--allow-small"] * (rng.random() < 0.2)


def _report(rng: random.Random) -> list[str]:
    return ["rp-report", rng.choice(FOLDERS)]


KINDS: tuple[Callable[[random.Random], list[str]], ...] = (
    *[_run] * 6,
    *[_data] * 3,
    _init,
    _tables,
    _check,
    _report,
)
