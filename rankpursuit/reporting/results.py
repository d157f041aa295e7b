"""Read the results of a run from its folder, and check them."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import warnings
import zlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from rankpursuit.errors import ConfigError, ResultsError
from rankpursuit.experiments.config import Experiment, parse_experiment, read_file
from rankpursuit.experiments.export import RunFolder
from rankpursuit.experiments.methods import AXES, METHODS
from rankpursuit.experiments.protocol import group_name

NOTHING_COMPLETE = "no group, repeat and algorithm is complete yet: run rp-run until one is"
REWRITE = "run rp-run again to write it"

KEY = ["group", "repeat", "algorithm", "metric"]
_TEXT = ("group", "algorithm", "metric", "method", "on_edge", "axis")
_LEAST = {"repeat": 1, "user": 0, "n_users": 1}
"""Columns of integers, and the smallest value of each."""
_COLUMNS = {
    "repeats": (KEY, ["test_error", "n_users", "basis_functions", "basis_share", "on_edge"]),
    "users": ([*KEY, "user"], ["error"]),
    "curves": ([*KEY, "axis", "value"], ["holdout_error"]),
}
"""The key of each table, which identifies a row, and the other columns that it must have."""
_OPTIONAL = {
    "repeats": [
        *("holdout_error", "basis_functions", "basis_share"),
        *(axis.column for axis in AXES.values()),
    ],
    "users": ["n_basis", "n_points", "n_test"],
    "curves": ["test_error"],
}
"""Columns of numbers that may have empty cells."""


@dataclass(frozen=True, eq=False)
class Results:
    """The results of a run."""

    experiment: Experiment
    """The config as it was run."""
    repeats: pd.DataFrame
    """A row for each complete group, repeat, algorithm and metric."""
    users: pd.DataFrame = field(default_factory=pd.DataFrame)
    """A row for each of their test users."""
    curves: pd.DataFrame = field(default_factory=pd.DataFrame)
    """Errors along each axis of the grids."""
    provenance: dict[str, Any] = field(default_factory=dict)
    folder: Path = Path()

    @property
    def name(self) -> str:
        """Name of the experiment."""
        return self.experiment.name

    @property
    def table(self) -> int | None:
        """Number of the published table that the experiment reproduces."""
        return self.experiment.table

    @property
    def is_synthetic(self) -> bool:
        """Whether the ratings were drawn from a model."""
        return self.experiment.data.name == "synthetic"

    @property
    def metrics(self) -> list[str]:
        """Names of the metrics, in the order of the config."""
        return list(self.experiment.metrics)

    @property
    def groups(self) -> list[str]:
        """Names of the groups, in the order of the config."""
        return [group_name(group) for group in self.experiment.protocol.groups]

    @property
    def declared(self) -> dict[str, str]:
        """Label and printed name of each algorithm of the config, in the paper's order."""
        declared, order = self.experiment.algorithms, list(METHODS)
        labels = sorted(declared, key=lambda label: order.index(declared[label].method))
        return {label: title_of(label) for label in labels}

    @property
    def algorithms(self) -> dict[str, str]:
        """Label and printed name of each algorithm that has results, in the paper's order."""
        run = set(self.repeats["algorithm"])
        return {label: title for label, title in self.declared.items() if label in run}


def title_of(label: str) -> str:
    """Return the printed name of an algorithm: the paper's, if its label is that of a method."""
    return METHODS[label].title if label in METHODS else label.replace("_", " ")


