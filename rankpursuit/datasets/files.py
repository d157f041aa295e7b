"""Your own ratings tables: CSV, TSV, other delimited text, or Parquet."""

from __future__ import annotations

import codecs
import csv
import os
import re
from array import array
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path
from typing import Any, Literal, TextIO

import numpy as np
from numpy.typing import NDArray

from rankpursuit.datasets.blocks import existing_file, open_parquet
from rankpursuit.datasets.ratings import LARGEST_RATING, Ratings
from rankpursuit.errors import DataError
from rankpursuit.text import cut

SEPARATORS = {".csv": ",", ".tsv": "\t", ".tab": "\t"}
PARQUET = (".parquet", ".pq")
LONGEST_ID = 200
_LISTED = 10  # problems listed in one message
_WORDS = {  # usual names of the columns
    "user": "user|reviewer|customer|person|member|uid",
    "item": "item|movie|film|joke|book|product|song|track|business|iid",
    "rating": "rating|score|star|rate|value|grade",
}
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
        and items may be numbers or text of up to 200 characters: ``7`` and ``07`` are different.
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

    Raises
    ------
    DataNotFoundError, DataError
        If there is no such file; if it cannot be used, with all problems and their lines (or rows
        of a Parquet file); beyond ten, the rest is counted.
    """
    file = existing_file(path)
    columns = _column_names({"user": user, "item": item, "rating": rating}, header)
    if duplicates not in ("error", "first", "mean"):
        raise DataError(f"duplicates: expected error, first or mean, got {duplicates!r}")
    if len(decimal) != 1:
        raise DataError(f"decimal: expected one character, got {decimal!r}")
    if file.suffix.lower() in PARQUET:
        if not header:
            raise DataError(f"{file}: the columns of a Parquet file have names: leave out header")
        place, decimal, types = "row", ".", _id_types(file, columns)
        rows = _read_parquet(file, columns)
    else:
        place, types = "line", [str, str]
        with _open_text(file, encoding) as opened:
            separator = _separator(file, list(islice(opened, 1000)), separator)
        rows = _read_text(file, columns, separator, header, encoding)

    skipped: set[Any] = {str(word).strip() for word in missing}
    skipped |= {value for value in map(_to_number, skipped) if value == value}
    to_point = {ord("."): "?", ord(decimal): "."}
    low, high = bounds or (-LARGEST_RATING, LARGEST_RATING)
    user_codes: dict[Any, int] = {}
    item_codes: dict[Any, int] = {}
    users, items, numbers, values = array("q"), array("q"), array("q"), array("d")
    problems: list[tuple[int, str]] = []
    n_problems = 0
    for number, error, who, what, text in rows:
        text = text.strip()
        if text in skipped or not (text or str(who).strip() or str(what).strip()):
            continue
        value = _to_number(text.translate(to_point))
        if value in skipped:
            continue
        if error:
            pass
        elif not low <= value <= high:
            error = f"the rating {cut(text, 40)!r} is not a number from {low:g} to {high:g}"
            error += f" with decimal {decimal!r}" if "," in text else ""
        elif not (_is_id(who) and _is_id(what)):
            column = columns[1 if _is_id(who) else 0]
            error = f"the field {column!r} is empty, or longer than {LONGEST_ID} characters"
        else:
            users.append(user_codes.setdefault(who, len(user_codes)))
            items.append(item_codes.setdefault(what, len(item_codes)))
            values.append(value)
            numbers.append(number)
            continue
        n_problems += 1
        if n_problems <= _LISTED:
            problems.append((number, error))

    user_ids, user_rows = _sort_ids(user_codes, users, types[0])
    item_ids, item_rows = _sort_ids(item_codes, items, types[1])
    pairs = user_rows * len(item_ids) + item_rows
    _, first, inverse = np.unique(pairs, return_index=True, return_inverse=True)
    if duplicates == "error" and len(first) < len(pairs):
        again = np.setdiff1d(np.arange(len(pairs)), first)
        n_problems += len(again)
        for row in again[:_LISTED]:
            who, what = user_ids[user_rows[row]], item_ids[item_rows[row]]
            error = f"user {who} rated item {what} a second time; remove one, or set duplicates"
            problems.append((numbers[row], error))
    if n_problems:
        listed = [f"{place} {at}: {error}" for at, error in sorted(problems)[:_LISTED]]
        if n_problems == 1:
            raise DataError(f"{file}, {listed[0]}")
        if n_problems > _LISTED:
            listed.append(f"and {n_problems - _LISTED:,} more")
        raise DataError(f"{file}: {n_problems:,} problems: {'; '.join(listed)}")
    if not values:
        raise DataError(f"{file}: the file has no ratings")
    means = np.bincount(inverse, values) / np.bincount(inverse)
    scores = means if duplicates == "mean" else np.asarray(values)[first]
    table = Ratings.from_arrays(user_rows[first], item_rows[first], scores, name=name or file.stem)
    return replace(table, user_ids=user_ids, item_ids=item_ids)


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


_Row = tuple[int, str, Any, Any, str]  # line or row from 1, error, user, item, rating


def _read_text(
    file: Path, columns: Sequence[str], separator: str, header: bool, encoding: str
) -> Iterator[_Row]:
    """Read the rows of a delimited text file."""
    line = 1
    with _open_text(file, encoding) as opened:
        try:
            reader = csv.reader(opened, delimiter=separator, strict=True)
            first = next(reader)
            names = first if header else [str(at) for at in range(1, len(first) + 1)]
            _check_columns(file, names, columns)
            at_user, at_item, at_rating = map(names.index, columns)
            width = len(names)
            line = reader.line_num + 1 if header else 1
            for fields in reader if header else chain([first], reader):
                if len(fields) < width:
                    fields += [""] * (width - len(fields))
                error = f"{len(fields)} fields, not {width}" if len(fields) > width else ""
                yield line, error, fields[at_user], fields[at_item], fields[at_rating]
                line = reader.line_num + 1
        except csv.Error as error:
            reason = f"malformed: {error}; is a quotation mark not closed?"
            raise DataError(f"{file}, line {line}: {reason}") from error


def _read_parquet(file: Path, columns: Sequence[str]) -> Iterator[_Row]:
    """Read the rows of a Parquet file; missing values are empty."""
    n_before = 0
    with open_parquet(file) as parquet:
        for batch in parquet.iter_batches(columns=list(columns)):
            lists = [batch.column(column).to_pylist() for column in columns]
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
    types = []
    for column in columns:
        kind = schema.field(column).type
        kind = kind.value_type if str(kind).startswith("dictionary") else kind
        if not re.match(r"u?int|float|double|(large_)?string|decimal|null", str(kind)):
            raise DataError(f"{file}: the column {column!r} is of {kind}, not numbers or text")
        types.append(kind.to_pandas_dtype() if re.match("u?int|float|double", str(kind)) else str)
    return types


def _check_columns(file: Path, names: list[str], columns: Sequence[str]) -> None:
    """Raise DataError if a column is missing, or occurs twice."""
    for column in columns:
        times = names.count(column)
        if times != 1:
            found = f"{times} columns" if times else "no column"
            raise DataError(
                f"{file}: {found} {cut(column, 100)!r}; its columns are "
                f"{cut(', '.join(names), 300)}; name those of the user, the item and the rating, "
                "and say whether there is a header"
            )


def _is_id(label: Any) -> bool:
    return 0 < len(str(label).strip()) <= LONGEST_ID


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
    """Guess keyword arguments of `load_ratings` from the first lines of a file, in UTF-8.

    Those given, if not None, are kept. Columns are found by name, then by position; those with
    times are skipped.
    """
    file = existing_file(path)
    values: dict[Any, Sequence[str]]
    if file.suffix.lower() in PARQUET:
        header = True
        with open_parquet(file) as parquet:
            values = dict.fromkeys(parquet.schema_arrow.names, ())
    else:
        with _open_text(file, "utf-8") as opened:
            lines = list(islice(opened, 1000))
        separator = _separator(file, lines, separator)
        first, *rest = csv.reader(lines, delimiter=separator)
        if header is None:
            numbers = (_to_number(field.replace(",", ".")) for field in first)
            header = bool(rest) and not np.isfinite(list(numbers)).any()
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
    """Return the separator: as given, with which all lines have most fields, or by the suffix."""
    if given is not None:
        if len(given) != 1 or given in '"\r\n':
            raise DataError(f"separator: expected one character, got {given!r}")
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


@contextmanager
def _open_text(file: Path, encoding: str) -> Iterator[TextIO]:
    """Open a text file; raise DataError with the line if it is not in the encoding."""
    try:
        codec = codecs.lookup(encoding).name
    except LookupError as error:
        raise DataError(f"encoding: unknown encoding {encoding!r}; try utf-8 or latin-1") from error
    codec = "utf-8-sig" if codec == "utf-8" else codec  # skips a byte-order mark
    try:
        with file.open(encoding=codec, newline="") as opened:
            yield opened
    except UnicodeError as error:
        text, line = file.read_bytes(), 1
        try:
            text.decode(codec)
        except UnicodeDecodeError as found:
            line += text[: found.start].count(b"\n")
        reason = f"not text in {encoding.upper()}; set encoding"
        raise DataError(f"{file}, line {line}: {reason}") from error
