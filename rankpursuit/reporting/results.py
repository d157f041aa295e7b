"""Read the results of a run from its folder, and check them."""

from __future__ import annotations

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
from rankpursuit.experiments.methods import METHODS
from rankpursuit.experiments.protocol import group_name
from rankpursuit.experiments.store import RunFolder

NOTHING_COMPLETE = "no group, repeat and algorithm is complete yet: run rp-run until one is"
REWRITE = "run rp-run again to write it"

KEY = ["group", "repeat", "algorithm", "metric"]
_TEXT = ("group", "algorithm", "metric", "method", "on_edge", "axis")
_COUNTS = ("repeat", "n_users")  # positive integers
# Of each table: the key, which identifies a row, the columns of numbers, and others.
_COLUMNS: dict[str, tuple[list[str], list[str], list[str]]] = {
    "repeats": (
        KEY,
        ["repeat", "test_error", "n_users"],
        ["basis_functions", "basis_share", "on_edge"],
    ),
    "users": ([*KEY, "user"], ["repeat", "user", "error"], []),
    "curves": ([*KEY, "axis", "value"], ["repeat", "value"], []),
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

    @property
    def baselines(self) -> dict[str, str]:
        """Label and printed name of the algorithms with results that the paper does not have."""
        specs = self.experiment.algorithms
        found = self.algorithms.items()
        return {label: title for label, title in found if METHODS[specs[label].method].baseline}

    @property
    def methods(self) -> dict[str, str]:
        """Label and printed name of the algorithms with results that are no baselines."""
        return {
            label: title for label, title in self.algorithms.items() if label not in self.baselines
        }


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
        If a file is missing, invalid, or not as the run wrote it. Names the file.
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
    try:
        provenance = json.loads(contents.pop(run.provenance))
        has_checksums = "files" in provenance  # older runs have none
        checksums = {name: one["sha256"] for name, one in provenance.get("files", {}).items()}
    except (ValueError, TypeError, AttributeError, LookupError, RecursionError) as error:
        raise ResultsError(f"{run.provenance}: not readable: {error!r}; {REWRITE}") from error
    for path, content in contents.items():
        checksum = hashlib.sha256(content).hexdigest()
        if has_checksums and checksums.get(path.name) != checksum:
            where = run.provenance.name
            raise ResultsError(
                f"{path}: not what the run wrote: its SHA-256 is not in {where}; {REWRITE}"
            )
    try:
        experiment = parse_experiment(read_file(run.config), lenient=True)
    except ConfigError as error:
        prefix = f"{run.config}: "
        faults = [prefix + fault.removeprefix(prefix) for fault in error.faults]
        raise ResultsError(f"{'; '.join(faults)}; {REWRITE}") from error
    declared = {
        "group": [group_name(group) for group in experiment.protocol.groups],
        "algorithm": experiment.algorithms,
        "metric": experiment.metrics,
    }
    frames = {}
    for name, path in zip(_COLUMNS, run.tables, strict=True):
        frames[name] = _parse_table(path, contents[path], *_COLUMNS[name])
        for column, names in declared.items():
            unknown = ~frames[name][column].isin(names)
            _refuse(path, unknown, f"its {column} is not in config.yaml")
    return Results(experiment=experiment, provenance=provenance, folder=run.path, **frames)


def _parse_table(
    path: Path, content: bytes, key: list[str], numbers: list[str], others: list[str]
) -> pd.DataFrame:
    """Parse a table of a run and check its columns of numbers."""
    try:
        frame = pd.read_csv(
            io.BytesIO(content),
            compression="gzip" if path.suffix == ".gz" else None,
            dtype=dict.fromkeys(_TEXT, str),
            keep_default_na=False,  # an algorithm may be called NA
            na_values=[""],
            low_memory=False,
            skip_blank_lines=False,
        )
    except (OSError, EOFError, ValueError, zlib.error) as error:
        reason = " ".join(str(error).split())
        raise ResultsError(f"{path}: not readable as a table: {reason}; {REWRITE}") from error
    missing = sorted({*key, *numbers, *others} - set(frame.columns))
    if missing:
        raise ResultsError(f"{path}: lacks the columns {', '.join(missing)}; {REWRITE}")
    if frame.empty:
        raise ResultsError(f"{path}: has no rows; {REWRITE}")
    for column in numbers:
        found = pd.to_numeric(frame[column], errors="coerce").astype(float)
        bad, kind = ~(np.isfinite(found) & (found >= 0)), "a number of at least 0"
        if column in _COUNTS:
            bad, kind = bad | (found < 1) | (found % 1 != 0), "a positive integer"
        _refuse(path, bad, f"{column} is not {kind}", frame[column])
        frame[column] = found.astype(np.int64) if column in _COUNTS else found
    _refuse(path, frame.duplicated(key), f"an earlier line has the same {', '.join(key)}")
    return frame


def _refuse(path: Path, bad: Any, problem: str, values: pd.Series | None = None) -> None:
    """Raise an error that names the line of the first bad row, if there is one."""
    bad = np.asarray(bad, dtype=bool)
    if bad.any():
        row = int(np.argmax(bad))
        got = "" if values is None else f", got {str(values.iloc[row])[:40]!r}"
        raise ResultsError(f"{path}, line {row + 2}: {problem}{got}; {REWRITE}")
