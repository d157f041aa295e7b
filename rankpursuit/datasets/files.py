"""Your own ratings tables: CSV, TSV, other delimited text, or Parquet."""

from __future__ import annotations

import csv
import os
import re
from collections.abc import Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from rankpursuit.datasets.blocks import existing_file, open_parquet
from rankpursuit.datasets.ratings import LARGEST_RATING, Ratings
from rankpursuit.errors import DataError
from rankpursuit.text import one_line, truncate

if TYPE_CHECKING:
    import pandas as pd

SEPARATORS = {".csv": ",", ".tsv": "\t", ".tab": "\t"}
PARQUET = (".parquet", ".pq")
LONGEST_ID = 200
_IDS = ["user", "item"]
_LISTED = 3  # problems listed in one message
_WORDS = {  # common column names
    "user": "user|reviewer|customer|person|member|uid",
    "item": "item|movie|film|joke|book|product|song|track|business|iid",
    "rating": "rating|score|star|rate|value|grade",
}
_QUOTES = "check the quotation marks"  # one that opens a field swallows lines up to the next
_TIME = "timestamp|(^|[^a-z])(time|date)|(time|[^i]date)$|_at$"  # but not "candidate"


def load_ratings(
    path: str | os.PathLike[str],
    *,
    user: str | int = "user",
    item: str | int = "item",
    rating: str | int = "rating",
    separator: str | None = None,
    header: bool = True,
    encoding: str = "utf-8",
    decimal: str = ".",
    missing: Sequence[str | float] = (),
    duplicates: Literal["error", "first", "mean"] = "error",
    name: str | None = None,
) -> Ratings:
    """Load a table of ratings with one row per rating.

    Parameters
    ----------
    path : path
        A delimited text file or a ``.parquet`` file. Other columns and blank lines are ignored.
    user, item, rating : str or int
        Names of the three columns; without a header their positions from 1, by default 1, 2 and 3.
        Users and items may be numbers or text of up to 200 characters: ``7`` and ``07`` differ.
        White space around them is ignored.
    separator : str, optional
        Field separator of a text file, one ASCII character. Default: detected from the first lines.
    header : bool, default True
        Whether the first line of a text file has the names of the columns.
    encoding : str, default "utf-8"
        Encoding of a text file.
    decimal : str, default "."
        Decimal separator of the ratings in a text file, one character.
    missing : sequence of str or float, default ()
        Ratings that mean "not rated", such as ``"NA"``, ``""`` or ``99``; their rows are skipped.
    duplicates : {"error", "first", "mean"}, default "error"
        What to do if a user rated an item more than once: raise an error, keep the first rating,
        or take the mean.
    name : str, optional
        Name of the table. Default: the file's name without its suffix.

    Raises
    ------
    DataNotFoundError, DataError
        If the file does not exist; if it cannot be used. The message lists up to three problems
        with their lines (rows of a Parquet file) and the number of others.
    """
    import pandas as pd

    file = existing_file(path)
    columns = _column_names({"user": user, "item": item, "rating": rating}, header)
    if duplicates not in ("error", "first", "mean"):
        raise DataError(f"duplicates: expected error, first or mean, got {duplicates!r}")
    if len(decimal) != 1:
        raise DataError(f"decimal: expected one character, got {decimal!r}")
    if file.suffix.lower() in PARQUET:
        if not header:
            raise DataError(f"{file}: a Parquet file has column names; leave header=True")
        rows, decimal, place = _read_parquet(file, columns), ".", "row"
    else:
        rows, place = _read_text(file, columns, separator, header, encoding), "line"

    words = {str(word).strip() for word in missing}
    to_point = {ord("."): "?", ord(decimal): "."}
    text = rows["rating"].str.strip()
    numbers = text.map({x: _to_number(x.translate(to_point)) for x in text.unique()}).astype(float)
    rows[_IDS] = rows[_IDS].apply(lambda labels: labels.str.strip())
    is_broken = rows[_IDS].apply(lambda labels: labels.str.contains("[\r\n\0]"))
    is_empty = (rows[_IDS] == "").all(axis=1) & (text == "")
    not_rated = [x for x in map(_to_number, words) if x == x]
    kept = ~(is_empty | text.isin(words) | numbers.isin(not_rated)) | is_broken.any(axis=1)
    rows, text, numbers, is_broken = (frame[kept] for frame in (rows, text, numbers, is_broken))
    if rows.empty:
        raise DataError(f"{file}: the file has no ratings")
    is_repeated = rows.duplicated(_IDS)
    problems = pd.Series("", rows.index, dtype=object)
    if duplicates == "error":
        problems[is_repeated] = "a second rating of the same item; remove one, or set duplicates"
    for key, column in zip(_IDS, columns, strict=False):
        reason = f"the field {column!r} is empty, or longer than {LONGEST_ID} characters"
        problems[~rows[key].str.len().between(1, LONGEST_ID)] = reason
        reason = f"the field {column!r} has a line break or a null character; {_QUOTES}"
        problems[is_broken[key]] = reason
    bad = text[~(numbers.abs() <= LARGEST_RATING)]
    reason = f"not a number up to {LARGEST_RATING:g} with decimal {decimal!r}, nor one of missing"
    problems[bad.index] = [f"the rating {truncate(x, 40)!r} is {reason}" for x in bad]
    problems = problems[problems != ""]
    if len(problems):
        listed = [f"{place} {at}: {problem}" for at, problem in problems[:_LISTED].items()]
        if len(problems) == 1:
            raise DataError(f"{file}, {listed[0]}")
        rest = [f"and {len(problems) - _LISTED:,} more"] if len(problems) > _LISTED else []
        raise DataError(f"{file}: {len(problems):,} problems: {'; '.join(listed + rest)}")
    if duplicates == "mean":
        pairs = rows.groupby(_IDS, sort=False).ngroup()
        numbers[:] = (np.bincount(pairs, numbers) / np.bincount(pairs))[pairs]
    users, items = (rows[key][~is_repeated].to_numpy(dtype=object) for key in _IDS)
    return Ratings.from_arrays(users, items, numbers[~is_repeated], name=name or file.stem)


