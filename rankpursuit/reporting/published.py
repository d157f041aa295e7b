"""The tables and the claims of the paper, from ``published.yaml``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Annotated, Any

import yaml
from pydantic import Field

from rankpursuit.experiments.grids import Section
from rankpursuit.wording import counted


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

    @property
    def full_title(self) -> str:
        """The title with the number, such as ``Jester, supervised (Table 1 of the paper)``."""
        return f"{self.title} (Table {self.number} of the paper)"

    def value(self, metric: str, label: str, group: str) -> float | None:
        """Return a published error, or None if the table has no such cell."""
        return self.cells.get(metric, {}).get(label, {}).get(group)

    def each_cell(self) -> Iterator[tuple[str, str, str, float]]:
        """Yield metric, algorithm, group and published error of every cell."""
        for metric, rows in self.cells.items():
            for label, row in rows.items():
                for group, value in row.items():
                    yield metric, label, group, value


class Claim(Section):
    """What the text says about tables, and the rule that decides it."""

    id: str
    tables: Annotated[tuple[int, ...], Field(strict=False)]
    """The tables that it is about."""
    sections: Annotated[tuple[str, ...], Field(strict=False)]
    """Where the paper says it."""
    says: str
    """A paraphrase."""
    between: Annotated[tuple[str, str], Field(strict=False)]
    """The two sides that it compares, in words."""
    rule: str
    """Name of a function in `rankpursuit.reporting.claim_rules`."""
    options: dict[str, Any]
    """What the rule is given."""

    def __str__(self) -> str:
        tables = " and ".join(map(str, self.tables))
        return f"Table{'s' * (len(self.tables) > 1)} {tables}: {self.says}"


class Size(Section):
    """How much was run: test users of a repeat, and repeats."""

    users: int
    repeats: int

    def __str__(self) -> str:
        return f"{counted(self.users, 'user')}, {counted(self.repeats, 'repeat')}"


class _Table(Section):
    title: str
    cells: dict[str, dict[str, Annotated[tuple[float, ...], Field(strict=False)]]]


class _Untested(Section):
    says: str
    why: str


class _Published(Section):
    """The file."""

    groups: Annotated[tuple[str, ...], Field(strict=False)]
    size: Size
    small: dict[str, float]
    tables: dict[int, _Table]
    claims: Annotated[tuple[Claim, ...], Field(strict=False)]
    untested: Annotated[tuple[_Untested, ...], Field(strict=False)]


@cache
def published_tables() -> dict[int, PublishedTable]:
    """Return the tables of the paper by number."""
    groups = _read().groups
    return {
        number: PublishedTable(
            number,
            table.title,
            {
                metric: {label: dict(zip(groups, row, strict=True)) for label, row in rows.items()}
                for metric, rows in table.cells.items()
            },
        )
        for number, table in _read().tables.items()
    }


def published_claims() -> tuple[Claim, ...]:
    """Return the claims of the text, in the order of the tables."""
    return _read().claims


def claims_about(tables: Iterable[int | None]) -> list[Claim]:
    """Return the claims that are about one of these tables, or about several of them."""
    numbers = set(tables)
    return [claim for claim in published_claims() if numbers.intersection(claim.tables)]


def published_size() -> Size:
    """Return the size of the paper's experiments."""
    return _read().size


def small_difference(metric: str) -> float:
    """Return below which size a difference of errors is told as small."""
    return _read().small[metric]


@cache
def _read() -> _Published:
    text = files("rankpursuit.reporting").joinpath("published.yaml").read_text(encoding="utf-8")
    return _Published.model_validate(yaml.safe_load(text))
