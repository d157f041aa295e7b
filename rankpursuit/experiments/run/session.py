"""A run from end to end: store, execution, files."""

from __future__ import annotations

import json
import time
from typing import Any

from rankpursuit.errors import RunError
from rankpursuit.experiments.config import dump_yaml, ratings_of
from rankpursuit.experiments.run.export import write_atomically, write_results
from rankpursuit.experiments.run.folder import RunFolder
from rankpursuit.experiments.run.progress import Progress
from rankpursuit.experiments.run.provenance import provenance
from rankpursuit.experiments.run.run import Run
from rankpursuit.experiments.run.runner import Evaluate, execute
from rankpursuit.experiments.run.store import Identity, Store


def run_session(
    run: Run,
    folder: RunFolder,
    evaluate: Evaluate,
    progress: Progress,
    *,
    fresh: bool = False,
    command: str = "",
) -> list[str]:
    """Run what is missing and write the files of all of the experiment that is done.

    Parameters
    ----------
    run : Run
        What to run.
    folder : RunFolder
    evaluate : callable
        Evaluates the units, as that of a backend does.
    progress : Progress
    fresh : bool
        Remove earlier results first.
    command : str
        For the provenance.

    Returns
    -------
    list of str
        Failures, a line each.
    """
    data = ratings_of(run.experiment.data).checksum()
    identity = Identity(run.experiment.digest(), data)
    try:
        if fresh:
            _remove(folder)
        with Store(folder.store, identity) as store:
            begun, failures, origin = time.time(), [], provenance()
            origin |= {"command": command, "digest": identity.digest, "data": identity.data}
            try:
                for failure in execute(run, store, progress, evaluate):
                    failures.append(failure)
            finally:
                _write(run, store, folder, origin, time.time() - begun)
        return failures
    except OSError as error:
        raise RunError(f"cannot write to {folder.path}: {error.strerror or error}") from error


def _remove(folder: RunFolder) -> None:
    """Remove a store that no other run has open, and the files written from it."""
    if folder.store.exists():
        Store.check_unlocked(folder.store)
    journal = folder.store.with_name(f"{folder.store.name}-journal")
    for path in (folder.store, journal, *folder.written):
        path.unlink(missing_ok=True)


def _write(
    run: Run, store: Store, folder: RunFolder, origin: dict[str, Any], seconds: float
) -> None:
    write_results(run.everything(), store, folder)
    facts = origin | {
        "experiment": run.experiment.name,
        "seed": run.experiment.seed,
        "repeats": len(run.plan.repeats),
        "seconds": store.add_seconds(seconds),
    }
    write_atomically(folder.config, dump_yaml(run.experiment).encode())
    write_atomically(folder.provenance, f"{json.dumps(facts, indent=2)}\n".encode())
