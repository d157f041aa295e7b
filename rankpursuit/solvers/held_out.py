"""Pursuits on the training part of every split, judged where they have not been.

The products of the columns of a training part are those of all rows less those of the rows that
are left out: with folds of whole groups every row is seen once, however many folds there are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import ArrayLike

from rankpursuit.solvers.folds import Array, FormOf, Indices, Split, blocks_of
from rankpursuit.solvers.pursuit import Fitting, GramSums, pursue_gram, ridge_gram


def pursue_held_out(
    columns: Array,
    candidates: Indices,
    scores: Array,
    splits: Sequence[Split],
    form_of: FormOf,
    ridges: ArrayLike,
    n_steps: int,
    *,
    fitting: Fitting,
    additive: bool,
    positive: bool = True,
) -> Iterator[Array]:
    """Predict the held-out points of every split, for a stack of kernels and all ridges.

    Parameters
    ----------
    columns : ndarray of shape (w, n, N)
        Kernel values of the n points with the candidates.
    candidates : ndarray of shape (N,)
        Which of the points the candidates are. Those of the training part make up the
        dictionary of a split.
    scores : ndarray of shape (n,)
    splits : sequence of Split
    form_of : callable
        The form of some of the points.
    ridges : array-like of shape (r,)
    n_steps : int
        Largest number of steps P.
    fitting : {"basic", "backfit", "prefit"}
    additive : bool
        Whether the form of all points is the sum of those of a training part and of the rest.
    positive : bool
        Whether the kernels are positive semi-definite. Of others, negative eigenvalues count as 0
        in the penalties.

    Yields
    ------
    ndarray of shape (w, r, P, m)
        Predictions of the m held-out points by all prefixes; behind the end of a path, those of
        its last one.
    """
    n_ridges = np.size(ridges)
    sums = training_sums(columns, scores, splits, form_of, additive=additive)
    for split, found in zip(splits, sums, strict=True):
        own = np.flatnonzero(np.isin(candidates, split.train))
        among = columns[:, candidates[own][:, None], own]
        gram, products, square = ridge_gram(
            found.gram[:, own[:, None], own],
            found.products[:, own],
            np.full(len(columns), found.square),
            among,
            ridges,
        )
        path = pursue_gram(gram, products, square, n_steps, fitting=fitting)
        values = path.predict(_for_each_ridge(columns[:, split.test[:, None], own], n_ridges))
        values = values.reshape(len(columns), n_ridges, *values.shape[1:])
        missing = n_steps - values.shape[2]
        yield np.pad(values, ((0, 0), (0, 0), (0, missing), (0, 0)), "edge") if missing else values


def training_sums(
    columns: Array,
    scores: Array,
    splits: Sequence[Split],
    form_of: FormOf,
    *,
    additive: bool,
) -> Iterator[GramSums]:
    """Add up the training part of every split.

    Parameters
    ----------
    columns : ndarray of shape (w, n, N)
    scores, splits, form_of, additive
        See :func:`pursue_held_out`.

    Yields
    ------
    GramSums
    """
    blocks = blocks_of(splits, len(scores)) if additive else []
    if not 0 < len(blocks) <= len(splits) + 1:  # more sums than splits would be kept
        for split in splits:
            yield _sums(columns, scores, split.train, form_of)
        return
    parts = [_sums(columns, scores, block, form_of) for block in blocks]
    whole = _total(parts)
    for split in splits:
        left_out = [
            part
            for part, block in zip(parts, blocks, strict=True)
            if not np.isin(block[0], split.train)
        ]
        yield whole - _total(left_out) if left_out else whole


def _sums(columns: Array, scores: Array, rows: Indices, form_of: FormOf) -> GramSums:
    sums, form = GramSums.empty(len(columns), columns.shape[2]), form_of(rows)
    for number, kernel in enumerate(columns):
        sums.add(number, kernel[rows], scores[rows], form)
    return sums


def _for_each_ridge(kernel: Array, n_ridges: int) -> Array:
    if len(kernel) == 1:
        return np.broadcast_to(kernel, (n_ridges, *kernel.shape[1:]))
    return np.repeat(kernel, n_ridges, axis=0)


def _total(parts: Sequence[GramSums]) -> GramSums:
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total
