"""Parquet files in blocks of whole groups, where pyarrow is installed."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankpursuit.datasets.blocks import ROWS, Block, Blocks, check_rows, whole_groups
from rankpursuit.errors import DataError, DataNotFoundError


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
    check_rows(rows)
    file = Path(path).expanduser()
    if not file.is_file():
        raise DataNotFoundError(f"{file}: no such file")
    names = _columns(file)
    chosen = [name for name in names if name not in (score, group)]
    chosen = chosen if features is None else list(features)
    for name in [*chosen, score, *([] if group is None else [group])]:
        if name not in names:
            raise DataError(f"{file}: no column {name!r}; its columns are {', '.join(names)}")
    if not chosen:
        raise DataError(f"{file}: no column of a feature beside those of score and group")

    def read() -> Iterator[Block]:
        pieces = _pieces(file, chosen, score, group, rows)
        return pieces if group is None else whole_groups(pieces, rows, where=str(file))

    return Blocks(read)


def _columns(file: Path) -> list[str]:
    with _open(file) as parquet:
        return list(parquet.schema_arrow.names)


def pyarrow_for(file: Path) -> Any:
    """Return pyarrow, with its Parquet part; a DataError if it is not installed."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise DataError(
            f"{file}: reading Parquet needs pyarrow: pip install 'rankpursuit[parquet]'"
        ) from error
    return pyarrow


@contextmanager
def _open(file: Path) -> Iterator[Any]:
    """Open a file; what is wrong with it, now or while it is read, is one error of ours."""
    pyarrow = pyarrow_for(file)
    try:
        with pyarrow.parquet.ParquetFile(file) as parquet:
            yield parquet
    except (pyarrow.ArrowException, OSError) as error:
        raise DataError(
            f"{file}: not a Parquet file, or damaged or cut off: {str(error).splitlines()[0]}"
        ) from error


def _pieces(
    file: Path, features: list[str], score: str, group: str | None, rows: int
) -> Iterator[Block]:
    wanted = [*features, score, *([] if group is None else [group])]
    n_before = 0
    with _open(file) as parquet:
        for batch in parquet.iter_batches(batch_size=rows, columns=wanted):
            if not batch.num_rows:
                continue
            numbers = [_numbers(file, batch, name, n_before) for name in [*features, score]]
            labels = None if group is None else _labels(file, batch, group, n_before)
            yield np.column_stack(numbers[:-1]), numbers[-1], labels
            n_before += batch.num_rows


def _numbers(file: Path, batch: Any, name: str, n_before: int) -> NDArray[np.float64]:
    column = batch.column(name)
    values = column.to_numpy(zero_copy_only=False)
    if values.dtype.kind not in "iufb" and column.null_count < len(column):
        raise DataError(f"{file}: the column {name!r} holds {column.type}, not numbers")
    numbers = np.asarray(values, dtype=np.float64)
    bad = np.flatnonzero(~np.isfinite(numbers))
    if len(bad):
        raise DataError(
            f"{file}, row {n_before + bad[0] + 1}: {name!r} is missing or not a finite number"
        )
    return numbers


def _labels(file: Path, batch: Any, name: str, n_before: int) -> NDArray[Any]:
    column = batch.column(name)
    missing = np.flatnonzero(column.is_null(nan_is_null=True).to_numpy(zero_copy_only=False))
    if len(missing):
        raise DataError(f"{file}, row {n_before + missing[0] + 1}: {name!r} is missing")
    return np.asarray(column.to_numpy(zero_copy_only=False))
