"""Jester data set 1: 73,421 users' ratings of 100 jokes, in three archives of spreadsheets."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rankpursuit.datasets.archive import read_member
from rankpursuit.datasets.cache import cached_table
from rankpursuit.datasets.locate import find_files
from rankpursuit.datasets.ratings import Ratings
from rankpursuit.datasets.registry import known
from rankpursuit.errors import DataError

N_JOKES = 100
NOT_RATED = 99.0
RANGE = (-10.0, 10.0)


def load_jester(path: str | os.PathLike[str] | None = None) -> Ratings:
    """Load Jester data set 1.

    The spreadsheets are parsed once per machine, in about a quarter of a minute; later calls read
    the cached table in well under a second.

    Parameters
    ----------
    path : path, optional
        Folder with the three official archives ``jester_dataset_1_{1,2,3}.zip``. By default they
        are looked for in ``$RANKPURSUIT_DATA``, in ``data/`` of the working copy, and in the user's
        cache folder.

    Returns
    -------
    Ratings
        Users are labelled 1, 2, ... in the order of the three files, jokes 1 to 100.

    Raises
    ------
    DataNotFoundError
        If the archives are not there.
    DataError
        If an archive or its spreadsheet is not what it should be.
    """
    files = find_files(known("jester"), path)
    if len(files) == 1:
        raise DataError(f"jester: {files[0]} is a file; give the folder of the three archives")
    return cached_table("jester", files, lambda: _parse(files))


def _parse(files: list[Path]) -> Ratings:
    matrix = np.concatenate([read_spreadsheet(file) for file in files])
    users, jokes = np.nonzero(matrix != NOT_RATED)
    return Ratings.from_arrays(users + 1, jokes + 1, matrix[users, jokes], name="jester")


def read_spreadsheet(archive: Path) -> NDArray[np.float64]:
    """Read the one spreadsheet of a Jester archive.

    Parameters
    ----------
    archive : Path
        A zip archive of one ``.xls`` of N rows and 101 columns: how many jokes the user rated, then
        the ratings of the 100 jokes, 99 for a joke not rated.

    Returns
    -------
    array of shape (N, 100)
        The ratings, 99 where there is none.
    """
    import xlrd

    content = read_member(archive, ".xls")
    where = f"{archive}: the spreadsheet"
    try:
        with open(os.devnull, "w") as log:
            sheet = xlrd.open_workbook(file_contents=content, logfile=log).sheet_by_index(0)
    except Exception as error:  # xlrd fails on damaged files in many ways, all of which mean this
        raise DataError(f"{where} cannot be read as .xls ({error}); download it again") from error
    if sheet.ncols != N_JOKES + 1 or sheet.nrows == 0:
        raise DataError(
            f"{where} has {sheet.nrows} rows and {sheet.ncols} columns, expected {N_JOKES + 1} "
            "columns: the number of jokes rated, then one column for each of the 100 jokes"
        )
    table = _numbers([sheet.row_values(row) for row in range(sheet.nrows)], where)
    counts, ratings = table[:, 0], table[:, 1:]
    rated = ratings != NOT_RATED
    low, high = RANGE
    bad = np.argwhere(rated & ~((ratings >= low) & (ratings <= high)))
    if bad.size:
        row, joke = bad[0]
        raise DataError(
            f"{where}, row {row + 1}, joke {joke + 1}: the rating {ratings[row, joke]:g} is "
            f"outside {low:g} to {high:g}"
        )
    wrong = np.flatnonzero(counts != rated.sum(axis=1))
    if wrong.size:
        row = wrong[0]
        raise DataError(
            f"{where}, row {row + 1}: says {counts[row]:g} jokes were rated, but holds "
            f"{rated[row].sum()} ratings"
        )
    return ratings


def _numbers(rows: list[list[object]], where: str) -> NDArray[np.float64]:
    try:
        return np.array(rows, dtype=np.float64)
    except ValueError:
        for number, row in enumerate(rows, start=1):
            for column, value in enumerate(row, start=1):
                if not isinstance(value, float):
                    raise DataError(
                        f"{where}, row {number}, column {column}: {value!r} is not a number"
                    ) from None
        raise
