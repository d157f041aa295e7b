"""Learning-to-rank data: svmlight files with query ids, the format of LETOR, MSLR and Istella."""

from __future__ import annotations

import gzip
import io
import os
import zlib
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from rankpursuit.datasets.blocks import Blocks, check_count, existing_file, whole_groups
from rankpursuit.errors import DataError

if TYPE_CHECKING:
    import scipy.sparse as sp

Paths = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]
_Lines = list[tuple[str, bytes]]  # location and text of each row, without comments

_ROWS = 8192  # parsed at a time: scikit-learn's reader is quadratic in the number of rows
_EXPECTED = "expected 'grade qid:query feature:value feature:value ... # comment'"


class Letor(NamedTuple):
    """Features, grades and queries of documents, in the order of the arguments of `fit`.

    `X` has shape (n_samples, n_features), feature 1 of the file in column 0; `y` holds the grades
    and `groups` the query ids, both of shape (n_samples,).
    """

    X: NDArray[Any] | sp.csr_array
    y: NDArray[np.float64]
    groups: NDArray[np.int64]

    def __repr__(self) -> str:
        (n_rows, n_features), n_queries = self.X.shape, len(np.unique(self.groups))
        return f"<Letor: {n_rows:,} rows, {n_features:,} features, {n_queries:,} queries>"


def load_letor(
    path: Paths,
    *,
    n_features: int | None = None,
    dtype: DTypeLike = np.float64,
    sparse: bool = False,
) -> Letor:
    r"""Load svmlight files with query ids: lines such as ``2 qid:10 1:0.03 2:0.5 # docid = 7``.

    Comments and blank lines are ignored. Reading takes about twice the memory of the result; for
    files that do not fit into memory, use :func:`letor_blocks`.

    Parameters
    ----------
    path : path or iterable of paths
        Files, plain or compressed (``.gz``); their rows are concatenated. The same query id in two
        files is the same query.
    n_features : int, optional
        Number of features; a higher index raises an error. Default: the highest index in the files.
    dtype : {float64, float32}, default float64
        Type of the features.
    sparse : bool, default False
        Whether to return `X` as a sparse array. Features missing from a line are zero.

    Raises
    ------
    DataNotFoundError, DataError
        If a file does not exist; if a line is malformed. The message names the line.

    Examples
    --------
    >>> import tempfile
    >>> from rankpursuit.datasets import load_letor
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "train.txt")
    ...     _ = file.write_text("2 qid:10 1:0.5 3:0.25 # docid = 7\n0 qid:10 2:1\n1 qid:11 1:1\n")
    ...     data = load_letor(file)
    >>> data
    <Letor: 3 rows, 3 features, 2 queries>
    >>> data.y, data.groups
    (array([2., 0., 1.]), array([10, 10, 11]))
    """
    import scipy.sparse as sp

    lines = _read_lines(_check_input(path, n_features, dtype))
    chunks = iter(lambda: list(islice(lines, _ROWS)), [])
    parts = [_parse(chunk, n_features, dtype, sparse) for chunk in chunks]
    matrices, grades, queries = zip(*parts, strict=True)
    y, groups = np.concatenate(grades), np.concatenate(queries)
    width = max(X.shape[1] for X in matrices)
    if sparse:
        for X in matrices:
            X.resize((X.shape[0], width))
        return Letor(sp.vstack(matrices, format="csr"), y, groups)
    dense = np.zeros((len(y), width), dtype=dtype)
    for X, end in zip(matrices, np.cumsum([len(X) for X in matrices]), strict=True):
        dense[end - len(X) : end, : X.shape[1]] = X
    return Letor(dense, y, groups)


