"""The files of a run, read back."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import yaml

from rankpursuit.errors import ResultsError

TITLES = {
    "rls": "RLS",
    "kernel_matching_pursuit": "Matching Pursuit",
    "rank_svm": "RankSVM",
    "rank_rls": "RankRLS",
    "sparse_rank_rls": "Sparse RankRLS",
    "ranking_pursuit": "Ranking Pursuit",
    "semi_supervised_ranking_pursuit": "SS Ranking Pursuit",
    "combined_ranking_regression_pursuit": "CRRP",
}
"""The paper's name of each method, in the order of its tables."""

_COLUMNS = {
    "repeats.csv": {
        *("group", "repeat", "algorithm", "metric", "test_error", "n_users"),
        *("on_edge", "basis_functions", "basis_share"),
    },
    "users.csv.gz": {"group", "repeat", "algorithm", "metric", "user", "error"},
    "curves.csv": {"group", "repeat", "algorithm", "metric", "axis", "value", "holdout_error"},
}

_KEYS = (
    "name",
    "protocol",
    "kernel",
    "ties",
    "metrics",
    "tuning",
    "offset",
    "repeats",
    "algorithms",
)
"""What a resolved config has in any case."""


@dataclass(frozen=True, eq=False)
class Results:
    """What a run left in its folder.

    Attributes
    ----------
    folder : Path
    config : dict
        The config as it was resolved.
    provenance : dict
    repeats : DataFrame
        A row for each group, repeat, algorithm and metric that is complete.
    users : DataFrame
        A row for each test user of those.
    curves : DataFrame
        Errors along each axis of the grids.
    """

    folder: Path
    config: dict[str, Any]
    provenance: dict[str, Any]
    repeats: pd.DataFrame
    users: pd.DataFrame
    curves: pd.DataFrame

    @property
    def name(self) -> str:
        """Name of the experiment."""
        return str(self.config["name"])

    @property
    def table(self) -> int | None:
        """Number of the published table that the experiment reproduces."""
        return self.config.get("table")

    @property
    def metrics(self) -> list[str]:
        """The metrics, in the order of the config."""
        return list(self.config["metrics"])

    @property
    def groups(self) -> list[str]:
        """Names of the groups, in the order of the config."""
        return [f"{low}-{high}" for low, high in self.config["protocol"]["groups"]]

    @property
    def algorithms(self) -> dict[str, str]:
        """Label of each algorithm and the name to print, in the order of the paper's tables."""
        declared = self.config["algorithms"]
        methods = {label: spec.get("method", label) for label, spec in declared.items()}
        ordered = sorted(declared, key=lambda label: list(TITLES).index(methods[label]))
        return {label: TITLES.get(label, label.replace("_", " ")) for label in ordered}


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
    folder = Path(folder)
    if not folder.is_dir():
        raise ResultsError(f"{folder}: no such folder of results; rp-run makes one")
    frames = {name: _frame(folder / name, columns) for name, columns in _COLUMNS.items()}
    config = _mapping(folder / "config.yaml")
    lacking = [key for key in _KEYS if key not in config]
    if lacking:
        raise ResultsError(
            f"{folder / 'config.yaml'}: lacks {', '.join(lacking)}; run rp-run again"
        )
    return Results(
        folder=folder,
        config=config,
        provenance=_mapping(folder / "provenance.json"),
        repeats=frames["repeats.csv"],
        users=frames["users.csv.gz"],
        curves=frames["curves.csv"],
    )


def find_results(folder: str | Path) -> list[Path]:
    """Return the folders of results directly below a folder, by name."""
    return sorted(path.parent for path in Path(folder).glob("*/repeats.csv"))


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


def _mapping(path: Path) -> dict[str, Any]:
    try:
        text = path.read_text(encoding="utf-8")
        found = json.loads(text) if path.suffix == ".json" else yaml.safe_load(text)
    except FileNotFoundError as error:
        raise ResultsError(f"{path}: missing; run rp-run again to write it") from error
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise ResultsError(f"{path}: not readable: {error}") from error
    if not isinstance(found, dict):
        raise ResultsError(f"{path}: expected a mapping")
    return found
