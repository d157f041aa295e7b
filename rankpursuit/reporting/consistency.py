"""Whether the files of a run agree: with its config, with each other and with its provenance."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from rankpursuit.errors import ResultsError
from rankpursuit.experiments.config import Experiment, group_name
from rankpursuit.experiments.export import RunFolder
from rankpursuit.reporting.reading import KEY, MEND, line_of

_SAME = 1e-9
"""Relative difference up to which a mean of the users' errors is the error of the repeat."""


def check_agreement(
    folder: RunFolder,
    experiment: Experiment,
    repeats: pd.DataFrame,
    users: pd.DataFrame,
    curves: pd.DataFrame,
) -> None:
    """Check that the tables of a run have rows of the same, as many as they should.

    Parameters
    ----------
    folder : RunFolder
    experiment : Experiment
    repeats, users, curves : DataFrame
        As `rankpursuit.reporting.reading.read_table` returns them.

    Raises
    ------
    ResultsError
        Names the file, and the line or what is missing.
    """
    for path, frame in ((folder.repeats, repeats), (folder.users, users), (folder.curves, curves)):
        _check_declared(path, frame, experiment)
    wanted = experiment.protocol.test_users
    _refuse_line(
        folder.repeats,
        repeats["n_users"] != wanted,
        f"n_users is not {wanted}, the test_users of {folder.config.name}",
    )
    parts = repeats.groupby(list(KEY[:3]))["metric"].nunique()
    _refuse_part(folder.repeats, parts < len(experiment.metrics), "lacks a metric")
    keys = pd.MultiIndex.from_frame(repeats[list(KEY)])
    for path, frame in ((folder.users, users), (folder.curves, curves)):
        found = pd.MultiIndex.from_frame(frame[list(KEY)].drop_duplicates())
        for other, name, ours, theirs in (
            (path, folder.repeats.name, keys, found),
            (folder.repeats, path.name, found, keys),
        ):
            absent = ours.difference(theirs)
            if len(absent):
                raise ResultsError(
                    f"{other}: lacks rows of {_named(absent[0])}, which {name} has; {MEND}"
                )
    sizes = users.groupby(list(KEY), sort=False)["error"].agg(["size", "mean"]).reindex(keys)
    _refuse_part(folder.users, sizes["size"] < sizes["size"].max(), "lacks users")
    errors = repeats["test_error"].to_numpy()
    differs = ~np.isclose(sizes["mean"].to_numpy(), errors, rtol=_SAME, atol=_SAME)
    _refuse_line(
        folder.repeats,
        pd.Series(differs),
        f"test_error is not the mean of the users' errors in {folder.users.name}",
    )
    points = curves.groupby([*KEY, "axis"])["value"].size()
    most = points.groupby(["algorithm", "axis"]).transform("max")
    _refuse_part(folder.curves, points < most, "lacks points")


def check_files(
    folder: RunFolder, provenance: Mapping[str, Any], found: Mapping[Path, bytes]
) -> None:
    """Check that files are as the run wrote them, if its provenance has their checksums.

    Parameters
    ----------
    folder : RunFolder
    provenance : mapping
        Its ``files`` has ``sha256`` for each file by its name, and ``rows`` for tables.
    found : mapping of Path to bytes
        What the files hold.

    Raises
    ------
    ResultsError
        If one of them is another, or the provenance does not say.
    """
    if "files" not in provenance:  # written before checksums were
        return
    files = provenance["files"]
    for path, content in found.items():
        facts = files.get(path.name) if isinstance(files, dict) else None
        if not isinstance(facts, dict) or not isinstance(facts.get("sha256"), str):
            raise ResultsError(f"{folder.provenance}: lacks the checksum of {path.name}; {MEND}")
        if hashlib.sha256(content).hexdigest() != facts["sha256"]:
            raise ResultsError(
                f"{path}: not what the run wrote{_rows(path, content, facts)}: its SHA-256 is not "
                f"that in {folder.provenance.name}; {MEND}"
            )


def _rows(path: Path, content: bytes, facts: Mapping[str, Any]) -> str:
    """Tell of the number of rows, if it differs."""
    rows = content.count(b"\n") - 1
    if path.suffix != ".csv" or rows == facts.get("rows"):
        return ""
    return f", it has {rows} rows and had {facts.get('rows')}"


def _check_declared(path: Path, frame: pd.DataFrame, experiment: Experiment) -> None:
    declared = {
        "group": [group_name(group) for group in experiment.protocol.groups],
        "algorithm": list(experiment.algorithms),
        "metric": list(experiment.metrics),
    }
    for column, names in declared.items():
        _refuse_line(path, ~frame[column].isin(names), f"its {column} is not in config.yaml")


def _refuse_line(path: Path, bad: pd.Series, fault: str) -> None:
    if bad.any():
        at = int(np.argmax(bad.to_numpy()))
        raise ResultsError(f"{path}, line {line_of(at)}: {fault}; {MEND}")


def _refuse_part(path: Path, bad: pd.Series, fault: str) -> None:
    if bad.any():
        raise ResultsError(f"{path}: {fault} of {_named(bad.index[int(np.argmax(bad))])}; {MEND}")


def _named(key: tuple[Any, ...]) -> str:
    group, repeat, algorithm, *rest = key
    return ", ".join([algorithm, f"group {group}", f"repeat {repeat}", *map(str, rest)])
