"""Lines of svmlight files with query ids, ``2 qid:10 1:0.03 2:0.5 # comment``, as arrays.

A file is read in pieces of whole lines. One regular expression vouches for all lines of a piece,
so that the fast parser of numbers cannot guess; only a piece that it refuses is looked at line by
line.
"""

from __future__ import annotations

import gzip
import re
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast

import numpy as np
from numpy.typing import NDArray

from rankpursuit.datasets.archive import looks_like_html
from rankpursuit.datasets.letor_faults import COMMENT, LINE, fault_of
from rankpursuit.errors import DataError

PIECE = 1 << 20
"""Bytes that are read, and parsed, at a time."""
LONGEST_LINE = 1 << 26

_LINES = re.compile(rb"(?:%b\n)*+" % LINE)
_COMMENTS = re.compile(COMMENT)
_QUERIES = re.compile(rb"qid:([0-9]++)")


@dataclass(frozen=True)
class Rows:
    """Some rows, one document each.

    Attributes
    ----------
    origins : ndarray of shape (n_rows, 2)
        Number of the file, from 0, and of the line in it, from 1.
    grades : ndarray of shape (n_rows,)
    queries : ndarray of shape (n_rows,)
    counts : ndarray of shape (n_rows,)
        How many features a row names.
    features : ndarray of shape (n_entries,)
        Columns, from 0, of the features that the rows name, row after row and rising in each.
    values : ndarray of shape (n_entries,)
        The values of these features.
    """

    origins: NDArray[np.int64]
    grades: NDArray[np.float64]
    queries: NDArray[np.int64]
    counts: NDArray[np.intp]
    features: NDArray[np.int32]
    values: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.grades)

    @property
    def width(self) -> int:
        """The number of features that the rows need."""
        return int(self.features.max(initial=-1)) + 1

    def origin(self, row: int, files: Sequence[Path]) -> str:
        """Name the file and the line of a row."""
        number, line = self.origins[row]
        return f"{files[number]}, line {line}"

    def part(self, start: int, stop: int) -> Rows:
        """Return the rows from `start` to before `stop`."""
        first, last = self.counts[:start].sum(), self.counts[:stop].sum()
        rows, entries = slice(start, stop), slice(first, last)
        return Rows(
            self.origins[rows],
            self.grades[rows],
            self.queries[rows],
            self.counts[rows],
            self.features[entries],
            self.values[entries],
        )

    @classmethod
    def joined(cls, parts: Sequence[Rows]) -> Rows:
        """Return the rows of several parts, one after the other."""
        if len(parts) == 1:
            return parts[0]
        names = cls.__dataclass_fields__
        return cls(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))


def read_rows(file: Path, number: int = 0) -> Iterator[Rows]:
    """Read the rows of a file, which may be packed by gzip, piece by piece.

    Parameters
    ----------
    file : path
    number : int
        The number of the file, for the origins of its rows.

    Raises
    ------
    DataError
        At the first line that is malformed, if the file ends in the middle of a line, and if it
        holds no row at all.
    """
    n_rows = 0
    for first_line, text in _pieces(file):
        rows = _parse(text, file, number, first_line)
        n_rows += len(rows)
        if len(rows):
            yield rows
    if n_rows == 0:
        raise DataError(f"{file}: the file holds no rows")


def count_upper(file: Path) -> tuple[int, int]:
    """Count lines and colons of a file: it has at most so many rows and named features."""
    n_lines = n_colons = 0
    with _opened(file) as stream:
        while chunk := stream.read(PIECE):
            n_lines += chunk.count(b"\n")
            n_colons += chunk.count(b":")
    return n_lines, n_colons


@contextmanager
def _opened(file: Path) -> Iterator[BinaryIO]:
    """Open a file, unpack it if it is packed, and refuse it where that fails."""
    with file.open("rb") as raw:
        packed = raw.read(2) == b"\x1f\x8b"
        raw.seek(0)
        try:
            yield cast(BinaryIO, gzip.GzipFile(fileobj=raw)) if packed else raw
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            raise DataError(
                f"{file}: packed by gzip, and truncated or damaged ({error}); get it again"
            ) from error


def _pieces(file: Path) -> Iterator[tuple[int, bytes]]:
    """Read whole lines, each time with the number of the first of them."""
    line, rest = 1, b""
    with _opened(file) as stream:
        while chunk := stream.read(PIECE):
            if line == 1 and not rest:
                chunk = chunk.removeprefix(b"\xef\xbb\xbf")
                if looks_like_html(chunk[:512]):
                    raise DataError(f"{file}: a web page, not rows with query ids")
            end = chunk.rfind(b"\n") + 1
            if end:
                text = rest + chunk[:end]
                yield line, text
                line, rest = line + text.count(b"\n"), b""
            rest += chunk[end:]
            if len(rest) > LONGEST_LINE:
                raise DataError(f"{file}, line {line}: longer than {LONGEST_LINE:,} bytes; refused")
    if rest:
        raise DataError(
            f"{file}, line {line}: the file ends in the middle of this line; get it again, or end "
            "the line by a line break if it is complete"
        )


def _parse(text: bytes, file: Path, number: int, first_line: int) -> Rows:
    """Parse whole lines, of which the first has the number `first_line`."""
    rows = _parse_quickly(text, number, first_line)
    if rows is not None:
        return rows
    faults = map(fault_of, text.split(b"\n"))
    line, fault = next((line, fault) for line, fault in enumerate(faults, first_line) if fault)
    raise DataError(f"{file}, line {line}: {fault}")


def _parse_quickly(text: bytes, number: int, first_line: int) -> Rows | None:
    """Parse lines if they are sound, and return None if not."""
    if not _LINES.fullmatch(text) or not (text.isascii() or _is_utf8(text)):
        return None
    if b"#" in text:
        text = _COMMENTS.sub(b"", text)
    codes = np.frombuffer(text, dtype=np.uint8)
    colons = np.searchsorted(np.flatnonzero(codes == ord(":")), np.flatnonzero(codes == ord("\n")))
    n_colons = np.diff(colons, prepend=0)
    lines = np.flatnonzero(n_colons)
    counts = n_colons[lines] - 1  # one of the colons is that of qid:
    try:
        queries = np.fromiter(map(int, _QUERIES.findall(text)), dtype=np.int64, count=len(lines))
    except OverflowError:
        return None
    # In a text of white space alone, numpy finds a number.
    words = _QUERIES.sub(b"", text).replace(b":", b" ") if len(lines) else b""
    numbers = np.fromstring(words, sep=" ")
    firsts = np.cumsum(1 + 2 * counts) - (1 + 2 * counts)
    entries = np.delete(numbers, firsts).reshape(-1, 2)
    features, values = entries[:, 0], entries[:, 1]
    rises = np.diff(features, prepend=0.0)
    own_first = (np.cumsum(counts) - counts)[counts > 0]
    rises[own_first] = features[own_first]
    if not (rises > 0.0).all() or not np.isfinite(numbers).all():
        return None
    return Rows(
        origins=np.column_stack([np.full(len(lines), number), lines + first_line]),
        grades=numbers[firsts],
        queries=queries,
        counts=counts,
        features=(features - 1.0).astype(np.int32),
        values=np.ascontiguousarray(values),
    )


def _is_utf8(text: bytes) -> bool:
    try:
        text.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
