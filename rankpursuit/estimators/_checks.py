"""Checks of what users pass: parameters, sizes of values, groups, pairs and weights."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from types import FrameType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.metrics.pairwise import kernel_metrics
from sklearn.utils.validation import (
    column_or_1d,
)

from rankpursuit.errors import warn_caller
from rankpursuit.preferences import (
    Preferences,
    check_labels,
)

Array = NDArray[np.float64]
Indices = NDArray[np.intp]
Kernel = str | Callable[..., ArrayLike]
GroupWeights = str | Mapping[Any, float]

KERNELS = tuple(sorted(kernel_metrics()))
WITH_GAMMA = ("chi2", "laplacian", "poly", "polynomial", "rbf", "sigmoid")
NOT_NEGATIVE_ONLY = ("additive_chi2", "chi2")
"""Kernels of histograms, whose features must not be negative."""
BETWEEN_0_AND_1 = ("rbf", "laplacian", "chi2")
"""Kernels that are 1 for equal points and fall to 0 with their distance."""
LARGE = 1e30
"""Largest absolute kernel value or score: products of fourth powers of the one and squares of the
other, which the solvers compute, stay finite."""
ASYMMETRIC = 1e-5
"""Largest asymmetry of a kernel, relative to its largest value: about single precision."""
_HIDDEN = 30
"""Part of a standard deviation of a feature in which values are hidden by others far out: with the
default penalties, a linear model ignores them."""
_UNEQUAL = 10
"""Ratio of the scales of two features at which a kernel of both loses much of what the smaller one
tells: pairwise accuracies of .94 fell to .91, and to .74 at a ratio of 30."""
_CENTRE_ROWS = 10_000
"""Rows that medians of features are computed from, evenly spread."""


# Parameters


class Constraint(NamedTuple):
    """A condition on the value of a parameter, and its description for error messages."""

    words: str
    is_valid: Callable[[Any], bool]


Constraints = Mapping[str, tuple[Constraint, ...]]
"""Conditions on each parameter, of which one must hold."""
_INTEGERS, _FLOATS = int | np.integer, float | np.floating


def number(
    words: str, accept: Callable[[Any], bool], kinds: Any = _INTEGERS | _FLOATS
) -> Constraint:
    """Accept finite numbers of some types that satisfy a condition; bool is not a number."""

    def is_valid(value: Any) -> bool:
        is_number = isinstance(value, kinds) and not isinstance(value, bool)
        return is_number and abs(value) <= sys.float_info.max and accept(value)

    return Constraint(words, is_valid)


def integer(low: int) -> Constraint:
    """Accept an integer of at least `low`."""
    return number(f"an integer of at least {low}", lambda value: value >= low, _INTEGERS)


def choice(*options: str) -> Constraint:
    """Accept one of the given strings."""
    listed = ", ".join(map(repr, options))
    words = listed if len(options) == 1 else f"one of {listed}"
    return Constraint(words, lambda value: isinstance(value, str) and value in options)


def instance(types: Any, words: str) -> Constraint:
    """Accept instances of the given types."""
    return Constraint(words, lambda value: isinstance(value, types))


def several(each: Constraint) -> Constraint:
    """Accept a non-empty list, tuple or 1-d array of values that satisfy a constraint."""

    def is_valid(value: Any) -> bool:
        if isinstance(value, np.ndarray):
            value = list(value) if value.ndim == 1 else []
        return isinstance(value, list | tuple) and len(value) > 0 and all(map(each.is_valid, value))

    return Constraint(f"a list in which each item is {each.words}", is_valid)


NONE = instance(type(None), "None")
CALLABLE = Constraint("a callable", callable)
POSITIVE = (number("a number above 0", lambda value: value > 0),)
NOT_NEGATIVE = (number("a number of at least 0", lambda value: value >= 0),)
FRACTION = (number("a number from 0 to 1", lambda value: 0 <= value <= 1),)
FLAG = (instance(bool | np.bool_, "True or False"),)
N_BASIS = (
    integer(1),
    number("a float above 0 and of at most 1", lambda value: 0 < value <= 1, _FLOATS),
)
PARAMETERS: Constraints = {
    "C": POSITIVE,
    "categorical_features": (
        choice("from_dtype"),
        Constraint("a list of names, positions or flags", lambda value: np.ndim(value) == 1),
    ),
    "agreement": (choice("cumulative", "incremental"),),
    "alpha": POSITIVE,
    "alphas": (several(*POSITIVE),),
    "beta": FRACTION,
    "betas": (several(*FRACTION),),
    "coef0": (number("a finite number", lambda value: True),),
    "degree": (integer(1),),
    "dictionary": (
        choice("kernel", "additive", "pairs", "grown"),
        Constraint(
            "an object with fit, columns and terms",
            lambda value: all(hasattr(type(value), name) for name in ("fit", "columns")),
        ),
    ),
    "fitting": (choice("basic", "backfit", "prefit"), NONE),
    "gamma": (*POSITIVE, choice("scale"), NONE),
    "gammas": (several(*POSITIVE), NONE),
    "group_weight": (
        choice("pairs", "equal"),
        instance(Mapping, "a mapping from labels to weights"),
    ),
    "kernel": (choice(*KERNELS, "precomputed"), CALLABLE),
    "kernel_params": (instance(Mapping, "a mapping"), NONE),
    "loss": (choice("hinge", "squared_hinge"),),
    "n_basis": (*N_BASIS, NONE),
    "n_candidates": (integer(1), NONE),
    "n_views": (integer(1),),
    "nu": NOT_NEGATIVE,
    "nus": (several(*NOT_NEGATIVE),),
    "random_state": (
        number(f"an integer from 0 to {2**32 - 1}", lambda value: 0 <= value < 2**32, _INTEGERS),
        instance(np.random.Generator | np.random.RandomState, "a numpy generator"),
        NONE,
    ),
    "repeat": FLAG,
    "ridge": (*NOT_NEGATIVE, NONE),
    "ridges": (several(*NOT_NEGATIVE), NONE),
    "scale": (*FLAG, choice("group")),
    "selection": (choice("best", "sparsest"),),
    "shared_basis": FLAG,
    "tol": POSITIVE,
    "views": (choice("points", "loss", "features"), instance(list | tuple, "a list of kernels")),
}
"""Constraints of all parameters, unless `_constraints` of a class has others."""


def check_parameter(name: str, value: Any, allowed: Sequence[Constraint]) -> None:
    """Raise a ValueError unless the value satisfies one of the constraints."""
    if not any(constraint.is_valid(value) for constraint in allowed):
        *others, last = (constraint.words for constraint in allowed)
        wanted = f"{', '.join(others)} or {last}" if others else last
        raise ValueError(f"{name} must be {wanted}; got {' '.join(repr(value).split()):.100}")


# Data


def check_size(values: Array, what: str, remedy: str) -> None:
    """Raise a ValueError unless values are finite and not too large or too small."""
    largest = max(values.max(initial=0.0), -values.min(initial=0.0))
    if not (largest == 0.0 or 1.0 / LARGE <= largest <= LARGE):
        raise ValueError(
            f"{what} must be finite, with a largest absolute value of 0 or between {1 / LARGE:g} "
            f"and {LARGE:g}; got {largest:.3g}: {remedy}"
        )


def check_finite(*coefficients: Array) -> None:
    """Raise a ValueError if coefficients of a fitted model are not finite."""
    if not all(np.isfinite(values).all() for values in coefficients):
        raise ValueError(
            "the fitted coefficients are not finite: kernel values are too small, or the kernel is "
            "nearly singular; scale the features, or raise alpha or ridge"
        )


def warn_if_flat(kernel: Kernel, gamma: float | None, values: Array, columns: Indices) -> None:
    """Warn if nearly all kernel values of different points are 0 or 1.

    `values`, (n, r), are those of the training points with r of them, at the indices `columns`; at
    most 64 x 64 are inspected.
    """
    if kernel not in BETWEEN_0_AND_1:
        return
    rows, some = (evenly(size) for size in values.shape)
    seen = values[rows[:, None], some][rows[:, None] != columns[some]]
    zeros, ones = (
        np.count_nonzero(far) / max(1, seen.size) for far in (seen < 1e-6, seen > 1 - 1e-6)
    )
    if zeros + ones >= 0.99:
        what = "0" if zeros >= 0.99 else "1" if ones >= 0.99 else "0 or 1"
        warn_caller(
            f"nearly all values of the kernel {kernel!r} between different training points are "
            f"{what} with gamma={gamma:.3g}, so little can be learned; scale the features, "
            "for instance by sklearn.preprocessing.StandardScaler or, with a few huge values, by "
            "QuantileTransformer in a pipeline, or choose another gamma"
        )


def warn_of_far_values(X: Any, names: Any = None) -> None:
    """Warn of columns of `X`, (n, n_features), with a few values so far away that others are lost.

    Such as 1e9 for "missing" in 2% of the rows: in units of the standard deviation, which these
    values determine, all others are equal. A column is named if it has values within 1/30 standard
    deviation of the median, which differ, a smaller number of values at least one standard
    deviation away, none in between, and if those far away repeat. Heavy tails, as of lognormal
    prices or counts, have values in between, and their largest values do not repeat. Rare flags
    differ nowhere but far away.
    """
    far_columns = []
    with np.errstate(over="ignore"):
        centres = np.median(X[evenly(len(X), _CENTRE_ROWS)], axis=0)
    for place, centre in enumerate(centres):
        column = np.asarray(X[:, place], dtype=np.float64)
        with np.errstate(over="ignore", invalid="ignore"):
            distance, deviation = np.abs(column - centre), float(column.std())
        far, near = distance >= deviation, distance <= deviation / _HIDDEN
        if not (far | near).all() or not 2 <= np.count_nonzero(far) < np.count_nonzero(near):
            continue
        low, high = np.quantile(column[near], [0.1, 0.9])
        codes, counts = np.unique(column[far], return_counts=True)
        if high - low > 1e-14 * deviation and len(codes) <= counts.sum() / 2:  # not by rounding
            name = place if names is None else repr(names[place])
            commonest = codes[counts.argmax()]
            far_columns.append(f"{name} ({far.mean():.2g} of the rows, such as {commonest:g})")
    if far_columns:
        listed = ", ".join(far_columns[:3]) + (", ..." if len(far_columns) > 3 else "")
        warn_caller(
            f"X has {len(far_columns)} column(s) with a few values so far from the others that the "
            f"others are within 1/{_HIDDEN} standard deviation and count little: {listed}; if they "
            "stand for missing values, replace them, for instance by sklearn.impute.SimpleImputer; "
            "otherwise use sklearn.preprocessing.QuantileTransformer in a pipeline, or "
            "dictionary='additive' of a pursuit, whose functions depend on ranks",
            UserWarning,
        )


def warn_of_scales(kernel: Kernel, X: Array, names: Any = None, remedy: str = "") -> None:
    """Warn of features (n, n_features) that hardly count in a kernel, beside one far larger.

    The scale of a feature is the distance of its 10% and 90% quantiles, which tails and rare codes
    do not change; that of one with two values is their distance, however rare one of them is. There
    is no warning if most features are large: those of one unit may vary more and less.
    """
    if not isinstance(kernel, str) or kernel not in (*BETWEEN_0_AND_1[:2], "poly", "polynomial"):
        return
    some = np.asarray(X[evenly(len(X), _CENTRE_ROWS)], dtype=np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        low, tenth, ninth, high = np.quantile(some, [0.0, 0.1, 0.9, 1.0], axis=0)
        is_flag = ((some == low) | (some == high)).all(axis=0)
        scales = np.where(is_flag, high - low, ninth - tenth)
        largest = int(np.argmax(scales))
        small = np.flatnonzero((scales > 0.0) & (scales * _UNEQUAL <= scales[largest]))
    if len(small) and 2 * len(small) >= int(np.count_nonzero(scales)):
        shown = range(X.shape[1]) if names is None else [repr(name) for name in names]
        listed = ", ".join(str(shown[place]) for place in small[:3])
        listed += ", ..." if len(small) > 3 else ""
        warn_caller(
            f"X has {len(small)} column(s) that hardly count in the kernel {kernel!r}, beside "
            f"column {shown[largest]} with values at least {_UNEQUAL} times as large: {listed}; "
            f"scale the features by {remedy}sklearn.preprocessing.StandardScaler in a pipeline",
        )


def evenly(size: int, most: int = 64) -> Indices:
    """Return up to `most` of the numbers 0, ..., size - 1, evenly spread."""
    return np.linspace(0, size - 1, most).astype(np.intp) if size > most else np.arange(size)


# Groups, pairs and weights


def group_labels(groups: ArrayLike | None, n_points: int) -> NDArray:
    """Return the checked label of each point; all points are one group if `groups` is None."""
    if groups is None:
        return np.zeros(n_points, dtype=np.intp)
    labels = check_labels(groups)
    if len(labels) != n_points:
        raise ValueError(
            f"groups must have one label for each of the {n_points} samples; got {len(labels)}: "
            "pass sizes of consecutive groups to fit as group=, or convert them to labels with "
            "groups_from_sizes"
        )
    return labels


def resolve_groups(groups: Any, qid: Any, group: Any, n_points: int) -> NDArray:
    """Return the checked labels of groups, given as labels, query ids, or sizes."""
    given = {"groups": groups, "qid": qid, "group": group}
    names = [name for name, value in given.items() if value is not None]
    if len(names) > 1:
        raise ValueError(f"{names[0]} and {names[1]} both define the groups; pass one of them")
    if group is not None:
        return groups_from_sizes(group, n_points)
    return group_labels(groups if qid is None else qid, n_points)


def groups_from_sizes(sizes: ArrayLike, n_samples: int | None = None) -> NDArray[np.intp]:
    """Convert sizes of consecutive groups, as used by LightGBM, to labels.

    Parameters
    ----------
    sizes : array-like of shape (n_groups,)
        Number of samples of each group: the first group has the first samples, and so on.
    n_samples : int, optional
        Number of samples, which the sizes must add up to.

    Returns
    -------
    ndarray of shape (n_samples,)
        Index of each sample's group, from 0.

    Examples
    --------
    >>> from rankpursuit import groups_from_sizes
    >>> groups_from_sizes([2, 3, 1], n_samples=6)
    array([0, 0, 1, 1, 1, 2])
    """
    numbers = column_or_1d(sizes)
    whole = numbers.dtype.kind in "iuf" and all(float(size).is_integer() for size in numbers)
    if not whole or numbers.min(initial=0) < 0:
        raise ValueError(f"sizes must be integers of at least 0, one for each group; got {sizes!r}")
    counts = numbers.astype(np.intp)
    if n_samples is not None and counts.sum() != n_samples:
        raise ValueError(
            f"sizes of {len(counts)} groups add up to {counts.sum()}, but there are {n_samples} "
            "samples; pass the label of each sample as groups= or qid="
        )
    return np.repeat(np.arange(len(counts)), counts)


def scored_part(
    y: ArrayLike, predictions: ArrayLike, groups: ArrayLike | None
) -> tuple[Array, Array, NDArray | None]:
    """Drop unscored points, marked by NaN, from y, predictions and groups."""
    scores = column_or_1d(y, dtype=np.float64, warn=True)
    values = np.asarray(predictions, dtype=np.float64)
    if values.shape[-1] != len(scores):
        raise ValueError(f"y has {len(scores)} scores for {values.shape[-1]} samples of X")
    scored = ~np.isnan(scores)
    labels = None if groups is None else group_labels(groups, len(scores))[scored]
    return scores[scored], values[..., scored], labels


PASS_GROUPS = (
    "pass groups= to both fit and score; with scikit-learn's tools, call "
    "sklearn.set_config(enable_metadata_routing=True) and pass groups= to fit and score of a "
    "Pipeline or GridSearchCV, or params={'groups': ...} to cross_validate"
)
PASS_GROUPS_TO_PREDICT = (
    "pass groups= to predict too, for a Pipeline after "
    "sklearn.set_config(enable_metadata_routing=True); cross_val_predict, GridSearchCV.predict and "
    "scorers of scikit-learn pass none: fit and predict each fold, use best_estimator_, or use the "
    "scorers of rankpursuit"
)


def warn_of_lost_groups(name: str) -> None:
    """Warn of a ranker without groups in a tool of scikit-learn that splits by groups."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if frame.f_globals.get("__name__", "").startswith("sklearn.model_selection."):
            passed = frame.f_locals.get("params")
            of_search = passed.get("groups") if isinstance(passed, Mapping) else None
            if frame.f_locals.get("groups", of_search) is not None:
                warn_caller(
                    f"{name} got no groups, by which this cross-validation splits, and compares "
                    "points of different groups with each other: pass the label of their column "
                    "in a data frame, as in fit(frame, y, groups=frame['query'], qid='query') of "
                    "a search or params={'qid': 'query'} of cross_validate; or call "
                    "sklearn.set_config(enable_metadata_routing=True)"
                )
                return
        frame = frame.f_back


