"""Reading one member of a zip archive into memory, refusing archives that are not sound."""

from __future__ import annotations

import lzma
import zipfile
import zlib
from pathlib import Path, PurePosixPath

from rankpursuit.errors import ArchiveError

LARGEST_MEMBER = 256 * 1024 * 1024
"""Bytes of a file that is read into memory as a whole."""
_CHUNK = 8192
"""Bytes read at a time: one of them can unpack to some megabytes."""
_DAMAGE = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    EOFError,
    NotImplementedError,
    OSError,  # how bz2 says it
    RuntimeError,
    ValueError,
    OverflowError,
)


def looks_like_html(head: bytes) -> bool:
    """Tell whether the first bytes of a file are those of a web page."""
    start = head.lstrip(b"\xef\xbb\xbf \t\r\n")[:15].lower()
    return start.startswith((b"<!doctype", b"<html", b"<head", b"<?xml"))


def read_member(archive: Path, suffix: str) -> bytes:
    """Return the bytes of the one member of `archive` whose name ends in `suffix`.

    Nothing is unpacked to disk.

    Raises
    ------
    ArchiveError
        If the file is a web page, is not a zip archive, is truncated or damaged, holds a member
        with a path outside the archive, or does not hold exactly one such member.
    """
    with archive.open("rb") as file:
        head = file.read(512)
    if not head:
        raise ArchiveError(f"{archive}: the file is empty; download it again")
    if looks_like_html(head):
        raise ArchiveError(f"{archive}: a web page, not a zip archive; download it again")
    try:
        with zipfile.ZipFile(archive) as opened:
            return _read(opened, _choose(archive, opened.infolist(), suffix))
    except ArchiveError:
        raise
    except _DAMAGE as error:
        raise ArchiveError(
            f"{archive}: not a zip archive, or truncated or damaged ({error}); download it again"
        ) from error


def _read(opened: zipfile.ZipFile, member: zipfile.ZipInfo) -> bytes:
    """Return the bytes of a member: as many as it declares, however many it would unpack to."""
    content = bytearray()
    with opened.open(member) as packed:
        while chunk := packed.read(min(_CHUNK, member.file_size - len(content))):
            content += chunk
        packed.read(1)  # the end, where the checksum is compared
    if len(content) != member.file_size:
        raise zipfile.BadZipFile(
            f"member {member.filename!r} declares {member.file_size:,} bytes, and has "
            f"{len(content):,}"
        )
    return bytes(content)


def _choose(archive: Path, members: list[zipfile.ZipInfo], suffix: str) -> zipfile.ZipInfo:
    for member in members:
        path = PurePosixPath(member.filename.replace("\\", "/"))
        drive = bool(path.parts) and path.parts[0].endswith(":")
        if path.is_absolute() or ".." in path.parts or drive:
            raise ArchiveError(
                f"{archive}: member {member.filename!r} has a path outside the archive; refused"
            )
    found = [member for member in members if member.filename.lower().endswith(suffix)]
    if len(found) != 1:
        raise ArchiveError(f"{archive}: holds {len(found)} files *{suffix}, expected exactly one")
    if found[0].file_size > LARGEST_MEMBER:
        raise ArchiveError(
            f"{archive}: member {found[0].filename!r} would take {found[0].file_size:,} bytes, and "
            f"{LARGEST_MEMBER:,} is the most; refused"
        )
    return found[0]
