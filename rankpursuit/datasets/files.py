"""Your own ratings tables: CSV, TSV, other delimited text, or Parquet."""

from __future__ import annotations

import csv
import os
import re
import warnings
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from rankpursuit.datasets.blocks import existing_file, open_parquet
from rankpursuit.datasets.ratings import LARGEST_RATING, Ratings
from rankpursuit.errors import DataError
from rankpursuit.visible import cut

if TYPE_CHECKING:
    import pandas as pd

Duplicates = Literal["error", "first", "mean"]
SEPARATORS = {".csv": ",", ".tsv": "\t", ".tab": "\t"}
"""Usual separator of a text file by its suffix."""
PARQUET = (".parquet", ".pq")
LONGEST_ID = 200
"""Maximum number of characters of a field."""
_LISTED = 10
"""Maximum number of problems listed in one message."""
_CHUNK = 200_000
"""Rows parsed at a time, so that unused columns do not stay in memory."""
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
    problems = _Problems()
    if file.suffix.lower() in PARQUET:
        if not header:
            raise DataError(f"{file}: the columns of a Parquet file have names: leave out header")
        frame, decimal = _read_parquet(file, columns), "."
    else:
        lines = _first_lines(file, encoding)
        separator = _separator(file, lines, separator)
        (names,) = csv.reader(lines[:1], delimiter=separator)
        names = names if header else [str(at) for at in range(1, len(names) + 1)]
        _check_columns(file, names, columns)
        options = {"sep": separator, "names": names, "header": 0 if header else None}
        frame = _read_text(file, columns, encoding, problems, **options)

    values = _to_numbers(frame["rating"], decimal)
    empty = frame.apply(lambda column: column.isna() | (column.astype(str).str.strip() == ""))
    kept = ~(_is_missing(frame["rating"], values, missing) | empty.all(axis=1)).to_numpy()
    frame, values, empty = frame[kept], values[kept], empty[kept]
    for key, column in zip(_KEYS, columns, strict=True):
        field = f"the field {column!r}".replace("%", "%%")
        problems.add(frame[empty[key]], f"{field} is empty")
        long = frame[key].astype(str).str.len() > LONGEST_ID
        problems.add(frame[long], f"{field} has more than {LONGEST_ID} characters")
    low, high = bounds or (-LARGEST_RATING, LARGEST_RATING)
    finite = np.isfinite(values)
    bad = frame[~finite & ~empty["rating"]]
    problems.add(bad, f"the rating %(rating)r is not a number with decimal {decimal!r}")
    outside = finite & ((values < low) | (values > high))
    problems.add(frame[outside], f"the rating %(rating)s is outside {low:g} to {high:g}")
    (user_ids, users), (item_ids, items) = (_encode(frame[key]) for key in ("user", "item"))
    pairs = users * len(item_ids) + items
    _, first, inverse = np.unique(pairs, return_index=True, return_inverse=True)
    if duplicates == "error":
        words = "user %(user)s rated item %(item)s a second time; remove one, or set duplicates"
        problems.add(frame.iloc[np.setdiff1d(np.arange(len(frame)), first)], words)
    problems.check(file, separator, encoding)
    if frame.empty:
        raise DataError(f"{file}: the file has no ratings")
    means = np.bincount(inverse, values) / np.bincount(inverse)
    values = means if duplicates == "mean" else values[first]
    table = Ratings.from_arrays(users[first], items[first], values, name=name or file.stem)
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


class _Problems:
    """Problems of a file by row: the first ones in words, and the number of all."""

    def __init__(self) -> None:
        self._listed: list[tuple[int, str]] = []
        self._n_found = 0

    def add(self, rows: pd.DataFrame, words: str) -> None:
        """Add a problem of some rows; `words` may refer to fields as ``%(user)s``."""
        self._n_found += len(rows)
        for record, *fields in rows.head(_LISTED).itertuples():
            shown = {key: cut(str(x), 40) for key, x in zip(_KEYS, fields, strict=True)}
            self._listed.append((record, words % shown))

    def check(self, file: Path, separator: str | None, encoding: str) -> None:
        """Raise DataError with the line or row of each problem, if there are any."""
        if not self._listed:
            return
        listed = sorted(self._listed)[:_LISTED]
        if separator is None:
            parts = [f"row {record + 1}: {words}" for record, words in listed]
        else:
            lines = _record_lines(file, separator, encoding, listed[-1][0])
            parts = [f"line {lines[record]}: {words}" for record, words in listed]
        if len(parts) == 1:
            raise DataError(f"{file}, {parts[0]}")
        if self._n_found > len(parts):
            parts.append(f"and {self._n_found - len(parts):,} more")
        raise DataError(f"{file}: {self._n_found:,} problems: {'; '.join(parts)}")


