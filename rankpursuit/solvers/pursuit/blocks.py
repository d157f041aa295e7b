"""The sums of a pursuit, from rows that are seen block by block."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from rankpursuit.preferences import Blend, GroupPreferences, Pointwise, Preferences
from rankpursuit.solvers.pursuit.centring import centre_groups, runs_of_groups
from rankpursuit.solvers.pursuit.forms import Array
from rankpursuit.solvers.pursuit.sums import GramSums

Columns = Callable[[NDArray[np.floating], Array], object]
"""Puts the values of the candidates' functions at the m points of the first array, (m, d), into
the second, (m, N)."""

BLOCK_ENTRIES = 2**23
"""Kernel values and features of a block, 64 MB: enough rows that a product of them takes longer
than a pass over the Gram matrix of a few thousand candidates that it is added to."""


def sum_rows(
    columns: Columns,
    n_candidates: int,
    points: NDArray[np.floating],
    scores: Array,
    preferences: Preferences,
    *,
    entries: int | None = None,
) -> GramSums:
    """Add up rows in blocks; no more than a block of kernel values is in memory at a time.

    Parameters
    ----------
    columns : callable
        ``columns(X, out)`` puts the kernel values of the points `X` with the candidates into `out`.
    n_candidates : int
    points : ndarray of shape (n, d)
        May be a memory map: rows are taken from it block by block.
    scores : ndarray of shape (n,)
    preferences : Pointwise, GroupPreferences or a Blend of the latter
        The form of the n rows.
    entries : int, optional
        Kernel values and features of a block. Default: `BLOCK_ENTRIES`.

    Returns
    -------
    GramSums
        For a stack of one kernel.

    Notes
    -----
    A group that is larger than a block is cut in pieces. Its squared deviations from its mean are
    those of the pieces from their own means, and those of these means from that of the group.
    """
    beta, groups = _read(preferences)
    found = GramSums.empty(1, n_candidates)
    found.n_rows = len(scores)
    n_rows = max(1, (entries or BLOCK_ENTRIES) // (n_candidates + points.shape[1]))
    buffer = np.empty((min(n_rows, len(scores)), n_candidates))

    def values_of(rows: slice | NDArray[np.intp]) -> tuple[Array, Array]:
        X = points[rows]
        columns(X, buffer[: len(X)])
        return buffer[: len(X)], np.array(scores[rows])

    if groups is None:
        for rows in _steps(0, len(scores), n_rows):
            found.add_rooted(0, *values_of(rows))
        return found
    in_order = np.array_equal(groups.order, np.arange(len(scores)))
    scale = (1.0 - beta) * groups.scale
    for run, members in runs_of_groups(groups.sizes, n_rows):
        pieces = []
        for rows in _steps(run.start, run.stop, n_rows):
            values, target = values_of(rows if in_order else groups.order[rows])
            if beta > 0.0:
                found.add_rooted(0, values, target, beta)
            whole = len(target) == run.stop - run.start
            if not whole:
                pieces.append((len(target), values.mean(axis=0), target.mean()))
            sizes = groups.sizes[members] if whole else np.array([len(target)])
            _centre(values, target, sizes, scale[members])
            found.add_rooted(0, values, target)
        if pieces:
            found.add_rooted(0, *_between(pieces), float(scale[members.start]))
    return found


def _read(preferences: Preferences) -> tuple[float, GroupPreferences | None]:
    """Weight of the regression part, and the groups of the ranking part."""
    if isinstance(preferences, Pointwise):
        return 1.0, None
    beta = 0.0
    if isinstance(preferences, Blend):
        beta, preferences = preferences.beta, preferences.preferences
    if not isinstance(preferences, GroupPreferences):
        raise TypeError(f"rows with {type(preferences).__name__} cannot be cut into blocks")
    return beta, preferences


def _steps(start: int, stop: int, n_rows: int) -> Iterator[slice]:
    for first in range(start, stop, n_rows):
        yield slice(first, min(first + n_rows, stop))


def _centre(values: Array, target: Array, sizes: NDArray[np.intp], scale: Array) -> None:
    roots = np.sqrt(scale)
    centre_groups(values, sizes, roots)
    centre_groups(target[:, None], sizes, roots)


def _between(pieces: list[tuple[int, Array, float]]) -> tuple[Array, Array]:
    """Rows whose squares are the deviations of the means of pieces from their common mean."""
    counts, values, target = (
        np.array(part, dtype=np.float64) for part in zip(*pieces, strict=True)
    )
    shares, roots = counts / counts.sum(), np.sqrt(counts)
    return roots[:, None] * (values - shares @ values), roots * (target - shares @ target)
