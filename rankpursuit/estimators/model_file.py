"""Fitted models as files: what `predict` needs and nothing else, without pickle.

A file begins with a line that names the format and its version and a line with the SHA-256 of all
that follows: an archive of arrays (``.npz``), one of which is a description in JSON.
"""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankpursuit.errors import ModelFileError

VERSION = 1
_MAGIC = b"rankpursuit model "
_DESCRIPTION = "description"


@dataclass(frozen=True)
class Model:
    """What a file holds.

    Attributes
    ----------
    description : dict
        Numbers, text and lists: the class, its parameters, what was learned besides arrays.
    arrays : dict of str to ndarray
    """

    description: dict[str, Any]
    arrays: dict[str, NDArray[Any]] = field(default_factory=dict)


def write_model(model: Model, path: str | Path) -> None:
    """Write a model, beside its place first, so that there is never half of one.

    Parameters
    ----------
    model : Model
    path : path
    """
    buffer = io.BytesIO()
    described = np.frombuffer(json.dumps(model.description).encode(), dtype=np.uint8)
    arrays: Mapping[str, Any] = {_DESCRIPTION: described, **model.arrays}
    np.savez_compressed(buffer, **arrays)
    content = buffer.getvalue()
    head = _MAGIC + f"{VERSION}\n{hashlib.sha256(content).hexdigest()}\n".encode()
    path = Path(path)
    partial = path.with_name(f".{path.name}.partial")
    try:
        with partial.open("xb") as file:
            file.write(head + content)
        partial.replace(path)
    except OSError as error:
        raise ModelFileError(f"{path}: cannot be written: {error.strerror or error}") from error
    finally:
        partial.unlink(missing_ok=True)


def read_model(path: str | Path) -> Model:
    """Read a model.

    Raises
    ------
    ModelFileError
        If there is no such file, if it is none of a model, is damaged, or was written by a newer
        version.
    """
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        raise ModelFileError(f"{path}: cannot be read: {error.strerror or error}") from error
    first, _, rest = content.partition(b"\n")
    version = first.removeprefix(_MAGIC)
    if not first.startswith(_MAGIC) or not version.isdigit():
        raise ModelFileError(f"{path}: not a model of rankpursuit; model.save(path) writes one")
    if int(version) > VERSION:
        raise ModelFileError(
            f"{path}: written by a newer version of rankpursuit (format {int(version)}, this one "
            f"reads up to {VERSION}): upgrade rankpursuit to read it"
        )
    checksum, _, archive = rest.partition(b"\n")
    if hashlib.sha256(archive).hexdigest().encode() != checksum:
        raise ModelFileError(f"{path}: damaged, its checksum does not fit: save or copy it again")
    try:
        with np.load(io.BytesIO(archive), allow_pickle=False) as found:
            arrays = dict(found)
        return Model(json.loads(arrays.pop(_DESCRIPTION).tobytes()), arrays)
    except (KeyError, ValueError, zipfile.BadZipFile) as error:
        raise ModelFileError(f"{path}: not a model of rankpursuit: {error}") from error
