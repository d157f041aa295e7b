"""Read the results of a run from its folder, and check them."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
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
_LEAST = {"repeat": 1, "user": 0, "n_users": 1}  # columns of integers, with their lower bounds
# The key of each table, which identifies a row; other columns that it must have; columns of numbers
# that may have empty cells.
_COLUMNS: dict[str, tuple[list[str], list[str], list[str]]] = {
    "repeats": (
        KEY,
        ["test_error", "n_users", "basis_functions", "basis_share", "on_edge"],
        ["holdout_error", "basis_functions", "basis_share", *(one.column for one in AXES.values())],
    ),
    "users": ([*KEY, "user"], ["error"], ["n_basis", "n_points", "n_test"]),
    "curves": ([*KEY, "axis", "value"], [], ["holdout_error", "test_error"]),
}


@dataclass(frozen=True, eq=False)
class Results:
    """The results of a run."""

    experiment: Experiment  # the config as it was run
    repeats: pd.DataFrame  # a row for each complete group, repeat, algorithm and metric
    users: pd.DataFrame = field(default_factory=pd.DataFrame)  # a row for each of their test users
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
    contents = {}
    for path in (*run.tables, run.config, run.provenance):
        try:
            contents[path] = path.read_bytes()
        except FileNotFoundError as error:
            raise ResultsError(f"{path}: missing; {REWRITE}") from error
    frames = {
        name: _parse_table(path, contents[path], *_COLUMNS[name])
        for name, path in zip(_COLUMNS, run.tables, strict=True)
    }
    try:
        experiment = parse_experiment(read_file(run.config), lenient=True)
    except ConfigError as error:
        prefix = f"{run.config}: "
        faults = [prefix + fault.removeprefix(prefix) for fault in error.faults]
        raise ResultsError(f"{'; '.join(faults)}; {REWRITE}") from error
    _check_agreement(run, experiment, **frames)
    try:
        provenance = json.loads(contents.pop(run.provenance))
        checksums = {name: one["sha256"] for name, one in provenance.get("files", {}).items()}
    except (ValueError, TypeError, AttributeError, LookupError, RecursionError) as error:
        raise ResultsError(f"{run.provenance}: not readable: {error!r}; {REWRITE}") from error
    for path, content in contents.items():
        # older runs have no checksums
        changed = checksums.get(path.name) != hashlib.sha256(content).hexdigest()
        if changed and "files" in provenance:
            where = run.provenance.name
            raise ResultsError(
                f"{path}: not what the run wrote: its SHA-256 is not in {where}; {REWRITE}"
            )
    return Results(experiment=experiment, provenance=provenance, folder=run.path, **frames)


def _parse_table(
    path: Path, content: bytes, key: list[str], required: list[str], optional: list[str]
) -> pd.DataFrame:
    """Parse a table of a run and check each of its rows."""
    try:
        if path.suffix == ".gz":
            content = gzip.decompress(content)
        if not content.endswith(b"\n"):
            raise ResultsError(f"{path}: cut short, its last line has no end; {REWRITE}")
        frame = pd.read_csv(
            io.BytesIO(content),
            dtype=dict.fromkeys(_TEXT, str),
            keep_default_na=False,  # an algorithm may be called NA
            na_values=[""],
            low_memory=False,
            skip_blank_lines=False,
        )
    except (OSError, EOFError, ValueError, zlib.error) as error:
        reason = " ".join(str(error).split())
        raise ResultsError(f"{path}: not readable as a table: {reason}; {REWRITE}") from error
    missing = sorted({*key, *required} - set(frame.columns))
    if missing:
        raise ResultsError(f"{path}: lacks the columns {', '.join(missing)}; {REWRITE}")
    if frame.empty:
        raise ResultsError(f"{path}: has no rows; {REWRITE}")
    for column in {*key, *required, *optional}.intersection(frame.columns).difference(_TEXT):
        written, least = frame[column], _LEAST.get(column, 0)
        numbers = pd.to_numeric(written, errors="coerce")
        bad = ~(np.isfinite(numbers.astype(float)) & (numbers >= least))
        if column in optional:
            bad &= written.notna()
        kind = "a number"
        if column in _LEAST:
            kind, bad = "an integer", bad | (numbers % 1 != 0) | (numbers > 2**53)
        _refuse(path, bad, f"{column} is not {kind} of at least {least}", written)
        frame[column] = numbers.astype(np.int64) if column in _LEAST else numbers
    _refuse(path, frame.duplicated(key), f"an earlier line has the same {', '.join(key)}")
    return frame


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
    keys = pd.MultiIndex.from_frame(repeats[KEY])
    of_users = users.groupby(KEY)["error"].agg(["size", "mean"])
    of_curves = curves.groupby(KEY).size()
    # An algorithm without an axis of numbers has no curves.
    curved = keys[keys.get_level_values("algorithm").isin(curves["algorithm"])]
    for path, index, own in (
        (run.users, of_users.index, keys),
        (run.curves, of_curves.index, curved),
    ):
        _refuse_keys(path, own.difference(index))
        _refuse_keys(run.repeats, index.difference(keys))
    _refuse_keys(run.users, of_users.index[of_users["size"] < of_users["size"].max()])
    means = of_users["mean"].reindex(keys)
    differs = ~np.isclose(means, repeats["test_error"], rtol=1e-9, atol=1e-9)
    problem = f"test_error is not the mean of the users' errors in {run.users.name}"
    _refuse(run.repeats, differs, problem)


def _refuse_keys(path: Path, lacking: pd.MultiIndex) -> None:
    """Raise an error that names the first key that rows are missing of, if there is one."""
    if len(lacking):
        group, repeat, algorithm, metric = lacking[0]
        names = f"{algorithm}, group {group}, repeat {repeat}, {metric}"
        raise ResultsError(f"{path}: lacks rows of {names}; {REWRITE}")
