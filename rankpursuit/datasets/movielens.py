"""MovieLens 1M: 6,040 users' ratings of 3,706 movies, from ``ml-1m.zip`` or ``ratings.dat``."""

from __future__ import annotations

import io
import os
import re
from pathlib import Path

import numpy as np

from rankpursuit.datasets.archive import LARGEST_MEMBER, looks_like_html, read_member
from rankpursuit.datasets.cache import cached_table
from rankpursuit.datasets.data_set import DataSet, RemoteFile
from rankpursuit.datasets.locate import find_files
from rankpursuit.datasets.ratings import Ratings, check_values
from rankpursuit.errors import DataError

MOVIELENS = DataSet(
    name="movielens",
    title="MovieLens 1M: ratings of 3,706 movies, 1 to 5 stars",
    files=(
        RemoteFile(
            name="ml-1m.zip",
            sha256="a6898adb50b9ca05aa231689da44c217cb524e7ebd39d264c56e2832f2c54e20",
            size=5_917_549,
            urls=(
                "https://files.grouplens.org/datasets/movielens/ml-1m.zip",
                "http://files.grouplens.org/datasets/movielens/ml-1m.zip",
            ),
        ),
    ),
    layouts=(("ml-1m/ratings.dat",), ("ml-1m.zip",), ("ratings.dat",)),
    n_users=6_040,
    n_items=3_706,
    n_ratings=1_000_209,
    bounds=(1.0, 5.0),
    table_sha256="7df1c010ed1c8062c925f60c1f0f904127258c7365f28a51e9b2f0c2587bea17",
    licence="research use, acknowledge, do not redistribute",
    terms=(
        "MovieLens may be used for research, must be acknowledged in publications, and may not be "
        "redistributed."
    ),
    citation=(
        'F. M. Harper and J. A. Konstan, "The MovieLens Datasets: History and Context", ACM '
        "Transactions on Interactive Intelligent Systems 5(4), 2015."
    ),
)

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
    (file,) = find_files(MOVIELENS, path)
    return cached_table("movielens", [file], lambda: _parse(file))


def _parse(file: Path) -> Ratings:
    if file.suffix.lower() == ".zip":
        return parse_ratings(read_member(file, MEMBER), f"{file}: {MEMBER}")
    size = file.stat().st_size
    if size > LARGEST_MEMBER:
        raise DataError(f"{file}: {size:,} bytes, and {LARGEST_MEMBER:,} is the most")
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
    check_values(values, lambda row: f"{where}, line {row + 1}", RANGE)
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
