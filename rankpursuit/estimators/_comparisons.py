"""Checks of what a ranker compares: groups of samples, or explicit pairs with weights."""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import column_or_1d

from rankpursuit.estimators._kernels import Array
from rankpursuit.preferences import GroupPreferences

_REMEDY = (
    "pass groups= to fit and score alike, and through a Pipeline, GridSearchCV or cross_validate "
    "with sklearn.set_config(enable_metadata_routing=True)"
)


def group_labels(groups: ArrayLike | None, n_points: int) -> NDArray:
    """Check the label of each training point; one group if there are no groups."""
    if groups is None:
        return np.zeros(n_points, dtype=np.intp)
    labels = column_or_1d(groups)
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
            f"of different groups are compared; {_REMEDY}; if all points are of one group, say so "
            "by one label for all of them",
            UserWarning,
            stacklevel=3,
        )
    elif n_fitted == 1 and labels is not None and (n_labels := len(np.unique(labels))) > 1:
        warnings.warn(
            f"{name} is scored inside {n_labels} groups but was fitted without groups, so that it "
            f"compared all samples with each other; {_REMEDY}",
            UserWarning,
            stacklevel=3,
        )


def group_preferences(labels: NDArray) -> GroupPreferences:
    """All pairs inside each group; a ValueError if that is no pair at all."""
    preferences = GroupPreferences(labels)
    if preferences.n_pairs == 0:
        raise ValueError(
            "groups leave no pair to learn from: every group has one sample only; "
            "give at least one group two samples, or pass no groups to compare all samples"
        )
    return preferences


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
    rows = np.asarray(pairs)
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
    values = np.asarray(weights, dtype=np.float64)
    if values.shape != (len(rows),):
        raise ValueError(
            f"weights must have one number for each of the {len(rows)} pairs; got the shape "
            f"{values.shape}"
        )
    if not (np.all(np.isfinite(values)) and np.all(values > 0.0)):
        raise ValueError("weights must be positive finite numbers; leave out pairs of no weight")
    return rows.astype(np.intp), values
