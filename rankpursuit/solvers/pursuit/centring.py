"""Groups of rows that stand one after the other: runs of whole groups, and centring them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

CACHED_ENTRIES = 2**14
"""Numbers that are worked on at a time, 128 KB: several passes over them stay in the cache."""


def runs_of_groups(sizes: Indices, n_rows: int) -> Iterator[tuple[slice, slice]]:
    """Cut rows into runs of whole groups.

    Parameters
    ----------
    sizes : ndarray of shape (number of groups,)
        Numbers of rows, all positive.
    n_rows : int
        Most rows of a run; a larger group is a run of its own.

    Yields
    ------
    rows : slice
        The rows of a run, counted along the groups.
    groups : slice
        The groups that they belong to.

    Examples
    --------
    >>> list(runs_of_groups(np.array([2, 3, 7]), 5))
    [(slice(0, 5, None), slice(0, 2, None)), (slice(5, 12, None), slice(2, 3, None))]
    """
    ends = np.cumsum(sizes)
    group, start = 0, 0
    while group < len(sizes):
        after = max(int(ends.searchsorted(start + n_rows, side="right")), group + 1)
        stop = int(ends[after - 1])
        yield slice(start, stop), slice(group, after)
        group, start = after, stop


def centre_groups(x: Array, sizes: Indices, scales: Array) -> None:
    """Take the mean of its group off each row, and multiply it by the group's scale, in place.

    Parameters
    ----------
    x : ndarray of shape (n, k)
        The rows of the groups, one group after the other.
    sizes : ndarray of shape (number of groups,)
        Their numbers of rows, all positive, with the sum n.
    scales : ndarray of shape (number of groups,)

    Examples
    --------
    >>> x = np.array([[1.0], [3.0], [5.0]])
    >>> centre_groups(x, np.array([2, 1]), np.array([10.0, 1.0]))
    >>> x.ravel()
    array([-10.,  10.,   0.])
    """
    # Seen from the group's first row, constants are exactly zero and a common level of the values
    # costs no digits.
    for rows, groups in runs_of_groups(sizes, max(1, CACHED_ENTRIES // max(1, x.shape[1]))):
        part, lengths = x[rows], sizes[groups]
        if len(lengths) == 1:
            part -= part[0].copy()
            part -= part.sum(axis=0) / len(part)
            part *= scales[groups.start]
            continue
        starts = np.cumsum(lengths) - lengths
        part -= np.repeat(part[starts], lengths, axis=0)
        means = np.add.reduceat(part, starts, axis=0)
        means /= lengths[:, None]
        part -= np.repeat(means, lengths, axis=0)
        part *= np.repeat(scales[groups], lengths)[:, None]
