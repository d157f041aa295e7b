"""MovieLens 1M: 6,040 users' ratings of 3,706 movies, from ``ml-1m.zip`` or ``ratings.dat``."""

from __future__ import annotations

import io
import os
import re
from pathlib import Path

import numpy as np

from rankpursuit.datasets.archive import looks_like_html, read_member
from rankpursuit.datasets.cache import cached_table
from rankpursuit.datasets.locate import find_files
from rankpursuit.datasets.ratings import Ratings, check_values
from rankpursuit.datasets.registry import known
from rankpursuit.errors import DataError

MEMBER = "ml-1m/ratings.dat"
RANGE = (1.0, 5.0)

_LINE = rb"\d{1,9}::\d{1,9}::\d{1,9}(?:::\d{1,18})?"


def load_movielens(path: str | os.PathLike[str] | None = None) -> Ratings:
    """Load MovieLens 1M.

    Parameters
    ----------
    path : path, optional
        ``ml-1m.zip``, an unpacked ``ratings.dat`` (its fourth field, the timestamp, may be absent),
        or a folder with one of them. By default they are looked for in ``$RANKPURSUIT_DATA``, in
        ``data/`` of the working copy, and in the user's cache folder.

    Returns
    -------
    Ratings
        Users and movies keep their numbers as labels.

    Raises
    ------
    DataNotFoundError
        If there is no such file.
    DataError
        If the file is not what it should be; a malformed line is named by its number.
    """
    (file,) = find_files(known("movielens"), path)
    return cached_table("movielens", [file], lambda: _parse(file))


def _parse(file: Path) -> Ratings:
    if file.suffix.lower() == ".zip":
        return parse_ratings(read_member(file, MEMBER), f"{file}: {MEMBER}")
    return parse_ratings(file.read_bytes(), str(file))


def parse_ratings(text: bytes, where: str) -> Ratings:
    """Parse lines of ``user::movie::rating``, each with or without a timestamp as a fourth field.

    Parameters
    ----------
    text : bytes
        Contents of a ``ratings.dat``.
    where : str
        What to call the file in messages.

    Returns
    -------
    Ratings
    """
    import pandas as pd

    if not text.strip():
        raise DataError(f"{where}: the file is empty")
    if looks_like_html(text[:512]):
        raise DataError(f"{where}: a web page, not a table of ratings; download it again")
    # One pass of a regular expression vouches for every line, so that the fast parser cannot guess.
    if not re.fullmatch(rb"(?:%b\r?\n)*(?:%b)?" % (_LINE, _LINE), text):
        raise DataError(_first_malformed(text, where))
    table = pd.read_csv(
        io.BytesIO(text.replace(b"::", b":")),
        sep=":",
        header=None,
        names=["user", "movie", "rating", "time"],
        dtype={"user": np.int64, "movie": np.int64, "rating": np.int64},
    )
    values = table["rating"].to_numpy(np.float64)
    check_values(values, where, RANGE, unit="line")
    try:
        return Ratings.from_arrays(
            table["user"].to_numpy(), table["movie"].to_numpy(), values, name="movielens"
        )
    except DataError as error:  # a duplicate: its rows are lines of this file
        raise DataError(f"{where}: {error}") from error


def _first_malformed(text: bytes, where: str) -> str:
    expected = "expected user::movie::rating, or user::movie::rating::timestamp"
    for number, line in enumerate(text.split(b"\n"), start=1):
        if not re.fullmatch(_LINE, line.removesuffix(b"\r")):
            shown = line[:60].decode("latin-1")
            return f"{where}, line {number}: {shown!r} is malformed; {expected}"
    return f"{where}: malformed; {expected}"
