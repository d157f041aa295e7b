"""The tables and claims of the paper, from ``published.yaml``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

import numpy as np
import yaml
from numpy.typing import ArrayLike
from pydantic import BaseModel

from rankpursuit.text import counted


class PublishedTable(NamedTuple):
    """A table of the paper."""

    number: int
    title: str
    cells: dict[str, dict[str, dict[str, float]]]
    """Published errors, ``cells[metric][algorithm][group]``."""
    printed_before: frozenset[tuple[str, str]] = frozenset()
    """Metric and algorithm of the rows that are those of an earlier table, printed again."""

    def value(self, metric: str, label: str, group: str) -> float | None:
        """Return a published error, or None if the table has no such cell."""
        return self.cells.get(metric, {}).get(label, {}).get(group)

    def each_cell(self) -> Iterator[tuple[str, str, str, float]]:
        """Yield metric, algorithm, group and error of each cell that no earlier table has."""
        for metric, rows in self.cells.items():
            for label, row in rows.items():
                if (metric, label) not in self.printed_before:
                    for group, value in row.items():
                        yield metric, label, group, value


class Claim(BaseModel, extra="forbid", frozen=True):
    """A claim that the text makes about tables, and the rule that decides it."""

    id: str
    tables: tuple[int, ...]  # numbers of the tables that it is about
    sections: tuple[str, ...]  # sections of the paper that make it
    says: str  # a paraphrase
    between: tuple[str, str]  # the two sides that it compares, in words
    rule: str  # name of a rule of `rankpursuit.reporting.claims`
    options: dict[str, Any]  # keyword arguments of the rule

    def __str__(self) -> str:
        tables = " and ".join(map(str, self.tables))
        return f"Table{'s' * (len(self.tables) > 1)} {tables}: {self.says}"


class Size(BaseModel, extra="forbid", frozen=True):
    """Size of an experiment: test users of each repeat, and repeats."""

    users: int
    repeats: int

    def __str__(self) -> str:
        return f"{counted(self.users, 'user')}, {counted(self.repeats, 'repeat')}"


@cache
def _read() -> dict[str, Any]:
    text = files("rankpursuit.reporting").joinpath("published.yaml").read_text(encoding="utf-8")
    found: dict[str, Any] = yaml.safe_load(text)
    return found


@cache
def published_tables() -> dict[int, PublishedTable]:
    """Return the tables of the paper by number."""
    groups = _read()["groups"]
    tables: dict[int, PublishedTable] = {}
    for number, table in _read()["tables"].items():
        cells = {
            metric: {label: dict(zip(groups, row, strict=True)) for label, row in rows.items()}
            for metric, rows in table["cells"].items()
        }
        before = frozenset(
            (metric, label)
            for metric, earlier in table.get("printed_before", {}).items()
            for label in tables[earlier].cells[metric]
        )
        tables[number] = PublishedTable(number, table["title"], cells, before)
    return tables


@cache
def published_claims() -> tuple[Claim, ...]:
    """Return the claims of the text, in the order of the tables."""
    return tuple(Claim(**claim) for claim in _read()["claims"])


def claims_about(tables: Iterable[int | None]) -> list[Claim]:
    """Return the claims that are about at least one of these tables."""
    numbers = set(tables)
    return [claim for claim in published_claims() if numbers.intersection(claim.tables)]


def published_size() -> Size:
    """Return the size of the paper's experiments."""
    return Size(**_read()["size"])


def published_tolerance(metric: str) -> float:
    """Return how far a measured error may lie from the published one to count as the same."""
    return float(_read()["tolerance"][metric])


def is_within(difference: ArrayLike, tolerance: ArrayLike) -> Any:
    """Return whether differences are within a tolerance; exactly at it is within."""
    return np.abs(difference) <= np.add(tolerance, 1e-9)


def small_difference(metric: str) -> float:
    """Return the difference of errors below which it is called small."""
    return float(_read()["small"][metric])
