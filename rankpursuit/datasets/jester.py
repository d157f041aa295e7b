"""Jester data set 1: 73,421 users' ratings of 100 jokes, in three archives of spreadsheets."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankpursuit.datasets.archive import read_member
from rankpursuit.datasets.cache import cached_table
from rankpursuit.datasets.data_set import DataSet, RemoteFile
from rankpursuit.datasets.locate import find_files
from rankpursuit.datasets.ratings import Ratings
from rankpursuit.errors import DataError
from rankpursuit.visible import cut


def _jester_file(number: int, size: int, sha256: str) -> RemoteFile:
    name = f"jester_dataset_1_{number}.zip"
    host = "https://eigentaste.berkeley.edu/dataset"
    return RemoteFile(
        name=name,
        sha256=sha256,
        size=size,
        urls=(
            f"{host}/{name}",
            f"{host}/archive/{name}",
            f"https://goldberg.berkeley.edu/jester-data/jester-data-{number}.zip",
            f"https://web.archive.org/web/2025id_/{host}/archive/{name}",
        ),
    )


JESTER = DataSet(
    name="jester",
    title="Jester data set 1: ratings of 100 jokes",
    files=(
        _jester_file(
            1, 4_171_628, "cb7841756ded125b15f3d95c9f8241224065e96354c132a46ae4214deeab7615"
        ),
        _jester_file(
            2, 3_924_205, "4d312fd824d8c8cb2c9c952a7b1fb7c00d1f5fd3ece370f7285aa701d371748b"
        ),
        _jester_file(
            3, 2_151_299, "7f548d3762d3506cf7cd37d8cb9e3adb67984a7da7aa2d2096d5e0b1b884758d"
        ),
    ),
    layouts=(tuple(f"jester_dataset_1_{part}.zip" for part in (1, 2, 3)),),
    n_users=73_421,
    n_items=100,
    n_ratings=4_136_360,
    bounds=(-9.95, 10.0),
    table_sha256="6c5885ad344e7e16751db861c792422803fa1212700a158c28bc05a6caf7317e",
    licence="research use, cite",
    terms="Jester is free for research use when the paper below is cited.",
    citation=(
        'K. Goldberg, T. Roeder, D. Gupta and C. Perkins, "Eigentaste: A Constant Time '
        'Collaborative Filtering Algorithm", Information Retrieval 4(2), 2001.'
    ),
)

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
    files = find_files(JESTER, path)
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
    table = _numbers(sheet, where)
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


def _numbers(sheet: Any, where: str) -> NDArray[np.float64]:
    """Return the cells of a sheet, all of which must be numbers: not text, dates or errors."""
    import xlrd

    for row in range(sheet.nrows):
        for column, kind in enumerate(sheet.row_types(row)):
            if kind != xlrd.XL_CELL_NUMBER:
                value = cut(repr(sheet.cell_value(row, column)), 40)
                raise DataError(
                    f"{where}, row {row + 1}, column {column + 1}: {value} is not a number"
                )
    return np.array([sheet.row_values(row) for row in range(sheet.nrows)], dtype=np.float64)
