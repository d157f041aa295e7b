"""Points that would cover each other, moved apart."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def dodged(points: Sequence[tuple[float, float]], size: tuple[float, float]) -> NDArray[np.float64]:
    """Return how far each point is to be moved sideways so that no two cover each other.

    Parameters
    ----------
    points : sequence of (x, y)
    size : (width, height)
        Of a marker, in the units of the points. Two cover each other if they are nearer than that
        in both directions.

    Returns
    -------
    array of shape (n_points,)
        Multiples of the width: the first of several that coincide stays in its place.

    Examples
    --------
    >>> dodged([(1.0, 1.0), (1.0, 1.1), (1.0, 5.0)], (0.5, 0.5)).tolist()
    [0.0, -0.5, 0.0]
    """
    width, height = size
    steps = sorted(range(-len(points), len(points) + 1), key=lambda step: (abs(step), step))
    placed: list[tuple[float, float]] = []
    moves = []
    for x, y in points:
        moves.append(
            next(
                step * width
                for step in steps
                if not any(
                    abs(x + step * width - a) < width * (1 - 1e-9) and abs(y - b) < height
                    for a, b in placed
                )
            )
        )
        placed.append((x + moves[-1], y))
    return np.array(moves)
