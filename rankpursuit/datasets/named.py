"""Data sets by name, as the commands and the configs of experiments call them."""

from __future__ import annotations

import os

from rankpursuit.datasets.jester import load_jester
from rankpursuit.datasets.movielens import load_movielens
from rankpursuit.datasets.ratings import Ratings
from rankpursuit.datasets.synthetic import make_ratings
from rankpursuit.errors import DataError

_LOADERS = {"jester": load_jester, "movielens": load_movielens}
NAMES = (*_LOADERS, "synthetic")


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
    if name in _LOADERS:
        return _LOADERS[name](path)
    if name != "synthetic":
        raise DataError(f"unknown data set {name!r}; known are: {', '.join(NAMES)}")
    if path is not None:
        raise DataError("synthetic ratings are drawn, not read: give no path")
    return make_ratings()
