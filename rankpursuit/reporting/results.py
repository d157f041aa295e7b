"""The files of a run, read back."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from rankpursuit.errors import ConfigError, ResultsError
from rankpursuit.experiments.config import Experiment, group_name, parse_experiment, read_file
from rankpursuit.experiments.export import RunFolder
from rankpursuit.experiments.methods import METHODS
from rankpursuit.reporting.consistency import check_agreement, check_files
from rankpursuit.reporting.reading import CURVES, MEND, REPEATS, USERS, read_bytes, read_table


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
        If a file is missing or is not what it should be, with its name and, if one is to blame,
        the line; also if the files do not agree, or are not as the run wrote them.
    """
    run = RunFolder(Path(folder))
    if not run.path.is_dir():
        raise ResultsError(f"{folder}: no such folder of results; rp-run makes one")
    found: dict[Path, bytes] = {}
    frames: dict[str, pd.DataFrame] = {}
    for name, path, columns in (
        ("repeats", run.repeats, REPEATS),
        ("users", run.users, USERS),
        ("curves", run.curves, CURVES),
    ):
        found[path] = read_bytes(path)
        frames[name] = read_table(path, found[path], columns)
    experiment, provenance = _experiment(run.config), _provenance(run.provenance)
    check_agreement(run, experiment, **frames)
    check_files(run, provenance, found | {run.config: read_bytes(run.config)})
    return Results(folder=run.path, experiment=experiment, provenance=provenance, **frames)


def _experiment(path: Path) -> Experiment:
    try:
        return parse_experiment(read_file(path))
    except ConfigError as error:
        where = [fault if str(path) in fault else f"{path}: {fault}" for fault in error.faults]
        raise ResultsError(f"{'; '.join(where)}; {MEND}") from error


def _provenance(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise ResultsError(f"{path}: missing; {MEND}") from error
    except (OSError, ValueError, RecursionError) as error:
        raise ResultsError(f"{path}: not readable: {error}; {MEND}") from error
    if not isinstance(found, dict):
        raise ResultsError(f"{path}: expected a mapping; {MEND}")
    return found
