"""Your own ratings tables: delimited text, plain or packed, Excel, or Parquet."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import os
import re
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from rankpursuit.datasets.blocks import existing_file, open_parquet
from rankpursuit.datasets.ratings import LARGEST_RATING, Ratings
from rankpursuit.errors import DataError
from rankpursuit.text import one_line, truncate
from rankpursuit.writing import write_atomically

if TYPE_CHECKING:
    import pandas as pd

SEPARATORS = {".csv": ",", ".tsv": "\t", ".tab": "\t"}
PARQUET = (".parquet", ".pq")
EXCEL = (".xlsx", ".xls")
PACKED = (".gz", ".zip")
LONGEST_ID = 200
_IDS = ["user", "item"]
_LISTED = 3  # problems listed in one message
_WORDS = {  # common column names; where several match, the words at the end of a name decide
    "user": "user|reviewer|customer|person|member|uid",
    "rating": "rating|score|stars?|rate|value|grade|overall",
    "item": "item|movie|film|joke|book|product|song|track|artist|anime|business|isbn|asin|iid",
}
_NOT_RATED = {"", "-", "?", "na", "n/a", "nan", "nil", "none", "null"}
_WIDE = 8  # fewest columns of a matrix of ratings
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
        A delimited text file, also packed as ``.gz`` or ``.zip``, or ``.xlsx``, ``.xls`` (the first
        sheet) or ``.parquet``. Other columns and blank lines are ignored.
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
    if duplicates not in ("error", "first", "mean"):
        raise DataError(f"duplicates: expected error, first or mean, got {duplicates!r}")
    columns = _column_names({"user": user, "item": item, "rating": rating}, header)
    rows, place = _read_rows(file, columns, separator, header, encoding, decimal)
    words = {str(word).strip() for word in missing}
    not_rated = [x for x in map(_to_number, words) if x == x]
    is_broken = rows[_IDS].apply(lambda labels: labels.str.contains("[\r\n\0]"))
    kept = ~(rows["rating"].isin(words) | rows["value"].isin(not_rated)) | is_broken.any(axis=1)
    rows, is_broken = rows[kept], is_broken[kept]
    if rows.empty:
        raise DataError(f"{file}: the file has no ratings")
    text, numbers = rows["rating"], rows["value"].copy()
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


def _read_rows(
    file: Path,
    columns: Sequence[str],
    separator: str | None,
    header: bool,
    encoding: str,
    decimal: str,
) -> tuple[pd.DataFrame, str]:
    """Return the rows that are not blank, and whether their index has lines or rows of the file.

    The columns are user, item and rating, as text without the white space around it, and the
    ``value`` of the rating, NaN if it is not a number.
    """
    if len(decimal) != 1:
        raise DataError(f"decimal: expected one character, got {decimal!r}")
    if _suffix(file) in PARQUET:
        if not header:
            raise DataError(f"{file}: a Parquet file has column names; leave header=True")
        with open_parquet(file) as parquet:
            _check_columns(file, parquet.schema_arrow.names, columns)
            rows = parquet.read(list(columns)).to_pandas(ignore_metadata=True)[list(columns)]
        rows = rows.astype(str).mask(rows.isna(), "")
        rows.index, decimal, place = range(1, len(rows) + 1), ".", "row"
    else:
        cells, place = _read_cells(file, separator, encoding), "line"
        names = list(cells.iloc[0]) if header else [str(at + 1) for at in cells]
        _check_columns(file, names, columns)
        rows = cells[[names.index(column) for column in columns]][int(header) :]
    rows = rows.set_axis([*_IDS, "rating"], axis=1).apply(lambda labels: labels.str.strip())
    to_point = {ord("."): "?", ord(decimal): "."}
    numbers = {x: _to_number(x.translate(to_point)) for x in rows["rating"].unique()}
    rows["value"] = rows["rating"].map(numbers).astype(float)
    return rows[(rows[[*_IDS, "rating"]] != "").any(axis=1)], place


def _read_cells(file: Path, separator: str | None, encoding: str) -> pd.DataFrame:
    """Read all fields of a text file or an Excel file as text; the index has line numbers."""
    import pandas as pd

    if _suffix(file) in EXCEL:
        return _read_excel(file)
    first, mark = _first_rows(file, separator, encoding)
    try:
        with _unpacked(file) as opened:
            cells = pd.read_csv(
                opened,
                sep=mark,
                encoding=encoding,
                header=None,
                names=range(len(first[0])),  # a line with more fields is an error
                index_col=False,
                dtype=str,
                na_filter=False,
                skip_blank_lines=False,
            )
    except (pd.errors.ParserError, UnicodeError) as error:
        reason = " ".join(str(error).split()).removeprefix("Error tokenizing data. C error: ")
        raise DataError(f"{file}: {reason}; {_QUOTES}, separator and encoding") from error
    n_breaks = sum(cells[column].str.count("\n") for column in cells)  # inside fields
    cells.index += 1 + n_breaks.cumsum().shift(fill_value=0)
    return cells


def _read_excel(file: Path, n_rows: int | None = None) -> pd.DataFrame:
    """Read the first sheet of an Excel file as text; the index has the numbers of the rows."""
    import pandas as pd

    try:
        cells = pd.read_excel(file, header=None, dtype=str, na_filter=False, nrows=n_rows)
    except ImportError as error:
        raise DataError(
            f"{file}: reading .xlsx needs openpyxl: pip install openpyxl, or save the file as CSV"
        ) from error
    except Exception as error:  # a damaged file can fail anywhere in zipfile, openpyxl and xlrd
        raise DataError(f"{file}: not an Excel file, or damaged: {one_line(str(error))}") from error
    if cells.empty:
        raise DataError(f"{file}: the first sheet is empty")
    cells.index += 1
    return cells


def _suffix(file: Path) -> str:
    """Return the suffix of a table in lower case, without that of its packing."""
    return Path(file.stem if file.suffix.lower() in PACKED else file.name).suffix.lower()


@contextmanager
def _unpacked(file: Path) -> Iterator[IO[bytes]]:
    """Open a file, unpacked; raise DataError if it is damaged, on opening or while reading."""
    try:
        with ExitStack() as stack:
            suffix = file.suffix.lower()
            if suffix == ".zip":
                archive = stack.enter_context(zipfile.ZipFile(file))
                names = [x for x in archive.namelist() if not re.search(r"/$|^__MACOSX/", x)]
                if len(names) != 1:
                    listed = truncate(one_line(", ".join(names)), 300) or "none"
                    raise DataError(
                        f"{file}: expected an archive of one file, but it has {len(names)} "
                        f"({listed}); unpack it, and give the file with the ratings"
                    )
                yield stack.enter_context(archive.open(names[0]))
            else:
                unpack: Any = gzip.open if suffix == ".gz" else open
                yield stack.enter_context(unpack(file, "rb"))
    except (EOFError, RuntimeError, zlib.error, zipfile.BadZipFile, gzip.BadGzipFile) as error:
        raise DataError(f"{file}: truncated, damaged or encrypted: {error}") from error


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
    """Guess keyword arguments of `load_ratings` from the first lines of a file.

    Arguments that are not None are kept. Columns are found by name, then by position; columns of
    times are skipped. A matrix, with a row per user and a column per item, is an error.
    """
    file = existing_file(path)
    layout: dict[str, Any] = {"separator": separator, "header": True}
    values: dict[Any, Sequence[str]]
    if _suffix(file) in PARQUET:
        with open_parquet(file) as parquet:
            values = dict.fromkeys(parquet.schema_arrow.names, ())
    else:
        if (encoding := _guess_encoding(file)) != "utf-8":
            layout["encoding"] = encoding
        (first, *rest), layout["separator"] = _first_rows(file, separator, encoding)
        layout["header"] = _has_header(first) if header is None else header
        rows = [row for row in rest if len(row) == len(first)]
        rows += [] if layout["header"] else [first]
        names = first if layout["header"] else range(1, len(first) + 1)
        values = {name: [row[at] for row in rows] for at, name in enumerate(names)}
    known: dict[str, Any] = {key: column for key, column in columns.items() if column is not None}
    if not known and _is_matrix(values):
        raise DataError(
            f"{file}: a matrix, with a row for each user and a column for each item? Write its "
            "ratings to a file with one per row: rp-init --melt"
        )
    if not layout["header"]:
        known = {key: int(x) if x.isdigit() else x for key, x in known.items()}
    layout |= _guess_columns(values, known)
    ratings = values.get(layout["rating"], ())
    is_decimal_comma = any(re.fullmatch(r"-?\d+,\d+", rating) for rating in ratings)
    return layout | {"decimal": ","} if layout["separator"] != "," and is_decimal_comma else layout


def guess_exceptions(
    path: str | os.PathLike[str], layout: dict[str, Any]
) -> dict[str, tuple[Any, str]]:
    """Guess ``missing`` and ``duplicates`` of `load_ratings` from all rows, each with the reason.

    Words such as NA, a blank, a negative number where all others are positive, and 99 far above all
    others mean "not rated". So may a lowest rating of 0: the reason says so, but ``missing`` stays
    empty. `layout` has the other arguments, and ``missing`` if it is known.
    """
    options = {"separator": None, "header": True, "encoding": "utf-8", "decimal": "."} | layout
    columns = _column_names({key: options.pop(key) for key in (*_IDS, "rating")}, options["header"])
    known = options.pop("missing", None)
    rows, _ = _read_rows(existing_file(path), columns, **options)
    text, found = rows["rating"], dict[str, tuple[Any, str]]()
    values, counts = np.unique(rows["value"].dropna(), return_counts=True)
    code = _code_for_missing(values)
    codes = sorted({word for word in text.unique() if word.lower() in _NOT_RATED})
    codes = [*known] if known else codes + ([] if code is None else [f"{code:g}"])
    is_missing = text.isin(codes) | rows["value"].isin(list(map(_to_number, codes)))
    if codes:
        reason = f'{is_missing.sum():,} of {len(rows):,} rows mean "not rated"'
        if code is not None and not known:
            rest = values[values != code]
            reason += f"; if {code:g} is a rating, as those from {rest[0]:g} to {rest[-1]:g}: []"
        found["missing"] = codes, reason
    elif len(values) > 3 and values[0] == 0 and counts.argmax() == 0:
        reason = f'{counts[0]:,} of {len(rows):,} ratings are 0; if that means "not rated": ["0"]'
        found["missing"] = [], reason
    n_repeated = rows[~is_missing].duplicated(_IDS).sum()
    if 0 < n_repeated <= len(rows) / 4:  # more of them mean that a column is wrong
        found["duplicates"] = "mean", f"{n_repeated:,} repeated ratings of an item; or first"
    return found


def _code_for_missing(values: NDArray[np.float64]) -> float | None:
    """Return the one of some distinct ascending ratings that means "not rated", if any."""
    if len(values) < 4:
        return None
    if values[0] < 0 <= values[1]:
        return float(values[0])
    is_nines = re.fullmatch("9+", f"{values[-1]:g}")
    far = values[-1] > 2 * max(abs(values[0]), values[-2])
    return float(values[-1]) if is_nines and far else None


def melt_matrix(path: str | os.PathLike[str], output: Path) -> None:
    """Write the ratings of a matrix, a row per user and a column per item, as rows of a CSV file.

    A first column of distinct values has the users; otherwise they are numbered. One that counts
    the ratings of its row is dropped.
    """
    import pandas as pd

    file = existing_file(path)
    cells = _read_cells(file, None, _guess_encoding(file))
    if _has_header(list(cells.iloc[0])):
        cells = cells.set_axis(cells.iloc[0], axis=1)[1:]
    else:
        cells = cells.set_axis([str(at + 1) for at in cells], axis=1)
    first, rest = cells.iloc[:, 0], cells.iloc[:, 1:]
    users: Any = range(1, len(cells) + 1)
    is_rated = ~rest.apply(lambda column: column.str.lower().isin({*_NOT_RATED, "99"}))
    if first.is_unique:
        users, cells = first, rest
    elif (first == is_rated.sum(axis=1).astype(str)).all():
        cells = rest
    columns = np.repeat(users, cells.shape[1]), np.tile(cells.columns, len(cells))
    ratings = pd.DataFrame(dict(zip(_IDS, columns, strict=True)))
    ratings["rating"] = cells.to_numpy().ravel()
    ratings = ratings[~ratings["rating"].str.strip().str.lower().isin(_NOT_RATED)]
    write_atomically(output, ratings.to_csv(index=False).encode())


def _has_header(first: Sequence[str]) -> bool:
    """Return whether a first line has names: no number, or distinct ones after a word or blank."""
    is_number = [np.isfinite(_to_number(field.replace(",", "."))) for field in first]
    return not any(is_number) or (not is_number[0] and len(set(first)) == len(first) >= _WIDE)


def _is_matrix(values: dict[Any, Sequence[str]]) -> bool:
    """Return whether nearly all of many columns have nothing but numbers and blanks."""
    is_named = any(re.search(_WORDS["rating"], str(name).lower()) for name in values)
    if len(values) < _WIDE or is_named:
        return False
    columns = [{word.strip().lower() for word in column} - _NOT_RATED for column in values.values()]
    numeric = [np.isfinite([*map(_to_number, column)]).all() for column in columns[1:]]
    return any(columns) and bool(sum(numeric) >= 0.9 * len(numeric))


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
    best = best or SEPARATORS.get(_suffix(file), "")
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
        for pattern in (f"({words})s?$", words):
            named = [name for name in left if re.search(pattern, str(name).lower())]
            if named and key not in found:
                found[key] = named[0]
                left.remove(named[0])
    return {
        key: found[key] if key in found else left.pop(0) if left else key
        for key in (*_IDS, "rating")
    }


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


def _guess_encoding(file: Path) -> str:
    """Return utf-16 for a text file that starts with its mark, otherwise utf-8 or latin-1."""
    if _suffix(file) in EXCEL:
        return "utf-8"
    decoder = codecs.getincrementaldecoder("utf-8")()
    with _unpacked(file) as opened:
        chunk = opened.read(2)
        if chunk in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
            return "utf-16"
        try:
            while chunk:
                decoder.decode(chunk)
                chunk = opened.read(1 << 20)
            decoder.decode(b"", final=True)
        except UnicodeError:
            return "latin-1"
    return "utf-8"


def _first_rows(
    file: Path, separator: str | None, encoding: str
) -> tuple[list[list[str]], str | None]:
    """Return the fields of the first thousand lines, and their separator."""
    if _suffix(file) in EXCEL:
        return _read_excel(file, 1000).to_numpy().tolist(), None
    try:
        with _unpacked(file) as opened, io.TextIOWrapper(opened, encoding, newline="") as text:
            lines = list(islice(text, 1000))
    except LookupError as error:
        raise DataError(f"encoding: unknown encoding {encoding!r}; try utf-8 or latin-1") from error
    except UnicodeError as error:
        raise DataError(
            f"{file}: not text in {encoding.upper()}; set encoding, such as utf-16 or latin-1"
        ) from error
    if not lines:
        raise DataError(f"{file}: the file is empty")
    lines[0] = lines[0].removeprefix("\ufeff")
    mark = _separator(file, lines, separator)
    return _split(file, lines, mark), mark
