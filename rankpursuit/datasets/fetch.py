"""Public data sets: download, search on disk, loaders, and a cache of parsed tables."""

from __future__ import annotations

import hashlib
import io
import logging
import os
import zipfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray

from rankpursuit.datasets.ratings import ARRAYS, Ratings
from rankpursuit.datasets.synthetic import make_ratings
from rankpursuit.errors import (
    DataError,
    DataNotFoundError,
    DownloadError,
    OutputError,
    warn_caller,
)
from rankpursuit.text import one_line, truncate
from rankpursuit.writing import replacing

DATA_VARIABLE = "RANKPURSUIT_DATA"
CACHE_VARIABLE = "RANKPURSUIT_CACHE"
LARGEST_FILE = 256 * 1024 * 1024
"""Maximum size in bytes of an archive member, which is read into memory."""


class RemoteFile(NamedTuple):
    """A file of a data set, as published by its owners; URLs are tried in order."""

    name: str
    sha256: str
    urls: tuple[str, ...]


@dataclass(frozen=True)
class DataSet:
    """A public data set: files and terms of use."""

    name: str
    title: str
    size: int  # of the files, in bytes
    files: tuple[RemoteFile, ...]
    layouts: tuple[tuple[str, ...], ...]  # each a complete set of files
    table_sha256: str  # `Ratings.checksum`, equal for an archive and its unpacked file
    terms: str
    citation: str


def _jester_file(number: int, sha256: str) -> RemoteFile:
    name, host = f"jester_dataset_1_{number}.zip", "https://eigentaste.berkeley.edu/dataset"
    urls = (
        f"{host}/{name}",
        f"{host}/archive/{name}",
        f"https://goldberg.berkeley.edu/jester-data/jester-data-{number}.zip",
        f"https://web.archive.org/web/2025id_/{host}/archive/{name}",
    )
    return RemoteFile(name, sha256, urls)


JESTER = DataSet(
    name="jester",
    title="Jester data set 1: ratings of 100 jokes",
    size=10_247_132,
    files=(
        _jester_file(1, "cb7841756ded125b15f3d95c9f8241224065e96354c132a46ae4214deeab7615"),
        _jester_file(2, "4d312fd824d8c8cb2c9c952a7b1fb7c00d1f5fd3ece370f7285aa701d371748b"),
        _jester_file(3, "7f548d3762d3506cf7cd37d8cb9e3adb67984a7da7aa2d2096d5e0b1b884758d"),
    ),
    layouts=(tuple(f"jester_dataset_1_{part}.zip" for part in (1, 2, 3)),),
    table_sha256="6c5885ad344e7e16751db861c792422803fa1212700a158c28bc05a6caf7317e",
    terms="free for research use, cite the paper",
    citation=(
        'K. Goldberg, T. Roeder, D. Gupta and C. Perkins, "Eigentaste: A Constant Time '
        'Collaborative Filtering Algorithm", Information Retrieval 4(2), 2001.'
    ),
)
MOVIELENS = DataSet(
    name="movielens",
    title="MovieLens 1M: ratings of 3,706 movies, 1 to 5 stars",
    size=5_917_549,
    files=(
        RemoteFile(
            "ml-1m.zip",
            "a6898adb50b9ca05aa231689da44c217cb524e7ebd39d264c56e2832f2c54e20",
            (
                "https://files.grouplens.org/datasets/movielens/ml-1m.zip",
                "http://files.grouplens.org/datasets/movielens/ml-1m.zip",
            ),
        ),
    ),
    layouts=(("ml-1m/ratings.dat",), ("ml-1m.zip",), ("ratings.dat",)),
    table_sha256="7df1c010ed1c8062c925f60c1f0f904127258c7365f28a51e9b2f0c2587bea17",
    terms="research use, acknowledge in publications, do not redistribute",
    citation=(
        'F. M. Harper and J. A. Konstan, "The MovieLens Datasets: History and Context", ACM '
        "Transactions on Interactive Intelligent Systems 5(4), 2015."
    ),
)
DATA_SETS = {data_set.name: data_set for data_set in (JESTER, MOVIELENS)}
NAMES = (*DATA_SETS, "synthetic")


def load_named(name: str, path: str | os.PathLike[str] | None = None) -> Ratings:
    """Load a data set by name.

    Parameters
    ----------
    name : {"jester", "movielens", "synthetic"}
        ``"synthetic"`` is `make_ratings` with its defaults.
    path : path, optional
        Location of the files, as in the loader of the data set.
    """
    if name in DATA_SETS:
        return load_jester(path) if name == "jester" else load_movielens(path)
    if name not in NAMES:
        raise DataError(f"unknown data set {name!r}; choose from {', '.join(NAMES)}")
    if path is not None:
        raise DataError("path: synthetic ratings are generated, not read; pass no path")
    return make_ratings()