def _record_lines(file: Path, separator: str, encoding: str, last: int) -> list[int]:
    """Return the first line of each record up to `last`: a quoted field can span several lines."""
    lines = [1]
    with file.open(encoding=encoding, newline="") as opened:
        reader = csv.reader(opened, delimiter=separator)
        with suppress(csv.Error):  # a field longer than csv accepts
            lines += [reader.line_num + 1 for _ in islice(reader, last)]
    return [*lines, *range(lines[-1] + 1, lines[-1] + last + 2 - len(lines))]


def _read_text(
    file: Path, columns: Sequence[str], encoding: str, problems: _Problems, **options: Any
) -> pd.DataFrame:
    """Read three columns as text, indexed by record; report rows with too many fields."""
    import pandas as pd

    options |= {"dtype": str, "keep_default_na": False, "skip_blank_lines": False}
    options |= {"index_col": False, "on_bad_lines": "warn", "compression": None}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            with pd.read_csv(file, encoding=encoding, chunksize=_CHUNK, **options) as chunks:
                frame = pd.concat([chunk[list(columns)] for chunk in chunks], ignore_index=True)
        except UnicodeError as error:
            raise _decoding_error(file, encoding) from error
        except pd.errors.ParserError as error:
            reason = str(error).strip().removeprefix("Error tokenizing data. C error: ")
            raise DataError(f"{file}: malformed: {reason}") from error
    messages = " ".join(str(warning.message) for warning in caught)
    n_columns = len(options["names"])
    if "does not match length of data" in messages:
        raise DataError(f"{file}: the rows have more fields than the header, {n_columns}")
    skipped = [int(line) - 1 for line in re.findall(r"Skipping line (\d+)", messages)]
    problems.add(pd.DataFrame("", skipped, list(_KEYS)), f"more than {n_columns} fields")
    records = np.arange(len(frame) + len(skipped)) + (options["header"] is not None)
    return frame.set_axis(_KEYS, axis=1).set_axis(np.setdiff1d(records, skipped))


def _read_parquet(file: Path, columns: Sequence[str]) -> pd.DataFrame:
    """Read three columns of numbers or text."""
    import pandas as pd

    with open_parquet(file) as parquet:
        _check_columns(file, parquet.schema_arrow.names, columns)
        table = parquet.read(columns=list(columns)).select(list(columns))
        frame = table.to_pandas(ignore_metadata=True)
    for column in columns:
        kind = pd.api.types.infer_dtype(frame[column].dropna().head(1).astype(object))
        if kind not in ("string", "integer", "floating", "decimal", "empty"):
            raise DataError(f"{file}: the column {column!r} is of {kind}, not numbers or text")
    return frame.set_axis(_KEYS, axis=1)


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


def _to_numbers(column: pd.Series, decimal: str) -> NDArray[np.float64]:
    """Return ratings as numbers, NaN if they are not."""
    import pandas as pd

    if decimal != ".":
        column = column.str.translate({ord("."): "?", ord(decimal): "."})
    return pd.to_numeric(column, errors="coerce").to_numpy(np.float64, na_value=np.nan)


def _is_missing(
    column: pd.Series, values: NDArray[np.float64], missing: Sequence[str | float]
) -> pd.Series:
    """Return which ratings mean "not rated", by their text or by their value."""
    texts = [str(word).strip() for word in missing]
    numbers = [float(word) for word in texts if _is_number(word)]
    stripped = column.astype(str).str.strip().where(column.notna(), "")
    return stripped.isin(texts) | np.isin(values, numbers)


def _encode(column: pd.Series) -> tuple[NDArray[np.str_], NDArray[np.intp]]:
    """Return the distinct ids as text, ascending, and the position of each row's id in them.

    Only the distinct ids become an array of text: it takes the memory of the longest for each.
    """
    import pandas as pd

    codes, distinct = pd.factorize(column, use_na_sentinel=False)
    ids, ranks = np.unique(pd.Index(distinct).to_numpy(dtype=str), return_inverse=True)
    return ids, ranks[codes]


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
            header = bool(rest) and not any(_is_number(x.replace(",", ".")) for x in first)
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


def _is_number(text: str) -> bool:
    with suppress(ValueError):
        return np.isfinite(float(text))
    return False


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
