"""Tables as users have them: data frames and arrays with groups, categories and missing values.

At the door of an estimator they become matrices of floats. A category becomes a code from 0, the
place of its level among those of the training data, an unknown level the code -1, and a missing
value NaN.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.utils import check_array

from rankpursuit.errors import warn_caller
from rankpursuit.estimators._checks import Array

Categories = Mapping[int, list[Any]]
"""The levels of each feature that is a category, by its position."""
_NUMBERS = {"floating", "integer", "integer-na", "mixed-integer-float", "decimal", "boolean"}
"""Kinds of columns that are numbers, in the words of `pandas.api.types.infer_dtype`."""
_UNKNOWN = -1


def is_frame(X: Any) -> bool:
    """Return whether `X` is a data frame of pandas or polars."""
    return hasattr(X, "columns") and hasattr(X, "dtypes")


def pop_column(X: Any, label: str) -> tuple[Any, NDArray]:
    """Return a data frame without a column, and the column."""
    if not is_frame(X) or label not in list(X.columns):
        where = f"columns {', '.join(map(str, X.columns))}" if is_frame(X) else "no columns"
        raise ValueError(
            f"groups={label!r} is the label of a column of X, but X has {where:.200}; pass a data "
            "frame that has it, or the label of the group of each sample"
        )
    return drop_column(X, label), np.asarray(X[label])


def drop_column(X: Any, label: str | None) -> Any:
    """Return a data frame without a column, if it has it."""
    if label is None or not is_frame(X) or label not in list(X.columns):
        return X
    return X.drop(columns=label) if isinstance(X, pd.DataFrame) else X.drop(label)


def encode(X: Any, marked: Any, known: Categories | None) -> tuple[Any, Categories]:
    """Return a table with codes for categories, and their levels.

    Parameters
    ----------
    X : data frame or array of shape (n, n_features)
    marked : "from_dtype" or array-like
        The columns of numbers that are codes of categories: a mask, positions or names.
    known : mapping or None
        The levels of the training data; None for the training data itself.
    """
    if not is_frame(X):
        if known == {} or (known is None and isinstance(marked, str)):
            return X, {}
        X = check_array(X, dtype=None, ensure_all_finite="allow-nan")
    names = list(X.columns) if is_frame(X) else list(range(X.shape[1]))
    is_marked = np.isin(np.arange(len(names)), list(known)) if known else _mark(names, marked)
    if not is_marked.any() and all(map(_is_number, X.dtypes if is_frame(X) else [X.dtype])):
        return X, {}
    columns = [_column(X, place) for place in range(len(names))]
    categories, unknown, matrix = {}, [], np.empty((len(X), len(names)))
    for place, (name, column) in enumerate(zip(names, columns, strict=True)):
        values = np.asarray(column)
        missing, kind = pd.isna(values), pd.api.types.infer_dtype(values, skipna=True)
        is_category = is_marked[place] or kind == "string" or hasattr(column.dtype, "categories")
        if not is_category and (kind in _NUMBERS or missing.all()):
            matrix[:, place] = np.where(missing, np.nan, values).astype(np.float64)
            continue
        if not is_category or (known is not None and place not in known):
            held = "it held numbers in the training data" if is_category else ""
            raise ValueError(
                f"column {name!r} of X holds values of type {kind}, such as "
                f"{values[~missing][0]}; {held or 'convert it to numbers or to strings'}"
            )
        levels, codes = _codes(values, missing, known[place] if known else None)
        categories[place], matrix[:, place] = levels, codes
        strange = codes == _UNKNOWN
        if strange.any():
            example = values[strange][0]
            unknown.append(f"{np.count_nonzero(strange)} of {name!r}, such as {example!r}")
    if unknown:
        warn_caller(
            "X has values of categories that the training data did not have, and which have none "
            f"of their functions: {', '.join(unknown)}"
        )
    return pd.DataFrame(matrix, columns=names) if is_frame(X) else matrix, categories


def _column(X: Any, place: int) -> Any:
    return X.iloc[:, place] if hasattr(X, "iloc") else X[:, place]


def _is_number(dtype: Any) -> bool:
    """Return whether a dtype is one of numbers."""
    return getattr(dtype, "kind", "O") in "biufc" and not hasattr(dtype, "categories")


def _codes(values: NDArray, missing: NDArray, levels: list[Any] | None) -> tuple[list[Any], Array]:
    """Return the levels of a category, and the code of each value."""
    present = pd.Series(values[~missing]).infer_objects()
    if not all(isinstance(value, str | int | float) for value in present.unique().tolist()):
        present = present.astype(str)  # such as intervals
    if levels is None:
        listed = present.unique().tolist()
        levels = sorted(listed, key=lambda level: (isinstance(level, str), level))
    codes = np.full(len(values), np.nan)
    codes[~missing] = pd.Index(levels).get_indexer(pd.Index(present))
    return levels, codes


def _mark(names: list[Any], marked: Any) -> NDArray[np.bool_]:
    """Return which columns are named as categories."""
    if isinstance(marked, str):  # "from_dtype"
        return np.zeros(len(names), dtype=bool)
    given = np.asarray(marked)
    if given.dtype.kind == "b" and given.shape == (len(names),):
        return given
    every = np.array(names, dtype=object) if given.dtype.kind in "OUT" else np.arange(len(names))
    absent = [item for item in given.tolist() if item not in every.tolist()]
    if absent or given.dtype.kind == "b":
        raise ValueError(
            "categorical_features must be a mask of all features, their positions or their names; "
            f"got {absent[0] if absent else given.tolist()!r:.80} for {len(names)} features"
        )
    return np.isin(every, given)
