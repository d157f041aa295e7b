"""The documentation: its examples and the code of its guide run, its reference lists everything."""

import contextlib
import doctest
import importlib
import io
import os
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Literal, get_origin

import pytest

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
EXAMPLES = sorted((DOCS / "examples").glob("plot_*.py"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example_runs_without_a_warning_and_draws(path, tmp_path):
    count = "import matplotlib.pyplot as plt; print('pictures:', len(plt.get_fignums()))"
    program = f"import runpy; runpy.run_path({str(path)!r}); {count}"
    kept = {"PYTHONPATH": str(ROOT), "MPLBACKEND": "agg", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        cwd=tmp_path,
        env=os.environ | kept,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout.split("pictures: ")[1]) >= 1


@pytest.mark.parametrize("path", sorted((DOCS / "guide").glob("*.rst")), ids=lambda path: path.stem)
def test_code_of_the_guide_does_what_it_says(path):
    assert doctest.testfile(str(path), module_relative=False).failed == 0


def public_names(module):
    """Names of `__all__`, or all that the module imports and does not hide."""
    found = {name for name in vars(module) if not name.startswith("_")}
    own = {name for name in found if not isinstance(getattr(module, name), ModuleType)}
    return getattr(module, "__all__", own)


@pytest.mark.parametrize(
    "module", ["", ".metrics", ".datasets", ".solvers"], ids=lambda name: f"rankpursuit{name}"
)
def test_reference_lists_everything_public(module):
    public = importlib.import_module(f"rankpursuit{module}")
    listed = set(re.findall(r"^   (\w+)$", (DOCS / "api.rst").read_text(), re.MULTILINE))
    found = {name: getattr(public, name) for name in public_names(public)}
    aliases = {name for name, one in found.items() if get_origin(one) is Literal}
    assert set(found) - aliases - listed == set()


@pytest.mark.parametrize("module", ["", ".metrics", ".datasets", ".experiments", ".solvers"])
def test_no_metric_becomes_a_mail_address(module):
    public = importlib.import_module(f"rankpursuit{module}")
    texts = [getattr(public, name).__doc__ or "" for name in public_names(public)]
    texts += [page.read_text() for page in (*DOCS.glob("*.rst"), *DOCS.glob("guide/*.rst"))]
    texts += [" ".join(re.findall(r"^# (.*)", page.read_text(), re.M)) for page in EXAMPLES]
    for text in texts:
        plain = re.sub(r"``.*?``|^ *(>>>|\.\.\.)[^\n]*$", "", text, flags=re.DOTALL | re.MULTILINE)
        assert re.search(r"\w@\w", plain) is None


def test_reference_lists_nothing_that_is_not_there():
    names, module = [], None
    for line in (DOCS / "api.rst").read_text().splitlines():
        if line.startswith(".. currentmodule:: "):
            module = importlib.import_module(line.split(":: ")[1])
        elif re.fullmatch(r"   \w+", line):
            names.append((module, line.strip()))
    assert names
    assert [name for module, name in names if not hasattr(module, name)] == []


PAGES = [ROOT / "README.md", ROOT / "docs" / "library.md"]
EXAMPLE = re.compile(r"<!-- tested -->\n```python\n(.*?)```\n```text\n(.*?)```", re.DOTALL)


PRINTED = [
    example for page in PAGES for example in EXAMPLE.findall(page.read_text(encoding="utf-8"))
]


@pytest.mark.parametrize(("code", "output"), PRINTED, ids=["readme", "library", "blocks"])
def test_an_example_prints_what_it_says(code, output):
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, "example", "exec"), {})
    assert printed.getvalue() == output
