"""What is known of a public data set: addresses, checksums, expected counts, terms, citation."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class RemoteFile:
    """A file of a data set, as its owners publish it."""

    name: str
    """File name on disk, inside the data set's folder."""
    sha256: str
    """SHA-256 of the file, 64 hex digits."""
    size: int
    """Approximate size in bytes, for display only; the checksum decides."""
    urls: tuple[str, ...]
    """Addresses, tried in turn."""


@dataclass(frozen=True)
class DataSet:
    """What is known of a data set before it is downloaded."""

    name: str
    title: str
    files: tuple[RemoteFile, ...]
    """The files as published."""
    layouts: tuple[tuple[str, ...], ...]
    """Sets of files that make the data set complete, in the order in which they are looked for."""
    n_users: int
    n_items: int
    n_ratings: int
    bounds: tuple[float, float]
    """Smallest and largest rating that occurs."""
    table_sha256: str
    """`Ratings.checksum` of the whole table: the same for an archive and its unpacked file."""
    licence: str
    """The terms in a few words, for the listing."""
    terms: str
    """The terms in full sentences, printed by a download."""
    citation: str
