"""Which results a command is about."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rankpursuit.cli._common import Failure

if TYPE_CHECKING:
    from rankpursuit.reporting.results import Results

DEFAULT = Path("results")


def load_all(folders: Sequence[Path]) -> list[Results]:
    """Read the results in folders; by default, everything in ``results/``.

    A folder is that of a run, or holds those of several.
    """
    from rankpursuit.experiments.run.folder import RunFolder
    from rankpursuit.reporting.results import load_results

    found: list[Path] = []
    for folder in folders or [DEFAULT]:
        below = [] if RunFolder(folder).has_results else RunFolder.below(folder)
        found += [run.path for run in below] or [folder]
    if found == [DEFAULT]:
        raise Failure(f"{DEFAULT}/ holds no results: name a folder, or make some with rp-run")
    return [load_results(folder) for folder in found]
