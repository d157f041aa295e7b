"""Data sets by name, as the commands and the configs of experiments call them."""

from __future__ import annotations

import os

from rankpursuit.datasets.data_set import DataSet
from rankpursuit.datasets.jester import JESTER, load_jester
from rankpursuit.datasets.movielens import MOVIELENS, load_movielens
from rankpursuit.datasets.ratings import Ratings
from rankpursuit.datasets.synthetic import make_ratings
from rankpursuit.errors import DataError

_PUBLIC = ((JESTER, load_jester), (MOVIELENS, load_movielens))
_LOADERS = {data_set.name: load for data_set, load in _PUBLIC}
DATA_SETS: dict[str, DataSet] = {data_set.name: data_set for data_set, _ in _PUBLIC}
SYNTHETIC = "synthetic"
NAMES = (*DATA_SETS, SYNTHETIC)


def known(name: str) -> DataSet:
    """Return the data set called `name`; a `DataError` lists the names if there is none."""
    if name not in DATA_SETS:
        raise DataError(f"unknown data set {name!r}; known are: {', '.join(DATA_SETS)}")
    return DATA_SETS[name]


def load_named(name: str, path: str | os.PathLike[str] | None = None) -> Ratings:
    """Load the data set called `name`.

    Parameters
    ----------
    name : {"jester", "movielens", "synthetic"}
        ``"synthetic"`` is `make_ratings` with its defaults.
    path : path, optional
        Where to find it, as for the data set's own loader.

    Returns
    -------
    Ratings
    """
    if name in DATA_SETS:
        return _LOADERS[name](path)
    if name != "synthetic":
        raise DataError(f"unknown data set {name!r}; known are: {', '.join(NAMES)}")
    if path is not None:
        raise DataError("synthetic ratings are drawn, not read: give no path")
    return make_ratings()