def load_results(folder: str | Path) -> Results:
    """Read the results of a run.

    Parameters
    ----------
    folder : path
        Such as ``results/demo``.

    Returns
    -------
    Results

    Raises
    ------
    ResultsError
        If a file is missing, invalid, inconsistent with the others, or not as the run wrote it.
        Names the file and, if possible, the line.
    """
    run = RunFolder(Path(folder))
    if not run.path.is_dir():
        raise ResultsError(f"{folder}: no such folder of results; rp-run makes one")
    if not run.has_results:
        raise ResultsError(f"{folder}: {NOTHING_COMPLETE}")
    contents = {path: _read_bytes(path) for path in (*run.tables, run.config, run.provenance)}
    frames = {
        name: _parse_table(path, contents[path], name)
        for name, path in zip(_COLUMNS, run.tables, strict=True)
    }
    try:
        experiment = parse_experiment(read_file(run.config), lenient=True)
    except ConfigError as error:
        prefix = f"{run.config}: "
        faults = [prefix + fault.removeprefix(prefix) for fault in error.faults]
        raise ResultsError(f"{'; '.join(faults)}; {REWRITE}") from error
    provenance = _parse_provenance(run.provenance, contents.pop(run.provenance))
    _check_agreement(run, experiment, **frames)
    _check_checksums(run, provenance, contents)
    return Results(experiment=experiment, provenance=provenance, folder=run.path, **frames)


def _read_bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError as error:
        raise ResultsError(f"{path}: missing; {REWRITE}") from error
    except OSError as error:
        raise ResultsError(f"{path}: not readable: {error.strerror}") from error


def _parse_provenance(path: Path, content: bytes) -> dict[str, Any]:
    try:
        found = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise ResultsError(f"{path}: not readable: {error}; {REWRITE}") from error
    if not isinstance(found, dict):
        raise ResultsError(f"{path}: expected a mapping; {REWRITE}")
    return found


def _parse_table(path: Path, content: bytes, name: str) -> pd.DataFrame:
    """Parse a table of a run and check each of its rows."""
    frame = _parse_csv(path, content)
    key, others = _COLUMNS[name]
    missing = sorted({*key, *others} - set(frame.columns))
    if missing:
        raise ResultsError(f"{path}: lacks the columns {', '.join(missing)}; {REWRITE}")
    if frame.empty:
        raise ResultsError(f"{path}: has no rows; {REWRITE}")
    for column in key:
        _refuse(path, frame[column].isna(), f"{column} is empty")
    for column in dict.fromkeys((*key, *others, *_OPTIONAL[name])):
        if column in frame and column not in _TEXT:
            frame[column] = _numbers(path, frame[column], optional=column in _OPTIONAL[name])
    same = f"an earlier line has the same {', '.join(key[:-1])} and {key[-1]}"
    _refuse(path, frame.duplicated(key), same)
    return frame


def _parse_csv(path: Path, content: bytes) -> pd.DataFrame:
    try:
        if path.suffix == ".gz":
            content = gzip.decompress(content)
        if not content.endswith(b"\n"):
            raise ResultsError(f"{path}: cut short, its last line has no end; {REWRITE}")
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)
            return pd.read_csv(
                io.BytesIO(content),
                dtype=dict.fromkeys(_TEXT, str),
                index_col=False,
                keep_default_na=False,  # an algorithm may be called NA
                na_values=[""],
                low_memory=False,
                skip_blank_lines=False,
            )
    except pd.errors.ParserWarning as error:
        raise ResultsError(f"{path}: a line has more cells than the first; {REWRITE}") from error
    except (OSError, EOFError, ValueError, zlib.error) as error:
        reason = " ".join(str(error).split())
        raise ResultsError(f"{path}: not readable as a table: {reason}; {REWRITE}") from error


def _numbers(path: Path, column: pd.Series, *, optional: bool) -> pd.Series:
    """Return a column as numbers; refuse those that are negative, not finite or not integers."""
    numbers = column
    if not pd.api.types.is_numeric_dtype(column) or pd.api.types.is_bool_dtype(column):
        numbers = pd.to_numeric(column.astype(str).where(column.notna()), errors="coerce")
    bad = ~(np.isfinite(numbers.astype(float)) & (numbers >= 0))
    if optional:
        bad &= column.notna()
    _refuse(path, bad, f"{column.name} is not a number of at least 0", column)
    if column.name not in _LEAST:
        return numbers
    least = _LEAST[column.name]
    bad = (numbers % 1 != 0) | (numbers < least) | (numbers > 2**53)
    _refuse(path, bad, f"{column.name} is not an integer of at least {least}", column)
    return numbers.astype(np.int64)


