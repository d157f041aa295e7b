"""A small experiment with every algorithm, for tests of the runner."""

from collections.abc import Iterable
from copy import deepcopy
from pathlib import Path
from typing import Any

import yaml

from rankpursuit.experiments.backends import Job, Local
from rankpursuit.experiments.config import parse_experiment
from rankpursuit.experiments.evaluate import Unit, UnitResult
from rankpursuit.experiments.run import Run, run_session
from rankpursuit.experiments.store import RunFolder

CONFIG: dict[str, Any] = yaml.safe_load(
    Path(__file__).with_name("small.yaml").read_text(encoding="utf-8")
)


def small_config(**changes: Any) -> dict[str, Any]:
    """Return a copy of the config with some keys changed."""
    return deepcopy(CONFIG) | changes


def run_of(config: dict[str, Any], **part: Any) -> Run:
    """Return a run of a config, or of a part of it, see `Run.of`."""
    return Run.of(parse_experiment(config), **part)


def run_into(run: Run, folder: Path, *, n_jobs: int = 1, **options: Any) -> list[str]:
    """Run into a folder; return the failures."""
    return run_session(run, RunFolder(folder), Local(n_jobs).evaluate, **options).failures


def run_small_experiment(folder: Path) -> Path:
    """Run the whole small experiment into a folder."""
    assert run_into(run_of(small_config()), folder) == []
    return folder


def few_jobs(run: Run, number: int) -> list[Job]:
    """Return jobs of hold-out users with RLS."""
    units = list(run.plan.of(run.plan.cells, "holdout"))[:number]
    return [(unit, ("rls",), {}) for unit in units]


def sums(results: Iterable[UnitResult]) -> dict[Unit, list[Any]]:
    """Return the sums of the disagreement of each unit."""
    return {result.unit: result.results["rls"].sums["disagreement"].tolist() for result in results}