def _column_names(given: dict[str, str | int], header: bool) -> list[str]:
    """Return the names of the three columns: without a header, their numbers from 1."""
    names = []
    for number, (key, column) in enumerate(given.items(), start=1):
        if not header and column == key:
            column = number
        if isinstance(column, int) == header:
            expected = "a name" if header else "a number from 1, since there is no header"
            raise DataError(f"{key}: expected {expected}, got {column!r}")
        names.append(str(column))
    if len(set(names)) < 3:
        raise DataError(f"user, item and rating must be three different columns, not {names}")
    return names


def _read_text(
    file: Path, columns: Sequence[str], separator: str | None, header: bool, encoding: str
) -> pd.DataFrame:
    """Read users, items and ratings as text; the index has the numbers of the lines."""
    import pandas as pd

    lines = _first_lines(file, encoding)
    mark = _separator(file, lines, separator)
    first = _split(file, lines, mark)[0]
    names = first if header else [str(number) for number in range(1, len(first) + 1)]
    _check_columns(file, names, columns)
    try:
        rows = pd.read_csv(
            file,
            sep=mark,
            encoding=encoding,
            header=None,
            names=range(len(names)),  # a line with more fields is an error
            index_col=False,
            dtype=str,
            na_filter=False,
            skip_blank_lines=False,
        )
    except (pd.errors.ParserError, UnicodeError) as error:
        reason = " ".join(str(error).split()).removeprefix("Error tokenizing data. C error: ")
        raise DataError(f"{file}: {reason}; {_QUOTES}, separator and encoding") from error
    n_breaks = sum(rows[column].str.count("\n") for column in rows)  # inside fields
    rows = rows[[names.index(column) for column in columns]].set_axis([*_IDS, "rating"], axis=1)
    rows.index += 1 + n_breaks.cumsum().shift(fill_value=0)
    return rows[int(header) :]


def _read_parquet(file: Path, columns: Sequence[str]) -> pd.DataFrame:
    """Read users, items and ratings as text; the index has the numbers of the rows, from 1."""
    with open_parquet(file) as parquet:
        _check_columns(file, parquet.schema_arrow.names, columns)
        rows = parquet.read(list(columns)).to_pandas(ignore_metadata=True)[list(columns)]
    rows = rows.astype(str).mask(rows.isna(), "").set_axis([*_IDS, "rating"], axis=1)
    rows.index = range(1, len(rows) + 1)
    return rows


def _check_columns(file: Path, names: list[str], columns: Sequence[str]) -> None:
    """Raise DataError if a column is missing, or occurs twice."""
    for column in columns:
        times = names.count(column)
        if times != 1:
            count, listed = f"{times} columns" if times else "no column", one_line(", ".join(names))
            raise DataError(
                f"{file}: {count} {truncate(column, 100)!r}; its columns are "
                f"{truncate(listed, 300)}; set user, item, rating and header to match the file"
            )


def _to_number(text: str) -> float:
    try:
        return np.nan if "_" in text else float(text)  # float() reads 1_0 as 10
    except ValueError:
        return np.nan


