"""Blocks of whole groups, from arrays or Parquet files that need not fit into memory.

A block is a tuple ``(X, y, groups)``, as `fit_blocks` and `partial_fit` of the pursuits take it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankpursuit.errors import DataError, DataNotFoundError
from rankpursuit.visible import cut

Block = tuple[NDArray[Any], NDArray[Any], NDArray[Any] | None]
Item = TypeVar("Item", bound=tuple)

ROWS = 8192
"""Rows of a block: with a thousand candidates, 64 MB of kernel values."""


@dataclass(frozen=True)
class Blocks(Generic[Item]):
    """Blocks that can be iterated over any number of times.

    Parameters
    ----------
    open : callable
        Returns an iterator over the blocks, from the first one on.
    """

    open: Callable[[], Iterator[Item]]

    def __iter__(self) -> Iterator[Item]:
        return self.open()


def array_blocks(
    X: ArrayLike, y: ArrayLike, groups: ArrayLike | None = None, *, rows: int = ROWS
) -> Blocks[Block]:
    """Cut arrays into blocks of whole groups.

    Parameters
    ----------
    X : array-like of shape (n, n_features)
        May be a memory map, of which no more than a block is read at a time.
    y : array-like of shape (n,)
    groups : array-like of shape (n,), optional
        Labels, in any order: blocks go through the groups by label, and through the rows of a
        group as they come. Default: blocks are cut anywhere, and have no labels.
    rows : int, default 8192
        Rows of a block; a larger group is a block of its own.

    Returns
    -------
    Blocks

    Raises
    ------
    DataError
        If the arrays have different lengths.

    Examples
    --------
    >>> from rankpursuit.datasets import array_blocks
    >>> X, y = np.arange(10.0).reshape(5, 2), np.arange(5.0)
    >>> for block in array_blocks(X, y, ["b", "a", "b", "c", "c"], rows=3):
    ...     print(block[1], block[2])
    [1. 0. 2.] ['a' 'b' 'b']
    [3. 4.] ['c' 'c']
    """
    check_count("rows", rows)
    X, y = np.asanyarray(X), np.asarray(y)
    labels = None if groups is None else np.asarray(groups)
    lengths = [len(X), len(y)] + ([] if labels is None else [len(labels)])
    if len(set(lengths)) > 1:
        raise DataError(f"X, y and groups must have one length; they have {lengths}")
    return Blocks(lambda: _cut_arrays(X, y, labels, rows))


def _cut_arrays(
    X: NDArray[Any], y: NDArray[Any], labels: NDArray[Any] | None, rows: int
) -> Iterator[Block]:
    if labels is None:
        for start in range(0, len(y), rows):
            part = slice(start, start + rows)
            yield X[part], y[part], None
        return
    order = np.argsort(labels, kind="stable")
    ends = np.append(_starts(labels[order])[1:], len(order))
    start = 0
    while start < len(order):
        reached = ends.searchsorted(start + rows, side="right")
        # No group ends so early if the next one is larger than a block.
        stop = ends[max(reached - 1, ends.searchsorted(start, side="right"))]
        part = order[start:stop]
        yield X[part], y[part], labels[part]
        start = stop


def _starts(labels: NDArray[Any]) -> NDArray[np.intp]:
    """Return the rows whose label differs from that of the row before."""
    return np.concatenate([[0], np.flatnonzero(labels[1:] != labels[:-1]) + 1])


def whole_groups(pieces: Iterator[Any], rows: int, *, where: str) -> Iterator[Block]:
    """Join pieces of data, cut anywhere, into blocks of whole groups.

    Parameters
    ----------
    pieces : iterator of (X, y, groups)
    rows : int
        Minimum number of rows of a block, except for the last.
    where : str
        Name of the source in messages.

    Yields
    ------
    X, y, groups : ndarray

    Raises
    ------
    DataError
        If the rows of a group are not contiguous; the message names the row.

    Examples
    --------
    >>> X, y, groups = np.zeros((4, 1)), np.zeros(4), np.array([1, 1, 1, 2])
    >>> pieces = ((X[part], y[part], groups[part]) for part in (slice(0, 2), slice(2, 4)))
    >>> [block[2].tolist() for block in whole_groups(pieces, 2, where="here")]
    [[1, 1, 1], [2]]
    """
    seen: set[Any] = set()
    n_before = 0

    def complete(block: Any) -> Block:
        nonlocal n_before
        for start in _starts(block[2]).tolist():
            label = block[2][start : start + 1].tolist()[0]
            if label in seen:
                raise DataError(
                    f"{where}, row {n_before + start + 1}: group {label!r} continues after rows of "
                    "other groups; the rows of a group must be contiguous"
                )
            seen.add(label)
        n_before += len(block[1])
        return block

    held: Any = None
    for piece in pieces:
        if held is not None:
            piece = tuple(np.concatenate(parts) for parts in zip(held, piece, strict=True))
        last = _starts(piece[2])[-1]  # the last group may continue in the next piece
        if last >= rows:
            yield complete(tuple(part[:last] for part in piece))
            piece = tuple(part[last:] for part in piece)
        held = piece
    if held is not None:
        yield complete(held)


def check_count(name: str, value: Any) -> None:
    """Raise ValueError unless a number of rows or features is a positive integer."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
        raise DataError(f"{name} must be an integer of at least 1; got {value!r}")


