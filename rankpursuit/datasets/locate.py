"""Where data is looked for, where downloads go, and where parsed tables are kept.

A data set is taken from an explicit path if one is given. Otherwise the first of these folders that
holds it is used: ``$RANKPURSUIT_DATA``; ``data/`` of the working copy; ``data/`` of the user's
cache folder.
"""

from __future__ import annotations

import os
from pathlib import Path

from rankpursuit.datasets.data_set import DataSet
from rankpursuit.errors import DataNotFoundError
from rankpursuit.visible import cut

DATA_VARIABLE = "RANKPURSUIT_DATA"
CACHE_VARIABLE = "RANKPURSUIT_CACHE"


def _expanded(path: str | os.PathLike[str]) -> Path:
    """Return a path with ``~`` written out, where there is such a user."""
    return Path(os.path.expanduser(path))


def _is_file(path: Path) -> bool:
    """Tell whether there is such a file; none has a name that is too long."""
    try:
        return path.is_file()
    except OSError:
        return False


def cache_folder() -> Path:
    """Return the user's cache folder: ``$RANKPURSUIT_CACHE``, else the custom of the system."""
    if os.environ.get(CACHE_VARIABLE):
        return _expanded(os.environ[CACHE_VARIABLE])
    import pooch

    return Path(pooch.os_cache("rankpursuit"))


def working_copy() -> Path | None:
    """Return the root of the checkout that this package runs from, or None if it is installed."""
    root = Path(__file__).resolve().parents[2]
    return root if (root / "pyproject.toml").is_file() else None


def data_folders() -> list[Path]:
    """Return the folders that are searched when no path is given, in order."""
    folders = []
    if os.environ.get(DATA_VARIABLE):
        folders.append(_expanded(os.environ[DATA_VARIABLE]))
    root = working_copy()
    if root is not None:
        folders.append(root / "data")
    return [*folders, cache_folder() / "data"]


def find_files(data_set: DataSet, path: str | os.PathLike[str] | None = None) -> list[Path]:
    """Return the files of a data set in the first place that holds all of them.

    Parameters
    ----------
    data_set : DataSet
        The data set. A folder may hold its files directly, or in a folder of the data set's name.
    path : path, optional
        The only place to look: a folder, or the data set's one file.

    Returns
    -------
    list of Path

    Raises
    ------
    DataNotFoundError
        Naming the places searched and what to do.
    """
    name, layouts = data_set.name, data_set.layouts
    explicit = None if path is None else _expanded(path)
    if explicit is not None and _is_file(explicit):
        return [explicit]
    roots = data_folders() if explicit is None else [explicit]
    for root in roots:
        for folder in (root / name, root):
            for layout in layouts:
                files = [folder / file for file in layout]
                if all(_is_file(file) for file in files):
                    return files
    wanted = " or ".join(", ".join(layout) for layout in layouts)
    if explicit is not None:
        place = cut(str(explicit), 1000)
        raise DataNotFoundError(f"{name}: {place} is not, and does not hold, {wanted}")
    raise DataNotFoundError(
        f"{name}: not found in {', '.join(map(str, roots))}; run `rp-data fetch {name}`, or put"
        f" {wanted} into {roots[0] / name}, or set {DATA_VARIABLE}"
    )
