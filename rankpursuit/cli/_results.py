"""Find and load the results that a command is about."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rankpursuit.cli._common import Failure, echo, no_such
from rankpursuit.errors import ResultsError

if TYPE_CHECKING:
    from rankpursuit.reporting.results import Results

DEFAULT = Path("results")
REFERENCE = DEFAULT / "reference"  # results that the repository keeps; a run never writes there


def _folders(_: click.Context, __: click.Parameter, folders: tuple[Path, ...]) -> tuple[Path, ...]:
    """Refuse a folder that does not exist, before the imports that take seconds."""
    for folder in folders:
        if not os.path.isdir(folder):  # False for a name that no file can have
            raise no_such("folder of results", folder, "rp-run makes one")
    return folders


results_argument = click.argument(
    "results", nargs=-1, type=click.Path(path_type=Path), callback=_folders
)


def load_all(folders: Sequence[Path]) -> list[Results]:
    """Load the results in folders, each of one run or of several; `load_default` if none."""
    from rankpursuit.experiments.export import RunFolder
    from rankpursuit.reporting.results import load_results

    if not folders:
        return load_default()
    found: list[Path] = []
    for folder in folders:
        below = [] if RunFolder(folder).has_results else RunFolder.below(folder)
        found += [run.path for run in below] or [folder]
    return [load_results(folder) for folder in found]


def load_default() -> list[Results]:
    """Load the user's complete run of each published table, otherwise the reference run."""
    from rankpursuit.experiments.export import RunFolder
    from rankpursuit.reporting.results import load_results
    from rankpursuit.reporting.tables import config_changes, is_full_size, missing_notes

    own = {run.path.name: run.path for run in RunFolder.below(DEFAULT)}
    references = [load_results(run.path) for run in RunFolder.below(REFERENCE)]
    if not references and not own:
        raise Failure(f"{DEFAULT}/ holds no results: name a folder, or make some with rp-run")
    if not references:
        return load_all([DEFAULT])
    runs = []
    for reference in sorted(references, key=lambda run: (run.table is None, run.table, run.name)):
        folder = own.pop(reference.folder.name, None)
        run, kind = reference, "the reference"
        if folder is not None:
            try:
                found = load_results(folder)
                if (
                    found.table != reference.table
                    or missing_notes(found)
                    or not is_full_size(found)
                ):
                    kind += f"; your run in {folder} is incomplete or of another table"
                else:
                    run, kind = found, "your run" + ", changed" * bool(config_changes(found))
            except ResultsError as error:
                kind += f"; your run cannot be read: {error}"
        runs.append(run)
        echo(f"Table {reference.table}: {run.folder} ({kind})", err=True)
    for folder in own.values():
        echo(f"not included: {folder}; name it to include it", err=True)
    return runs


def load_neighbours(runs: Sequence[Results]) -> list[Results]:
    """Load the runs in folders next to these that their claims need too; skip the unreadable."""
    from rankpursuit.experiments.export import RunFolder
    from rankpursuit.reporting.published import claims_about
    from rankpursuit.reporting.results import load_results

    given = {run.table for run in runs}
    needed = {number for claim in claims_about(given) for number in claim.tables} - given
    here = [run.folder.resolve() for run in runs]
    neighbours = (run.path for one in here for run in RunFolder.below(one.parent))
    found: list[Results] = []
    for folder in dict.fromkeys(neighbours):
        if needed and folder not in here:
            try:
                run = load_results(folder)
            except ResultsError as error:
                echo(f"skipped: {error}", err=True)
                continue
            if run.table in needed:
                needed.remove(run.table)
                found.append(run)
    return found
