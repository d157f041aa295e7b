"""Config files: their names, YAML, files that extend each other, and overrides.

Imports little, so that commands answer at once.
"""

from __future__ import annotations

import difflib
import json
import os
import re
from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import yaml
from yaml.reader import ReaderError

from rankpursuit.errors import ConfigError
from rankpursuit.visible import cut, visible

MAX_FILE_SIZE = 1_000_000
"""Maximum size of a config file in bytes."""
SCHEMA = "schema.json"
"""File name of the JSON Schema, next to the shipped configs."""
SCHEMA_LINE = "# yaml-language-server: $schema="
"""Start of the first line of a config, for editors."""
MAX_SHOWN = 70
"""Maximum length of a value or key in a message."""


# Words for messages


def short_repr(value: Any) -> str:
    """Return a value as JSON, on one line, cut if it is long."""
    encoder = json.JSONEncoder(ensure_ascii=False, check_circular=False, skipkeys=True, default=str)
    # Piece by piece: anchors can make a few lines of YAML a value of any length.
    return cut(visible("".join(islice(encoder.iterencode(value), MAX_SHOWN))), MAX_SHOWN)


def suggestion(word: object, known: Iterable[str]) -> str:
    """Return ``did you mean ...?`` if a known word is close, or else the known words."""
    words = list(known)
    close = difflib.get_close_matches(str(word)[:MAX_SHOWN], words, n=1)
    return f"did you mean {close[0]}?" if close else f"known are {', '.join(words)}"


# Named configs: in a clone they are next to the package, in an installed package inside of it


def shipped_folder() -> Path:
    """Return the folder of the configs that come with the package."""
    package = Path(__file__).parents[1]
    inside = package / "configs"
    return inside if inside.is_dir() else package.parent / "configs"


def shipped_experiments() -> dict[str, Path]:
    """Return the experiments that come with the package by name: the demo, then table by table."""
    found = {path.stem: path for path in shipped_folder().glob("*.yaml")}
    return dict(sorted(found.items(), key=lambda item: summary_line(item[1])))


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
    name = os.fspath(word)
    if re.fullmatch(r"[A-Za-z0-9_-]+", name) and (found := shipped_configs().get(name)):
        return found
    return folder / name


def closest_match(path: Path, pattern: str = "*") -> Path | None:
    """Return the file next to a missing one, matching a glob pattern, with the closest name."""
    try:
        names = list(islice((file.name for file in path.parent.glob(pattern)), 1000))
    except (OSError, ValueError):
        return None
    close = difflib.get_close_matches(path.name, names, n=1)
    return path.parent / close[0] if close else None


def no_such_file(path: Path) -> str:
    """Return the message for a missing config, with the config that may have been meant."""
    if close := closest_match(path, "*.y*ml"):
        return f"{path}: no such file; did you mean {close}?"
    known = difflib.get_close_matches(path.stem, list(shipped_configs()), n=1)
    if known:
        return f"{path}: no such file; did you mean {known[0]}, which comes with rankpursuit?"
    return f"{path}: no such file; `rp-run --list` names those that come with rankpursuit"


# YAML


class _Loader(yaml.SafeLoader):
    """PyYAML's safe loader with the numbers of YAML 1.2 and without duplicate keys.

    What only YAML 1.1 takes for numbers, booleans or dates is text: ``1:30``, ``010``, ``yes``.
    """

    def compose_mapping_node(self, anchor: Any) -> yaml.MappingNode:
        node, lines = super().compose_mapping_node(anchor), dict[str, int]()
        for key, value in node.value:
            problem = None
            if isinstance(key, yaml.ScalarNode) and key.value in lines:
                problem = f"the key {key.value} is also on line {lines[key.value]}"
            elif key.tag.endswith(":merge") and isinstance(value, yaml.SequenceNode):
                problem = "<< takes one mapping"  # lists of lists of them could grow without end
            if problem:
                raise yaml.MarkedYAMLError(problem=problem, problem_mark=key.start_mark)
            lines[str(key.value)] = key.start_mark.line + 1
        return node


class _Dumper(yaml.SafeDumper):
    """PyYAML's safe dumper, which also quotes text that `_Loader` would take for a number."""


_Loader.yaml_implicit_resolvers = {}
_INTEGER = r"[-+]?(?:0|[1-9][0-9]*)"
_FLOAT = rf"(?:{_INTEGER}(?:\.[0-9]*)?|[-+]?\.[0-9]+)(?:[eE][-+]?[0-9]+)?"
for _kind, _pattern, _first in (
    ("int", _INTEGER, "-+0123456789"),
    ("float", rf"{_FLOAT}|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)", "-+.0123456789"),
    ("bool", "true|True|TRUE|false|False|FALSE", "tTfF"),
    ("null", "~|null|Null|NULL|", "~nN"),
    ("merge", "<<", "<"),
):
    _resolver = f"tag:yaml.org,2002:{_kind}", re.compile(rf"(?:{_pattern})\Z")
    _Loader.add_implicit_resolver(*_resolver, [*_first, *([""] if _kind == "null" else [])])
    _Dumper.add_implicit_resolver(*_resolver, [*_first])


def parse_yaml(text: str, source: str) -> Any:
    """Return the plain values of a YAML text, which messages call `source`."""
    try:
        return yaml.load(text, _Loader)
    except ReaderError as error:
        where = f"{source}, line {text.count(chr(10), 0, error.position) + 1}"
        reason = f"the character {short_repr(text[error.position])} is not allowed"
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = source if mark is None else f"{source}, line {mark.line + 1}"
        reason = error.problem or error.context or "not YAML"
    except RecursionError:
        where, reason = source, "nested too deeply"
    except (KeyError, ValueError) as error:  # such as !!int x, or a number of 5,000 digits
        where, reason = source, str(error)
    raise ConfigError([f"{where}: {visible(cut(reason, 300))}"])