def guess_layout(
    path: str | os.PathLike[str],
    *,
    separator: str | None = None,
    header: bool | None = None,
    **columns: str | None,
) -> dict[str, Any]:
    """Guess keyword arguments of `load_ratings` from the first lines of a file in UTF-8.

    Arguments that are not None are kept. Columns are found by name, then by position; columns of
    times are skipped.
    """
    file = existing_file(path)
    values: dict[Any, Sequence[str]]
    if file.suffix.lower() in PARQUET:
        header = True
        with open_parquet(file) as parquet:
            values = dict.fromkeys(parquet.schema_arrow.names, ())
    else:
        lines = _first_lines(file, "utf-8")
        separator = _separator(file, lines, separator)
        first, *rest = _split(file, lines, separator)
        if header is None:
            numbers = (_to_number(field.replace(",", ".")) for field in first)
            header = not np.isfinite(list(numbers)).any()
        rows = [row for row in ([] if header else [first]) + rest if len(row) == len(first)]
        names = first if header else range(1, len(first) + 1)
        values = {name: [row[at] for row in rows] for at, name in enumerate(names)}
    known: dict[str, Any] = {key: column for key, column in columns.items() if column is not None}
    if not header:
        known = {key: int(x) if x.isdigit() else x for key, x in known.items()}
    layout = {"separator": separator, "header": header, **_guess_columns(values, known)}
    ratings = values.get(layout["rating"], ())
    if separator != "," and any(re.fullmatch(r"-?\d+,\d+", rating) for rating in ratings):
        layout["decimal"] = ","
    return layout


def _separator(file: Path, lines: Sequence[str], given: str | None) -> str:
    """Return the given separator, or the one that gives most fields, or that of the suffix."""
    if given is not None:
        if len(given) != 1 or given in '"\r\n' or not given.isascii():
            raise DataError(f"separator: expected one ASCII character, got {given!r}")
        return given
    best, most = "", 2
    for candidate in "\t,;| :":
        if candidate in " :" and best:  # they are often part of a field
            break
        with suppress(csv.Error):  # a field longer than csv accepts
            counts = {len(row) for row in csv.reader(lines, delimiter=candidate) if row}
            if len(counts) == 1 and max(counts) > most:
                best, most = candidate, max(counts)
    best = best or SEPARATORS.get(file.suffix.lower(), "")
    if not best:
        raise DataError(
            f"{file}: its first lines are not a table of three or more columns, separated by a "
            "comma, tab, semicolon, bar, space or colon; set separator"
        )
    return best


def _split(file: Path, lines: Sequence[str], separator: str) -> list[list[str]]:
    """Return the fields of lines."""
    try:
        return list(csv.reader(lines, delimiter=separator))
    except csv.Error as error:
        raise DataError(f"{file}: {error} in the first lines; {_QUOTES}") from error


def _guess_columns(values: dict[Any, Sequence[str]], known: dict[str, Any]) -> dict[str, Any]:
    """Return the columns of users, items and ratings, given some values of each column."""
    # With "::" between the fields, every second column is empty; an index has no name.
    filled = [
        name
        for name in values
        if str(name).strip() and (not values[name] or any(map(str.strip, values[name])))
    ]
    times = [name for name in filled if _is_time(name, values[name])]
    left = [name for name in filled if name not in times or len(filled) - len(times) < 3]
    left = [name for name in left if name not in known.values()]
    found = dict(known)
    for key, words in _WORDS.items():
        named = [name for name in left if re.search(words, str(name).lower())]
        if named and key not in found:
            found[key] = named[0]
            left.remove(named[0])
    return {key: found[key] if key in found else left.pop(0) if left else key for key in _WORDS}


def _is_time(name: Any, values: Sequence[str]) -> bool:
    """Return whether a column holds times: by its name, as dates, or as Unix time since 1990."""
    if re.search(_TIME, str(name).lower()):
        return True
    if not values or all(re.match(r"\d{4}-\d\d-\d\d", value) for value in values):
        return bool(values)
    numbers = list(map(_to_number, values))
    low, high = min(numbers), max(numbers)
    return bool(np.isfinite(numbers).all()) and any(
        631_152_000 * unit <= low <= high < 4_102_444_800 * unit for unit in (1, 1000)
    )


def _first_lines(file: Path, encoding: str) -> list[str]:
    """Return the first thousand lines of a text file, without a byte-order mark."""
    try:
        with file.open(encoding=encoding, newline="") as opened:
            lines = list(islice(opened, 1000))
    except LookupError as error:
        raise DataError(f"encoding: unknown encoding {encoding!r}; try utf-8 or latin-1") from error
    except UnicodeError as error:
        raise DataError(
            f"{file}: not text in {encoding.upper()}; set encoding, such as latin-1"
        ) from error
    return [lines[0].removeprefix("\ufeff"), *lines[1:]]
