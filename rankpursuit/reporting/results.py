"""Read the results of a run from its folder, as the run wrote them."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from rankpursuit.errors import ConfigError, ResultsError
from rankpursuit.experiments.config import Experiment, parse_experiment, read_file
from rankpursuit.experiments.names import short_repr
from rankpursuit.experiments.protocol import group_name
from rankpursuit.experiments.registry import AXES, METHODS
from rankpursuit.experiments.store import RunFolder

NOTHING_COMPLETE = (
    "no results: no group, repeat and algorithm is complete; run rp-run, or give another folder"
)
REWRITE = "re-run rp-run to write it again"

KEY = ["group", "repeat", "algorithm", "metric"]
_TEXT = dict.fromkeys(["group", "algorithm", "metric", "method", "on_edge", "axis"], str)
_NUMBERS = (
    *("repeat", "test_error", "holdout_error", "n_users", "basis_functions", "basis_share"),
    *("user", "error", "n_basis", "n_points", "n_test", "value"),
    *(axis.column for axis in AXES.values()),
)


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
        """Return whether the ratings were drawn from a model."""
        return self.experiment.data.name == "synthetic"

    @cached_property
    def seconds(self) -> float:
        """Time of one core that the run took, NaN if its folder does not say."""
        timings = RunFolder(self.folder).timings
        return float(pd.read_csv(timings)["seconds"].sum()) if timings.is_file() else np.nan

    @property
    def is_of_paper(self) -> bool:
        """Return whether the ratings are those of the paper, so that sizes can be compared."""
        return self.experiment.data.name in ("jester", "movielens")

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
        """Label and printed name of the algorithms with results that are not baselines."""
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
        raise ResultsError(f"{folder}: no such folder of results; rp-run creates one")
    if not run.has_results:
        raise ResultsError(f"{folder}: {NOTHING_COMPLETE}")
    try:
        provenance = json.loads(_read(run.provenance))
        checksums = {name: one["sha256"] for name, one in provenance["files"].items()}
    except (ValueError, TypeError, AttributeError, LookupError, RecursionError) as error:
        raise ResultsError(f"{run.provenance}: not readable: {error!r}; {REWRITE}") from error
    for path in (run.config, *run.tables):
        if checksums.get(path.name) != hashlib.sha256(_read(path)).hexdigest():
            where = run.provenance.name
            raise ResultsError(
                f"{path}: changed since the run: its SHA-256 is not in {where}; {REWRITE}"
            )
    try:
        experiment = parse_experiment(read_file(run.config), lenient=True)
    except ConfigError as error:  # of another version
        prefix = f"{run.config}: "
        problems = [prefix + problem.removeprefix(prefix) for problem in error.problems]
        raise ResultsError(f"{'; '.join(problems)}; {REWRITE}") from error
    repeats, users, curves = map(_read_table, run.tables)
    return Results(experiment, repeats, users, curves, provenance, run.path)


def _read_table(path: Path) -> pd.DataFrame:
    """Return a table of results; raise a `ResultsError` if a number is text."""
    table = pd.read_csv(  # an algorithm may be called NA
        path, dtype=_TEXT, keep_default_na=False, na_values=[""], low_memory=False
    )
    for column in table.columns.intersection(list(_NUMBERS)):
        is_text = pd.to_numeric(table[column], errors="coerce").isna() & table[column].notna()
        if is_text.any():
            line, value = int(is_text.argmax()), short_repr(table[column][is_text].iloc[0])
            where = f"{path}, line {line + 2}, column {column}"
            raise ResultsError(f"{where}: expected a number, got {value}; {REWRITE}")
    return table


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError as error:
        raise ResultsError(f"{path}: missing; {REWRITE}") from error
