"""Reading the tables of a run: every row is checked, and the line of a bad one is named."""

from __future__ import annotations

import gzip
import io
import warnings
import zlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from rankpursuit.errors import ResultsError
from rankpursuit.experiments.methods import AXES

MEND = "run rp-run again to write it"
"""What to do about a file that is not as a run wrote it."""

KEY = ("group", "repeat", "algorithm", "metric")
_TEXT = ("group", "algorithm", "metric", "method", "on_edge", "axis")
_LARGEST = 2**53  # of the whole numbers that a float can hold


@dataclass(frozen=True)
class Columns:
    """The columns of a table.

    Attributes
    ----------
    key : tuple of str
        No two rows have the same key, and no row lacks part of it.
    numbers : tuple of str
        Columns of numbers of at least 0.
    counts : tuple of str
        Columns of whole numbers; of at least 1 but for the index of a user.
    text : tuple of str
        Further columns, which may be empty.
    optional : tuple of str
        Columns of numbers that may be absent, and whose cells may be empty.
    """

    key: tuple[str, ...]
    numbers: tuple[str, ...]
    counts: tuple[str, ...]
    text: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()

    @property
    def required(self) -> set[str]:
        """The columns that a table must have."""
        return {*self.key, *self.numbers, *self.counts, *self.text}


REPEATS = Columns(
    key=KEY,
    numbers=("test_error", "basis_functions", "basis_share"),
    counts=("repeat", "n_users"),
    text=("on_edge",),
    optional=("holdout_error", *(axis.column for axis in AXES.values())),
)
USERS = Columns(
    key=(*KEY, "user"),
    numbers=("error",),
    counts=("repeat", "user"),
    optional=("n_basis", "n_points", "n_test"),
)
CURVES = Columns(
    key=(*KEY, "axis", "value"),
    numbers=("value", "holdout_error"),
    counts=("repeat",),
    optional=("test_error",),
)


def read_bytes(path: Path) -> bytes:
    """Return the contents of a file of a run.

    Raises
    ------
    ResultsError
        If it is missing or cannot be read.
    """
    try:
        return path.read_bytes()
    except FileNotFoundError as error:
        raise ResultsError(
            f"{path}: missing; run the experiment with rp-run until something is complete"
        ) from error
    except OSError as error:
        raise ResultsError(f"{path}: not readable: {error.strerror}") from error


def read_table(path: Path, content: bytes, columns: Columns) -> pd.DataFrame:
    """Return a table of a run.

    Parameters
    ----------
    path : Path
        Its file, compressed if the name ends in ``.gz``.
    content : bytes
        What the file holds.
    columns : Columns

    Raises
    ------
    ResultsError
        If it is no table, lacks columns, or a row is not as it should be; names the line.
    """
    frame = _parsed(path, content)
    missing = sorted(columns.required - set(frame.columns))
    if missing:
        raise ResultsError(f"{path}: lacks the columns {', '.join(missing)}; {MEND}")
    if frame.empty:
        raise ResultsError(f"{path}: has no rows; {MEND}")
    for name in columns.key:
        _refuse(path, frame[name].isna(), f"{name} is empty")
    for name in (*columns.numbers, *columns.optional):
        if name in frame:
            empty = name in columns.optional
            frame[name] = _numbers(path, frame[name], may_be_empty=empty)
    for name in columns.counts:
        frame[name] = _counts(path, frame[name], least=0 if name == "user" else 1)
    same = f"an earlier line has the same {', '.join(columns.key[:-1])} and {columns.key[-1]}"
    _refuse(path, frame.duplicated(list(columns.key)), same)
    return frame


def _parsed(path: Path, content: bytes) -> pd.DataFrame:
    try:
        if path.suffix == ".gz":
            content = gzip.decompress(content)
        if not content.endswith(b"\n"):
            raise ResultsError(f"{path}: cut short, its last line has no end; {MEND}")
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)
            return pd.read_csv(
                io.BytesIO(content),
                dtype=dict.fromkeys(_TEXT, str),
                index_col=False,
                keep_default_na=False,  # an algorithm may be called NA
                na_values=[""],
                low_memory=False,
                skip_blank_lines=False,
            )
    except pd.errors.ParserWarning as error:
        raise ResultsError(f"{path}: its lines have more cells than its first; {MEND}") from error
    except (OSError, EOFError, ValueError, zlib.error) as error:
        reason = " ".join(str(error).split())
        raise ResultsError(f"{path}: not readable as a table: {reason}; {MEND}") from error


def _numbers(path: Path, column: pd.Series, *, may_be_empty: bool = False) -> pd.Series:
    """Return a column as numbers; refuse what is none, is not finite, or is below 0."""
    numbers = column
    if not pd.api.types.is_numeric_dtype(column) or pd.api.types.is_bool_dtype(column):
        numbers = pd.to_numeric(column.astype(str).where(column.notna()), errors="coerce")
    bad = ~(np.isfinite(numbers.astype(float)) & (numbers >= 0))
    if may_be_empty:
        bad &= column.notna()
    _refuse(path, bad, f"{column.name} is not a number of at least 0", column)
    return numbers


def _counts(path: Path, column: pd.Series, *, least: int) -> pd.Series:
    """Return a column as whole numbers; refuse others, and those below the least."""
    numbers = _numbers(path, column)
    bad = (numbers % 1 != 0) | (numbers < least) | (numbers > _LARGEST)
    _refuse(path, bad, f"{column.name} is not a whole number of at least {least}", column)
    return numbers.astype(np.int64)


def _refuse(path: Path, bad: pd.Series, fault: str, values: pd.Series | None = None) -> None:
    """Raise an error that names the first bad row."""
    if bad.any():
        at = int(np.argmax(bad.to_numpy(dtype=bool)))
        got = "" if values is None else f", got {str(values.iloc[at])[:40]!r}"
        raise ResultsError(f"{path}, line {line_of(at)}: {fault}{got}; {MEND}")


def line_of(row: int) -> int:
    """Return the number of the line that a row, counted from 0, has in its file."""
    return row + 2
