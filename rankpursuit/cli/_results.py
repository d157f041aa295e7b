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
        try:
            found = load_results(folder) if folder else reference
            if found.table == reference.table and is_full_size(found) and not missing_notes(found):
                run = found
        except ResultsError as error:
            echo(f"not included: {error}", err=True)
        if folder is not None:
            changed = ", changed" if config_changes(run) else ""
            kind = (
                f"your run{changed}" if run is not reference else f"{kind}; {folder} is incomplete"
            )
        runs.append(run)
        echo(f"Table {reference.table}: {run.folder} ({kind})", err=True)
    for folder in own.values():
        echo(f"not included: {folder}; name it to include it", err=True)
    return runs