def count_groups(preferences: Preferences) -> int:
    """Return the number of groups; raise a ValueError if they have no pair to learn from."""
    groups = preferences.groups
    assert groups is not None
    if groups.n_pairs == 0:
        raise ValueError(
            "no comparable pairs: every group has a single sample; give at least one group two "
            "samples, or pass no groups to compare all samples"
        )
    return groups.n_groups


def check_weights(name: str, weights: ArrayLike, unit: str, number: int) -> Array:
    """Return checked positive weights, one per sample, group or pair (`unit`)."""
    try:
        values = np.asarray(weights, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be one finite number for each {unit}") from None
    if values.shape != (number,):
        raise ValueError(
            f"{name} must have one number for each of the {number} {unit}s; got shape "
            f"{values.shape}"
        )
    if not (np.isfinite(values).all() and (values > 0.0).all()):
        raise ValueError(f"{name} must be positive finite numbers; drop each {unit} of zero weight")
    check_size(values, name, "divide all of them by the largest")
    return values


def check_pairs(
    pairs: ArrayLike | None, weights: ArrayLike | None, groups: list[Any], n_points: int
) -> tuple[Indices, Array]:
    """Return explicit pairs of samples, shape (p, 2), and their weights, shape (p,)."""
    if pairs is None:
        raise ValueError("weights can be used only with pairs; pass pairs= too")
    if any(labels is not None for labels in groups):
        raise ValueError(
            "groups and pairs both define which samples are compared; pass one of them"
        )
    rows = np.asarray(pairs)
    if rows.size == 0:
        raise ValueError("pairs must hold at least one pair to learn from; got none")
    if rows.ndim != 2 or rows.shape[1] != 2 or rows.dtype.kind not in "iu":
        raise ValueError(
            "pairs must be integers of shape (p, 2), a row (i, j) for each sample i that is "
            f"preferred to a sample j; got {rows.dtype} of shape {rows.shape}"
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
    given = np.ones(len(rows)) if weights is None else weights
    return rows.astype(np.intp), check_weights("weights", given, "pair", len(rows))
