"""Blocks of whole groups, from arrays or Parquet files that need not fit into memory."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import groupby, pairwise
from operator import itemgetter
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankpursuit.errors import DataError, DataNotFoundError
from rankpursuit.preferences import check_labels

Block = tuple[NDArray[Any], NDArray[Any], NDArray[Any] | None]
Run = tuple[Any, str, Any]
Item = TypeVar("Item", bound=tuple)

ROWS = 8192  # per block: 64 MB of kernel values for a thousand candidates


@dataclass(frozen=True)
class Blocks(Generic[Item]):
    """Blocks that can be iterated over any number of times; `open` returns an iterator."""

    open: Callable[[], Iterator[Item]]

    def __iter__(self) -> Iterator[Item]:
        return self.open()


def array_blocks(
    X: ArrayLike, y: ArrayLike, groups: ArrayLike | None = None, *, rows: int = ROWS
) -> Blocks[Block]:
    """Split arrays into blocks of whole groups.

    Parameters
    ----------
    X : array-like of shape (n, n_features)
        May be a memory map; one block at a time is read.
    y : array-like of shape (n,)
    groups : array-like of shape (n,), optional
        Labels, in any order. Groups are sorted by label; the rows of a group keep their order.
        Default: blocks of `rows` rows without labels.
    rows : int, default 8192
        Maximum number of rows per block; a larger group forms a block of its own.

    Returns
    -------
    Blocks
        Tuples ``(X, y, groups)``; each iteration starts from the beginning.

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
    labels = None if groups is None else check_labels(groups)
    lengths = [len(array) for array in (X, y, labels) if array is not None]
    if len(set(lengths)) > 1:
        raise DataError(f"X, y and groups must have the same length; got lengths {lengths}")

    def read() -> Iterator[Block]:
        if labels is None:
            for start in range(0, len(y), rows):
                yield X[start : start + rows], y[start : start + rows], None
            return
        order = np.argsort(labels, kind="stable")
        for block in whole_groups(((x, "", order[at]) for x, at in _runs(labels[order])), rows):
            part = np.concatenate([part for *_, part in block])
            yield X[part], y[part], labels[part]

    return Blocks(read)


def _runs(labels: NDArray[Any]) -> Iterator[tuple[Any, slice]]:
    """Yield each run of rows with one label: the label, and the rows."""
    starts = [0, *(np.flatnonzero(labels[1:] != labels[:-1]) + 1).tolist(), len(labels)]
    yield from ((labels[start], slice(start, stop)) for start, stop in pairwise(starts))


def whole_groups(runs: Iterable[Run], rows: int) -> Iterator[list[Run]]:
    """Join runs of rows into blocks of as many whole groups as fit.

    A run is a tuple of a label, a location for error messages, and a sequence with one element per
    row. A block has at most `rows` rows, unless its only group has more. Raises DataError if the
    rows of a group are not contiguous.
    """
    seen, block, n_rows = set(), list[Run](), 0
    for label, same in groupby(runs, key=itemgetter(0)):
        group = list(same)
        if label in seen:
            reason = "continues after another group; sort the rows by group"
            raise DataError(f"{group[0][1]}: group {label} {reason}")
        seen.add(label)
        size = sum(len(part) for *_, part in group)
        if block and n_rows + size > rows:
            yield block
            block, n_rows = [], 0
        block += group
        n_rows += size
    if block:
        yield block


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
        The rows of a group must be contiguous.
    features : sequence of str, optional
        Columns of the features. Default: all columns but those of score and group, and but the
        index, if the file was written from a data frame with one.
    score : str, default "score"
        Column of the scores.
    group : str or None, default "group"
        Column of the labels; None for rows without groups.
    rows : int, default 8192
        Maximum number of rows per block; a larger group forms a block of its own.

    Returns
    -------
    Blocks
        Tuples ``(X, y, groups)``; each iteration reads the file again.

    Raises
    ------
    DataNotFoundError, DataError
        If the file does not exist; if it is damaged or lacks a column; or, during iteration, if a
        value is not a finite number or a group is split. The message names the row.

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
        index = (parquet.schema_arrow.pandas_metadata or {}).get("index_columns", [])
    others = [score] if group is None else [score, group]
    left = [name for name in names if name not in [*others, *index]]
    chosen = left if features is None else list(features)
    for name in [*chosen, *others]:
        if name not in names:
            raise DataError(f"{file}: no column {name!r}; its columns are {', '.join(names)}")
    if not chosen:
        raise DataError(f"{file}: no feature column besides those of score and group")

    def read_runs() -> Iterator[Run]:
        n_before = 0
        with open_parquet(file) as parquet:
            for batch in parquet.iter_batches(batch_size=rows, columns=[*chosen, *others]):
                values = batch.to_pandas(ignore_metadata=True)  # the index is columns too
                try:
                    numbers = values[[*chosen, score]].to_numpy(dtype=np.float64)
                except (TypeError, ValueError) as error:
                    reason = f"features and scores must be numbers: {error}"
                    raise DataError(f"{file}: {reason}") from error
                is_bad = ~np.isfinite(numbers).all(axis=1) | values[others].isna().any(axis=1)
                if is_bad.any():
                    row = n_before + int(is_bad.argmax()) + 1
                    raise DataError(f"{file}, row {row}: a value is missing or not a finite number")
                labels = values[group].to_numpy() if group else np.full(len(values), n_before)
                for label, at in _runs(labels):
                    yield label, f"{file}, row {n_before + at.start + 1}", numbers[at]
                n_before += len(values)

    def read() -> Iterator[Block]:
        for block in whole_groups(read_runs(), rows):
            labels, _, parts = zip(*block, strict=True)
            numbers, lengths = np.concatenate(parts), [len(part) for part in parts]
            groups = None if group is None else np.repeat(check_labels(labels), lengths)
            yield numbers[:, :-1], numbers[:, -1], groups

    return Blocks(read)


@contextmanager
def open_parquet(file: Path) -> Iterator[Any]:
    """Open a Parquet file; raise DataError if it is damaged, on opening or while reading."""
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
        reason = str(error).splitlines()[0]
        raise DataError(f"{file}: not a Parquet file, or truncated or damaged: {reason}") from error


def existing_file(path: str | os.PathLike[str]) -> Path:
    """Expand ``~``, and check that the file exists and is not empty."""
    file = Path(os.path.expanduser(path))
    if not os.path.isfile(file):
        raise DataNotFoundError(f"{file}: no such file")
    if file.stat().st_size == 0:
        raise DataError(f"{file}: the file is empty")
    return file


def check_count(name: str, value: Any) -> None:
    """Raise DataError unless a number of rows or features is a positive integer."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
        raise DataError(f"{name} must be an integer of at least 1; got {value!r}")
