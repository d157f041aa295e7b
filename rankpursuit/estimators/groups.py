"""Groups in the forms that ranking software has: labels, query ids, and sizes.

Everything here that takes `groups` takes labels, one for each sample. A query id (`qid`) is such a
label. Sizes are another form, and are never guessed: an array may be both.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import column_or_1d


def groups_from_sizes(sizes: ArrayLike, n_samples: int | None = None) -> NDArray[np.intp]:
    """Make labels of the sizes of groups that follow one another, the form of LightGBM.

    Parameters
    ----------
    sizes : array-like of shape (n_groups,)
        How many samples each group has: the first group has the first samples, and so on.
    n_samples : int, optional
        How many samples there are; the sizes must add up to it.

    Returns
    -------
    ndarray of shape (n_samples,)
        For each sample the number of its group, from 0.

    Raises
    ------
    ValueError
        If a size is not a whole number of at least 0, or the sizes do not add up.

    See Also
    --------
    sizes_from_groups : The other way.

    Examples
    --------
    >>> from rankpursuit import groups_from_sizes
    >>> groups_from_sizes([2, 3, 1], n_samples=6)
    array([0, 0, 1, 1, 1, 2])
    """
    numbers = column_or_1d(sizes)
    if numbers.dtype.kind not in "iuf" or not all(float(number).is_integer() for number in numbers):
        raise ValueError(f"sizes must be whole numbers, one for each group; got {sizes!r}")
    if numbers.size and numbers.min() < 0:
        first = int(np.flatnonzero(numbers < 0)[0])
        raise ValueError(f"sizes must not be negative; group {first} has {numbers[first]}")
    counts = numbers.astype(np.intp)
    if n_samples is not None and counts.sum() != n_samples:
        raise ValueError(
            f"sizes of {len(counts)} groups add up to {counts.sum()}, but there are {n_samples} "
            "samples"
        )
    return np.repeat(np.arange(len(counts)), counts)


def sizes_from_groups(groups: ArrayLike) -> NDArray[np.intp]:
    """Make sizes of labels, for software that asks for them.

    Parameters
    ----------
    groups : array-like of shape (n_samples,)
        A label or query id for each sample; those of a group must follow one another.

    Returns
    -------
    ndarray of shape (n_groups,)
        Sizes of the groups, in the order in which they come.

    Raises
    ------
    ValueError
        If the samples of a group do not follow one another.

    See Also
    --------
    groups_from_sizes : The other way.

    Examples
    --------
    >>> from rankpursuit import sizes_from_groups
    >>> sizes_from_groups(["b", "b", "a", "a", "a", "c"])
    array([2, 3, 1])
    """
    labels = column_or_1d(groups)
    if not len(labels):
        return np.empty(0, dtype=np.intp)
    starts = np.concatenate([[0], np.flatnonzero(labels[1:] != labels[:-1]) + 1])
    _, first, codes = np.unique(labels[starts], return_index=True, return_inverse=True)
    again = np.flatnonzero(first[codes] != np.arange(len(starts)))
    if len(again):
        start = starts[again[0]]
        raise ValueError(
            f"groups must each be of samples that follow one another; {labels[start]!r} comes "
            f"again at sample {start}: sort the samples by group, for instance by "
            "numpy.argsort(groups, kind='stable')"
        )
    return np.diff(starts, append=len(labels))