def letor_blocks(
    path: Paths,
    *,
    rows: int = 10_000,
    n_features: int | None = None,
    dtype: DTypeLike = np.float64,
    sparse: bool = False,
) -> Blocks[Letor]:
    r"""Read svmlight files with query ids in blocks of whole queries.

    Parameters
    ----------
    path : path or iterable of paths
        Files, as for :func:`load_letor`, but the rows of a query must be contiguous.
    rows : int, default 10,000
        Maximum number of rows per block; a longer query forms a block of its own.
    n_features : int, optional
        Number of features. Default: the highest index in the first block; a higher one in a later
        block raises an error.
    dtype, sparse
        As for :func:`load_letor`.

    Returns
    -------
    Blocks of Letor
        Each iteration reads the files again, one block at a time, and raises DataError if a line is
        malformed or the rows of a query are not contiguous.

    Examples
    --------
    >>> import tempfile
    >>> from rankpursuit.datasets import letor_blocks
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "train.txt")
    ...     _ = file.write_text("2 qid:10 1:0.5\n0 qid:10 2:1\n1 qid:11 1:1\n0 qid:12 2:1\n")
    ...     for block in letor_blocks(file, rows=3):
    ...         print(block.y, block.groups)
    [2. 0. 1.] [10 10 11]
    [0.] [12]
    """
    check_count("rows", rows)
    files = _check_input(path, n_features, dtype)

    def read() -> Iterator[Letor]:
        width = n_features
        for runs in whole_groups(_read_runs(files), rows):
            lines = [line for *_, part in runs for line in part]
            block = _parse(lines, width, dtype, sparse)
            width = block.X.shape[1]
            yield block

    return Blocks(read)


def _check_input(path: Paths, n_features: int | None, dtype: DTypeLike) -> list[Path]:
    """Check the options and return the files."""
    if n_features is not None:
        check_count("n_features", n_features)
    if np.dtype(dtype) not in (np.float64, np.float32):
        raise ValueError(f"dtype must be float64 or float32; got {np.dtype(dtype)}")
    paths = [path] if isinstance(path, str | os.PathLike) else path
    files = [existing_file(one) for one in paths]
    if not files:
        raise DataError("path: expected at least one file, got none")
    return files


def _read_lines(files: list[Path]) -> Iterator[tuple[str, bytes]]:
    """Read the lines of files, except for blank lines and comments."""
    for file in files:
        n_rows = 0
        try:
            with gzip.open(file) if file.suffix == ".gz" else file.open("rb") as lines:
                for number, line in enumerate(lines, start=1):
                    text = line.removeprefix(b"\xef\xbb\xbf").partition(b"#")[0].rstrip()
                    if text:
                        n_rows += 1
                        yield f"{file}, line {number}", text + b"\n"
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            raise DataError(f"{file}: gzip file truncated or damaged ({error})") from error
        if not n_rows:
            raise DataError(f"{file}: the file contains no rows")


def _read_runs(files: list[Path]) -> Iterator[tuple[int, str, _Lines]]:
    """Read lines with their query and location."""
    all_lines = _read_lines(files)
    for lines in iter(lambda: list(islice(all_lines, _ROWS)), []):
        heads = [(place, b" ".join(text.split(maxsplit=2)[:2]) + b"\n") for place, text in lines]
        for query, line in zip(_parse(heads, None, float, True).groups, lines, strict=True):
            yield query, line[0], [line]


def _parse(lines: _Lines, n_features: int | None, dtype: DTypeLike, sparse: bool) -> Letor:
    """Parse lines; raise DataError for the first that is malformed."""
    import scipy.sparse as sp
    from sklearn.datasets import load_svmlight_file

    text = io.BytesIO(b"".join(text for _, text in lines))
    try:
        X, y, groups = load_svmlight_file(text, dtype=dtype, query_id=True, zero_based=False)
        if len(groups) < len(y):
            raise ValueError("no query id after the grade")
        if not np.isfinite(y).all() or not np.isfinite(X.data).all():
            raise ValueError(f"a number is not finite, or too large for {np.dtype(dtype)}")
    except (ValueError, OverflowError) as error:
        if len(lines) == 1:
            raise DataError(f"{lines[0][0]}: malformed: {error}; {_EXPECTED}") from error
        middle = len(lines) // 2
        _parse(lines[:middle], n_features, dtype, sparse)
        return _parse(lines[middle:], n_features, dtype, sparse)
    if n_features is not None and X.shape[1] > n_features:
        entry = int(np.argmax(X.indices >= n_features))
        row = int(np.searchsorted(X.indptr, entry, side="right")) - 1
        reason = f"but there are {n_features} features; set n_features"
        raise DataError(f"{lines[row][0]}: feature {X.indices[entry] + 1}, {reason}")
    indices, ends = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    X = sp.csr_array((X.data, indices, ends), shape=(len(y), n_features or X.shape[1]))
    X.eliminate_zeros()
    return Letor(X if sparse else X.toarray(), y, groups)
