"""Your own ratings tables: CSV, TSV, other delimited text, or Parquet."""

from __future__ import annotations

import csv
import os
import re
from array import array
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from decimal import Decimal
from itertools import islice
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from rankpursuit.datasets.blocks import existing_file, open_parquet
from rankpursuit.datasets.ratings import LARGEST_RATING, Ratings
from rankpursuit.errors import DataError
from rankpursuit.text import cut

Duplicates = Literal["error", "first", "mean"]
SEPARATORS = {".csv": ",", ".tsv": "\t", ".tab": "\t"}
"""Usual separator of a text file by its suffix."""
PARQUET = (".parquet", ".pq")
LONGEST_ID = 200
"""Maximum number of characters of the id of a user or an item."""
_LISTED = 10
"""Maximum number of problems listed in one message."""
_KEYS = ("user", "item", "rating")
_WORDS = {
    "user": "user|reviewer|customer|person|member|uid",
    "item": "item|movie|film|joke|book|product|song|track|business|iid",
    "rating": "rating|score|star|rate|value|grade",
}
"""Usual names of the columns."""
_TIME = "timestamp|(^|[^a-z])(time|date)|(time|[^i]date)$|_at$"
"""Usual names of columns with times (but not "candidate")."""


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
    duplicates: Duplicates = "error",
    bounds: tuple[float, float] | None = None,
    name: str | None = None,
) -> Ratings:
    """Load a table of ratings with one row per rating.

    Parameters
    ----------
    path : path
        A delimited text file or a ``.parquet`` file. Other columns and blank lines are ignored.
    user, item, rating : str or int
        Names of the three columns; without a header their numbers, by default 1, 2 and 3. Users
        and items may be numbers or text of up to `LONGEST_ID` characters: ``7`` and ``07`` are
        different.
    separator : str, optional
        Field separator of a text file, one character. Default: detected from the first lines.
    header : bool, default True
        Whether the first line of a text file has the names of the columns.
    encoding : str, default "utf-8"
        Encoding of a text file.
    decimal : str, default "."
        Decimal point of the ratings in a text file, one character.
    missing : sequence of str or float, default ()
        Ratings that mean "not rated", such as ``"NA"``, ``""`` or ``99``; their rows are skipped.
    duplicates : {"error", "first", "mean"}, default "error"
        What to do if a user rated an item more than once: raise an error, keep the first rating,
        or take the mean.
    bounds : (low, high), optional
        Smallest and largest rating allowed.
    name : str, optional
        Name of the table. Default: the file's name without its suffix.

    Returns
    -------
    Ratings

    Raises
    ------
    DataNotFoundError
        If there is no such file.
    DataError
        If the file cannot be used. The message lists all problems, each with its line (or row of a
        Parquet file); beyond ten, the rest is counted.
    """
    file = existing_file(path)
    columns = column_names(user, item, rating, header=header)
    if len(set(columns)) < 3:
        raise DataError(f"user, item and rating must be three different columns, not {columns}")
    if duplicates not in get_args(Duplicates):
        raise DataError(f"duplicates: expected error, first or mean, got {duplicates!r}")
    if len(decimal) != 1:
        raise DataError(f"decimal: expected one character, got {decimal!r}")
    if file.suffix.lower() in PARQUET:
        if not header:
            raise DataError(f"{file}: the columns of a Parquet file have names: leave out header")
        place, decimal, rows = "row", ".", _read_parquet(file, columns)
        types = _id_types(file, columns)
    else:
        separator = _separator(file, _first_lines(file, encoding), separator)
        place, rows = "line", _read_text(file, columns, separator, header, encoding)
        types = [str, str]

    skipped = {str(word).strip() for word in missing}
    skipped_numbers = {value for value in map(_to_number, skipped) if value == value}
    to_point = {ord("."): "?", ord(decimal): "."}
    low, high = bounds or (-LARGEST_RATING, LARGEST_RATING)
    user_codes: dict[Any, int] = {}
    item_codes: dict[Any, int] = {}
    users, items, numbers, values = array("q"), array("q"), array("q"), array("d")
    problems: list[tuple[int, str]] = []
    n_problems = 0
    for number, fault, who, what, text in rows:
        text = text.strip()
        if text in skipped or not (text or str(who).strip() or str(what).strip()):
            continue
        value = _to_number(text if decimal == "." else text.translate(to_point))
        if value in skipped_numbers:
            continue
        if not fault and low <= value <= high and _is_id(who) and _is_id(what):
            users.append(user_codes.setdefault(who, len(user_codes)))
            items.append(item_codes.setdefault(what, len(item_codes)))
            values.append(value)
            numbers.append(number)
            continue
        n_problems += 1
        if n_problems > _LISTED:
            continue
        if not fault and low <= value <= high:
            column = columns[1] if _is_id(who) else columns[0]
            fault = f"the field {column!r} is empty, or longer than {LONGEST_ID} characters"
        elif not fault:
            fault = f"the rating {cut(text, 40)!r} is not a number from {low:g} to {high:g}"
            fault += f" with decimal {decimal!r}" if "," in text else ""
        problems.append((number, fault))

    user_ids, user_rows = _sort_ids(user_codes, users, types[0])
    item_ids, item_rows = _sort_ids(item_codes, items, types[1])
    pairs = user_rows * len(item_ids) + item_rows
    _, first, inverse = np.unique(pairs, return_index=True, return_inverse=True)
    if duplicates == "error" and len(first) < len(pairs):
        again = np.setdiff1d(np.arange(len(pairs)), first)
        n_problems += len(again)
        for row in again[:_LISTED]:
            who, what = user_ids[user_rows[row]], item_ids[item_rows[row]]
            fault = f"user {who} rated item {what} a second time; remove one, or set duplicates"
            problems.append((numbers[row], fault))
    if n_problems:
        listed = [f"{place} {at}: {fault}" for at, fault in sorted(problems)[:_LISTED]]
        if n_problems == 1:
            raise DataError(f"{file}, {listed[0]}")
        rest = n_problems - len(listed)
        listed += [f"and {rest:,} more"] if rest else []
        raise DataError(f"{file}: {n_problems:,} problems: {'; '.join(listed)}")
    if not values:
        raise DataError(f"{file}: the file has no ratings")
    means = np.bincount(inverse, values) / np.bincount(inverse)
    scores = means if duplicates == "mean" else np.asarray(values)[first]
    table = Ratings.from_arrays(user_rows[first], item_rows[first], scores, name=name or file.stem)
    return replace(table, user_ids=user_ids, item_ids=item_ids)


