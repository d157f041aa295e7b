"""YAML without surprises: plain values only, numbers as YAML 1.2 has them, limits on the size.

Everything is checked while the text is read, before a value is built: a few lines whose anchors
stand in each other can ask for more memory than there is.
"""

from __future__ import annotations

import re
from typing import Any

import yaml
from yaml.reader import ReaderError

from rankpursuit.errors import ConfigError
from rankpursuit.experiments.syntax.faults import LONGEST_VALUE, shown
from rankpursuit.visible import cut

MOST_VALUES = 20_000
"""Keys and values of a file, those that its anchors repeat included."""
DEEPEST = 50
"""Levels of lists and mappings in each other."""
_LONGEST_MESSAGE = 300

_YAML = "tag:yaml.org,2002:"
_MERGE = _YAML + "merge"
_PLAIN_TAGS = {_YAML + kind for kind in ("str", "int", "float", "bool", "null", "map", "seq")}
_WHOLE = r"[-+]?(?:0|[1-9][0-9]*)"
_SCALARS = {
    "int": ("a whole number", _WHOLE, "-+0123456789"),
    "float": (
        "a number",
        rf"(?:{_WHOLE}(?:\.[0-9]*)?|[-+]?\.[0-9]+)(?:[eE][-+]?[0-9]+)?"
        r"|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)",
        "-+.0123456789",
    ),
    "bool": ("true or false", r"true|True|TRUE|false|False|FALSE", "tTfF"),
    "null": ("null", r"~|null|Null|NULL|", "~nN"),
}
"""What each kind of plain value is called, looks like, and begins with: the core of YAML 1.2.

What YAML 1.1 takes for numbers and truth as well is text: ``1:30`` (ninety), ``010`` (eight),
``0x1F``, ``0b1``, ``1_000``, ``yes``, ``no``, ``on``, ``off``, and so are dates.
"""


class _Loader(yaml.SafeLoader):
    """PyYAML's safe loader with text as keys, none of them twice, and limits."""

    text_keys = True

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._n_values = self._depth = 0
        self._sizes: dict[int, tuple[int, int]] = {}

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        event = self.peek_event()
        if isinstance(event, yaml.AliasEvent):
            node = super().compose_node(parent, index)
            if id(node) not in self._sizes:
                raise _refusal("a list or mapping contains itself", event)
            return node
        self._n_values += 1
        self._depth += 1
        self._check(self._n_values, self._depth, event)
        node = super().compose_node(parent, index)
        self._depth -= 1
        if node is not None:
            self._check_tag(node)
            self._sizes[id(node)] = self._size(node)
            self._check(*self._sizes[id(node)], event)
        return node

    def compose_mapping_node(self, anchor: Any) -> yaml.MappingNode:
        node = super().compose_mapping_node(anchor)
        seen: dict[tuple[str, str], int] = {}
        for key, _ in node.value:
            if key.tag == _MERGE:
                continue
            if key.tag != _YAML + "str" and (self.text_keys or key.tag != _YAML + "int"):
                text = key.value if isinstance(key, yaml.ScalarNode) else "a list or mapping"
                raise _refusal(f"a key must be text, got {cut(text, LONGEST_VALUE)}", key)
            same = key.tag, key.value
            if same in seen:
                name = cut(key.value, LONGEST_VALUE)
                raise _refusal(f"the key {name} is also on line {seen[same]}", key)
            seen[same] = key.start_mark.line + 1
        return node

    def _size(self, node: yaml.Node) -> tuple[int, int]:
        """Return how many values a node stands for, and how deep it goes, with its anchors."""
        below: list[yaml.Node] = []
        if isinstance(node, yaml.SequenceNode):
            below = node.value
        elif isinstance(node, yaml.MappingNode):
            below = [one for pair in node.value for one in pair]
        sizes = [self._sizes[id(one)] for one in below]
        return 1 + sum(n for n, _ in sizes), 1 + max((deep for _, deep in sizes), default=0)

    def _check(self, n_values: int, depth: int, event: yaml.Event) -> None:
        if n_values > MOST_VALUES:
            raise _refusal(
                f"too large: more than {MOST_VALUES:,} keys and values, those that anchors repeat "
                "included",
                event,
            )
        if depth > DEEPEST:
            raise _refusal(f"nested too deeply: more than {DEEPEST} levels", event)

    def _check_tag(self, node: yaml.Node) -> None:
        if node.tag not in _PLAIN_TAGS and node.tag != _MERGE:
            tag = node.tag.replace(_YAML, "!!")
            raise _refusal(f"the tag {tag} is not allowed", node)


class _LoaderOfNumberedKeys(_Loader):
    """The same, with whole numbers as keys too."""

    text_keys = False


class _Dumper(yaml.SafeDumper):
    """PyYAML's safe dumper, which quotes what our loader would take for a number too."""


def _refusal(problem: str, at: Any) -> yaml.MarkedYAMLError:
    return yaml.MarkedYAMLError(problem=problem, problem_mark=at.start_mark)


def _construct(loader: yaml.SafeLoader, node: yaml.ScalarNode) -> Any:
    """Build a number, true, false or null, also one with a tag of its own, such as ``!!int 1``."""
    text, kind = str(loader.construct_scalar(node)), node.tag.removeprefix(_YAML)
    called, pattern, _ = _SCALARS[kind]
    if not re.fullmatch(pattern, text):
        raise _refusal(f"!!{kind}: expected {called}, got {shown(text)}", node)
    if kind == "null":
        return None
    if kind == "bool":
        return text.lower() == "true"
    if kind == "float":
        return float(re.sub(r"\.(?=[iInN])", "", text))
    try:
        return int(text)
    except ValueError:  # Python's limit on the digits of a number
        raise _refusal(f"a number of {len(text):,} digits is too long", node) from None


_Loader.yaml_implicit_resolvers = {}
for _kind, (_, _pattern, _first) in _SCALARS.items():
    _resolver = (_YAML + _kind, re.compile(rf"(?:{_pattern})\Z"))
    _Loader.add_implicit_resolver(*_resolver, [*_first, *([""] if _kind == "null" else [])])
    _Dumper.add_implicit_resolver(*_resolver, [*_first])
    _Loader.add_constructor(_YAML + _kind, _construct)
_Loader.add_implicit_resolver(_MERGE, re.compile(r"<<\Z"), ["<"])


def parse_yaml(text: str, source: str, *, numbered_keys: bool = False) -> Any:
    """Return what YAML says.

    Parameters
    ----------
    text : str
    source : str
        How faults call it.
    numbered_keys : bool
        Whether keys may be whole numbers too.

    Raises
    ------
    ConfigError
        With the line of what is wrong.
    """
    loader = _LoaderOfNumberedKeys if numbered_keys else _Loader
    try:
        return yaml.load(text, loader)
    except ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        reason = f"the character {shown(text[error.position])} is not allowed"
        raise ConfigError([f"{source}, line {line}: {reason}"]) from error
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = source if mark is None else f"{source}, line {mark.line + 1}"
        reason = cut(error.problem or error.context or "not YAML", _LONGEST_MESSAGE)
        raise ConfigError([f"{where}: {reason}"]) from error


def dump_yaml(value: Any) -> str:
    """Return plain values as YAML that `parse_yaml` and every other reader take for the same."""
    return yaml.dump(value, Dumper=_Dumper, sort_keys=False, default_flow_style=None, width=100)
