"""Imports inside the package point one way, from the commands down to the arrays."""

import ast
from inspect import isfunction
from pathlib import Path

import pytest

import rankpursuit
from rankpursuit import preferences, solvers

PACKAGE = Path(rankpursuit.__file__).parent

GROUND = {"errors", "kernels", "preferences", "metrics"}
MAY_IMPORT = {
    "errors": set(),
    "text": set(),
    "kernels": {"errors"},
    "preferences": {"errors"},
    "metrics": {"errors", "preferences"},
    "writing": {"errors"},
    "solvers": GROUND,
    "estimators": GROUND | {"solvers", "writing"},
    "datasets": {"errors", "text", "writing", "preferences"},
    "experiments": GROUND | {"text", "writing", "solvers", "datasets"},
    "reporting": {"errors", "text", "writing", "experiments"},
    "__main__": {"cli"},
    "cli": {"errors", "text", "writing", "datasets", "experiments", "reporting"},
}
"""Which parts of the package each part may import, besides itself."""


def modules_imported(source: str, here: tuple[str, ...]) -> list[list[str]]:
    """Names of modules, in parts, that a module imports; `here` are its package's names."""
    names = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = list(here[: len(here) - node.level + 1]) if node.level else []
            base += node.module.split(".") if node.module else []
            names += [".".join([*base, alias.name]) for alias in node.names]
    return [name.split(".") for name in names]


def parts_imported(source: str, here: tuple[str, ...]) -> set[str]:
    """Top-level parts of rankpursuit that a module imports."""
    split = modules_imported(source, here)
    inside = {words[1] for words in split if words[0] == "rankpursuit" and len(words) > 1}
    return {part for part in inside if is_part(part)}


def rooms_imported(source: str, here: tuple[str, ...]) -> set[str]:
    """Rooms of the experiments that a module imports."""
    split = modules_imported(source, here)
    return {words[2] for words in split if words[:2] == ["rankpursuit", "experiments"]}


def is_part(name: str) -> bool:
    return name in MAY_IMPORT or (PACKAGE / name).is_dir() or (PACKAGE / f"{name}.py").is_file()


_DECLARED = {"names", "grids", "protocol", "problem", "registry", "methods", "plugins"}
LAYERS = {
    "names": set(),
    "grids": {"names"},
    "protocol": {"names", "grids"},
    "problem": {"protocol"},
    "registry": {"grids", "problem"},
    "methods": {"grids", "problem", "registry"},
    "plugins": {"names", "grids", "problem", "registry", "methods"},
    "config": _DECLARED,
    "evaluate": _DECLARED | {"config"},
    "store": {"protocol", "evaluate"},
    "backends": _DECLARED | {"config", "evaluate", "store"},
    "run": _DECLARED | {"config", "evaluate", "store", "backends"},
}
"""Which rooms of the experiments each of them may import, besides itself."""

KINDS_OF_PREFERENCES = {
    name
    for name, value in vars(preferences).items()
    if isinstance(value, type) and issubclass(value, preferences.Preferences)
}

MODULES = sorted(path.relative_to(PACKAGE) for path in PACKAGE.rglob("*.py"))
INNER = [path for path in MODULES if path != Path("__init__.py")]


@pytest.mark.parametrize("path", INNER, ids=str)
def test_module_imports_only_what_lies_below_it(path):
    part = path.parts[0].removesuffix(".py")
    assert part in MAY_IMPORT, f"{part} has no place in the order of imports: give it one here"
    imported = parts_imported((PACKAGE / path).read_text(), ("rankpursuit", *path.parts[:-1]))
    assert imported - {part} <= MAY_IMPORT[part]


@pytest.mark.parametrize(
    "path", [path for path in INNER if path.parts[0] == "experiments"], ids=str
)
def test_room_of_the_experiments_imports_only_what_lies_below_it(path):
    room = path.parts[1].removesuffix(".py")
    if room == "__init__":
        return
    assert room in LAYERS, f"{room} has no place in the order of rooms: give it one here"
    imported = rooms_imported((PACKAGE / path).read_text(), ("rankpursuit", *path.parts[:-1]))
    assert imported - {room} <= LAYERS[room]


@pytest.mark.parametrize(
    "path", [path for path in MODULES if path != Path("preferences.py")], ids=str
)
def test_no_module_asks_which_kind_of_preferences_it_has(path):
    asked = set()
    for node in ast.walk(ast.parse((PACKAGE / path).read_text())):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "isinstance":
            words = [getattr(word, "id", getattr(word, "attr", "")) for word in ast.walk(node)]
            asked |= KINDS_OF_PREFERENCES & set(words)
    assert not asked, "give Preferences a method or an attribute instead"


def functions_imported(path: Path) -> set[str]:
    """Functions of solvers that a module imports."""
    nodes = ast.walk(ast.parse((PACKAGE / path).read_text()))
    imports = [node for node in nodes if isinstance(node, ast.ImportFrom)]
    names = {
        alias.name
        for node in imports
        for alias in node.names
        if (node.module or "").startswith("rankpursuit.solvers")
    }
    return {name for name in names if isfunction(getattr(solvers, name, None))}


@pytest.mark.parametrize(
    "path", [path for path in MODULES if path.parts[0] in ("estimators", "experiments")], ids=str
)
def test_only_paths_of_methods_solve(path):
    solving = functions_imported(Path("solvers/paths.py"))
    assert {"pursue", "rls_path", "sparse_rls_weights", "rank_svm_weights"} <= solving
    assert not functions_imported(path) & solving, "call the function of solvers/paths.py instead"


def test_scripts_import_nothing_private_and_nothing_of_the_tests():
    root = PACKAGE.parent
    tests = {path.stem for path in (root / "tests").rglob("*.py")}
    for path in (root / "scripts").rglob("*.py"):
        for words in modules_imported(path.read_text(), ()):
            assert words[0] == "__future__" or not any(word.startswith("_") for word in words), path
            assert words[0] not in tests, path


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
    for order in (MAY_IMPORT, LAYERS):
        for part, below in order.items():
            assert part not in below
            assert all(part not in order[other] for other in below)
