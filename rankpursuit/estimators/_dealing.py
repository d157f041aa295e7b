"""Dealing points, losses and features out to the views, with errors where there are too few."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rankpursuit.preferences import GroupPreferences
from rankpursuit.solvers.coregularised.views import split_features, split_points

Indices = NDArray[np.intp]
Generator = np.random.Generator | np.random.RandomState


def deal_points(
    scored: NDArray[np.bool_], candidates: Indices, n_views: int, generator: Generator
) -> list[Indices]:
    """Deal the candidates out: for each view the points of its dictionary, in rising order."""
    if len(candidates) < n_views:
        raise ValueError(
            f"n_views={n_views} views need at least as many points; got {len(candidates)}: "
            "lower n_views or add samples or candidates"
        )
    return [candidates[part] for part in split_points(scored[candidates], n_views, generator)]


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


def deal_features(n_features: int, n_views: int, generator: Generator) -> list[Indices]:
    """Deal the features out: for each view those that it sees, in rising order."""
    if n_features < n_views:
        raise ValueError(
            f"n_views={n_views} views need at least as many features; got {n_features}: "
            "lower n_views or use views='points'"
        )
    return split_features(n_features, n_views, generator)
