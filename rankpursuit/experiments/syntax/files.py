"""Reading the files of a config: safe YAML, `extends`, and overrides from the command line."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from rankpursuit.errors import ConfigError
from rankpursuit.experiments.syntax.faults import shown, suggestion

Mapping = dict[str, Any]
EXTENDS = "extends"
_YAML = "tag:yaml.org,2002:"
_PLAIN_TAGS = {_YAML + kind for kind in ("str", "int", "float", "bool", "null", "map", "seq")}


class _Loader(yaml.SafeLoader):
    """PyYAML's safe loader: plain values only, keys are text, no key twice."""

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        node = super().compose_node(parent, index)
        merge_key = node is not None and node.tag == _YAML + "merge"
        if node is not None and node.tag not in _PLAIN_TAGS and not merge_key:
            tag = node.tag.replace(_YAML, "!!")
            raise yaml.MarkedYAMLError(problem=f"the tag {tag} is not allowed", **_at(node))
        return node

    def compose_mapping_node(self, anchor: Any) -> yaml.MappingNode:
        node = super().compose_mapping_node(anchor)
        seen: dict[str, int] = {}
        for key, _ in node.value:
            if key.tag == _YAML + "merge":
                continue
            if key.tag != _YAML + "str":
                text = key.value if isinstance(key, yaml.ScalarNode) else "a list or mapping"
                raise yaml.MarkedYAMLError(problem=f"a key must be text, got {text}", **_at(key))
            if key.value in seen:
                problem = f"the key {key.value} is also on line {seen[key.value]}"
                raise yaml.MarkedYAMLError(problem=problem, **_at(key))
            seen[key.value] = key.start_mark.line + 1
        return node


def _at(node: yaml.Node) -> dict[str, Any]:
    return {"problem_mark": node.start_mark}


# As in YAML 1.2: 1e-3 is a number (PyYAML wants 1.0e-3), and a date is text.
_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != _YAML + "timestamp"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_Loader.add_implicit_resolver(
    _YAML + "float",
    re.compile(r"^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)[eE][-+]?[0-9]+$"),
    list("-+.0123456789"),
)


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


def parse_yaml(text: str, source: str) -> Any:
    """Return what safe YAML says; `source` is how faults call it."""
    try:
        return yaml.load(text, _Loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = source if mark is None else f"{source}, line {mark.line + 1}"
        raise ConfigError([f"{where}: {error.problem or error.context}"]) from error
    except RecursionError as error:
        raise ConfigError([f"{source}: nested too deeply"]) from error
    except (yaml.YAMLError, ValueError) as error:  # a control character, an impossible number
        reason = " ".join(str(error).split())
        raise ConfigError([f"{source}: not YAML: {reason}"]) from error


def _read_extended(path: Path, inside: tuple[Path, ...]) -> Mapping:
    if path.resolve() in inside:
        circle = " -> ".join(file.name for file in (*inside, path))
        raise ConfigError([f"{inside[-1]}: {EXTENDS} goes round in a circle: {circle}"])
    config = read_file(path)
    base = config.pop(EXTENDS, None)
    if base is None:
        return config
    if not isinstance(base, str):
        raise ConfigError([f"{EXTENDS}: expected the path of a file, got {shown(base)}"])
    return _merge(_read_extended(path.parent / base, (*inside, path.resolve())), config, ())


def read_file(path: Path) -> Mapping:
    """Return the mapping of one file as it stands there, but for paths, which become absolute."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError as error:
        raise ConfigError([f"{path}: no such file"]) from error
    except UnicodeDecodeError as error:
        raise ConfigError([f"{path}: not a text file in UTF-8"]) from error
    except OSError as error:
        raise ConfigError([f"{path}: cannot be read: {error.strerror}"]) from error
    config = parse_yaml(text, str(path))
    if config is None:
        raise ConfigError([f"{path}: the file is empty"])
    if not isinstance(config, dict):
        raise ConfigError([f"{path}: expected a mapping of keys, got {shown(config)}"])
    _anchor_path(config.get("data"), path.parent)
    return config


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
    if not equals or not all(path):
        raise ConfigError([f"{override}: expected key=value, such as protocol.test_users=50"])
    if path[0] == EXTENDS:
        raise ConfigError([f"{EXTENDS}: can be given in a file only, got {override}"])
    value = parse_yaml(text, override)
    here = config
    for depth, part in enumerate(path[:-1], start=1):
        # A copy: YAML's anchors can make two places of a file one object.
        here[part] = dict(below) if isinstance(below := here.get(part, {}), dict) else below
        here = here[part]
        if not isinstance(here, dict):
            above = ".".join(path[:depth])
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
    if isinstance(data, dict) and isinstance(data.get("path"), str) and data["path"]:
        data["path"] = str((folder / Path(data["path"]).expanduser()).resolve())
