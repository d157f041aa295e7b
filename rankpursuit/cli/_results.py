"""Which results a command is about."""

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


def _folders(_: click.Context, __: click.Parameter, folders: tuple[Path, ...]) -> tuple[Path, ...]:
    """Refuse a folder that is not there, before the imports that take seconds."""
    for folder in folders:
        if not os.path.isdir(folder):
            raise no_such("folder of results", folder, "rp-run makes one")
    return folders


results_argument = click.argument(
    "results", nargs=-1, type=click.Path(path_type=Path), callback=_folders
)
"""The folders that a command gets, for `load_all`."""


def load_all(folders: Sequence[Path]) -> list[Results]:
    """Read the results in folders; by default, everything in ``results/``.

    A folder is that of a run, or holds those of several.
    """
    from rankpursuit.experiments.export import RunFolder
    from rankpursuit.reporting.results import load_results

    found: list[Path] = []
    for folder in folders or [DEFAULT]:
        below = [] if RunFolder(folder).has_results else RunFolder.below(folder)
        found += [run.path for run in below] or [folder]
    if found == [DEFAULT]:
        raise Failure(f"{DEFAULT}/ holds no results: name a folder, or make some with rp-run")
    return [load_results(folder) for folder in found]


def load_beside(runs: Sequence[Results]) -> list[Results]:
    """Read the runs that claims about these need too, if they lie in folders beside them.

    What cannot be read there is named on standard error, and left aside.
    """
    from rankpursuit.experiments.export import RunFolder
    from rankpursuit.reporting.published import claims_about
    from rankpursuit.reporting.results import load_results

    given = {run.table for run in runs}
    needed = {number for claim in claims_about(given) for number in claim.tables} - given
    here = [run.folder.resolve() for run in runs]
    found: list[Results] = []
    beside = (run.path for one in here for run in RunFolder.below(one.parent))
    for folder in dict.fromkeys(beside):
        if not needed:
            break
        if folder in here:
            continue
        try:
            run = load_results(folder)
        except ResultsError as error:
            echo(f"left aside: {error}", err=True)
            continue
        if run.table in needed:
            needed.remove(run.table)
            found.append(run)
    return found
