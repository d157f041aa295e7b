"""Labels that put points into groups: users, queries."""

from __future__ import annotations

from numbers import Real

import numpy as np
from numpy.typing import ArrayLike, NDArray


def checked_labels(groups: ArrayLike) -> NDArray:
    """Return labels of groups, (n,); raise a ValueError if they cannot be told apart.

    That is if a label is missing (NaN, NaT, None), or if labels have different types: 1 and "1" may
    be meant to be one group.
    """
    # Numpy makes strings of a list of numbers and strings, so its items are checked first.
    labels = np.asarray(groups if hasattr(groups, "dtype") else np.asarray(groups, dtype=object))
    if labels.ndim != 1:
        raise ValueError(f"groups: expected one label for each point, got the shape {labels.shape}")
    if labels.dtype.kind == "O":
        import pandas as pd  # takes half a second, which numbers need not wait for

        missing = np.flatnonzero(pd.isna(labels))
    else:
        missing = np.flatnonzero(labels != labels)
    if len(missing):
        raise ValueError(
            f"groups: the label of point {missing[0]} is missing, {labels[missing[0]]}; leave such "
            "points out, or give them a label"
        )
    if labels.dtype.kind == "O":
        kinds = {Real if isinstance(one, Real | np.bool_) else type(one): one for one in labels}
        if len(kinds) > 1:
            one, other, *_ = kinds.values()
            raise ValueError(
                f"groups: labels of different types, as {one!r} and {other!r}; make them one type"
            )
        labels = np.asarray(labels.tolist(), dtype=None if len(labels) else np.intp)
        if labels.ndim != 1:
            raise ValueError("groups: expected a number or a string for each point")
    return labels