def format_yaml(value: Any) -> str:
    """Return plain values as YAML that `parse_yaml` and every other reader take for the same."""
    return yaml.dump(value, Dumper=_Dumper, sort_keys=False, default_flow_style=None, width=100)


# Files that extend each other, and overrides from the command line


def read_config(path: Path, overrides: Sequence[str] = ()) -> dict[str, Any]:
    """Return the mapping of a config file, on top of those that it extends, with overrides.

    Sections merge key by key: the file as a whole, `protocol`, `kernel`, `algorithms` and each
    algorithm. Everything else replaces the inherited value, such as a grid or a data set. An
    algorithm that is null is dropped.

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
    """
    config = _read_extended(path, ())
    errors = []
    for override in overrides:
        try:
            _apply(config, override)
        except ConfigError as error:
            errors += str(error).splitlines()
    if errors:
        raise ConfigError(errors)
    return config


def _read_extended(path: Path, above: tuple[str, ...]) -> dict[str, Any]:
    """Return the mapping of a file merged onto that of the file that it extends."""
    config = read_file(path)
    base = config.pop("extends", None)
    if base is None:
        return config
    if not isinstance(base, str) or not base.isprintable() or not base:
        raise ConfigError(
            [f"extends: expected a name or the path of a file, got {short_repr(base)}"]
        )
    below, files = resolve_path(base, path.parent), (*above, os.path.realpath(path))
    if os.path.realpath(below) in files:
        circle = " -> ".join(os.path.basename(file) for file in (*files, str(below)))
        raise ConfigError([f"{path}: extends goes round in a circle: {circle}"])
    return _merge(_read_extended(below, files), config, ())


def read_file(path: Path) -> dict[str, Any]:
    """Return the mapping of one file as written, except that paths of data become absolute."""
    config = parse_yaml(read_text(path), str(path))
    if config is None:
        raise ConfigError([f"{path}: the file is empty"])
    if not isinstance(config, dict):
        raise ConfigError([f"{path}: expected a mapping of keys, got {short_repr(config)}"])
    _make_path_absolute(config.get("data"), path.parent)
    return config


def read_text(path: Path) -> str:
    """Return the text of a regular file in UTF-8 of at most `MAX_FILE_SIZE` bytes."""
    if path.exists() and not path.is_file():
        raise ConfigError([f"{path}: cannot be read: not a regular file"])
    try:
        with path.open("rb") as file:
            content = file.read(MAX_FILE_SIZE + 1)
        if len(content) > MAX_FILE_SIZE:
            raise ConfigError([f"{path}: too large: more than {MAX_FILE_SIZE:,} bytes"])
        return content.decode("utf-8-sig")
    except FileNotFoundError as error:
        raise ConfigError([no_such_file(path)]) from error
    except UnicodeDecodeError as error:
        raise ConfigError([f"{path}: not a text file in UTF-8"]) from error
    except (OSError, UnicodeEncodeError) as error:
        reason = getattr(error, "strerror", None) or "no file can have this name"
        raise ConfigError([f"{visible(str(path))}: cannot be read: {reason}"]) from error


def _merge(below: dict[str, Any], above: dict[str, Any], place: tuple[str, ...]) -> dict[str, Any]:
    """Return a mapping with the keys of another on top."""
    merged = dict(below)
    for key, value in above.items():
        here = (*place, key)
        is_section = here in (("protocol",), ("kernel",)) or (
            here[0] == "algorithms" and len(here) <= 2
        )
        if place == ("algorithms",) and value is None and key in below:
            del merged[key]
        elif is_section and isinstance(value, dict) and isinstance(below.get(key), dict):
            merged[key] = _merge(below[key], value, here)
        else:
            merged[key] = value
    return merged


def _apply(config: dict[str, Any], override: str) -> None:
    """Set one key of the config, or drop one algorithm."""
    key, equals, text = override.partition("=")
    path, shown = key.strip().split("."), cut(override, MAX_SHOWN)
    if not equals or not all(path):
        raise ConfigError([f"{shown}: expected key=value, such as protocol.test_users=50"])
    if path[0] == "extends":
        raise ConfigError([f"extends: can be given in a file only, got {shown}"])
    value, key, here = parse_yaml(text, shown), cut(key, MAX_SHOWN), config
    for depth, part in enumerate(path[:-1], start=1):
        below = here.get(part, {})
        if not isinstance(below, dict):
            above = cut(".".join(path[:depth]), MAX_SHOWN)
            raise ConfigError(
                [f"{key}: no such key: {above} is {short_repr(below)}, not a mapping"]
            )
        # A copy: YAML's anchors can make two places of a file one object.
        here[part] = here = dict(below)
    if value is None and path[0] == "algorithms" and len(path) == 2:
        if path[1] not in here:
            raise ConfigError([f"{key}: no such algorithm to drop; {suggestion(path[1], here)}"])
        del here[path[1]]
        return
    here[path[-1]] = value
    if path[0] == "data":
        _make_path_absolute(config["data"], Path.cwd())


def _make_path_absolute(data: Any, folder: Path) -> None:
    """Make the path of a data set absolute: it is relative to the file that it is written in."""
    path = data.get("path") if isinstance(data, dict) else None
    if isinstance(path, str) and path.isprintable():
        data["path"] = os.path.realpath(folder / os.path.expanduser(path))
