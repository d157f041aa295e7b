"""A person's own ratings: CSV, TSV, or Parquet where pyarrow is installed."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rankpursuit.datasets.columns import check_columns
from rankpursuit.datasets.parquet import pyarrow_for
from rankpursuit.datasets.ratings import Ratings, check_values
from rankpursuit.datasets.text_table import line_of, read_text_table, separator_of
from rankpursuit.errors import DataError, DataNotFoundError
from rankpursuit.visible import cut

if TYPE_CHECKING:
    import pandas as pd

PARQUET = (".parquet", ".pq")
MOST_ROWS = 100_000_000
"""Rows of a Parquet file, in which a few bytes can stand for any number of rows."""
LONGEST_ID = 200
"""Characters of the id of a user or an item."""
LONGEST_PATH = 1000
"""Characters of a path in messages."""
_SHOWN = 40
"""Characters of a rating in messages."""


def load_ratings(
    path: str | os.PathLike[str],
    *,
    user: str | int = "user",
    item: str | int = "item",
    rating: str | int = "rating",
    separator: str | None = None,
    header: bool = True,
    bounds: tuple[float, float] | None = None,
    name: str | None = None,
) -> Ratings:
    """Load a table of ratings with one row for each rating.

    Parameters
    ----------
    path : path
        A ``.csv``, ``.tsv`` or ``.parquet`` file, or any other text file with a `separator`.
        Further columns are ignored.
    user, item, rating : str or int
        Names of the three columns; without a header their numbers, by default 1, 2 and 3. Users
        and items may be numbers or text of up to `LONGEST_ID` characters: ``7`` and ``07`` are
        different.
    separator : str, optional
        What separates the fields of a text file, one character; by default as its ending says.
    header : bool
        Whether the first line of a text file has the names of the columns.
    bounds : (low, high), optional
        Refuse ratings outside of these bounds.
    name : str, optional
        What to call the table; by default the file's name without its ending.

    Returns
    -------
    Ratings

    Raises
    ------
    DataNotFoundError
        If there is no such file.
    DataError
        If it cannot be read; the message names the line of a text file, or the row of a Parquet
        file.
    """
    file = Path(os.path.expanduser(path))
    columns = column_names(user, item, rating, header=header)
    if len(set(columns)) != len(columns):
        raise DataError(f"user, item and rating must be three different columns, not {columns}")
    try:
        if not file.is_file():
            raise DataNotFoundError(f"{cut(str(file), LONGEST_PATH)}: no such file")
        if file.stat().st_size == 0:
            raise DataError(f"{file}: the file is empty")
        frame, place = _read(file, columns, separator, header)
    except DataNotFoundError:
        raise
    except OSError as error:
        called, reason = cut(str(file), LONGEST_PATH), error.strerror or error
        raise DataError(f"{called}: cannot be read: {reason}") from error
    if frame.empty:
        raise DataError(f"{file}: the file has a header but no ratings")
    of_users, of_items, of_ratings = (frame[column] for column in columns)
    user_ids, users = _ids(of_users, place)
    item_ids, items = _ids(of_items, place)
    values = _values(of_ratings, place, bounds)
    twice = np.flatnonzero(_again(users * len(item_ids) + items))
    if twice.size:
        at = twice[0]
        raise DataError(
            f"{place(at)}: user {user_ids[users[at]]} rated item {item_ids[items[at]]} a second "
            "time; keep one of them"
        )
    table = Ratings.from_arrays(users, items, values, name=name or file.stem)
    return replace(table, user_ids=user_ids, item_ids=item_ids)


Place = Callable[[int], str]
"""Names a row of a file, counted from 0."""


def column_names(
    user: str | int, item: str | int, rating: str | int, *, header: bool
) -> tuple[str, str, str]:
    """Return what the three columns are called: without a header, by their numbers from 1.

    Raises
    ------
    DataError
        If a column has a name and the file no header, or the other way round.
    """
    names = []
    for number, (column, usual) in enumerate(((user, "user"), (item, "item"), (rating, "rating"))):
        if not header and column == usual:
            column = number + 1
        if isinstance(column, int) == header:
            must = "a name" if header else "a number from 1, since there is no header"
            raise DataError(f"{usual}: expected {must}, got {column!r}")
        names.append(str(column))
    return names[0], names[1], names[2]


def _read(
    file: Path, columns: Sequence[str], separator: str | None, header: bool
) -> tuple[pd.DataFrame, Place]:
    if file.suffix.lower() in PARQUET:
        if not header:
            raise DataError(f"{file}: the columns of a Parquet file have names: leave out header")
        return _read_parquet(file, columns), lambda row: f"{file}, row {row + 1}"
    sep = separator_of(file, separator)
    frame = read_text_table(file, columns, sep, header=header)
    return frame, lambda row: f"{file}, line {line_of(file, row, sep, header=header)}"


def _read_parquet(file: Path, columns: Sequence[str]) -> pd.DataFrame:
    pyarrow = pyarrow_for(file)
    try:
        with pyarrow.parquet.ParquetFile(file) as opened:
            n_rows = opened.metadata.num_rows
            if n_rows > MOST_ROWS:
                raise DataError(f"{file}: has {n_rows:,} rows, and {MOST_ROWS:,} is the most")
            check_columns(file, opened.schema_arrow.names, columns)
            table = opened.read(columns=list(columns)).select(list(columns))
        for column in columns:
            kind = table.schema.field(column).type
            kind = kind.value_type if pyarrow.types.is_dictionary(kind) else kind
            if not any(allowed(kind) for allowed in _allowed(pyarrow.types)):
                raise DataError(f"{file}: the column {column!r} is of {kind}, not numbers or text")
        return table.to_pandas(ignore_metadata=True)
    except DataError:
        raise
    except (pyarrow.ArrowException, OSError, ValueError, TypeError, KeyError) as error:
        raise DataError(f"{file}: cannot be read as Parquet: {error}") from error


def _allowed(types: Any) -> tuple[Callable[[Any], bool], ...]:
    text = types.is_string, types.is_large_string
    return (*text, types.is_integer, types.is_floating, types.is_decimal, types.is_null)


def _again(keys: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Tell which rows have the key of an earlier one."""
    import pandas as pd

    return pd.Series(keys).duplicated().to_numpy()


