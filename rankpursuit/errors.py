"""Exceptions raised by the package.

Every error that a user can cause and fix derives from `RankpursuitError`: the commands print its
message as one line and exit with a non-zero status. Any other exception is a bug and keeps its
traceback.
"""

from __future__ import annotations

from collections.abc import Iterable


class RankpursuitError(Exception):
    """Base of all errors that a user of the package can cause and fix."""


class DataError(RankpursuitError, ValueError):
    """Data that cannot be used: a malformed line, a rating outside the range, a wrong shape."""


class DataNotFoundError(RankpursuitError, FileNotFoundError):
    """A data set, or one of its files, was not found in any of the folders searched."""


class DownloadError(RankpursuitError):
    """A file could not be downloaded from any of its URLs."""


class _ErrorList(RankpursuitError):
    def __init__(self, faults: Iterable[str]) -> None:
        self.faults = list(faults)
        super().__init__("\n".join(self.faults))


class ConfigError(_ErrorList, ValueError):
    """A config that cannot be used; `faults` lists the problems as ``key: message``."""


class TooFewUsersError(DataError):
    """Fewer users than the protocol needs; `faults` lists the problems."""

    def __init__(self, *faults: str) -> None:
        self.faults = list(faults)
        super().__init__("; ".join(self.faults))


class StoreError(RankpursuitError):
    """A results store that cannot be used: locked, damaged, or of another config or data set."""


class RunError(RankpursuitError):
    """A run that cannot continue."""


class ClusterError(_ErrorList, RunError):
    """Workers that cannot take part in a run; `faults` lists the problems."""


class OutputError(RankpursuitError):
    """A file that cannot be written: no space, no permission, or not a regular file."""


class ModelFileError(RankpursuitError, ValueError):
    """A model file that is missing, damaged, of a newer version, or not writable."""


class ResultsError(RankpursuitError):
    """Results of a run that are missing or cannot be read."""
