"""The folder of a run: what its files are called."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Self


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
    def written(self) -> tuple[Path, ...]:
        """All files but the store."""
        tables = (self.repeats, self.users, self.curves, self.timings)
        return (*tables, self.config, self.provenance)

    @property
    def has_results(self) -> bool:
        """Whether something is complete."""
        return self.repeats.exists()

    @classmethod
    def below(cls, folder: Path) -> list[Self]:
        """Return the folders with results directly below a folder, by name."""
        found = [cls(path) for path in sorted(folder.iterdir())] if folder.is_dir() else []
        return [run for run in found if run.has_results]
