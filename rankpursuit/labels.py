"""Labels that put points into groups: users, queries."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray


def checked_labels(groups: ArrayLike) -> NDArray:
    """Check the labels of groups.

    Parameters
    ----------
    groups : array-like of shape (n,)
        Numbers, strings, or other values of one type.

    Returns
    -------
    ndarray of shape (n,)

    Raises
    ------
    ValueError
        If a label is missing (NaN, NaT, None), or if labels have different types: 1 and "1" may
        be meant to be one group.
    """
    # Numpy makes strings of a list of numbers and strings, so its items are checked first.
    labels = groups if hasattr(groups, "dtype") else np.asarray(groups, dtype=object)
    labels = np.asarray(labels)
    if labels.ndim != 1:
        raise ValueError(f"groups: expected one label for each point, got the shape {labels.shape}")
    if labels.dtype.kind == "O":
        _refuse_mixed(labels)
        labels = np.asarray(labels.tolist()) if len(labels) else np.empty(0, dtype=np.intp)
        if labels.ndim != 1 or (labels.dtype.kind == "O" and not _have_an_order(labels)):
            raise ValueError("groups: expected a number or a string for each point")
    if labels.dtype.kind in "fcmM" and (missing := np.flatnonzero(labels != labels)).size:
        raise ValueError(_missing(int(missing[0]), labels[missing[0]]))
    return labels


def _refuse_mixed(labels: NDArray) -> None:
    """Raise a ValueError for missing labels, and for labels of more than one type."""
    kinds: dict[type, Any] = {}
    for place, label in enumerate(labels):
        if _is_missing(label):
            raise ValueError(_missing(place, label))
        kinds.setdefault(Real if isinstance(label, Real | np.bool_) else type(label), label)
    if len(kinds) > 1:
        one, other, *_ = kinds.values()
        raise ValueError(
            f"groups: labels of different types, as {one!r} and {other!r}; make them one type"
        )


def _have_an_order(labels: NDArray) -> bool:
    """Return whether the labels can be sorted, as dates and large integers can."""
    try:
        np.sort(labels)
    except TypeError:
        return False
    return True


def _is_missing(label: Any) -> bool:
    """Return whether a label is None, NaN, or a missing value of pandas."""
    if label is None or type(label).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(label, Real | np.generic) and bool(label != label)


def _missing(place: int, label: Any) -> str:
    return (
        f"groups: the label of point {place} is missing, {label}; leave such points out, or give "
        "them a label"
    )
