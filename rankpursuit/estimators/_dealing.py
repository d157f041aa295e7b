"""Dealing out to the views: what there must be enough of, and the losses."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rankpursuit.estimators._constraints import shown
from rankpursuit.preferences import GroupPreferences
from rankpursuit.solvers.coregularised import split_points

Indices = NDArray[np.intp]
Generator = np.random.Generator | np.random.RandomState


MOST_NUMBERS = 250_000_000
"""Kernel values of all views and differences of every two of them in memory: 2 GB."""


def check_number_of_views(n_views: int, n_points: int | None, n_features: int | None) -> None:
    """Raise a ValueError if views cannot have a point, or a feature, each.

    Parameters
    ----------
    n_views : int
    n_points, n_features : int or None
        How many are dealt out; None if they are not.
    """
    if n_points is not None and n_points < n_views:
        raise ValueError(
            f"n_views={shown(n_views)} views need at least as many points; got {n_points}: "
            "lower n_views or add samples or candidates"
        )
    if n_features is not None and n_features < n_views:
        raise ValueError(
            f"n_views={shown(n_views)} views need at least as many features; got {n_features}: "
            "lower n_views or use views='points'"
        )


def check_size_of_views(n_views: int, n_points: int, n_candidates: int, *, dealt: bool) -> None:
    """Raise a ValueError if more than two views would take too much memory.

    Parameters
    ----------
    n_views, n_points, n_candidates : int
    dealt : bool
        Whether each view has a part of the candidates only.
    """
    values = n_points * n_candidates * (1 if dealt else n_views)
    differences = n_points * n_views * (n_views - 1) // 2
    if n_views > 2 and values + differences > MOST_NUMBERS:
        raise ValueError(
            f"n_views={n_views} views of {n_points} samples take {values + differences} numbers; "
            f"at most {MOST_NUMBERS} fit: lower n_views or n_candidates"
        )


def deal_losses(
    scored: NDArray[np.bool_], labels: NDArray, dictionaries: list[Indices], generator: Generator
) -> list[Indices]:
    """Give each view the scored points of its loss, in rising order.

    They are those of its dictionary and, where only some points are candidates, its part of the
    others.

    Parameters
    ----------
    scored : ndarray of shape (n,)
        Which points have a score.
    labels : ndarray of shape (n,)
        Groups of the points.
    dictionaries : list of ndarray
        Points of each view's dictionary.
    generator : numpy Generator or RandomState
    """
    others = np.setdiff1d(np.arange(len(scored)), np.concatenate(dictionaries))
    parts = split_points(scored[others], len(dictionaries), generator)
    losses = []
    for view, (own, part) in enumerate(zip(dictionaries, parts, strict=True)):
        points = np.union1d(own, others[part])
        losses.append(points[scored[points]])
        if GroupPreferences(labels[losses[-1]]).n_pairs == 0:
            raise ValueError(
                f"views='loss' leaves view {view} without a pair of scored points to learn from; "
                "lower n_views, score more points, or use views='points'"
            )
    return losses
