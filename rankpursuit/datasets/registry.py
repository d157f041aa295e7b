"""The data sets of the paper: addresses, checksums, expected counts, terms and citations."""

from __future__ import annotations

from dataclasses import dataclass

from rankpursuit.errors import DataError


@dataclass(frozen=True)
class RemoteFile:
    """A file of a data set, as its owners publish it."""

    name: str
    """File name on disk, inside the data set's folder."""
    sha256: str
    """SHA-256 of the file, 64 hex digits."""
    size: int
    """Approximate size in bytes, for display only; the checksum decides."""
    urls: tuple[str, ...]
    """Addresses, tried in turn."""


@dataclass(frozen=True)
class DataSet:
    """What is known of a data set before it is downloaded."""

    name: str
    title: str
    files: tuple[RemoteFile, ...]
    """The files as published."""
    layouts: tuple[tuple[str, ...], ...]
    """Sets of files that make the data set complete, in the order in which they are looked for."""
    n_users: int
    n_items: int
    n_ratings: int
    bounds: tuple[float, float]
    """Smallest and largest rating that occurs."""
    table_sha256: str
    """`Ratings.checksum` of the whole table: the same for an archive and its unpacked file."""
    licence: str
    """The terms in a few words, for the listing."""
    terms: str
    """The terms in full sentences, printed by a download."""
    citation: str


def known(name: str) -> DataSet:
    """Return the data set called `name`; a `DataError` lists the names if there is none."""
    if name not in DATA_SETS:
        raise DataError(f"unknown data set {name!r}; known are: {', '.join(DATA_SETS)}")
    return DATA_SETS[name]


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


_JESTER = DataSet(
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

_MOVIELENS = DataSet(
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

DATA_SETS: dict[str, DataSet] = {data_set.name: data_set for data_set in (_JESTER, _MOVIELENS)}
