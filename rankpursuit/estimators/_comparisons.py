"""Checks of what a ranker compares: groups of samples, or explicit pairs with weights."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankpursuit.estimators._kernels import Array
from rankpursuit.estimators._lost_groups import REMEDY
from rankpursuit.estimators._scaling import LARGE
from rankpursuit.labels import checked_labels
from rankpursuit.preferences import GroupPreferences, GroupWeight

MOST_UNEVEN = 1e12
"""Ratio of two weights; more would leave no digits of the smaller one's part in a sum."""


def group_labels(groups: ArrayLike | None, n_points: int) -> NDArray:
    """Check the label of each training point; one group if there are no groups."""
    if groups is None:
        return np.zeros(n_points, dtype=np.intp)
    # As objects, lest a list of numbers and strings become one of strings.
    column = np.asarray(groups, dtype=None if hasattr(groups, "dtype") else object)
    labels = checked_labels(column[:, 0] if column.ndim == 2 and column.shape[1] == 1 else column)
    if len(labels) != n_points:
        raise ValueError(
            f"groups must have one label for each of the {n_points} samples; got {len(labels)} "
            "(groups_from_sizes makes labels of sizes)"
        )
    return labels


def warn_of_lost_groups(estimator: object, n_fitted: int | None, labels: NDArray | None) -> None:
    """Warn if a ranker was fitted to several groups and is scored without, or the other way round.

    Parameters
    ----------
    estimator : object
    n_fitted : int or None
        Number of groups that it was fitted to; None if it was fitted to pairs.
    labels : ndarray of shape (m,) or None
        Groups that it is scored with.
    """
    name = type(estimator).__name__
    if n_fitted is not None and n_fitted > 1 and labels is None:
        warnings.warn(
            f"{name} was fitted to {n_fitted} groups but is scored without groups, so that points "
            f"of different groups are compared; {REMEDY}; if all points are of one group, say so "
            "by one label for all of them",
            UserWarning,
            stacklevel=3,
        )
    elif n_fitted == 1 and labels is not None and (n_labels := len(np.unique(labels))) > 1:
        warnings.warn(
            f"{name} is scored inside {n_labels} groups but was fitted without groups, so that it "
            f"compared all samples with each other; {REMEDY}",
            UserWarning,
            stacklevel=3,
        )


def group_preferences(
    labels: NDArray, weight: GroupWeight | Mapping[Any, float] = "pairs"
) -> GroupPreferences:
    """All pairs inside each group; a ValueError if that is no pair at all."""
    preferences = weighted_groups(labels, weight)
    if preferences.n_pairs == 0:
        raise ValueError(
            "groups leave no pair to learn from: every group has one sample only; "
            "give at least one group two samples, or pass no groups to compare all samples"
        )
    return preferences


def weighted_groups(labels: NDArray, weight: GroupWeight | Mapping[Any, float]) -> GroupPreferences:
    """All pairs inside each group, of which there may be none."""
    if isinstance(weight, str):
        return GroupPreferences(labels, weight)
    distinct = np.unique(labels).tolist()
    missing = [label for label in distinct if label not in weight]
    if missing:
        raise ValueError(
            f"group_weight must have a weight for each group; it has none for {missing[0]!r}"
        )
    values = _numbers("group_weight", [weight[label] for label in distinct], "group")
    _require_comparable("group_weight", values)
    return GroupPreferences(labels, values)


def _numbers(name: str, values: ArrayLike, of_each: str) -> Array:
    """Return weights as numbers; a ValueError that names them if they are none."""
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{name} must be one finite number for each {of_each}") from None


def _require_comparable(name: str, weights: Array) -> None:
    """Raise a ValueError unless weights are positive, and of a size that sums of them can hold."""
    if weights.size == 0:
        return
    if not (np.all(np.isfinite(weights)) and np.all(weights > 0.0)):
        raise ValueError(f"{name} must be positive finite numbers; leave out what has no weight")
    low, high = weights.min(), weights.max()
    if not (low >= 1.0 / LARGE and high <= LARGE and high <= MOST_UNEVEN * low):
        raise ValueError(
            f"{name} must lie between {1.0 / LARGE:g} and {LARGE:g}, and the largest must be at "
            f"most {MOST_UNEVEN:g} times the smallest; got {low:.3g} to {high:.3g}"
        )


def checked_target(estimator: object, y: ArrayLike | None) -> ArrayLike:
    """Return the scores; a ValueError if there are none."""
    if y is None:
        raise ValueError(
            f"{type(estimator).__name__} requires y to be passed, but the target y is None; "
            "pass scores, or pairs of samples as pairs="
        )
    return y


def checked_pairs(
    pairs: ArrayLike | None, weights: ArrayLike | None, groups: ArrayLike | None, n_points: int
) -> tuple[NDArray[np.intp], Array]:
    """Check explicit pairs of `n_points` samples, and their weights.

    Returns
    -------
    pairs : ndarray of shape (p, 2)
    weights : ndarray of shape (p,)
    """
    if pairs is None:
        raise ValueError("weights are those of explicit pairs; pass pairs= too")
    if groups is not None:
        raise ValueError("groups and pairs both say what is compared; pass one of them")
    try:
        rows = np.asarray(pairs)
    except ValueError:
        raise ValueError("pairs must be rows of two whole numbers each") from None
    if rows.size == 0:
        raise ValueError("pairs must hold at least one pair to learn from; got none")
    if rows.ndim != 2 or rows.shape[1] != 2 or rows.dtype.kind not in "iu":
        raise ValueError(
            "pairs must be whole numbers of the shape (p, 2), a row (i, j) for each sample i that "
            f"is preferred to a sample j; got {rows.dtype} of the shape {rows.shape}"
        )
    if rows.min() < 0 or rows.max() >= n_points:
        raise ValueError(
            f"pairs must hold indices of the {n_points} samples, from 0 to {n_points - 1}; got "
            f"indices from {rows.min()} to {rows.max()}"
        )
    alone = np.flatnonzero(rows[:, 0] == rows[:, 1])
    if len(alone):
        raise ValueError(
            f"pairs must compare different samples; row {alone[0]} compares sample "
            f"{rows[alone[0], 0]} with itself"
        )
    if weights is None:
        return rows.astype(np.intp), np.ones(len(rows))
    values = _numbers("weights", weights, "pair")
    if values.shape != (len(rows),):
        raise ValueError(
            f"weights must have one number for each of the {len(rows)} pairs; got the shape "
            f"{values.shape}"
        )
    _require_comparable("weights", values)
    return rows.astype(np.intp), values
