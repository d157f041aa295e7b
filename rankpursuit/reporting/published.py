"""The tables and the claims of the paper, from ``published.yaml``."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import yaml


@dataclass(frozen=True)
class PublishedTable:
    """A table of the paper.

    Attributes
    ----------
    number : int
    title : str
    cells : dict
        Published errors, ``cells[metric][algorithm][group]``.
    """

    number: int
    title: str
    cells: dict[str, dict[str, dict[str, float]]]

    def value(self, metric: str, label: str, group: str) -> float | None:
        """Return a published error, or None if the table has no such cell."""
        return self.cells.get(metric, {}).get(label, {}).get(group)


@dataclass(frozen=True)
class Claim:
    """What the text says about tables, and the rule that decides it.

    Attributes
    ----------
    id : str
    tables : tuple of int
        The tables that it is about.
    sections : tuple of str
        Where the paper says it.
    says : str
        A paraphrase.
    rule : str
        Name of a function in `rankpursuit.reporting.claims`.
    options : dict
        What the rule is given.
    """

    id: str
    tables: tuple[int, ...]
    sections: tuple[str, ...]
    says: str
    rule: str
    options: dict[str, Any]


@dataclass(frozen=True)
class Size:
    """How much was run: test users of a repeat, and repeats."""

    users: int
    repeats: int

    def __str__(self) -> str:
        return f"{self.users} users, {self.repeats} repeat{'s' * (self.repeats != 1)}"


@cache
def published_tables() -> dict[int, PublishedTable]:
    """Return the tables of the paper by number."""
    found = _read()
    return {
        number: PublishedTable(
            number,
            table["title"],
            {
                metric: {
                    label: dict(zip(found["groups"], row, strict=True))
                    for label, row in rows.items()
                }
                for metric, rows in table["cells"].items()
            },
        )
        for number, table in found["tables"].items()
    }


@cache
def published_claims() -> tuple[Claim, ...]:
    """Return the claims of the text, in the order of the tables."""
    return tuple(
        Claim(**(entry | {key: tuple(entry[key]) for key in ("tables", "sections")}))
        for entry in _read()["claims"]
    )


@cache
def published_size() -> Size:
    """Return the size of the paper's experiments."""
    size = _read()["size"]
    return Size(users=size["test_users"], repeats=size["repeats"])


@cache
def _read() -> dict[str, Any]:
    text = files("rankpursuit.reporting").joinpath("published.yaml").read_text(encoding="utf-8")
    found: dict[str, Any] = yaml.safe_load(text)
    return found
