"""Imports inside the package point one way, from the commands down to the arrays."""

import ast
import re
from pathlib import Path

import pytest

import rankpursuit
from rankpursuit import preferences
from rankpursuit.solvers import paths

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
    "estimators": GROUND | {"text", "writing", "solvers"},
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
INNER_OF = {
    part: [path for path in INNER if path.parts[0] == part] for part in ("estimators", "solvers")
}


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


def names_from_solvers(path: Path) -> set[str]:
    """Names that a module imports from the solvers."""
    split = modules_imported((PACKAGE / path).read_text(), ("rankpursuit", *path.parts[:-1]))
    return {words[-1] for words in split if words[:2] == ["rankpursuit", "solvers"]}


SOLVED_ALONE = re.compile(r"pursue\w*|follow|\w+_(path|paths|solution|weights|pursuit)|first_best")


@pytest.mark.parametrize("path", [path for path in INNER if path.parts[0] != "solvers"], ids=str)
def test_methods_are_computed_by_their_grids_alone(path):
    assert not list(filter(SOLVED_ALONE.fullmatch, names_from_solvers(path))), "call its grid"


def test_estimators_and_the_runner_call_the_same_grids():
    of_estimators = set().union(*map(names_from_solvers, INNER_OF["estimators"]))
    of_runner = names_from_solvers(Path("experiments/methods.py"))
    defined = {name for name in vars(paths) if name.endswith("_grid")}
    for names in (of_estimators, of_runner):
        assert {name for name in names if name.endswith("_grid")} == defined


def test_functions_are_chosen_by_three_engines_for_kernels_grown_dictionaries_and_views():
    choosing = {x.name for x in INNER_OF["solvers"] if "first_best" in names_from_solvers(x)}
    assert choosing == {"pursuit.py", "functions.py", "coregularised.py"}


def test_the_map_of_contributing_has_every_module_in_the_order_of_its_imports():
    page = (PACKAGE.parent / "CONTRIBUTING.md").read_text(encoding="utf-8")
    rows = {}
    for number, row in enumerate(
        re.findall(r"^\| (`[^|]+) \|", page.partition("## To add")[0], re.M)
    ):
        names = re.findall(r"`([\w/]+)", row)
        folder = names[0].partition("/")[0] + "/" if "/" in names[0].rstrip("/") else ""
        rows |= {folder + name.removeprefix(folder).rstrip("/"): number for name in names}
    for path in INNER:
        words = [*path.with_suffix("").parts[: 1 + (path.parts[0] == "experiments")]]
        if words[-1].startswith("__"):
            continue
        split = modules_imported((PACKAGE / path).read_text(), ("rankpursuit", *path.parts[:-1]))
        places = [x[1:3] if x[1:2] == ["experiments"] else x[1:2] for x in split if "rank" in x[0]]
        below = [rows[name] for name in map("/".join, places) if name in rows]
        assert max(below, default=0) <= rows["/".join(words)], path


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
