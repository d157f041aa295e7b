"""Co-regularised pursuit from the kernels of the views: roots and penalties put in."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankpursuit.preferences import Preferences
from rankpursuit.solvers.coregularised.joint_problem import Agreement, Array
from rankpursuit.solvers.coregularised.path import (
    CoregularisedPath,
    JointFitting,
    coregularised_pursuit,
)
from rankpursuit.solvers.pursuit.ridge import ridge_rows

Indices = NDArray[np.intp]


def pursue_views(
    kernels: Sequence[Array],
    scores: Array,
    points: Sequence[Indices],
    losses: Sequence[Indices],
    forms: Sequence[Preferences],
    agreeing: tuple[Indices, Preferences],
    ridges: ArrayLike,
    nus: ArrayLike,
    n_steps: int,
    *,
    fitting: JointFitting,
    agreement: Agreement,
    shared: bool,
) -> CoregularisedPath:
    """Pursue one function a view, for a stack of kernels and all ridges and nus.

    Parameters
    ----------
    kernels : sequence of M ndarrays of shape (w, n, N_v)
        For each view, kernel values of the n points with those of its dictionary.
    scores : ndarray of shape (n,)
        Those of unscored points are never read.
    points, losses : sequence of M ndarrays
        For each view, the points of its dictionary and the scored points of its loss.
    forms : sequence of M Preferences
        For each view, the form of its loss.
    agreeing : tuple of ndarray and Preferences
        The points on which the views are to agree, and their form.
    ridges : array-like of shape (r,)
    nus : array-like of shape (k,)
    n_steps, fitting, agreement, shared
        See :func:`coregularised_pursuit`.

    Returns
    -------
    CoregularisedPath
        Of w * r dictionaries, those of a kernel's ridges beside each other.
    """
    where, common = agreeing
    penalised = [
        ridge_rows(form.root(kernel[:, loss]), form.root(scores[loss]), kernel[:, own], ridges)
        for form, kernel, loss, own in zip(forms, kernels, losses, points, strict=True)
    ]
    return coregularised_pursuit(
        [dictionary for dictionary, _ in penalised],
        [np.repeat(common.root(kernel[:, where]), np.size(ridges), axis=0) for kernel in kernels],
        [target for _, target in penalised],
        nus,
        n_steps,
        fitting=fitting,
        agreement=agreement,
        shared=shared,
    )