def load_jester(path: str | os.PathLike[str] | None = None) -> Ratings:
    """Load Jester data set 1: 73,421 users' ratings of 100 jokes.

    Parsing the spreadsheets takes about ten seconds; later calls read the cached table.

    Parameters
    ----------
    path : path, optional
        Folder with the three official archives ``jester_dataset_1_{1,2,3}.zip``. Default: search
        ``$RANKPURSUIT_DATA``, ``data/`` of the working copy, and the user's cache folder.

    Returns
    -------
    Ratings
        Users are labelled 1, 2, ... in the order of the three files, jokes 1 to 100.
    """
    files = find_files(JESTER, path)
    if len(files) == 1:
        raise DataError(f"jester: {files[0]} is a file; pass the folder with the three archives")

    def parse() -> Ratings:
        matrix = np.concatenate([_read_spreadsheet(file) for file in files])
        users, jokes = np.nonzero(matrix != 99)
        return Ratings.from_arrays(users + 1, jokes + 1, matrix[users, jokes], name="jester")

    return cached_table("jester", files, parse)


def _read_spreadsheet(archive: Path) -> NDArray[np.float64]:
    """Return the ratings in an archive, shape (n_users, 100), 99 for unrated jokes.

    The spreadsheet has 101 columns: the number of jokes that the user rated, then the ratings.
    """
    import xlrd

    content = read_member(archive, ".xls")
    try:
        with open(os.devnull, "w") as log:
            sheet = xlrd.open_workbook(file_contents=content, logfile=log).sheet_by_index(0)
        cells = [sheet.row_values(number) for number in range(sheet.nrows)]
        matrix = np.array(cells, dtype=np.float64).reshape(-1, 101)
    except Exception as error:  # xlrd fails on damaged files in many ways
        reason = f"not an .xls file with 101 columns of numbers ({error})"
        raise DataError(f"{archive}: {reason}; download it again") from error
    counts, ratings = matrix[:, 0], matrix[:, 1:]
    rated = ratings != 99
    good = (rated.sum(axis=1) == counts) & (~rated | (np.abs(ratings) <= 10)).all(axis=1)
    if not good.all():
        expected = "the number of jokes rated, then 100 ratings from -10 to 10 or 99"
        row = int(good.argmin()) + 1
        raise DataError(f"{archive}: row {row}: expected {expected}; download it again")
    return ratings


def load_movielens(path: str | os.PathLike[str] | None = None) -> Ratings:
    """Load MovieLens 1M: 6,040 users' ratings of 3,706 movies.

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
    """
    (file,) = find_files(MOVIELENS, path)

    def parse() -> Ratings:
        packed = file.suffix.lower() == ".zip"
        content = read_member(file, "ml-1m/ratings.dat") if packed else file.read_bytes()
        if not content.strip():
            raise DataError(f"{file}: the file is empty")
        try:
            text = io.BytesIO(content.replace(b"::", b" "))
            columns = np.loadtxt(text, dtype=np.int64, usecols=(0, 1, 2), ndmin=2, comments=None).T
            return Ratings.from_arrays(*columns, name="movielens")
        except ValueError as error:
            expected = "expected user::movie::rating, or user::movie::rating::timestamp"
            raise DataError(f"{file}: {error}; {expected}") from error

    return cached_table("movielens", [file], parse)


def cache_folder() -> Path:
    """Return the user's cache folder: ``$RANKPURSUIT_CACHE``, or the system's default."""
    if os.environ.get(CACHE_VARIABLE):
        return Path(os.path.expanduser(os.environ[CACHE_VARIABLE]))
    import pooch

    return Path(pooch.os_cache("rankpursuit"))


def working_copy() -> Path | None:
    """Return the root of the checkout that this package runs from, or None if it is installed."""
    root = Path(__file__).resolve().parents[2]
    return root if (root / "pyproject.toml").is_file() else None


def data_folders() -> list[Path]:
    """Return the folders that are searched if no path is given, in order."""
    variable, root = os.environ.get(DATA_VARIABLE), working_copy()
    folders = [Path(os.path.expanduser(variable))] if variable else []
    return [*folders, *([root / "data"] if root else []), cache_folder() / "data"]


