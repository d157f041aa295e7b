"""Reading the files of a config: `extends`, and overrides from the command line."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rankpursuit.errors import ConfigError
from rankpursuit.experiments.syntax.faults import LONGEST_VALUE, shown, suggestion
from rankpursuit.experiments.syntax.safe_yaml import DEEPEST, parse_yaml
from rankpursuit.experiments.syntax.shipped import located, no_such_file
from rankpursuit.visible import cut

Mapping = dict[str, Any]
EXTENDS = "extends"
LARGEST_FILE = 1_000_000
"""Bytes of a file; no more of one is read."""
LONGEST_PATH = 4096
"""Characters of a path."""
MOST_FILES = 20
"""Files on top of each other."""


def read_config(path: Path, overrides: Sequence[str] = ()) -> Mapping:
    """Return the mapping of a config file, on top of those that it extends, with overrides.

    Sections merge key by key: the file as a whole, `protocol`, `kernel`, `algorithms` and each
    algorithm. Everything else replaces what it stands on: a grid and a data set are one thing.
    An algorithm that is null is dropped.

    Parameters
    ----------
    path : Path
        The file.
    overrides : sequence of str
        ``key=value`` each, with a dotted key and a value in YAML, applied in order.

    Returns
    -------
    dict
        Not yet validated.

    Raises
    ------
    ConfigError
        If a file cannot be found or read, if files extend each other in a circle, or if an override
        cannot be applied.
    """
    config = _read_extended(path, ())
    faults = []
    for override in overrides:
        try:
            _apply(config, override)
        except ConfigError as error:
            faults += error.faults
    if faults:
        raise ConfigError(faults)
    return config


def _read_extended(path: Path, inside: tuple[str, ...]) -> Mapping:
    config = read_file(path)
    base = config.pop(EXTENDS, None)
    if base is None:
        return config
    if not isinstance(base, str) or not base or not is_path(base):
        raise ConfigError([f"{EXTENDS}: expected a name or the path of a file, got {shown(base)}"])
    below, files = located(base, path.parent), (*inside, os.path.realpath(path))
    if os.path.realpath(below) in files:
        circle = " -> ".join(os.path.basename(file) for file in (*files, str(below)))
        raise ConfigError([f"{path}: {EXTENDS} goes round in a circle: {circle}"])
    if len(files) >= MOST_FILES:
        raise ConfigError([f"{path}: {EXTENDS} puts more than {MOST_FILES} files on each other"])
    return _merge(_read_extended(below, files), config, ())


def read_file(path: Path) -> Mapping:
    """Return the mapping of one file as it stands there, but for paths, which become absolute."""
    config = parse_yaml(read_text(path), str(path))
    if config is None:
        raise ConfigError([f"{path}: the file is empty"])
    if not isinstance(config, dict):
        raise ConfigError([f"{path}: expected a mapping of keys, got {shown(config)}"])
    _anchor_path(config.get("data"), path.parent)
    return config


def read_text(path: Path) -> str:
    """Return the text of a file in UTF-8, of at most `LARGEST_FILE` bytes.

    Raises
    ------
    ConfigError
        If it cannot be read, is larger, or is no regular file, such as a pipe, which may never end.
    """
    try:
        kind = path.stat().st_mode
        if not (stat.S_ISREG(kind) or stat.S_ISDIR(kind)):
            raise ConfigError([f"{path}: cannot be read: not a regular file"])
        with path.open("rb") as file:
            content = file.read(LARGEST_FILE + 1)
        if len(content) > LARGEST_FILE:
            raise ConfigError([f"{path}: too large: more than {LARGEST_FILE:,} bytes"])
        return content.decode("utf-8-sig")
    except ConfigError:
        raise
    except FileNotFoundError as error:
        raise ConfigError([no_such_file(path)]) from error
    except UnicodeDecodeError as error:
        raise ConfigError([f"{path}: not a text file in UTF-8"]) from error
    except OSError as error:
        raise ConfigError([f"{path}: cannot be read: {error.strerror}"]) from error
    except ValueError as error:  # a null character, or half a surrogate pair
        raise ConfigError([f"{path}: no file can have this name"]) from error


def is_path(text: str) -> bool:
    """Tell whether a text can be the path of a file: in UTF-8, not too long, without a null."""
    try:
        return b"\0" not in text.encode() and len(text) <= LONGEST_PATH
    except UnicodeEncodeError:  # half a surrogate pair
        return False


def _merge(below: Mapping, above: Mapping, place: tuple[str, ...]) -> Mapping:
    merged = dict(below)
    for key, value in above.items():
        if place == ("algorithms",) and value is None and key in below:
            del merged[key]
        elif (
            _is_section((*place, key))
            and isinstance(value, dict)
            and isinstance(below.get(key), dict)
        ):
            merged[key] = _merge(below[key], value, (*place, key))
        else:
            merged[key] = value
    return merged


def _is_section(place: tuple[str, ...]) -> bool:
    if place[0] == "algorithms":
        return len(place) <= 2
    return place in (("protocol",), ("kernel",))


def _apply(config: Mapping, override: str) -> None:
    """Set one key of the config, or drop one algorithm."""
    key, equals, text = override.partition("=")
    path = key.strip().split(".")
    called, key = cut(override, LONGEST_VALUE), cut(key, LONGEST_VALUE)
    if not equals or not all(path) or len(path) > DEEPEST:
        raise ConfigError([f"{called}: expected key=value, such as protocol.test_users=50"])
    if path[0] == EXTENDS:
        raise ConfigError([f"{EXTENDS}: can be given in a file only, got {called}"])
    value = parse_yaml(text, called)
    here = config
    for depth, part in enumerate(path[:-1], start=1):
        # A copy: YAML's anchors can make two places of a file one object.
        here[part] = dict(below) if isinstance(below := here.get(part, {}), dict) else below
        here = here[part]
        if not isinstance(here, dict):
            above = ".".join(path[:depth])
            above = cut(above, LONGEST_VALUE)
            raise ConfigError([f"{key}: no such key: {above} is {shown(here)}, not a mapping"])
    if value is None and path[0] == "algorithms" and len(path) == 2:
        if path[1] not in here:
            raise ConfigError([f"{key}: no such algorithm to drop; {suggestion(path[1], here)}"])
        del here[path[1]]
        return
    here[path[-1]] = value
    if path[0] == "data":
        _anchor_path(config["data"], Path.cwd())


def _anchor_path(data: Any, folder: Path) -> None:
    """Make the path of a data set absolute: it is relative to where it was written."""
    path = data.get("path") if isinstance(data, dict) else None
    if isinstance(path, str) and path and is_path(path):
        data["path"] = os.path.realpath(folder / os.path.expanduser(path))