def column_names(
    user: str | int, item: str | int, rating: str | int, *, header: bool
) -> tuple[str, str, str]:
    """Return the names of the three columns: without a header, their numbers from 1.

    Raises
    ------
    DataError
        If a column is given by name and the file has no header, or the other way round.
    """
    columns: list[str | int] = [user, item, rating]
    for at, key in enumerate(_KEYS):
        if not header and columns[at] == key:
            columns[at] = at + 1
        if isinstance(columns[at], int) == header:
            expected = "a name" if header else "a number from 1, since there is no header"
            raise DataError(f"{key}: expected {expected}, got {columns[at]!r}")
    return str(columns[0]), str(columns[1]), str(columns[2])


_Row = tuple[int, str, Any, Any, str]
"""Line or row from 1, what is wrong with it, user, item, rating."""


def _read_text(
    file: Path, columns: Sequence[str], separator: str, header: bool, encoding: str
) -> Iterator[_Row]:
    """Read the rows of a delimited text file."""
    line = 1
    with file.open(encoding=encoding, newline="") as opened:
        if opened.read(1) != "\ufeff":  # a byte-order mark
            opened.seek(0)
        reader = csv.reader(opened, delimiter=separator)
        try:
            first = next(reader)
            names = first if header else [str(at) for at in range(1, len(first) + 1)]
            _check_columns(file, names, columns)
            at_user, at_item, at_rating = (names.index(column) for column in columns)
            width = len(names)
            if not header:
                yield 1, "", first[at_user], first[at_item], first[at_rating]
            line = reader.line_num + 1
            for fields in reader:
                if len(fields) < width:
                    fields += [""] * (width - len(fields))
                fault = f"{len(fields)} fields, not {width}" if len(fields) > width else ""
                yield line, fault, fields[at_user], fields[at_item], fields[at_rating]
                line = reader.line_num + 1
        except UnicodeError as error:
            raise _decoding_error(file, encoding) from error
        except csv.Error as error:
            reason = f"malformed: {error}; is a quotation mark not closed?"
            raise DataError(f"{file}, line {line}: {reason}") from error


def _read_parquet(file: Path, columns: Sequence[str]) -> Iterator[_Row]:
    """Read the rows of a Parquet file; missing values are empty."""
    n_before = 0
    with open_parquet(file) as parquet:
        for batch in parquet.iter_batches(columns=list(columns)):
            lists = [batch.column(column).to_pylist() for column in columns]
            for column, values in zip(columns, lists, strict=True):
                if not {type(x) for x in values} <= {str, int, float, Decimal, type(None)}:
                    kind = batch.column(column).type
                    raise DataError(
                        f"{file}: the column {column!r} is of {kind}, not numbers or text"
                    )
            for number, fields in enumerate(zip(*lists, strict=True), start=n_before + 1):
                who, what, rating = ("" if x is None or x != x else x for x in fields)
                yield number, "", who, what, str(rating)
            n_before += batch.num_rows


def _id_types(file: Path, columns: Sequence[str]) -> list[Any]:
    """Return the numpy types of the columns of a Parquet file, `str` if they are not numbers.

    Ids become text of the width that numpy gives to their type, on which checksums depend.
    """
    with open_parquet(file) as parquet:
        schema = parquet.schema_arrow
        _check_columns(file, schema.names, columns)
        kinds = [schema.field(column).type for column in columns]
    names = [str(getattr(kind, "value_type", kind)) for kind in kinds]  # of a dictionary's values
    names = [{"double": "float64", "float": "float32"}.get(name, name) for name in names]
    return [name if re.fullmatch(r"(u?int|float)\d+", name) else str for name in names]


