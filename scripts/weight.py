"""Print how much code there is, and how much of it a fit and a run pass through.

Run it as ``python scripts/weight.py``. Lines of code exclude docstrings, comments and blank lines.
Calls are recorded by a profiler in this process; code that runs on import is not counted.
"""

from __future__ import annotations

import ast
import io
import sys
import tokenize
import traceback
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from tabulate import tabulate

import rankpursuit
from rankpursuit.cli.run import main as run

PACKAGE = Path(rankpursuit.__file__).parent
ROOT = PACKAGE.parent
RUNNER = ("cli", "datasets", "experiments", "reporting")


def code_lines(source: str) -> int:
    """Count the lines that hold code."""
    docstrings, lines = set(), set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            docstrings |= set(range(node.lineno, node.end_lineno + 1))
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.string.strip() and token.type != tokenize.COMMENT:
            lines |= set(range(token.start[0], token.end[0] + 1))
    return len(lines - docstrings)


def size_row(title: str, paths: list[Path]) -> list[Any]:
    """Return the files, lines, lines of code and lines of the longest file."""
    sources = [path.read_text(encoding="utf-8") for path in paths]
    lines = [source.count("\n") for source in sources]
    return [title, len(sources), sum(lines), sum(map(code_lines, sources)), max(lines, default=0)]


def call_row(title: str, function: Callable[[], object]) -> list[Any]:
    """Return the own files, functions and classes that a call runs, and its deepest own frames."""
    functions: set[tuple[str, str]] = set()
    deepest = 0

    def is_own(frame: FrameType) -> bool:
        code = frame.f_code  # neither <module> nor <lambda>, <listcomp>, ...
        return code.co_filename.startswith(str(PACKAGE)) and not code.co_name.startswith("<")

    def record(frame: FrameType, event: str, _: object) -> None:
        nonlocal deepest
        if event == "call" and is_own(frame):
            functions.add((frame.f_code.co_filename, frame.f_code.co_qualname))
            deepest = max(deepest, sum(is_own(one) for one, _ in traceback.walk_stack(frame)))

    sys.setprofile(record)
    try:
        function()
    finally:
        sys.setprofile(None)
    files = {file for file, _ in functions}
    heads = {(file, name.split(".")[0]) for file, name in functions if "." in name}
    classes = [1 for file, name in heads if f"\nclass {name}" in Path(file).read_text()]
    return [title, len(files), len(functions), len(classes), deepest]


def run_demo() -> None:
    """Run ``rp-run demo`` in this process and a temporary folder."""
    with TemporaryDirectory() as folder:
        run(["demo", "-j", "1", "--quiet", "--output", folder], standalone_mode=False)


def main() -> None:
    """Measure and print."""
    parts = {f"- {part}": sorted((PACKAGE / part).rglob("*.py")) for part in RUNNER}
    runner = [path for paths in parts.values() for path in paths]
    rest = sorted(set(PACKAGE.rglob("*.py")) - set(runner))
    parts = {"runner's half": runner, **parts, "library's half": rest}
    parts |= {name: sorted((ROOT / name).rglob("*.py")) for name in ("scripts", "tests")}
    sizes = [size_row(title, paths) for title, paths in parts.items()]
    print(tabulate(sizes, ["part", "files", "lines", "code lines", "longest"]), end="\n\n")
    rng = np.random.default_rng(0)
    X, y, groups = rng.normal(size=(60, 5)), rng.normal(size=60), np.repeat(np.arange(6), 10)
    one, chosen = rankpursuit.RankingPursuit(), rankpursuit.RankingPursuitCV()
    calls = {
        "RankingPursuit().fit.predict": lambda: one.fit(X, y, groups).predict(X),
        "RankingPursuitCV().fit": lambda: chosen.fit(X, y, groups),
        "rp-run demo -j 1 --quiet": run_demo,
    }
    headers = ["one call passes through", "files", "functions", "classes", "frames deep"]
    print(tabulate([call_row(*call) for call in calls.items()], headers), end="\n\n")

    public = [getattr(rankpursuit, name) for name in rankpursuit.__all__]
    estimators = [x for x in public if isinstance(x, type) and issubclass(x, BaseEstimator)]
    behind = []
    for one in estimators:
        own = [x for x in one.__mro__ if x.__module__.startswith("rankpursuit")]
        behind.append([one.__name__, len(own)])
    print(tabulate(behind, ["estimator", "own classes in its MRO"]))


if __name__ == "__main__":
    main()
