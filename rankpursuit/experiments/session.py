"""A run from end to end: store, execution, files."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

from rankpursuit.errors import RunError
from rankpursuit.experiments.config import dump_yaml
from rankpursuit.experiments.export import write_atomically, write_results
from rankpursuit.experiments.local import Local
from rankpursuit.experiments.provenance import provenance
from rankpursuit.experiments.runner import Evaluate, Progress, Run, execute
from rankpursuit.experiments.store import Identity, Store

STORE = "results.sqlite"
_FILES = (
    "repeats.csv",
    "users.csv.gz",
    "curves.csv",
    "timings.csv",
    "config.yaml",
    "provenance.json",
)


def run_session(
    run: Run,
    everything: Run,
    folder: Path,
    *,
    data_checksum: str,
    progress: Progress,
    evaluate: Evaluate | None = None,
    fresh: bool = False,
    command: str = "",
) -> list[str]:
    """Run what is missing and write the files of all that is done.

    Parameters
    ----------
    run : Run
        What to run.
    everything : Run
        The whole experiment, of which `run` is a part: files hold all of it that is done.
    folder : Path
    data_checksum : str
    progress : Progress
    evaluate : callable, optional
        Evaluates the units; in this process unless given.
    fresh : bool
        Remove earlier results first.
    command : str
        For the provenance.

    Returns
    -------
    list of str
        Failures, a line each.
    """
    identity = Identity(run.experiment.digest(), data_checksum)
    try:
        if fresh:
            _remove(folder)
        with Store(folder / STORE, identity) as store:
            begun, failures, origin = time.time(), [], provenance()
            origin |= {"command": command, "digest": identity.digest, "data": identity.data}
            try:
                for failure in execute(run, store, progress, evaluate or Local().evaluate):
                    failures.append(failure)
            finally:
                _write(run, everything, store, folder, origin, time.time() - begun)
        return failures
    except OSError as error:
        raise RunError(f"cannot write to {folder}: {error.strerror or error}") from error


def _remove(folder: Path) -> None:
    """Remove a store that no other run has open, and the files written from it."""
    path = folder / STORE
    if path.exists():
        Store.check_unlocked(path)
    for name in (STORE, f"{STORE}-journal", *_FILES):
        (folder / name).unlink(missing_ok=True)


def _write(
    run: Run,
    everything: Run,
    store: Store,
    folder: Path,
    origin: dict[str, Any],
    seconds: float,
) -> None:
    write_results(everything, store, folder)
    facts = origin | {
        "experiment": run.experiment.name,
        "seed": run.experiment.seed,
        "repeats": len(run.plan.repeats),
        "seconds": store.add_seconds(seconds),
    }
    texts = {
        "config.yaml": dump_yaml(run.experiment),
        "provenance.json": json.dumps(facts, indent=2) + "\n",
    }
    for name, text in texts.items():
        write_atomically(folder / name, text.encode())