def _check_columns(file: Path, names: Sequence[str], columns: Sequence[str]) -> None:
    """Raise DataError if a column is missing, or occurs twice."""
    for column in columns:
        times = list(names).count(column)
        if not times:
            raise DataError(
                f"{file}: no column {cut(column, 100)!r}; its columns are "
                f"{cut(', '.join(names), 300)}; name those of the user, the item and the rating, "
                "and say whether there is a header"
            )
        if times > 1:
            raise DataError(f"{file}: {times} columns are called {column!r}; rename all but one")


def _is_id(label: Any) -> bool:
    return not isinstance(label, str) or (len(label) <= LONGEST_ID and bool(label.strip()))


def _to_number(text: str) -> float:
    try:
        return np.nan if "_" in text else float(text)  # Python takes 1_0 for 10
    except ValueError:
        return np.nan


def _sort_ids(
    codes: dict[Any, int], rows: array[int], dtype: Any
) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """Return the ids as text, ascending, and the position of each row's id in them."""
    ids, ranks = np.unique(np.array(list(codes), dtype=dtype).astype(str), return_inverse=True)
    return ids, ranks[np.asarray(rows, dtype=np.intp)]


def guess_layout(
    path: str | os.PathLike[str],
    *,
    separator: str | None = None,
    header: bool | None = None,
    **columns: str | None,
) -> dict[str, Any]:
    """Guess the separator, header and columns of a ratings file from its first lines.

    Columns are found by name, then by position; those with times are skipped.

    Parameters
    ----------
    path : path
        A delimited text file in UTF-8, or a ``.parquet`` file.
    separator, header, **columns
        Keyword arguments of `load_ratings` that are known; None if they are to be guessed.

    Returns
    -------
    dict
        Keyword arguments of `load_ratings`.
    """
    file = existing_file(path)
    values: dict[Any, Sequence[str]]
    if file.suffix.lower() in PARQUET:
        header = header is None or header
        with open_parquet(file) as parquet:
            values = dict.fromkeys(parquet.schema_arrow.names, ())
    else:
        lines = _first_lines(file, "utf-8")
        separator = _separator(file, lines, separator)
        first, *rest = csv.reader(lines, delimiter=separator)
        if header is None:
            header = bool(rest) and not any(
                np.isfinite(_to_number(x.replace(",", "."))) for x in first
            )
        rows = [row for row in ([] if header else [first]) + rest if len(row) == len(first)]
        names = first if header else range(1, len(first) + 1)
        values = {name: [row[at] for row in rows] for at, name in enumerate(names)}
    known = {
        key: int(column) if column.isdigit() and not header else column
        for key, column in columns.items()
        if column is not None
    }
    layout = {"separator": separator, "header": header, **_guess_columns(values, known)}
    ratings = values.get(layout["rating"], ())
    if separator != "," and any(re.fullmatch(r"-?\d+,\d+", rating) for rating in ratings):
        layout["decimal"] = ","
    return layout


def is_separator(text: str) -> bool:
    """Return whether a text can separate the fields of a line."""
    return len(text) == 1 and text not in '"\r\n\0'


def _separator(file: Path, lines: Sequence[str], separator: str | None) -> str:
    """Return the separator: as given, or that with which all lines have most fields, at least 3.

    If lines differ in their number of fields, it is the usual one of the file's suffix.
    """
    if separator is not None:
        if not is_separator(separator):
            raise DataError(f"separator: expected one character, got {separator!r}")
        return separator
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
            "comma, tab, semicolon, bar, space or colon"
        )
    return best


def _guess_columns(values: dict[Any, Sequence[str]], known: dict[str, Any]) -> dict[str, Any]:
    """Return the columns of users, items and ratings, given some values of each column."""
    # With "::" between the fields, every second column is empty.
    filled = [name for name in values if not values[name] or any(map(str.strip, values[name]))]
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
    """Return whether a column has times: by its name, as dates, or as Unix time since 1990."""
    if re.search(_TIME, str(name).lower()):
        return True
    if not values or not all(value.isdigit() for value in values):
        return bool(values) and all(re.match(r"\d{4}-\d\d-\d\d", value) for value in values)
    low, high = min(map(int, values)), max(map(int, values))
    return any(631_152_000 * unit <= low <= high < 4_102_444_800 * unit for unit in (1, 1000))


def _first_lines(file: Path, encoding: str) -> list[str]:
    """Return the first thousand lines, without a byte-order mark."""
    try:
        with file.open(encoding=encoding, newline="") as opened:
            first, *rest = islice(opened, 1000)
    except LookupError as error:
        raise DataError(f"encoding: unknown encoding {encoding!r}; try utf-8 or latin-1") from error
    except UnicodeError as error:
        raise _decoding_error(file, encoding) from error
    return [first.removeprefix("\ufeff"), *rest]


def _decoding_error(file: Path, encoding: str) -> DataError:
    """Return the error that a file is not in an encoding, with the line."""
    text, line = file.read_bytes(), 1
    try:
        text.decode(encoding)
    except UnicodeDecodeError as error:
        line += text[: error.start].count(b"\n")
    return DataError(f"{file}, line {line}: not text in {encoding.upper()}; set encoding")