def existing_file(path: str | os.PathLike[str]) -> Path:
    """Return the path of a file that is not empty, with ``~`` expanded."""
    file = Path(os.path.expanduser(path))
    if not os.path.isfile(file):
        raise DataNotFoundError(f"{cut(str(file), 1000)}: no such file")
    if file.stat().st_size == 0:
        raise DataError(f"{file}: the file is empty")
    return file


def parquet_blocks(
    path: str | os.PathLike[str],
    *,
    features: Sequence[str] | None = None,
    score: str = "score",
    group: str | None = "group",
    rows: int = ROWS,
) -> Blocks[Block]:
    """Read a Parquet file in blocks of whole groups; needs ``rankpursuit[parquet]``.

    Parameters
    ----------
    path : path
        The rows of a group must follow one another.
    features : sequence of str, optional
        Names of the columns of the features. Default: all columns but those of score and group.
    score : str, default "score"
        Name of the column of the scores.
    group : str or None, default "group"
        Name of the column of the labels; None for rows without groups.
    rows : int, default 8192
        Rows of a block, about; it holds whole groups.

    Returns
    -------
    Blocks

    Raises
    ------
    DataNotFoundError
        If there is no such file.
    DataError
        If pyarrow is not installed, the file is no Parquet file, is damaged or cut off, has no
        such column, or, while it is read, if a value is not a finite number or a group is split;
        the message names the row, counted from 1.

    Examples
    --------
    >>> import tempfile
    >>> import pandas as pd
    >>> from rankpursuit.datasets import parquet_blocks
    >>> table = pd.DataFrame({"a": [0.5, 1.5, 2.5], "score": [1, 2, 3], "query": [7, 7, 8]})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "train.parquet")
    ...     table.to_parquet(file)
    ...     for block in parquet_blocks(file, group="query", rows=2):
    ...         print(block[0].ravel(), block[1], block[2])
    [0.5 1.5] [1. 2.] [7 7]
    [2.5] [3.] [8]
    """
    check_count("rows", rows)
    file = existing_file(path)
    with open_parquet(file) as parquet:
        names = list(parquet.schema_arrow.names)
    chosen = [name for name in names if name not in (score, group)]
    chosen = chosen if features is None else list(features)
    for name in [*chosen, score, *([] if group is None else [group])]:
        if name not in names:
            raise DataError(f"{file}: no column {name!r}; its columns are {', '.join(names)}")
    if not chosen:
        raise DataError(f"{file}: no feature column besides those of score and group")

    def read() -> Iterator[Block]:
        pieces = _read_pieces(file, chosen, score, group, rows)
        return pieces if group is None else whole_groups(pieces, rows, where=str(file))

    return Blocks(read)


@contextmanager
def open_parquet(file: Path) -> Iterator[Any]:
    """Open a Parquet file; raise DataError if it is damaged, now or while it is read."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise DataError(
            f"{file}: reading Parquet needs pyarrow: pip install 'rankpursuit[parquet]'"
        ) from error
    try:
        with pyarrow.parquet.ParquetFile(file) as parquet:
            yield parquet
    except (pyarrow.ArrowException, OSError) as error:
        raise DataError(
            f"{file}: not a Parquet file, or damaged or cut off: {str(error).splitlines()[0]}"
        ) from error


def _read_pieces(
    file: Path, features: list[str], score: str, group: str | None, rows: int
) -> Iterator[Block]:
    """Read a Parquet file piece by piece; raise DataError for the first value that is invalid."""
    wanted = [*features, score, *([] if group is None else [group])]
    n_before = 0
    with open_parquet(file) as parquet:
        for batch in parquet.iter_batches(batch_size=rows, columns=wanted):
            if not batch.num_rows:
                continue
            columns = []
            for name in wanted:
                column = batch.column(name)
                values = np.asarray(column.to_numpy(zero_copy_only=False))
                if name == group:
                    bad = column.is_null(nan_is_null=True).to_numpy(zero_copy_only=False)
                    reason = "is missing"
                elif values.dtype.kind not in "iufb" and column.null_count < len(column):
                    raise DataError(f"{file}: the column {name!r} holds {column.type}, not numbers")
                else:
                    values = values.astype(np.float64)
                    bad, reason = ~np.isfinite(values), "is missing or not a finite number"
                if bad.any():
                    row = n_before + int(bad.argmax()) + 1
                    raise DataError(f"{file}, row {row}: {name!r} {reason}")
                columns.append(values)
            labels = None if group is None else columns.pop()
            yield np.column_stack(columns[:-1]), columns[-1], labels
            n_before += batch.num_rows
