"""The configs that come with the package: found by name from any folder.

In a clone they lie in ``configs/`` beside the package, in an installed package inside of it.
"""

from __future__ import annotations

import difflib
import os
import re
from itertools import islice
from pathlib import Path

_PACKAGE = Path(__file__).parents[2]
_NAME = re.compile(r"[A-Za-z0-9_-]+")
SCHEMA = "schema.json"
"""File name of the JSON Schema, beside the configs."""
SCHEMA_LINE = "# yaml-language-server: $schema="
"""What the first line of a config begins with, for editors."""
_MOST_FILES = 1000
"""Files of a folder that a suggestion looks at."""


def shipped_folder() -> Path:
    """Return the folder of the configs that come with the package."""
    inside = _PACKAGE / "configs"
    return inside if inside.is_dir() else _PACKAGE.parent / "configs"


def shipped_experiments() -> dict[str, Path]:
    """Return the experiments that come with the package by name: the demo, then table by table."""
    found = {path.stem: path for path in shipped_folder().glob("*.yaml")}
    return dict(sorted(found.items(), key=lambda item: described(item[1])))


def shipped_configs() -> dict[str, Path]:
    """Return all that has a name: the experiments, and what they extend."""
    bases = {path.stem: path for path in sorted((shipped_folder() / "base").glob("*.yaml"))}
    return shipped_experiments() | bases


def described(path: Path) -> str:
    """Return the one line that says what a config is: its first comment."""
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            if line.startswith("#") and not line.startswith(SCHEMA_LINE):
                return line.lstrip("# ").rstrip("\n")
    return ""


def located(word: str | os.PathLike[str], folder: Path = Path()) -> Path:
    """Return the file that a word means: a config of the package by name, or else a path.

    Parameters
    ----------
    word : str or path
        A name has letters, digits, ``_`` and ``-`` only: no ending and no folder.
    folder : Path
        What a path is relative to.
    """
    name = os.fspath(word)
    if _NAME.fullmatch(name) and (found := shipped_configs().get(name)):
        return found
    return folder / name


def meant(path: Path, pattern: str = "*") -> Path | None:
    """Return what lies where a missing file or folder should, under a name like its own.

    Parameters
    ----------
    path : Path
    pattern : str
        What its name must match.
    """
    try:
        names = islice((file.name for file in path.parent.glob(pattern)), _MOST_FILES)
        beside = difflib.get_close_matches(path.name, list(names), n=1)
    except (OSError, ValueError):
        return None
    return path.parent / beside[0] if beside else None


def no_such_file(path: Path) -> str:
    """Say that a config is missing, and which one may have been meant."""
    if beside := meant(path, "*.y*ml"):
        return f"{path}: no such file; did you mean {beside}?"
    known = difflib.get_close_matches(path.stem, list(shipped_configs()), n=1)
    if known:
        return f"{path}: no such file; did you mean {known[0]}, which comes with rankpursuit?"
    return f"{path}: no such file; `rp-run --list` names those that come with rankpursuit"
