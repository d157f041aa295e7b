"""Three columns of a text table, CSV or TSV, read as they stand there.

The bytes and the header are looked at first, by themselves: what a parser would guess at is refused
with its line.
"""

from __future__ import annotations

import codecs
import csv
import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rankpursuit.datasets.columns import check_columns
from rankpursuit.errors import DataError

if TYPE_CHECKING:
    import pandas as pd

SEPARATORS = {".csv": ",", ".tsv": "\t", ".tab": "\t"}
LONGEST_LINE = 1_000_000
"""Bytes of a line."""
_CHUNK = 500_000
_ROWS = 200_000
"""Rows parsed at a time, so that columns that are not wanted take no memory for long."""


def separator_of(file: Path, separator: str | None) -> str:
    """Return what separates the fields of a file: as given, else as its ending says."""
    if separator is not None:
        if not is_separator(separator):
            raise DataError(f"separator: expected one character, got {separator!r}")
        return separator
    if file.suffix.lower() not in SEPARATORS:
        raise DataError(
            f"{file}: unknown ending {file.suffix!r}; use .csv, .tsv or .parquet, "
            "or give the separator of its fields"
        )
    return SEPARATORS[file.suffix.lower()]


def is_separator(text: str) -> bool:
    """Tell whether a text can separate the fields of a line."""
    return len(text) == 1 and text not in '"\r\n\0'


def read_text_table(
    file: Path, columns: Sequence[str], separator: str, *, header: bool = True
) -> pd.DataFrame:
    """Return the wanted columns of a text file, all of them text.

    Parameters
    ----------
    file : Path
    columns : sequence of str
        Names of columns; without a header, their numbers from 1.
    separator : str
        One character.
    header : bool
        Whether the first line has the names of the columns.

    Raises
    ------
    DataError
        If the file cannot be read, with the line of what is wrong.
    """
    import pandas as pd

    _check_bytes(file)
    names, first = _first_rows(file, separator)
    if not header:
        names, first = [str(number) for number, _ in enumerate(names, start=1)], []
    check_columns(file, names, columns, numbered=not header)
    if len(first) > len(names):
        raise DataError(
            f"{file}, line {line_of(file, 0, separator)}: malformed: has {len(first):,} fields, "
            f"and the header {len(names):,}"
        )
    try:
        with pd.read_csv(
            file,
            sep=separator,
            names=None if header else names,
            dtype=str,
            keep_default_na=False,
            skip_blank_lines=False,
            index_col=False,
            compression=None,
            chunksize=_ROWS,
        ) as parts:
            return pd.concat([part[list(columns)] for part in parts], ignore_index=True)
    except (pd.errors.ParserError, pd.errors.EmptyDataError) as error:
        reason = str(error).strip().removeprefix("Error tokenizing data. C error: ")
        raise DataError(f"{file}: malformed: {reason}") from error


def line_of(file: Path, row: int, separator: str, *, header: bool = True) -> int:
    """Return the line of a row, counted from 0 behind the header; a quoted field can have several.

    Only for messages: it reads the file again up to there.
    """
    with file.open(encoding="utf-8-sig", newline="") as lines:
        reader = csv.reader(lines, delimiter=separator)
        try:
            above = row + header
            next(itertools.islice(reader, above, above), None)  # header and rows before
            before = reader.line_num
            next(reader)
        except (csv.Error, StopIteration):  # a field longer than csv takes
            return row + header + 1
        return before + 1


def _check_bytes(file: Path) -> None:
    """Refuse what is not text in UTF-8, null characters, which cut texts short, and long lines."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    line, length = 1, 0
    with file.open("rb") as opened:
        while chunk := opened.read(_CHUNK):
            try:
                decoder.decode(chunk)
            except UnicodeDecodeError as error:
                line += error.object[: error.start].count(b"\n")
                raise DataError(f"{file}, line {line}: not text in UTF-8") from error
            if b"\0" in chunk:
                line += chunk[: chunk.index(b"\0")].count(b"\n")
                raise DataError(f"{file}, line {line}: holds a null character")
            # A chunk is shorter than the longest line: only one that began before can be too long.
            end = chunk.find(b"\n")
            length += len(chunk) if end < 0 else end
            if length > LONGEST_LINE:
                raise DataError(f"{file}, line {line}: longer than {LONGEST_LINE:,} bytes")
            if end >= 0:
                length = len(chunk) - 1 - chunk.rfind(b"\n")
                line += chunk.count(b"\n")
    try:
        decoder.decode(b"", final=True)
    except UnicodeDecodeError as error:
        raise DataError(f"{file}, line {line}: not text in UTF-8") from error


def _first_rows(file: Path, separator: str) -> tuple[list[str], list[str]]:
    """Return the names of the columns as they stand in the file, and the fields below them."""
    with file.open(encoding="utf-8-sig", newline="") as lines:
        reader = csv.reader(lines, delimiter=separator)
        try:
            return next(reader, []), next(reader, [])
        except csv.Error as error:
            raise DataError(f"{file}, line {reader.line_num}: malformed: {error}") from error
