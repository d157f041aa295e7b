"""Learning-to-rank data: svmlight files with query ids, the form of LETOR, MSLR and Istella.

Nothing is downloaded: the files are the user's own.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from rankpursuit.datasets.blocks import Blocks
from rankpursuit.datasets.letor_lines import Rows, count_upper, read_rows
from rankpursuit.datasets.letor_matrix import DenseMatrix, SparseMatrix
from rankpursuit.datasets.letor_queries import whole_queries
from rankpursuit.errors import DataError, DataNotFoundError

if TYPE_CHECKING:
    import scipy.sparse as sp

Paths = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]


class Letor(NamedTuple):
    """Documents with their features, grades and queries: what `fit` takes, in its order.

    Attributes
    ----------
    X : ndarray or scipy csr_array of shape (n_samples, n_features)
        Feature 1 of the file is column 0.
    y : float64 array of shape (n_samples,)
        Grades.
    groups : int64 array of shape (n_samples,)
        Query ids: what estimators, metrics and scorers take as `groups`.
    """

    X: NDArray[Any] | sp.csr_array
    y: NDArray[np.float64]
    groups: NDArray[np.int64]

    @property
    def n_queries(self) -> int:
        """Number of different queries."""
        return len(np.unique(self.groups))

    def __repr__(self) -> str:
        n_samples, n_features = self.X.shape
        return f"<Letor: {n_samples:,} rows, {n_features:,} features, {self.n_queries:,} queries>"


def load_letor(
    path: Paths,
    *,
    n_features: int | None = None,
    dtype: DTypeLike = np.float64,
    sparse: bool = False,
) -> Letor:
    r"""Load svmlight files with query ids: lines such as ``2 qid:10 1:0.03 2:0.5 # docid = 7``.

    The files are read twice, first to count and then to parse piece by piece, so that little more
    memory is used than the result takes. Comments, and lines without anything else, are ignored.

    Parameters
    ----------
    path : path, or several
        Files, whose rows follow one another in the result; those packed by gzip are unpacked on
        the way. The same query id in two files is the same query.
    n_features : int, optional
        Number of features; a higher feature is refused. Default: the highest one in the files.
    dtype : {float64, float32}, default float64
        Type of the features.
    sparse : bool, default False
        Whether `X` is sparse, without the features that are zero. A feature that a line does not
        name is zero.

    Returns
    -------
    Letor

    Raises
    ------
    DataNotFoundError
        If there is no such file.
    DataError
        If a file cannot be read; the message names the first line that is malformed. The last
        line, too, must end by a line break, or the file may have been cut off.

    See Also
    --------
    letor_blocks : For files that do not fit into memory.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from rankpursuit.datasets import load_letor
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "train.txt")
    ...     _ = file.write_text("2 qid:10 1:0.5 3:0.25 # docid = 7\n0 qid:10 2:1\n1 qid:11 1:1\n")
    ...     data = load_letor(file)
    >>> data
    <Letor: 3 rows, 3 features, 2 queries>
    >>> data.X
    array([[0.5 , 0.  , 0.25],
           [0.  , 1.  , 0.  ],
           [1.  , 0.  , 0.  ]])
    >>> data.y, data.groups
    (array([2., 0., 1.]), array([10, 10, 11]))
    """
    files, kind = _files(path), _kind(dtype)
    _check_count("n_features", n_features)
    n_rows, n_entries = np.sum([count_upper(file) for file in files], axis=0).tolist()
    matrix = _matrix(n_rows, n_entries, n_features, kind, sparse)
    grades, queries = np.empty(n_rows), np.empty(n_rows, dtype=np.int64)
    n_read = 0
    for number, file in enumerate(files):
        for rows in read_rows(file, number):
            if n_read + len(rows) > n_rows:
                raise DataError(f"{file}: the file grew while it was read; try again")
            _check_range(rows, files, n_features, kind)
            matrix.add(rows)
            grades[n_read : n_read + len(rows)] = rows.grades
            queries[n_read : n_read + len(rows)] = rows.queries
            n_read += len(rows)
    return Letor(matrix.filled(), grades[:n_read].copy(), queries[:n_read].copy())


def letor_blocks(
    path: Paths,
    *,
    rows: int = 10_000,
    n_features: int | None = None,
    dtype: DTypeLike = np.float64,
    sparse: bool = False,
) -> Blocks[Letor]:
    r"""Read svmlight files with query ids in blocks of whole queries.

    Only one block is in memory at a time, besides what the caller keeps.

    Parameters
    ----------
    path : path, or several
        Files, as for :func:`load_letor`, but the rows of a query must follow one another.
    rows : int, default 10,000
        Rows of a block at most; a query with more of them is a block of its own.
    n_features : int, optional
        Number of features. Default: the highest one in the first block; a higher one later is
        refused, so that all blocks have the same features.
    dtype : {float64, float32}, default float64
        Type of the features.
    sparse : bool, default False
        Whether `X` is sparse.

    Returns
    -------
    Blocks of Letor
        The files are read anew each time that it is iterated over.

    Raises
    ------
    DataNotFoundError
        If there is no such file.
    DataError
        While blocks are read: if a file cannot be read, or a query comes again after another one;
        the message names the line. Blocks before it have been given out by then.

    See Also
    --------
    load_letor : Everything at once.
    RankingPursuit.fit_blocks : Learns from blocks.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from rankpursuit.datasets import letor_blocks
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "train.txt")
    ...     _ = file.write_text("2 qid:10 1:0.5\n0 qid:10 2:1\n1 qid:11 1:1\n0 qid:12 2:1\n")
    ...     for block in letor_blocks(file, rows=3):
    ...         print(block.y, block.groups)
    [2. 0. 1.] [10 10 11]
    [0.] [12]
    """
    files, kind = _files(path), _kind(dtype)
    _check_count("n_features", n_features)
    _check_count("rows", rows)
    return Blocks(lambda: _blocks(files, rows, n_features, kind, sparse))


def _blocks(
    files: list[Path], size: int, n_features: int | None, kind: np.dtype[Any], sparse: bool
) -> Iterator[Letor]:
    for block in whole_queries(files, size):
        _check_range(block, files, n_features, kind)
        n_features = block.width if n_features is None else n_features
        matrix = _matrix(len(block), len(block.values), n_features, kind, sparse)
        matrix.add(block)
        yield Letor(matrix.filled(), block.grades.copy(), block.queries.copy())


def _check_range(
    rows: Rows, files: list[Path], n_features: int | None, kind: np.dtype[Any]
) -> None:
    """Refuse features that are too many, and values that are too large for their type."""
    if n_features is not None and rows.width > n_features:
        entry = int(np.argmax(rows.features >= n_features))
        where = rows.origin(_row_of(rows, entry), files)
        raise DataError(
            f"{where}: feature {rows.features[entry] + 1}, but there are {n_features} features; "
            "say how many by n_features="
        )
    too_large = np.abs(rows.values) > np.finfo(kind).max
    if too_large.any():
        entry = int(np.argmax(too_large))
        where = rows.origin(_row_of(rows, entry), files)
        raise DataError(f"{where}: the value {rows.values[entry]:g} is too large for {kind}")


def _row_of(rows: Rows, entry: int) -> int:
    return int(np.searchsorted(np.cumsum(rows.counts), entry, side="right"))


def _matrix(
    n_rows: int, n_entries: int, n_features: int | None, kind: np.dtype[Any], sparse: bool
) -> DenseMatrix | SparseMatrix:
    if sparse:
        return SparseMatrix(n_rows, n_entries, n_features, kind)
    return DenseMatrix(n_rows, n_features, kind)


def _files(path: Paths) -> list[Path]:
    paths = [path] if isinstance(path, str | os.PathLike) else path
    files = [Path(one).expanduser() for one in paths]
    if not files:
        raise DataError("path: no files; name at least one")
    for file in files:
        if file.is_dir():
            raise DataError(f"{file}: a folder; name the files in it")
        if not file.is_file():
            raise DataNotFoundError(f"{file}: no such file")
        if file.stat().st_size == 0:
            raise DataError(f"{file}: the file is empty")
    return files


def _kind(dtype: DTypeLike) -> np.dtype[Any]:
    kind = np.dtype(dtype)
    if kind not in (np.float64, np.float32):
        raise ValueError(f"dtype must be float64 or float32; got {kind}")
    return kind


def _check_count(name: str, value: int | None) -> None:
    if value is not None and (not isinstance(value, int | np.integer) or value < 1):
        raise ValueError(f"{name} must be a whole number of at least 1; got {value!r}")
