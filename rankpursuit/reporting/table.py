"""A table before it has a format."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

Format = Literal["md", "tex", "csv", "text"]
"""What a table can be written as."""


@dataclass(frozen=True)
class Cell:
    """A cell: what is printed, and the numbers behind it.

    Attributes
    ----------
    text : str
        The main part, in bold if it is the best.
    rest : str
        What follows it, never in bold, such as a spread.
    best : bool
    numbers : dict
        Each quantity behind the cell, in full precision, for CSV.
    """

    text: str
    rest: str = ""
    best: bool = False
    numbers: dict[str, float] = field(default_factory=dict)


EMPTY = Cell("–")  # noqa: RUF001  (a dash, where there is no result)


@dataclass(frozen=True)
class Part:
    """Rows under a heading of their own, such as one of the two tasks of the paper's Table 5."""

    heading: str
    rows: dict[str, tuple[Cell, ...]]


@dataclass(frozen=True)
class Table:
    """A table.

    Attributes
    ----------
    id : str
        Such as ``jester_crrp-errors``; unique among the tables of all experiments.
    title : str
    columns : tuple of str
        Names of the columns, without that of the row names.
    parts : tuple of Part
    notes : tuple of str
        What stands under the table.
    align : str
        ``"r"``, or ``"l"`` where cells are sentences.
    """

    id: str
    title: str
    columns: tuple[str, ...]
    parts: tuple[Part, ...]
    notes: tuple[str, ...] = ()
    align: str = "r"
