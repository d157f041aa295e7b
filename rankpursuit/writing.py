"""Write files atomically.

A file is written under a random name in the same folder and then renamed. Only regular files are
replaced: symbolic links are not followed, and links, devices, pipes and folders are refused.
"""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from rankpursuit.errors import OutputError


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file; raise an `OutputError` if it cannot be written or replaced."""
    with replacing(path) as file:
        file.write(content)


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """Open a temporary file that replaces `path` on success and is removed on failure."""
    check_output(path)
    partial = path.with_name(f".{path.name}.{secrets.token_hex(8)}.partial")
    try:
        file = open(partial, "xb")  # noqa: SIM115  (x: fails if the name exists, even as a link)
        try:
            with file:
                yield file
            os.replace(partial, path)
        finally:
            partial.unlink(missing_ok=True)
    except OSError as error:
        raise OutputError(f"cannot write {path}: {error.strerror or error}") from error


def check_output(path: Path) -> None:
    """Raise an `OutputError` if the path exists and is not a regular file."""
    if os.path.lexists(path) and (os.path.islink(path) or not os.path.isfile(path)):
        raise OutputError(
            f"cannot write {path}: a link, folder or device, not a regular file; use another path"
        )


def remove_leftovers(folder: Path, names: set[str]) -> None:
    """Remove partial files that a killed process left; no other process may be writing."""
    for path in folder.iterdir():
        left = re.fullmatch(r"\.(.+)\.[0-9a-f]{16}\.partial", path.name)
        if left and left[1] in names:
            path.unlink()
