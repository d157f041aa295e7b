"""The named errors of the package.

Every error that a user can cause and fix derives from `RankpursuitError`: the commands print its
message as one line and exit with a non-zero status. Anything else is a bug, and shows its
traceback.
"""

from __future__ import annotations

from collections.abc import Iterable


class RankpursuitError(Exception):
    """Base of all errors that a user of the package can cause and fix."""


class DataError(RankpursuitError, ValueError):
    """Data that cannot be used: a malformed line, a rating outside the range, a wrong shape."""


class ArchiveError(DataError):
    """A file that should be a zip archive and is not, is damaged, or holds what it should not."""


class DataNotFoundError(RankpursuitError, FileNotFoundError):
    """A data set, or a file of it, is in none of the places that were searched."""


class DownloadError(RankpursuitError):
    """A file could not be downloaded from any of its addresses."""


class ProtocolError(RankpursuitError, ValueError):
    """An experimental protocol that contradicts itself."""


class ConfigError(RankpursuitError, ValueError):
    """An experiment's config that cannot be used.

    Parameters
    ----------
    faults : iterable of str
        Everything that is wrong, one line each: ``path.to.key: message``, or, if the file cannot
        be read at all, ``file, line: message``.
    """

    def __init__(self, faults: Iterable[str]) -> None:
        self.faults = list(faults)
        super().__init__("\n".join(self.faults))


class TooFewUsersError(DataError):
    """A group, or the set of possible test users, is smaller than the protocol needs.

    Parameters
    ----------
    *faults : str
        Everything that there are too few users for, one line each.
    """

    def __init__(self, *faults: str) -> None:
        self.faults = list(faults)
        super().__init__("; ".join(self.faults))


class StoreError(RankpursuitError):
    """A store of results that cannot be used: locked, damaged, or of something else."""


class RunError(RankpursuitError):
    """A run that cannot go on."""


class ClusterError(RunError):
    """A cluster whose workers cannot take part in a run.

    Parameters
    ----------
    faults : iterable of str
        Everything that is missing or different, one line each: ``worker ADDRESS: message``.
    """

    def __init__(self, faults: Iterable[str]) -> None:
        self.faults = list(faults)
        super().__init__("\n".join(self.faults))


class OutputError(RankpursuitError):
    """A file that cannot be written: no room, no right to, or something else has its name."""


class ModelFileError(RankpursuitError, ValueError):
    """A file of a fitted model that is missing, damaged, of a newer version, or not writable."""


class ResultsError(RankpursuitError):
    """Results of a run that are missing or cannot be read."""
