"""A run from end to end: store, execution, files."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any

from rankpursuit.errors import RunError, StoreError
from rankpursuit.experiments.config import dump_yaml
from rankpursuit.experiments.run.export import write_results
from rankpursuit.experiments.run.folder import RunFolder
from rankpursuit.experiments.run.kept import check_store_has_all, check_store_is_there
from rankpursuit.experiments.run.progress import Progress
from rankpursuit.experiments.run.provenance import provenance
from rankpursuit.experiments.run.run import Run
from rankpursuit.experiments.run.runner import Evaluate, execute
from rankpursuit.experiments.run.sharing import Lender, borrow
from rankpursuit.experiments.run.store import Store
from rankpursuit.writing import remove_leftovers, write_atomically


def run_session(
    run: Run,
    folder: RunFolder,
    evaluate: Evaluate,
    progress: Progress,
    *,
    fresh: bool = False,
    command: str = "",
    tell: Callable[[str], None] = lambda line: None,
    lenders: Sequence[Lender] = (),
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
        Remove earlier results first, with the tables and figures made of them.
    command : str
        For the provenance.
    tell : callable
        Takes a line for each damaged row of the store, which is computed again, and for each
        lender that had something.
    lenders : sequence of Lender
        Runs whose results serve this one as well, where they have something in common.

    Returns
    -------
    list of str
        Failures, a line each.

    Raises
    ------
    KeptResultsError
        If the folder has results that its store could not give back.
    StoreError, OutputError, RunError
        If the store cannot be used, a file cannot be written, or the units cannot be evaluated.
    """
    identity = run.identity()
    try:
        if fresh:
            _remove(folder)
        check_store_is_there(folder, run.experiment)
        with Store(folder.store, identity) as store:
            for line in store.set_aside:
                tell(line)
            check_store_has_all(folder, identity, run, store)
            remove_leftovers(folder.path, {path.name for path in folder.written})
            begun, failures, origin = time.time(), [], provenance()
            origin |= {"command": command} | asdict(identity)
            try:
                for lender in lenders:
                    if n_users := borrow(run, store, lender):
                        tell(f"{n_users:,} users of {lender.run.experiment.name} serve again")
                for failure in execute(run, store, progress, evaluate):
                    failures.append(failure)
            except StoreError:  # files can say no more than they do
                raise
            except BaseException:
                _write(run, store, folder, origin, time.time() - begun)
                raise
            _write(run, store, folder, origin, time.time() - begun)
        return failures
    except OSError as error:
        raise RunError(f"cannot write to {folder.path}: {error.strerror or error}") from error


def _remove(folder: RunFolder) -> None:
    """Remove a store that no other run has open, and all that was made from it."""
    journal = folder.store.with_name(f"{folder.store.name}-journal")
    paths = (folder.store, journal, *folder.written, *folder.derived)
    for path in paths:
        if path.is_dir() and not path.is_symlink():
            raise RunError(f"{path} is a folder, which --fresh does not remove: move it away")
    if folder.store.exists():
        Store.check_unlocked(folder.store)
    for path in paths:
        path.unlink(missing_ok=True)


def _write(
    run: Run, store: Store, folder: RunFolder, origin: dict[str, Any], seconds: float
) -> None:
    total = store.add_seconds(seconds)
    files = write_results(run.everything(store), store, folder)
    config = dump_yaml(run.experiment).encode()
    write_atomically(folder.config, config)
    files[folder.config.name] = {"sha256": hashlib.sha256(config).hexdigest()}
    facts = origin | {
        "experiment": run.experiment.name,
        "seed": run.experiment.seed,
        "repeats": len(run.plan.repeats),
        "seconds": total,
        "files": files,
    }
    write_atomically(folder.provenance, f"{json.dumps(facts, indent=2)}\n".encode())
    store.drop_damaged()
