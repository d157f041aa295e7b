"""Kendall's rank correlation inside groups."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from rankpursuit.metrics._places import Array, runs
from rankpursuit.metrics._shapes import groups_of, mean_of_groups, rows_and_stack
from rankpursuit.metrics.disagreement import disagreement_error

Variant = Literal["a", "b"]


def kendall_tau(
    scores: ArrayLike,
    predictions: ArrayLike,
    groups: ArrayLike | None = None,
    *,
    variant: Variant = "b",
    empty: float | None = None,
) -> Array | float:
    """Kendall's tau, the mean over groups: a score, higher is better.

    In a group it is the number of pairs in the right order less the number of those in the wrong
    one, over the number of all pairs (tau_a), or over the geometric mean of the numbers of pairs
    that are not tied in the scores and not tied in the prediction (tau_b). A pair that is tied on
    either side is neither right nor wrong.

    Parameters
    ----------
    scores : array-like of shape (m,) or (b, m)
        With b rows, the first axis of `predictions` has a row of scores each.
    predictions : array-like of shape (..., m) or (b, ..., m)
    groups : array-like of shape (m,), optional
        Only pairs inside a group (a user, a query) are compared, and the mean over the groups
        counts. Default: all pairs.
    variant : {"a", "b"}, default "b"
        With "b", ties in the scores do not keep a prediction from reaching 1, if it has the same
        ties. With "a", ``(1 - tau_a) / 2`` is the disagreement error with half wrong ties.
    empty : float or None, default None
        What a group counts in which no two scores differ, so that there is nothing to order; None
        leaves it out.

    Returns
    -------
    float or ndarray of shape (...)
        From -1, reversed, to 1; a constant prediction of a group counts 0. NaN where a prediction
        has a NaN, and where all groups are left out.

    See Also
    --------
    disagreement_error : Counts the pairs of all groups together.

    Examples
    --------
    >>> kendall_tau([3, 2, 1], [0.9, 0.1, 0.5], variant="a") == 1 / 3
    True
    >>> kendall_tau([3, 2, 1, 7, 6], [0.9, 0.5, 0.1, 0.2, 0.8], groups=[0, 0, 0, 1, 1])
    0.0
    """
    if variant not in get_args(Variant):
        known = " or ".join(map(repr, get_args(Variant)))
        raise ValueError(f"variant: expected {known}, got {variant!r}")
    predictions = np.asarray(predictions, dtype=np.float64)
    rows, stack = rows_and_stack(np.asarray(scores, dtype=np.float64), predictions)
    members = groups_of(groups, rows.shape[1])
    taus = np.zeros((*stack.shape[:2], len(members)))
    ordered = np.zeros((len(rows), len(members)), dtype=bool)
    for number, own in enumerate(members):
        n_pairs, untied = _pairs(rows[:, own]), _untied_pairs(rows[:, own])
        wrong = disagreement_error(rows[:, own], stack[..., own], normalized=False, ties="half")
        ordered[:, number] = untied > 0
        if variant == "a":
            possible = np.full_like(taus[..., number], n_pairs)
        else:
            possible = np.sqrt(untied[:, None] * _untied_pairs(stack[..., own]))
        taus[..., number] = np.divide(
            n_pairs - wrong, possible, out=np.zeros_like(possible), where=possible > 0.0
        )
    mean = mean_of_groups(taus, ordered, empty)
    mean[np.isnan(stack.min(axis=2, initial=np.inf))] = np.nan
    result = mean.reshape(predictions.shape[:-1])
    return result if result.ndim else float(result)


def _pairs(values: Array) -> int:
    """Count the pairs of points along the last axis."""
    return values.shape[-1] * (values.shape[-1] - 1) // 2


def _untied_pairs(values: Array) -> Array:
    """Count the pairs along the last axis whose values differ."""
    begin, end = runs(np.sort(values, axis=-1))
    # Each point of a tie of t points stands for half of its t - 1 pairs.
    return _pairs(values) - (end - begin - 1).sum(axis=-1) / 2.0
