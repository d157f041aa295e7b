"""What a run must not overwrite: results that its store could not give back."""

from __future__ import annotations

import csv
import json
from typing import Any

from rankpursuit.errors import ConfigError, KeptResultsError
from rankpursuit.experiments.config import Experiment, Role, group_name, load_experiment
from rankpursuit.experiments.evaluate import Cell
from rankpursuit.experiments.run.folder import RunFolder
from rankpursuit.experiments.run.run import Run
from rankpursuit.experiments.run.store import Identity, Store, unit_key
from rankpursuit.wording import counted

_GO_ON = "use --fresh to replace them, or --output for another folder"

Part = tuple[str, str, str]
"""Group, repeat and algorithm of rows in ``repeats.csv``."""


def check_store_is_there(folder: RunFolder, experiment: Experiment) -> None:
    """Refuse a folder that has results and not the store they were written from.

    Parameters
    ----------
    folder : RunFolder
        Where the experiment would be run.
    experiment : Experiment

    Raises
    ------
    KeptResultsError
        Says what is there, and how to go on.
    """
    if folder.has_store or not any(path.exists() for path in folder.tables):
        return
    raise KeptResultsError(
        f"{folder.path} holds results{_description(folder, experiment)} without their store, "
        f"{folder.store.name}, and a run would overwrite them: {_GO_ON}"
    )


def check_store_has_all(folder: RunFolder, identity: Identity, run: Run, store: Store) -> None:
    """Refuse a folder whose results are not those of its store.

    Parameters
    ----------
    folder : RunFolder
    identity : Identity
        What the store belongs to.
    run : Run
        What is about to be run. It may compute again what the store has lost to damage.
    store : Store

    Raises
    ------
    KeptResultsError
        If the results are of another config or other data, or more than the store has.
    """
    if not folder.has_results:
        return
    facts = _facts(folder)
    for key, wanted in (("digest", identity.digest), ("data", identity.data)):
        if facts.get(key, wanted) != wanted:
            what = {"digest": "another config", "data": "other data"}[key]
            raise KeptResultsError(
                f"{folder.path} holds results of {what} than its store, {folder.store.name}, and a "
                f"run would overwrite them: {_GO_ON}"
            )
    lacking = _parts_of(folder, run.experiment) - _complete(run.everything(store), store)
    if store.set_aside:
        lacking -= _planned(run)
    if lacking:
        group, repeat, label = min(lacking)
        more = f" and {len(lacking) - 1} more" if len(lacking) > 1 else ""
        again = ", run the whole experiment to compute them again" if store.set_aside else ""
        raise KeptResultsError(
            f"{folder.repeats} holds results that the store, {folder.store.name}, lacks ({label}, "
            f"group {group}, repeat {repeat}{more}), and a run would overwrite them: {_GO_ON}"
            f"{again}"
        )


def _description(folder: RunFolder, experiment: Experiment) -> str:
    """Tell whose results there are, as far as the files beside them say."""
    try:
        found = load_experiment(folder.config)
    except ConfigError:
        return ""
    facts = _facts(folder)
    same = facts.get("digest", found.digest()) == experiment.digest()
    repeats = len({repeat for _, repeat, _ in _parts_of(folder, found)})
    return (
        f" of {'this' if same else 'another'} config ({counted(repeats, 'repeat')}, "
        f"{counted(found.protocol.test_users, 'test user')})"
    )


def _facts(folder: RunFolder) -> dict[str, Any]:
    """Return where the results came from; nothing if that cannot be read."""
    try:
        found = json.loads(folder.provenance.read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _parts_of(folder: RunFolder, experiment: Experiment) -> set[Part]:
    """Return what of an experiment ``repeats.csv`` has; nothing if it cannot be read."""
    groups = {group_name(group) for group in experiment.protocol.groups}
    try:
        with folder.repeats.open(encoding="utf-8", newline="") as file:
            rows = [(row["group"], row["repeat"], row["algorithm"]) for row in csv.DictReader(file)]
    except (OSError, ValueError, KeyError, csv.Error):
        return set()
    return {
        (group, repeat, label)
        for group, repeat, label in rows
        if group in groups and label in experiment.algorithms and (repeat or "").isdigit()
    }


def _planned(run: Run) -> set[Part]:
    """Return what a run is to give."""
    return {_part(cell, label) for cell in run.plan.cells for label in run.labels}


def _complete(run: Run, store: Store) -> set[Part]:
    """Return what the store has all units of."""
    finished = store.finished()
    roles: tuple[Role, ...] = ("holdout", "test")
    return {
        _part(cell, label)
        for cell in run.plan.cells
        for label in run.labels
        if all(
            label in finished.get(unit_key(unit), ())
            for role in roles
            for unit in run.plan.units[cell, role]
        )
    }


def _part(cell: Cell, label: str) -> Part:
    return group_name(cell.group), str(cell.repeat + 1), label
