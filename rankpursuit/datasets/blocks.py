"""Blocks of whole groups: rows that need not fit into memory.

A block is a tuple ``(X, y, groups)``: what `fit_blocks` and `partial_fit` of the pursuits take.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankpursuit.errors import DataError

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
    check_rows(rows)
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
    ends = np.append(_ends(labels[order]), len(order))
    start = 0
    while start < len(order):
        reached = ends.searchsorted(start + rows, side="right")
        # No group ends so early if the next one is larger than a block.
        stop = ends[max(reached - 1, ends.searchsorted(start, side="right"))]
        part = order[start:stop]
        yield X[part], y[part], labels[part]
        start = stop


def _ends(labels: NDArray[Any]) -> NDArray[np.intp]:
    """Where a label is followed by another one: the end of its rows."""
    return np.flatnonzero(labels[1:] != labels[:-1]) + 1


def whole_groups(pieces: Iterator[Block], rows: int, *, where: str) -> Iterator[Block]:
    """Join pieces of data, cut anywhere, into blocks of whole groups.

    Parameters
    ----------
    pieces : iterator of (X, y, groups)
    rows : int
        Rows of a block, at least, but for the last one.
    where : str
        What to call the source in messages.

    Yields
    ------
    X, y, groups : ndarray

    Raises
    ------
    DataError
        If the rows of a group do not follow one another; the message names the row.

    Examples
    --------
    >>> X, y, groups = np.zeros((4, 1)), np.zeros(4), np.array([1, 1, 1, 2])
    >>> pieces = ((X[part], y[part], groups[part]) for part in (slice(0, 2), slice(2, 4)))
    >>> [block[2].tolist() for block in whole_groups(pieces, 2, where="here")]
    [[1, 1, 1], [2]]
    """
    begun: set[Any] = set()
    held: list[Block] = []
    n_held = n_before = whole = 0
    for X, y, labels in pieces:
        assert labels is not None
        starts = np.concatenate([[0], _ends(labels)])
        if held and _same(labels[0], held[-1]):
            starts = starts[1:]
        for start in starts.tolist():
            label = labels[start : start + 1].tolist()[0]
            if label in begun:
                raise DataError(
                    f"{where}, row {n_before + start + 1}: group {label!r} goes on after rows of "
                    "others; the rows of a group must follow one another"
                )
            begun.add(label)
        # The last group may go on in the next piece.
        whole = n_held + int(starts[-1]) if len(starts) else whole
        held.append((X, y, labels))
        n_held, n_before = n_held + len(y), n_before + len(y)
        if whole >= rows:
            joined = _joined(held)
            yield _part(joined, slice(0, whole))
            held = [_part(joined, slice(whole, None))]
            n_held, whole = n_held - whole, 0
    if held:
        yield _joined(held)


def _same(label: Any, piece: Block) -> bool:
    labels = piece[2]
    assert labels is not None
    return bool(labels[-1] == label)


def _part(block: Block, rows: slice) -> Block:
    X, y, labels = block
    assert labels is not None
    return X[rows], y[rows], labels[rows]


def _joined(parts: list[Block]) -> Block:
    X, y, labels = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    return X, y, labels


def check_rows(rows: int) -> None:
    """Raise a DataError unless a number of rows is one."""
    if isinstance(rows, bool) or not isinstance(rows, int | np.integer) or rows < 1:
        raise DataError(f"rows must be a whole number of at least 1; got {rows!r}")