def _refuse(path: Path, bad: Any, problem: str, values: pd.Series | None = None) -> None:
    """Raise an error that names the line of the first bad row, if there is one."""
    bad = np.asarray(bad, dtype=bool)
    if bad.any():
        row = int(np.argmax(bad))
        got = "" if values is None else f", got {str(values.iloc[row])[:40]!r}"
        raise ResultsError(f"{path}, line {row + 2}: {problem}{got}; {REWRITE}")


def _check_agreement(
    run: RunFolder,
    experiment: Experiment,
    repeats: pd.DataFrame,
    users: pd.DataFrame,
    curves: pd.DataFrame,
) -> None:
    """Check that the tables agree with the config and have the same, complete keys."""
    declared = {
        "group": [group_name(group) for group in experiment.protocol.groups],
        "algorithm": list(experiment.algorithms),
        "metric": list(experiment.metrics),
    }
    for path, frame in zip(run.tables, (repeats, users, curves), strict=True):
        for column, names in declared.items():
            _refuse(path, ~frame[column].isin(names), f"its {column} is not in config.yaml")
    wanted = experiment.protocol.test_users
    problem = f"n_users is not {wanted}, the test_users of config.yaml"
    _refuse(run.repeats, repeats["n_users"] != wanted, problem)
    n_metrics = repeats.groupby(KEY[:3])["metric"].nunique()
    _refuse_key(run.repeats, n_metrics < len(experiment.metrics), "lacks a metric of")
    keys = pd.MultiIndex.from_frame(repeats[KEY])
    # An algorithm without an axis of numbers has no curves.
    with_curves = keys[keys.get_level_values("algorithm").isin(curves["algorithm"])]
    for path, frame, own in ((run.users, users, keys), (run.curves, curves, with_curves)):
        found = pd.MultiIndex.from_frame(frame[KEY].drop_duplicates())
        for lacking, index, other in ((path, own, found), (run.repeats, found, keys)):
            absent = pd.Series(~index.isin(other), index=index)
            _refuse_key(lacking, absent, "lacks rows that the other tables have, of")
    by_key = users.groupby(KEY, sort=False)["error"].agg(["size", "mean"]).reindex(keys)
    _refuse_key(run.users, by_key["size"] < by_key["size"].max(), "lacks users of")
    differs = ~np.isclose(by_key["mean"], repeats["test_error"], rtol=1e-9, atol=1e-9)
    problem = f"test_error is not the mean of the users' errors in {run.users.name}"
    _refuse(run.repeats, differs, problem)
    points = curves.groupby([*KEY, "axis"])["value"].size()
    most = points.groupby(["algorithm", "axis"]).transform("max")
    _refuse_key(run.curves, points < most, "lacks points of")


def _refuse_key(path: Path, bad: pd.Series, problem: str) -> None:
    """Raise an error that names the first bad key, if there is one."""
    if bad.any():
        group, repeat, algorithm, *rest = bad.index[int(np.argmax(bad))]
        names = ", ".join([algorithm, f"group {group}", f"repeat {repeat}", *rest])
        raise ResultsError(f"{path}: {problem} {names}; {REWRITE}")


def _check_checksums(
    run: RunFolder, provenance: dict[str, Any], contents: dict[Path, bytes]
) -> None:
    """Check that files are as the run wrote them; older runs have no checksums."""
    if "files" not in provenance:
        return
    files = provenance["files"]
    for path, content in contents.items():
        recorded = files.get(path.name) if isinstance(files, dict) else None
        if not isinstance(recorded, dict) or not isinstance(recorded.get("sha256"), str):
            raise ResultsError(f"{run.provenance}: lacks the checksum of {path.name}; {REWRITE}")
        if hashlib.sha256(content).hexdigest() != recorded["sha256"]:
            n_rows = content.count(b"\n") - 1
            rows = ""
            if path.suffix == ".csv" and n_rows != recorded.get("rows"):
                rows = f", it has {n_rows} rows and had {recorded.get('rows')}"
            raise ResultsError(
                f"{path}: not what the run wrote{rows}: its SHA-256 is not that in "
                f"{run.provenance.name}; {REWRITE}"
            )
