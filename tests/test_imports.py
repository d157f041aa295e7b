"""Imports inside the package point one way, from the commands down to the arrays."""

import ast
from pathlib import Path

import pytest

import rankpursuit

PACKAGE = Path(rankpursuit.__file__).parent

LEAVES = {"errors", "kernels", "preferences", "metrics"}
SOLVERS = LEAVES | {"solvers"}
MIDDLE = SOLVERS | {"datasets", "estimators"}
MAY_IMPORT = {
    "errors": set(),
    "kernels": {"errors"},
    "preferences": {"errors"},
    "metrics": {"errors"},
    "solvers": LEAVES,
    "datasets": SOLVERS,
    "estimators": SOLVERS,
    "experiments": MIDDLE,
    "reporting": MIDDLE | {"experiments"},
    "cli": MIDDLE | {"experiments", "reporting"},
}
"""Which parts of the package each part may import, besides itself."""


def parts_imported(source: str, here: tuple[str, ...]) -> set[str]:
    """Top-level parts of rankpursuit that a module imports; `here` are its package's names."""
    names = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = list(here[: len(here) - node.level + 1]) if node.level else []
            base += node.module.split(".") if node.module else []
            names += [".".join([*base, alias.name]) for alias in node.names]
    split = [name.split(".") for name in names]
    inside = {words[1] for words in split if words[0] == "rankpursuit" and len(words) > 1}
    return {part for part in inside if is_part(part)}


def is_part(name: str) -> bool:
    return name in MAY_IMPORT or (PACKAGE / name).is_dir() or (PACKAGE / f"{name}.py").is_file()


MODULES = sorted(path.relative_to(PACKAGE) for path in PACKAGE.rglob("*.py"))
INNER = [path for path in MODULES if path != Path("__init__.py")]


@pytest.mark.parametrize("path", INNER, ids=str)
def test_module_imports_only_what_lies_below_it(path):
    part = path.parts[0].removesuffix(".py")
    assert part in MAY_IMPORT, f"{part} has no place in the order of imports: give it one here"
    imported = parts_imported((PACKAGE / path).read_text(), ("rankpursuit", *path.parts[:-1]))
    assert imported - {part} <= MAY_IMPORT[part]


@pytest.mark.parametrize(
    "statement",
    [
        "import rankpursuit.cli.run",
        "from rankpursuit.cli import run",
        "from rankpursuit import cli",
        "from ..cli import run",
        "from .. import cli",
        "def f():\n    from rankpursuit.cli.run import main",
    ],
)
def test_every_form_of_import_is_seen(statement):
    assert parts_imported(statement, ("rankpursuit", "solvers")) == {"cli"}


def test_order_has_no_cycle():
    for part, below in MAY_IMPORT.items():
        assert part not in below
        assert all(part not in MAY_IMPORT[other] for other in below)
