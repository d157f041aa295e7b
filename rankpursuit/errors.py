"""The named errors of the package.

Every error that a person can cause, and can mend, derives from `RankpursuitError`: the commands
print its message as one line and leave with a non-zero status. Anything else is a bug, and shows
its traceback.
"""


class RankpursuitError(Exception):
    """Base of all errors that a user of the package can cause and mend."""


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


class TooFewUsersError(DataError):
    """A group, or the set of possible test users, is smaller than the protocol needs."""


class StoreError(RankpursuitError):
    """A store of results that cannot be used: locked, unreadable, or of something else."""


class RunError(RankpursuitError):
    """A run that cannot go on."""
