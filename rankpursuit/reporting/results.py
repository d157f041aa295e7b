"""The files of a run, read back."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from rankpursuit.errors import ConfigError, ResultsError
from rankpursuit.experiments.catalogue import METHODS
from rankpursuit.experiments.config import Experiment, group_name, parse_experiment
from rankpursuit.experiments.run.folder import RunFolder
from rankpursuit.experiments.syntax.files import read_file

_KEY = {"group", "repeat", "algorithm", "metric"}
_REPEATS = _KEY | {"test_error", "n_users", "on_edge", "basis_functions", "basis_share"}
_USERS = _KEY | {"user", "error"}
_CURVES = _KEY | {"axis", "value", "holdout_error"}


@dataclass(frozen=True, eq=False)
class Results:
    """What a run left in its folder.

    Attributes
    ----------
    folder : Path
    experiment : Experiment
        The config as it was run.
    provenance : dict
    repeats : DataFrame
        A row for each group, repeat, algorithm and metric that is complete.
    users : DataFrame
        A row for each test user of those.
    curves : DataFrame
        Errors along each axis of the grids.
    """

    folder: Path
    experiment: Experiment
    provenance: dict[str, Any]
    repeats: pd.DataFrame
    users: pd.DataFrame
    curves: pd.DataFrame

    @property
    def name(self) -> str:
        """Name of the experiment."""
        return self.experiment.name

    @property
    def table(self) -> int | None:
        """Number of the published table that the experiment reproduces."""
        return self.experiment.table

    @property
    def metrics(self) -> list[str]:
        """Names of the metrics, in the order of the config."""
        return list(self.experiment.metrics)

    @property
    def groups(self) -> list[str]:
        """Names of the groups, in the order of the config."""
        return [group_name(group) for group in self.experiment.protocol.groups]

    @property
    def algorithms(self) -> dict[str, str]:
        """Label of each algorithm and the name to print, in the order of the paper's tables."""
        declared, order = self.experiment.algorithms, list(METHODS)
        labels = sorted(declared, key=lambda label: order.index(declared[label].method))
        return {label: title_of(label) for label in labels}


def title_of(label: str) -> str:
    """Return the name to print of an algorithm: the paper's, if its label is that of a method."""
    return METHODS[label].title if label in METHODS else label.replace("_", " ")


def load_results(folder: str | Path) -> Results:
    """Read the files of a run.

    Parameters
    ----------
    folder : path
        Such as ``results/demo``.

    Raises
    ------
    ResultsError
        If a file is missing or is not what it should be, with its name.
    """
    run = RunFolder(Path(folder))
    if not run.path.is_dir():
        raise ResultsError(f"{folder}: no such folder of results; rp-run makes one")
    return Results(
        folder=run.path,
        repeats=_frame(run.repeats, _REPEATS),
        users=_frame(run.users, _USERS),
        curves=_frame(run.curves, _CURVES),
        experiment=_experiment(run.config),
        provenance=_provenance(run.provenance),
    )


def _frame(path: Path, columns: set[str]) -> pd.DataFrame:
    try:
        if path.suffix == ".csv" and not path.read_bytes().endswith(b"\n"):
            raise ResultsError(f"{path}: cut short, its last line has no end; run rp-run again")
        frame = pd.read_csv(path)
    except FileNotFoundError as error:
        raise ResultsError(
            f"{path}: missing; run the experiment with rp-run until something is complete"
        ) from error
    except (OSError, EOFError, ValueError) as error:
        raise ResultsError(f"{path}: not readable as a table: {error}") from error
    missing = sorted(columns - set(frame.columns))
    if missing:
        raise ResultsError(f"{path}: lacks the columns {', '.join(missing)}; run rp-run again")
    if frame.empty:
        raise ResultsError(f"{path}: has no rows; run rp-run again")
    return frame


def _experiment(path: Path) -> Experiment:
    try:
        return parse_experiment(read_file(path))
    except ConfigError as error:
        where = [fault if str(path) in fault else f"{path}: {fault}" for fault in error.faults]
        raise ResultsError(f"{'; '.join(where)}; run rp-run again to write it") from error


def _provenance(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise ResultsError(f"{path}: missing; run rp-run again to write it") from error
    except (OSError, ValueError) as error:
        raise ResultsError(f"{path}: not readable: {error}") from error
    if not isinstance(found, dict):
        raise ResultsError(f"{path}: expected a mapping")
    return found
