"""A person's own ratings: CSV, TSV, or Parquet where pyarrow is installed."""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from rankpursuit.datasets.ratings import Ratings, check_values
from rankpursuit.errors import DataError, DataNotFoundError

if TYPE_CHECKING:
    import pandas as pd

SEPARATORS = {".csv": ",", ".tsv": "\t", ".tab": "\t"}
PARQUET = (".parquet", ".pq")


def load_ratings(
    path: str | os.PathLike[str],
    *,
    user: str = "user",
    item: str = "item",
    rating: str = "rating",
    separator: str | None = None,
    bounds: tuple[float, float] | None = None,
    name: str | None = None,
) -> Ratings:
    """Load a table of ratings with one row for each rating.

    Parameters
    ----------
    path : path
        A ``.csv``, ``.tsv`` or ``.parquet`` file with a header. Further columns are ignored.
    user, item, rating : str
        Names of the three columns. Users and items may be numbers or text: ``7`` and ``07`` are
        different.
    separator : str, optional
        What separates the fields of a text file; by default as its ending says.
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
    file = Path(path).expanduser()
    if not file.is_file():
        raise DataNotFoundError(f"{file}: no such file")
    if file.stat().st_size == 0:
        raise DataError(f"{file}: the file is empty")
    columns = (user, item, rating)
    if len(set(columns)) != len(columns):
        raise DataError(f"user, item and rating must be three different columns, not {columns}")
    if file.suffix.lower() in PARQUET:
        frame, unit, first = _read_parquet(file), "row", 1
    else:
        frame, unit, first = _read_text(file, separator), "line", 2  # line 1 is the header
    missing = [column for column in columns if column not in frame.columns]
    if missing:
        raise DataError(
            f"{file}: no column {missing[0]!r}; its columns are "
            f"{', '.join(map(str, frame.columns))}; name yours with user=, item= and rating="
        )
    if frame.empty:
        raise DataError(f"{file}: the file has a header but no ratings")
    values = _check(file, frame, columns, bounds, unit, first)
    users, items = (frame[column].to_numpy(dtype=str) for column in (user, item))
    return Ratings.from_arrays(users, items, values, name=name or file.stem)


def _read_text(file: Path, separator: str | None) -> pd.DataFrame:
    import pandas as pd

    sep = separator or SEPARATORS.get(file.suffix.lower())
    if sep is None:
        raise DataError(
            f"{file}: unknown ending {file.suffix!r}; use .csv, .tsv or .parquet, "
            "or give separator="
        )
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)
            return pd.read_csv(
                file,
                sep=sep,
                dtype=str,
                keep_default_na=False,
                skip_blank_lines=False,
                index_col=False,
            )
    except pd.errors.ParserWarning as error:
        raise DataError(f"{file}: malformed: every line has more fields than the header") from error
    except UnicodeDecodeError as error:
        raise DataError(f"{file}: not a text file in UTF-8 ({error})") from error
    except (pd.errors.ParserError, pd.errors.EmptyDataError) as error:
        reason = str(error).strip().removeprefix("Error tokenizing data. C error: ")
        raise DataError(f"{file}: malformed: {reason}") from error


def _read_parquet(file: Path) -> pd.DataFrame:
    import pandas as pd

    try:
        import pyarrow
    except ImportError as error:
        raise DataError(
            f"{file}: reading Parquet needs pyarrow: pip install 'rankpursuit[parquet]'"
        ) from error
    try:
        return pd.read_parquet(file, engine="pyarrow")
    except (pyarrow.ArrowException, OSError) as error:
        raise DataError(f"{file}: cannot be read as Parquet: {error}") from error


def _check(
    file: Path,
    frame: pd.DataFrame,
    columns: tuple[str, str, str],
    bounds: tuple[float, float] | None,
    unit: str,
    first: int,
) -> np.ndarray:
    """Return the ratings as numbers; name the line or row of the first one that is wrong."""
    import pandas as pd

    user, item, rating = columns
    for column in (user, item):
        bad = np.flatnonzero(frame[column].isna() | (frame[column].astype(str).str.strip() == ""))
        if bad.size:
            raise DataError(f"{file}, {unit} {bad[0] + first}: the field {column!r} is empty")
    values = pd.to_numeric(frame[rating], errors="coerce").to_numpy(np.float64)
    bad = np.flatnonzero(~np.isfinite(values))
    if bad.size:
        shown = str(frame[rating].iloc[bad[0]])[:40]
        raise DataError(f"{file}, {unit} {bad[0] + first}: the rating {shown!r} is not a number")
    check_values(values, str(file), bounds, unit=unit, first=first)
    twice = np.flatnonzero(frame.duplicated([user, item]))
    if twice.size:
        row = frame.iloc[twice[0]]
        raise DataError(
            f"{file}, {unit} {twice[0] + first}: user {row[user]} rated item {row[item]} "
            "a second time; keep one of them"
        )
    return values
