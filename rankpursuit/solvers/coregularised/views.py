"""Views for semi-supervised ranking pursuit: what each of its functions is made of."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

Views = Literal["points", "loss", "features"]
"""What is dealt out to the views: the dictionary, the dictionary and the loss, or the features."""


def split_points(
    scored: NDArray[np.bool_], n_views: int, generator: np.random.Generator | np.random.RandomState
) -> list[NDArray[np.intp]]:
    """Deal the points out to the views: each gets its part of the scored and of the unscored.

    Parameters
    ----------
    scored : ndarray of shape (n,)
        Which points have a score.
    n_views : int
    generator : numpy Generator or RandomState

    Returns
    -------
    list of `n_views` ndarrays
        Indices of the points of each view, rising; sizes differ by at most one.
    """
    dealt = np.concatenate(
        [generator.permutation(np.flatnonzero(part)) for part in (scored, ~scored)]
    )
    return [np.sort(dealt[view::n_views]) for view in range(n_views)]


def split_features(
    n_features: int, n_views: int, generator: np.random.Generator | np.random.RandomState
) -> list[NDArray[np.intp]]:
    """Deal the features out to the views at random; sizes differ by at most one."""
    dealt = generator.permutation(n_features)
    return [np.sort(dealt[view::n_views]) for view in range(n_views)]
