"""Names of configs, and suggestions for mistyped words.

Imports little, so that commands start quickly.
"""

from __future__ import annotations

import difflib
import json
import os
from collections.abc import Iterable
from itertools import islice
from pathlib import Path
from typing import Any

from rankpursuit.text import escape_unprintable, truncate

SCHEMA = "schema.json"  # next to the shipped configs
SCHEMA_LINE = "# yaml-language-server: $schema="  # the first line of a config, for editors
MAX_SHOWN = 70  # length of a value or key in a message


def short_key(key: str) -> str:
    """Return a key, or an override, cut if it is long."""
    return truncate(escape_unprintable(key), MAX_SHOWN)


def short_repr(value: Any) -> str:
    """Return a value as JSON, on one line, cut if it is long."""
    encoder = json.JSONEncoder(ensure_ascii=False, check_circular=False, skipkeys=True, default=str)
    # Piece by piece: with anchors, a few lines of YAML can expand to any length.
    return short_key("".join(islice(encoder.iterencode(value), MAX_SHOWN)))


def suggestion(word: object, known: Iterable[str]) -> str:
    """Return ``did you mean ...?`` if a known word is close, otherwise all known words."""
    words = list(known)
    is_word = any(map(str.isalpha, str(word)))  # numbers that look alike are not typing errors
    close = difflib.get_close_matches(str(word)[:MAX_SHOWN], words, n=1) if is_word else []
    return f"did you mean {close[0]}?" if close else f"choose from {', '.join(words)}"


# Named configs: next to the package in a clone, inside it if installed


def shipped_folder() -> Path:
    """Return the folder of the configs that come with the package."""
    package = Path(__file__).parents[1]
    inside = package / "configs"
    return inside if inside.is_dir() else package.parent / "configs"


def shipped_experiments() -> dict[str, Path]:
    """Return the experiments that come with the package by name: the demo, then the tables."""
    configs = {path.stem: path for path in shipped_folder().glob("*.yaml")}
    return dict(sorted(configs.items(), key=lambda item: summary_line(item[1])))


def shipped_configs() -> dict[str, Path]:
    """Return all configs that have a name: the experiments, and those that they extend."""
    bases = {path.stem: path for path in sorted((shipped_folder() / "base").glob("*.yaml"))}
    return shipped_experiments() | bases


def summary_line(path: Path) -> str:
    """Return the first comment of a config, which summarises it."""
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            if line.startswith("#") and not line.startswith(SCHEMA_LINE):
                return line.lstrip("# ").rstrip("\n")
    return ""


def resolve_path(word: str | os.PathLike[str], folder: Path = Path()) -> Path:
    """Return the file of a config, given by its name or as a path relative to a folder."""
    return shipped_configs().get(os.fspath(word), folder / word)


def closest_match(path: Path, pattern: str = "*") -> Path | None:
    """Return the file next to a missing one, matching a glob pattern, with the closest name."""
    try:  # by stems: a common suffix does not make names alike
        files = {file.stem: file for file in islice(path.parent.glob(pattern), 1000)}
    except OSError:  # the name is too long
        return None
    close = difflib.get_close_matches(path.stem, files, n=1)
    return files[close[0]] if close else None


def no_such_file(path: Path) -> str:
    """Return the message for a missing config, with a suggestion."""
    if close := closest_match(path, "*.y*ml"):
        return f"{path}: no such file; did you mean {close}?"
    if known := difflib.get_close_matches(path.stem, list(shipped_configs()), n=1):
        return f"{path}: no such file; did you mean {known[0]}, which comes with rankpursuit?"
    return f"{path}: no such file; `rp-run --list` lists those that come with rankpursuit"
