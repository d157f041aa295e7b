"""MovieLens 1M: 6,040 users' ratings of 3,706 movies, from ``ml-1m.zip`` or ``ratings.dat``."""

from __future__ import annotations

import io
import os
import re
from pathlib import Path

import numpy as np

from rankpursuit.datasets.fetch import (
    LARGEST_FILE,
    MOVIELENS,
    cached_table,
    find_files,
    read_member,
)
from rankpursuit.datasets.ratings import Ratings
from rankpursuit.errors import DataError

_MEMBER = "ml-1m/ratings.dat"
_LINE = rb"\d{1,9}::\d{1,9}::\d{1,9}(?:::\d{1,18})?"


def load_movielens(path: str | os.PathLike[str] | None = None) -> Ratings:
    """Load MovieLens 1M.

    Parameters
    ----------
    path : path, optional
        ``ml-1m.zip``, an unpacked ``ratings.dat`` (its fourth field, the timestamp, may be absent),
        or a folder with one of them. Default: search ``$RANKPURSUIT_DATA``, ``data/`` of the
        working copy, and the user's cache folder.

    Returns
    -------
    Ratings
        Users and movies keep their numbers as labels.

    Raises
    ------
    DataNotFoundError, DataError
        If there is no such file; if it is malformed, with the line.
    """
    (file,) = find_files(MOVIELENS, path)
    return cached_table("movielens", [file], lambda: _parse(file))


def _parse(file: Path) -> Ratings:
    """Parse lines of ``user::movie::rating``, with or without a timestamp as a fourth field."""
    import pandas as pd

    if file.suffix.lower() == ".zip":
        text, where = read_member(file, _MEMBER), f"{file}: {_MEMBER}"
    elif file.stat().st_size > LARGEST_FILE:
        raise DataError(f"{file}: larger than {LARGEST_FILE:,} bytes")
    else:
        text, where = file.read_bytes(), str(file)
    if not text.strip():
        raise DataError(f"{where}: the file is empty")
    # One regular expression checks every line, so that the fast parser cannot guess.
    if not re.fullmatch(rb"(?:%b\r?\n)*(?:%b)?" % (_LINE, _LINE), text):
        for number, line in enumerate(text.split(b"\n"), start=1):
            if not re.fullmatch(_LINE, line.removesuffix(b"\r")):
                shown = line[:60].decode("latin-1")
                raise DataError(
                    f"{where}, line {number}: {shown!r} is malformed; expected "
                    "user::movie::rating, or user::movie::rating::timestamp"
                )
    table = pd.read_csv(
        io.BytesIO(text.replace(b"::", b":")),
        sep=":",
        header=None,
        names=["user", "movie", "rating", "time"],
        dtype={"user": np.int64, "movie": np.int64, "rating": np.int64},
    )
    columns = (table[name].to_numpy() for name in ("user", "movie", "rating"))
    try:
        return Ratings.from_arrays(*columns, name="movielens", bounds=MOVIELENS.bounds)
    except DataError as error:  # the rows are lines of this file
        raise DataError(f"{where}: {error}") from error
