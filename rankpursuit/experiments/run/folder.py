"""The folder of a run: what its files are called."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Self

from rankpursuit.experiments.methods import METRICS

_TABLES = tuple(f"tables.{ending}" for ending in ("csv", "md", "tex", "txt"))
_ALONE = ("*-errors.tex", "*-sparsity.tex", "*-parameters.tex", "*-control-*.tex", "*-pairs-*.tex")
_ALONE += ("*claims.tex",)
_FIGURES = ("basis", "paired", "published", "ranks", "sparsity", "width")


@dataclass(frozen=True)
class RunFolder:
    """The files of a run: its store, and what is written from it."""

    path: Path

    @property
    def store(self) -> Path:
        """All results, by unit and algorithm."""
        return self.path / "results.sqlite"

    @property
    def repeats(self) -> Path:
        """A row for each group, repeat, algorithm and metric."""
        return self.path / "repeats.csv"

    @property
    def users(self) -> Path:
        """A row for each test user of those."""
        return self.path / "users.csv.gz"

    @property
    def curves(self) -> Path:
        """Errors along the axes of the grids."""
        return self.path / "curves.csv"

    @property
    def timings(self) -> Path:
        """Seconds of each algorithm."""
        return self.path / "timings.csv"

    @property
    def config(self) -> Path:
        """The experiment as it was run."""
        return self.path / "config.yaml"

    @property
    def provenance(self) -> Path:
        """Where the results came from."""
        return self.path / "provenance.json"

    @property
    def tables(self) -> tuple[Path, ...]:
        """The results, as tables."""
        return (self.repeats, self.users, self.curves)

    @property
    def written(self) -> tuple[Path, ...]:
        """All files that a run writes, but the store."""
        return (*self.tables, self.timings, self.config, self.provenance)

    @property
    def derived(self) -> tuple[Path, ...]:
        """What other commands write here by themselves: tables and figures of the results."""
        figures = [
            f"{figure}-{metric}{ending}"
            for figure in _FIGURES
            for metric in METRICS
            for ending in (".png", ".svg", "-dark.svg")
        ]
        alone = [path for ending in _ALONE for path in (self.path / "tables").glob(ending)]
        return (*(self.path / name for name in (*_TABLES, *figures)), *sorted(alone))

    @property
    def has_store(self) -> bool:
        """Whether there is a store; an empty file is none."""
        return self.store.exists() and (not self.store.is_file() or self.store.stat().st_size > 0)

    @property
    def has_results(self) -> bool:
        """Whether something is complete."""
        return self.repeats.exists()

    @classmethod
    def below(cls, folder: Path) -> list[Self]:
        """Return the folders with results directly below a folder, by name."""
        found = [cls(path) for path in sorted(folder.iterdir())] if folder.is_dir() else []
        return [run for run in found if run.has_results]
