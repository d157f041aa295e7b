"""Exceptions raised by the package, and its warnings.

Every error that a user can cause and fix derives from `RankpursuitError`: the commands print its
message as one line and exit with a non-zero status. Any other exception is a bug and keeps its
traceback.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable
from typing import Any

_NOT_THE_CALLER = ("rankpursuit", "sklearn", "joblib")
"""Packages whose lines a warning never points to."""


def warn_caller(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the line that called the package, directly or through scikit-learn and joblib."""
    frame, level = sys._getframe(1), 2
    while frame.f_back and frame.f_globals.get("__name__", "").split(".")[0] in _NOT_THE_CALLER:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)  # noqa: TID251


class RankpursuitError(Exception):
    """Base of all errors that a user of the package can cause and fix."""


class DataError(RankpursuitError, ValueError):
    """Data that cannot be used: a malformed line, a rating outside the range, a wrong shape."""


class DataNotFoundError(RankpursuitError, FileNotFoundError):
    """A data set, or one of its files, was not found in any of the folders searched."""


class DownloadError(RankpursuitError):
    """A file could not be downloaded from any of its URLs."""


class _ErrorList(RankpursuitError):
    def __init__(self, problems: Iterable[str]) -> None:
        self.problems = list(problems)
        super().__init__("\n".join(self.problems))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.problems,)  # as raised in a worker process


class ConfigError(_ErrorList, ValueError):
    """A config with errors; `problems` lists them as ``key: message``."""


class TooFewUsersError(DataError):
    """Fewer users than the protocol needs; `problems` lists what is missing."""

    def __init__(self, *problems: str) -> None:
        self.problems = list(problems)
        super().__init__("; ".join(self.problems))


class StoreError(RankpursuitError):
    """A results store that cannot be used: locked, damaged, or of other data, config or code."""


class RunError(RankpursuitError):
    """A run that cannot continue."""


class ClusterError(_ErrorList, RunError):
    """Workers that cannot take part in a run; `problems` has the reason for each."""


class OutputError(RankpursuitError):
    """A file that cannot be written: no space, no permission, or not a regular file."""


class ModelFileError(RankpursuitError, ValueError):
    """A model file that is missing, damaged, not a model of this package, or not writable."""


class ResultsError(RankpursuitError):
    """Results of a run that are missing or cannot be read."""