def _ids(column: pd.Series, place: Place) -> tuple[NDArray[np.str_], NDArray[np.intp]]:
    """Return the different ids as text, ascending, and the number of each row's id.

    Names the row of the first that is empty or too long. Only the different ones become an array of
    text, which takes as much memory for each as for the longest.
    """
    import pandas as pd

    text = column.astype(str)
    bad = np.flatnonzero(column.isna() | (text.str.strip() == ""))
    if bad.size:
        raise DataError(f"{place(bad[0])}: the field {str(column.name)!r} is empty")
    bad = np.flatnonzero(text.str.len() > LONGEST_ID)
    if bad.size:
        raise DataError(
            f"{place(bad[0])}: the field {str(column.name)!r} has {len(text.iloc[bad[0]]):,} "
            f"characters, and {LONGEST_ID} is the most"
        )
    codes, distinct = pd.factorize(column)
    ids, ranks = np.unique(pd.Index(distinct).to_numpy(dtype=str), return_inverse=True)
    return ids, ranks[codes]


def _values(
    column: pd.Series, place: Place, bounds: tuple[float, float] | None
) -> NDArray[np.float64]:
    """Return ratings as numbers; name the row of the first that is none."""
    import pandas as pd

    values = pd.to_numeric(column, errors="coerce").to_numpy(np.float64, na_value=np.nan)
    bad = np.flatnonzero(~np.isfinite(values))
    if bad.size:
        shown = cut(str(column.iloc[bad[0]]), _SHOWN)
        hint = "; decimals have a point" if re.fullmatch(r"-?\d+,\d+", shown) else ""
        raise DataError(f"{place(bad[0])}: the rating {shown!r} is not a number{hint}")
    check_values(values, place, bounds)
    return values