def find_files(data_set: DataSet, path: str | os.PathLike[str] | None = None) -> list[Path]:
    """Return the files of a data set in the first folder that holds all of them.

    The folders are `path`, which may also be the data set's one file, or the `data_folders`; files
    may be in a subfolder of the data set's name.
    """
    name = data_set.name
    roots = data_folders() if path is None else [Path(os.path.expanduser(path))]
    if path is not None and os.path.isfile(roots[0]):
        return roots
    for root in roots:
        for folder in (root / name, root):
            for layout in data_set.layouts:
                if all(os.path.isfile(folder / file) for file in layout):
                    return [folder / file for file in layout]
    wanted = " or ".join(", ".join(layout) for layout in data_set.layouts)
    if path is not None:
        raise DataNotFoundError(f"{name}: {path} neither is nor contains {wanted}")
    raise DataNotFoundError(
        f"{name}: not found in {', '.join(map(str, roots))}; run `rp-data fetch {name}`, or put"
        f" {wanted} into {roots[0] / name}, or set {DATA_VARIABLE}"
    )


def file_sha256(path: Path) -> str:
    """Return the SHA-256 of a file, 64 hex digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def download(
    data_set: DataSet,
    folder: Path,
    *,
    timeout: float = 15.0,
    progress: bool = False,
    report: Callable[[str], None] = lambda line: None,
) -> None:
    """Download the files of a data set that are not in the folder yet.

    A file gets its final name only when it is complete and its SHA-256 matches. `report` is called
    with a line for each file and for each URL that fails; a URL fails after `timeout` seconds
    without data.
    """
    import pooch
    import requests

    pooch.get_logger().setLevel(logging.WARNING)
    downloader = pooch.HTTPDownloader(progressbar=progress, timeout=(5.0, timeout))
    for file in data_set.files:
        path = folder / file.name
        if path.is_file() and file_sha256(path) == file.sha256:
            report(f"{path}: already there")
            continue
        reasons = []
        for url in file.urls:
            try:
                pooch.retrieve(url, file.sha256, file.name, folder, downloader=downloader)
                report(f"{path}: downloaded from {url}")
                break
            except requests.RequestException as error:
                reason = f"download failed ({truncate(one_line(str(error)), 100)})"
            except ValueError:  # raised by pooch if the checksum differs
                reason = "wrong checksum: another file, or a web page"
            except OSError as error:
                raise DownloadError(f"{folder}: cannot be written to ({error})") from error
            report(f"{url}: {reason}")
            reasons.append(f"{urlsplit(url).netloc}: {reason}")
        else:
            names = ", ".join(file.name for file in data_set.files)
            raise DownloadError(
                f"{data_set.name}: {file.name} could not be downloaded ({'; '.join(reasons)}); "
                f"download it manually and put {names} into {folder}"
            )


def read_member(archive: Path, suffix: str) -> bytes:
    """Return the bytes of the one member of a zip archive whose name ends in `suffix`.

    Nothing is unpacked to disk, so that malicious member names do no harm.
    """
    try:
        with zipfile.ZipFile(archive) as opened:
            found = [x for x in opened.infolist() if x.filename.lower().endswith(suffix)]
            if len(found) != 1 or found[0].file_size > LARGEST_FILE:
                limit = f"expected one of at most {LARGEST_FILE:,} bytes"
                raise DataError(f"{archive}: holds {len(found)} files *{suffix}, {limit}")
            with opened.open(found[0]) as content:  # bounded: the declared size may be wrong
                return content.read(found[0].file_size + 1)
    except DataError:
        raise
    except Exception as error:  # a damaged archive can fail anywhere in zipfile and its codecs
        raise DataError(
            f"{archive}: not a zip archive, or truncated or damaged ({error}); download it again"
        ) from error


def cached_table(name: str, sources: Sequence[Path], parse: Callable[[], Ratings]) -> Ratings:
    """Return the table parsed from `sources`, from the cache if possible.

    A cached table is a ``.npz`` file without pickled objects, whose name depends on the SHA-256 of
    the sources. It holds a checksum of its contents; if that does not match, parse again.
    """
    digests = "".join(map(file_sha256, sources))
    # Increase the version if the format or the result of a parser changes.
    key = hashlib.sha256(f"rankpursuit-table-2 {name} {digests}".encode()).hexdigest()
    path = cache_folder() / "tables" / f"{name}-{key[:16]}.npz"
    with (  # a damaged file can fail anywhere in zipfile, zlib and numpy
        suppress(Exception),
        np.load(path, allow_pickle=False) as stored,
    ):
        table = Ratings(str(stored["name"]), **{field: stored[field] for field in ARRAYS})
        if str(stored["checksum"]) == f"{key} {table.checksum()}":
            return table
    table = parse()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path) as file:
            fields = {field: getattr(table, field) for field in ARRAYS}
            np.savez(file, name=table.name, checksum=f"{key} {table.checksum()}", **fields)
    except (OSError, OutputError) as error:
        warn_caller(one_line(f"the parsed table was not cached: {path}: {error}"))
    return table
