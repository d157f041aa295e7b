"""Downloading the files of a data set: several addresses in turn, a checksum, whole files or none.

A file is written under a temporary name beside its place and takes its name only when its checksum
is right: a download that was interrupted leaves nothing that could be taken for the file, and files
that are there already, with the right checksum, are not asked for again.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from rankpursuit.datasets.archive import looks_like_html
from rankpursuit.datasets.data_set import DataSet, RemoteFile
from rankpursuit.errors import DownloadError

CONNECT_SECONDS = 5.0


class _Refused(Exception):
    """An answer that is not the file."""


def file_sha256(path: Path) -> str:
    """Return the SHA-256 of a file, 64 hex digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def fetch(
    data_set: DataSet,
    folder: Path,
    *,
    patience: float = 15.0,
    progress: bool = False,
    report: Callable[[str], None] = lambda line: None,
) -> list[Path]:
    """Download the files of a data set that are not in the folder yet.

    Parameters
    ----------
    data_set : DataSet
        What to download.
    folder : Path
        Where to put it; created if need be.
    patience : float
        Seconds without a byte after which an address is given up.
    progress : bool
        Whether to show a progress bar for each file on standard error.
    report : callable
        Called with a line for each file that is there, was downloaded, or was not to be had
        somewhere.

    Returns
    -------
    list of Path
        The files, all with the right checksum.

    Raises
    ------
    DownloadError
        If a file is not to be had from any address: says why, and where to put it by hand.
    """
    unreachable: set[str] = set()
    try:
        return [
            _fetch_file(file, folder, unreachable, patience, progress, report)
            for file in data_set.files
        ]
    except DownloadError as error:
        names = ", ".join(file.name for file in data_set.files)
        raise DownloadError(
            f"{data_set.name}: {error}; to do it by hand, put {names} into {folder}"
        ) from error


def _fetch_file(
    file: RemoteFile,
    folder: Path,
    unreachable: set[str],
    patience: float,
    progress: bool,
    report: Callable[[str], None],
) -> Path:
    path = folder / file.name
    if path.is_file() and file_sha256(path) == file.sha256:
        report(f"{path}: already there")
        return path
    reasons = []
    for url in file.urls:
        reason = _try(url, file, folder, unreachable, patience, progress)
        if reason is None:
            report(f"{path}: downloaded from {url}")
            return path
        report(f"{url}: {reason}")
        reasons.append(f"{urlsplit(url).netloc}: {reason}")
    raise DownloadError(
        f"{file.name} could not be downloaded ({'; '.join(dict.fromkeys(reasons))})"
    )


def _try(
    url: str,
    file: RemoteFile,
    folder: Path,
    unreachable: set[str],
    patience: float,
    progress: bool,
) -> str | None:
    """Download from one address; return None, or the reason why it failed."""
    import pooch
    import requests

    host = urlsplit(url).netloc
    if host in unreachable:  # asking a dead host once for every file would take long
        return "cannot be reached"
    pooch.get_logger().setLevel(logging.WARNING)
    downloader = _Downloader(file, patience, progress)
    try:
        pooch.retrieve(
            url,
            known_hash=f"sha256:{file.sha256}",
            fname=file.name,
            path=folder,
            downloader=downloader,
        )
    except _Refused as error:
        return str(error)
    except requests.exceptions.HTTPError as error:
        status = error.response.status_code if error.response is not None else "unknown"
        return f"answered with status {status}"
    except requests.exceptions.ReadTimeout:
        return f"sent nothing for {patience:g} seconds"
    except requests.exceptions.ChunkedEncodingError:
        return "broke off before the end of the file"
    except requests.exceptions.ConnectionError as error:
        if "timed out" in str(error) and not isinstance(error, requests.exceptions.ConnectTimeout):
            return f"sent nothing for {patience:g} seconds"
        unreachable.add(host)
        return "cannot be reached"
    except requests.exceptions.RequestException as error:
        return f"failed: {error}"
    except ValueError:  # how pooch says that the checksum differs
        return "sent a file with a wrong checksum"
    except OSError as error:
        raise DownloadError(f"{folder}: cannot be written to: {error}") from error
    return None


class _Downloader:
    """pooch's HTTP downloader, with a progress bar that always closes and a look at the answer."""

    def __init__(self, file: RemoteFile, patience: float, progress: bool) -> None:
        self.file, self.patience, self.progress = file, patience, progress

    def __call__(self, url: str, output_file: Any, pooch_: Any) -> None:
        import pooch
        from tqdm import tqdm

        with tqdm(
            desc=self.file.name,
            total=self.file.size,  # pooch takes a bar without a total for no bar at all
            unit="B",
            unit_scale=True,
            leave=False,
            disable=not self.progress,
        ) as bar:
            download = pooch.HTTPDownloader(
                progressbar=bar, chunk_size=65536, timeout=(CONNECT_SECONDS, self.patience)
            )
            download(url, output_file, pooch_)
        with open(output_file, "rb") as file:
            head = file.read(512)
        if not head:
            raise _Refused("sent an empty file")
        if looks_like_html(head):
            raise _Refused("sent a web page instead of the file")
