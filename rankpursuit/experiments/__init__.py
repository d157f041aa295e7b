"""Experiments: configs, tasks, methods, runs and their stores.

`run_experiment` runs a config and returns its results as a table.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd


__all__ = ["run_experiment"]


def run_experiment(
    config: str | os.PathLike[str] | Mapping[str, Any],
    *,
    output: str | os.PathLike[str] | None = None,
    n_jobs: int = 1,
    repeats: int | None = None,
    only: Sequence[str] = (),
    groups: Sequence[str] = (),
    overrides: Sequence[str] = (),
    plugins: Sequence[str | Path] = (),
    quiet: bool = True,
) -> pd.DataFrame:
    """Run an experiment, as ``rp-run`` does.

    Parameters
    ----------
    config : path, str or mapping
        A YAML file, the name of an experiment that comes with the package, such as ``demo``, or the
        config itself, which may extend a file or a name: ``{"extends": "demo", "name": "mine"}``.
    output : path, optional
        Parent of the folder of results, which has the name of the experiment. An interrupted run is
        resumed. By default nothing is kept.
    n_jobs : int
        Number of worker processes; -1 for one per core.
    repeats : int, optional
        Number of repeats. Default: as the config declares.
    only, groups : sequence of str
        Labels of the algorithms and names of the groups to run. Default: all.
    overrides : sequence of str
        Settings such as ``protocol.test_users=50``; not with a mapping.
    plugins : sequence of path
        Python files with methods and metrics.
    quiet : bool
        Whether to hide the progress bar.

    Returns
    -------
    DataFrame
        The rows of ``repeats.csv``: one for each group, repeat, algorithm and metric.

    Raises
    ------
    ConfigError, DataError
        If the config or the data cannot be used.
    RunError
        If an algorithm failed.
    StoreError
        If the folder holds results of another config, data set or version of the code.
    """
    import sys
    import tempfile
    from pathlib import Path

    from rankpursuit.errors import ConfigError, RunError
    from rankpursuit.experiments.backends import make_backend
    from rankpursuit.experiments.config import load_experiment, mapped_experiment
    from rankpursuit.experiments.plugins import load_plugins
    from rankpursuit.experiments.run import Run, run_session
    from rankpursuit.experiments.store import RunFolder

    backend = make_backend(n_jobs=n_jobs)
    load_plugins(plugins)
    if isinstance(config, Mapping):
        if overrides:
            raise ConfigError(["overrides: not allowed with a mapping; change the mapping itself"])
        experiment = mapped_experiment(config)
    else:
        experiment = load_experiment(config, overrides)
    run = Run.of(experiment, repeats, only, groups)
    with tempfile.TemporaryDirectory() as temporary, backend as workers:
        folder = RunFolder(Path(output or temporary) / experiment.name)
        outcome = run_session(run, folder, workers.evaluate, None if quiet else sys.stderr)
    if outcome.failures:
        raise RunError("; ".join(outcome.failures))
    return outcome.repeats
