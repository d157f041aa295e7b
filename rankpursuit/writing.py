"""How every file of the package is written: whole or not at all, and nowhere else than told.

A file is made beside its place, under a name that nobody can foresee and that must not exist yet,
and then takes its name. What stands there already is replaced only if it is a regular file:
symbolic links are not followed, and links, devices, pipes and folders are refused.
"""

from __future__ import annotations

import os
import re
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from rankpursuit.errors import OutputError

_LEFT = re.compile(r"\.(?P<name>.+)\.[0-9a-f]{16}\.partial")


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file so that no reader ever sees half of it.

    Parameters
    ----------
    path : Path
        A new file, or a regular file to replace; its folder is there.
    content : bytes

    Raises
    ------
    OutputError
        If it cannot be written, or something that is no regular file has its name.
    """
    with replacing(path) as file:
        file.write(content)


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """Open a file that takes its place when the block ends, and is gone if the block fails.

    Parameters
    ----------
    path : Path
        See `write_atomically`.

    Yields
    ------
    binary file
    """
    check_output(path)
    partial = path.with_name(f".{path.name}.{secrets.token_hex(8)}.partial")
    try:
        file = open(partial, "xb")  # noqa: SIM115  (x: fails if the name exists, be it as a link)
        try:
            with file:
                yield file
            os.replace(partial, path)
        finally:
            partial.unlink(missing_ok=True)
    except OSError as error:
        raise OutputError(f"cannot write {path}: {error.strerror or error}") from error


def check_output(path: Path) -> None:
    """Raise an `OutputError` if something that is not to be replaced has this name."""
    try:
        mode = os.lstat(path).st_mode
    except FileNotFoundError:
        return
    except OSError as error:
        raise OutputError(f"cannot write {path}: {error.strerror}") from error
    if stat.S_ISREG(mode):
        return
    kinds = {stat.S_IFLNK: "a symbolic link", stat.S_IFDIR: "a folder"}
    kind = kinds.get(stat.S_IFMT(mode), "a device or pipe")
    raise OutputError(f"cannot write {path}: it is {kind}, not a regular file")


def remove_leftovers(folder: Path, names: set[str]) -> None:
    """Remove what killed writers of these names left; only while no other can be writing them."""
    for path in folder.iterdir():
        left = _LEFT.fullmatch(path.name)
        if left and left["name"] in names:
            path.unlink()
