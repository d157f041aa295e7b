"""Jester data set 1: 73,421 users' ratings of 100 jokes, in three archives of spreadsheets."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rankpursuit.datasets.fetch import JESTER, cached_table, find_files, read_member
from rankpursuit.datasets.ratings import Ratings
from rankpursuit.errors import DataError
from rankpursuit.text import cut

N_JOKES = 100
NOT_RATED = 99.0
LOW, HIGH = -10.0, 10.0


def load_jester(path: str | os.PathLike[str] | None = None) -> Ratings:
    """Load Jester data set 1.

    Parsing the spreadsheets takes some ten seconds; later calls read the cached table.

    Parameters
    ----------
    path : path, optional
        Folder with the three official archives ``jester_dataset_1_{1,2,3}.zip``. Default: search
        ``$RANKPURSUIT_DATA``, ``data/`` of the working copy, and the user's cache folder.

    Returns
    -------
    Ratings
        Users are labelled 1, 2, ... in the order of the three files, jokes 1 to 100.

    Raises
    ------
    DataNotFoundError, DataError
        If the archives are not found; if one is damaged.
    """
    files = find_files(JESTER, path)
    if len(files) == 1:
        raise DataError(f"jester: {files[0]} is a file; give the folder of the three archives")
    return cached_table("jester", files, lambda: _parse(files))


def _parse(files: list[Path]) -> Ratings:
    matrix = np.concatenate([read_spreadsheet(file) for file in files])
    users, jokes = np.nonzero(matrix != NOT_RATED)
    return Ratings.from_arrays(users + 1, jokes + 1, matrix[users, jokes], name="jester")


def read_spreadsheet(archive: Path) -> NDArray[np.float64]:
    """Return the ratings in an archive, shape (n_users, 100), 99 for a joke not rated.

    The spreadsheet has 101 columns: the number of jokes that the user rated, then the ratings.
    """
    import xlrd

    content = read_member(archive, ".xls")
    where = f"{archive}: the spreadsheet"
    try:
        with open(os.devnull, "w") as log:
            sheet = xlrd.open_workbook(file_contents=content, logfile=log).sheet_by_index(0)
    except Exception as error:  # xlrd fails on damaged files in many ways
        raise DataError(f"{where} cannot be read as .xls ({error}); download it again") from error
    if sheet.ncols != N_JOKES + 1 or sheet.nrows == 0:
        raise DataError(
            f"{where} has {sheet.nrows} rows and {sheet.ncols} columns, expected {N_JOKES + 1} "
            "columns: the number of jokes rated, then one column for each of the 100 jokes"
        )
    for row in range(sheet.nrows):
        for column, kind in enumerate(sheet.row_types(row)):
            if kind != xlrd.XL_CELL_NUMBER:  # text, a date or an error such as #DIV/0!
                value = cut(repr(sheet.cell_value(row, column)), 40)
                raise DataError(
                    f"{where}, row {row + 1}, column {column + 1}: {value} is not a number"
                )
    table = np.array([sheet.row_values(row) for row in range(sheet.nrows)], dtype=np.float64)
    counts, ratings = table[:, 0], table[:, 1:]
    rated = ratings != NOT_RATED
    outside = np.argwhere(rated & ~((ratings >= LOW) & (ratings <= HIGH)))
    if outside.size:
        row, joke = outside[0]
        raise DataError(
            f"{where}, row {row + 1}, joke {joke + 1}: the rating {ratings[row, joke]:g} is "
            f"outside {LOW:g} to {HIGH:g}"
        )
    wrong = np.flatnonzero(counts != rated.sum(axis=1))
    if wrong.size:
        row = wrong[0]
        raise DataError(
            f"{where}, row {row + 1}: says {counts[row]:g} jokes were rated, but holds "
            f"{rated[row].sum()} ratings"
        )
    return ratings
