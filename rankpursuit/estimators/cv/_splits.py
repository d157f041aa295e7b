"""Folds of whole groups, from a number, a splitter or explicit splits."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import GroupKFold, KFold

from rankpursuit.estimators._constraints import Whole, shown
from rankpursuit.estimators._kernels import Array
from rankpursuit.solvers.folds import Indices, Split


class Splits:
    """Anything that yields splits: an iterable of them, or a splitter of scikit-learn."""

    def admits(self, value: Any) -> bool:
        """Say whether the value may yield splits."""
        return not isinstance(value, str | bytes) and (
            hasattr(value, "split") or isinstance(value, Iterable)
        )

    def __str__(self) -> str:
        return "a splitter of scikit-learn or an iterable of pairs of training and test indices"


FOLDS = (Whole(2), Splits())


def checked_splits(cv: Any, X: Array, y: Array, labels: NDArray | None) -> list[Split]:
    """Split the points; a ValueError where a split cuts a group.

    Unscored points, whose score is NaN, are in every training part and in no test part.

    Parameters
    ----------
    cv : int, splitter or iterable
        A number of folds and a splitter split the scored points.
    X : ndarray of shape (n, n_features)
    y : ndarray of shape (n,)
    labels : ndarray of shape (n,) or None
        Groups, if there are any.

    Returns
    -------
    list of Split
    """
    scored = ~np.isnan(y)
    if isinstance(cv, Iterable) and not hasattr(cv, "split"):
        found = [_of_rows(number, split, len(y)) for number, split in enumerate(cv)]
    else:
        rows = np.flatnonzero(scored)
        own = None if labels is None else labels[rows]
        splitter = cv if hasattr(cv, "split") else _folds(cv, len(rows), own)
        parts = splitter.split(X[rows], y[rows], own)
        found = [(rows[train], rows[test]) for train, test in parts]
    splits = [
        Split(np.union1d(train, np.flatnonzero(~scored)), np.unique(test[scored[test]]))
        for train, test in found
    ]
    if len(splits) < 2:
        raise ValueError(f"cv must give at least two splits; got {len(splits)}")
    for number, split in enumerate(splits):
        _check_split(number, split, scored, labels)
    return splits


def cuts_no_group(splits: list[Split], labels: NDArray) -> bool:
    """Say whether every group is, in every split, all in the training part or all outside."""
    _, codes = np.unique(labels, return_inverse=True)
    sizes = np.bincount(codes)
    inside = np.array([np.bincount(codes[train], minlength=len(sizes)) for train, _ in splits])
    return bool(np.all((inside == 0) | (inside == sizes)))


def _folds(n_folds: int, n_points: int, labels: NDArray | None) -> GroupKFold | KFold:
    n_parts, parts = (n_points, "samples") if labels is None else (len(np.unique(labels)), "groups")
    if n_parts < n_folds:
        raise ValueError(
            f"cv={shown(n_folds)} folds need at least as many {parts} with scores; got n_{parts} = "
            f"{n_parts}: lower cv or add {parts}"
        )
    if labels is not None:
        return GroupKFold(n_folds)
    # Points are often sorted by their scores, and then a fold of neighbours is like no other.
    return KFold(n_folds, shuffle=True, random_state=0)


def _of_rows(number: int, split: Any, n_points: int) -> tuple[Indices, Indices]:
    """Read a split: two arrays of indices, or masks, of all rows."""
    try:
        train, test = (np.arange(n_points)[np.asarray(part)] for part in split)
    except (IndexError, TypeError, ValueError) as error:
        raise ValueError(
            f"cv must hold pairs of training and test indices of the {n_points} samples; "
            f"split {number} is none"
        ) from error
    return train, test


def _check_split(
    number: int, split: Split, scored: NDArray[np.bool_], labels: NDArray | None
) -> None:
    learned = split.train[scored[split.train]]
    if len(learned) == 0 or len(split.test) == 0:
        raise ValueError(
            f"cv must leave scores to learn from and to judge by; split {number} has none in one "
            "of its parts"
        )
    if len(np.intersect1d(learned, split.test)):
        raise ValueError(
            f"cv must hold out what it judges by; split {number} has samples in both of its parts"
        )
    cut = [] if labels is None else np.intersect1d(labels[learned], labels[split.test]).tolist()
    if cut:
        raise ValueError(
            f"cv must keep groups whole; split {number} has group {cut[0]!r} in both of its "
            "parts: use a number of folds, GroupKFold or another splitter of groups"
        )
