"""A guess at how a file of ratings is laid out, for a first config; a person has the last word."""

from __future__ import annotations

import csv
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from rankpursuit.datasets.files import LONGEST_PATH, PARQUET, load_ratings
from rankpursuit.datasets.parquet import pyarrow_for
from rankpursuit.datasets.ratings import Ratings
from rankpursuit.datasets.text_table import SEPARATORS
from rankpursuit.errors import DataError, DataNotFoundError
from rankpursuit.visible import cut

_LINES = 20
"""Lines that a guess goes by."""
_POSSIBLE = "\t,;| "
_WORDS = {
    "user": ("user", "reviewer", "customer", "person", "member", "uid"),
    "item": (
        "item",
        "movie",
        "film",
        "joke",
        "book",
        "product",
        "song",
        "track",
        "business",
        "iid",
    ),
    "rating": ("rating", "score", "star", "rate", "value", "grade"),
}
"""What the columns are often called."""


@dataclass(frozen=True)
class Layout:
    """How a file of ratings is laid out, in the words of `load_ratings`."""

    separator: str | None
    header: bool
    user: str | int
    item: str | int
    rating: str | int

    def load(self, file: Path) -> Ratings:
        """Load the ratings of a file that is laid out so."""
        return load_ratings(file, **asdict(self))

    def as_config(self, file: Path) -> dict[str, Any]:
        """Return the section ``data`` of a config, without what is as by default."""
        config: dict[str, Any] = {"name": "ratings", "path": str(file)}
        if self.separator != SEPARATORS.get(file.suffix.lower()):
            config["separator"] = self.separator
        if not self.header:
            config["header"] = None
        for number, key in enumerate(_WORDS, start=1):
            if getattr(self, key) != (key if self.header else number):
                config[key] = getattr(self, key)
        return config


def guess_layout(file: Path) -> Layout:
    """Guess which columns a file of ratings has.

    Parameters
    ----------
    file : Path
        A text or Parquet file.

    Raises
    ------
    DataNotFoundError
        If there is no such file.
    DataError
        If it cannot be read, or no separator makes three columns of its first lines.
    """
    if not os.path.isfile(file):  # a pipe may never end
        raise DataNotFoundError(f"{cut(str(file), LONGEST_PATH)}: no such file")
    if file.suffix.lower() in PARQUET:
        return Layout(None, True, *_columns(_parquet_names(file)))
    lines = _first_lines(file)
    separator = _separator(file, lines)
    first, *rest = csv.reader(lines, delimiter=separator)
    if any(map(_is_number, first)) or not rest:
        return Layout(separator, False, 1, 2, 3)
    return Layout(separator, True, *_columns(first))


def _first_lines(file: Path) -> list[str]:
    try:
        with file.open(encoding="utf-8-sig", newline="") as opened:
            lines = list(islice(opened, _LINES))
    except UnicodeDecodeError as error:
        raise DataError(f"{file}: not text in UTF-8") from error
    except OSError as error:
        raise DataError(f"{file}: cannot be read: {error.strerror}") from error
    if not lines:
        raise DataError(f"{file}: the file is empty")
    return lines


def _parquet_names(file: Path) -> list[str]:
    pyarrow = pyarrow_for(file)
    try:
        return list(pyarrow.parquet.read_schema(file).names)
    except (pyarrow.ArrowException, OSError) as error:
        raise DataError(f"{file}: cannot be read as Parquet: {error}") from error


def _separator(file: Path, lines: Sequence[str]) -> str:
    """Return the character that makes the same number of fields, three or more, of all lines."""
    best, most = "", 2
    for separator in _POSSIBLE:
        try:
            counts = {len(row) for row in csv.reader(lines, delimiter=separator)}
        except csv.Error:  # a field longer than csv takes
            continue
        if len(counts) == 1 and (fields := counts.pop()) > most:
            best, most = separator, fields
    if not best:
        raise DataError(
            f"{file}: its first lines are no table of three columns or more, separated by a comma, "
            "a tab, a semicolon, a bar or a space"
        )
    return best


def _columns(names: Sequence[str]) -> tuple[str, str, str]:
    """Return the columns of users, items and ratings: by name, or else the first that are left."""
    found: dict[str, str] = {}
    for key, words in _WORDS.items():
        for name in names:
            if any(word in name.lower() for word in words) and name not in found.values():
                found[key] = name
                break
    left = iter([name for name in names if name not in found.values()])
    user, item, rating = (found.get(key) or next(left, key) for key in _WORDS)
    return user, item, rating


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
