"""Which point of a grid the hold-out users choose.

The point with the lowest mean hold-out error is chosen. Among points that tie, the simpler model
is, by this rule: first the one with fewer basis functions, then the more regularised one (larger
lambda, larger ridge, smaller C, larger nu), then the smoother one (larger sigma, smaller gamma),
last the one with the larger beta. The catalogue of axes has this order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rankpursuit.experiments.catalogue import AXES, METHODS, WIDTH, AlgorithmSpec
from rankpursuit.experiments.config import Tuning

Array = NDArray[np.float64]

_TIE = 1e-12


@dataclass(frozen=True)
class Choice:
    """The chosen point of a grid.

    Attributes
    ----------
    index : tuple of int
        Position along each axis of the grid: the width, then the method's own axes.
    values : dict of str to float
        Chosen value of each axis, by its key.
    holdout_error : float
    on_edge : tuple of str
        Axes, of more than one value, whose first or last value was chosen.
    """

    index: tuple[int, ...]
    values: dict[str, float]
    holdout_error: float
    on_edge: tuple[str, ...]


def grid_axes(spec: AlgorithmSpec, widths: tuple[float, ...]) -> dict[str, tuple[float, ...]]:
    """Return the axes of an algorithm's grid in order: the width, then the method's own."""
    own = {axis.key: getattr(spec, axis.key) for axis in METHODS[spec.method].axes}
    return {WIDTH.key: widths} | own


def criteria(method: str, tuning: Tuning, metric: str) -> tuple[str, ...]:
    """Return the errors by which a method's parameters are chosen, to report it on a metric."""
    return (metric,) if tuning == "reported" else METHODS[method].own


def joint_error(errors: Sequence[Array]) -> Array:
    """Return one error for several: the sum of them, each relative to its lowest."""
    if len(errors) == 1:
        return errors[0]
    return np.sum([error / error.min() for error in errors], axis=0)


def choose(
    errors: Array, axes: dict[str, tuple[float, ...]], *, wide_is_smooth: bool = True
) -> Choice:
    """Choose the point of the lowest error; see the module's rule for ties.

    Parameters
    ----------
    errors : ndarray, one axis for each of `axes`
        Mean hold-out errors.
    axes : dict of str to tuple of float
        Values along each axis, rising.
    wide_is_smooth : bool
        Whether a larger width is a smoother function, as with sigma and unlike gamma.

    Returns
    -------
    Choice
    """
    names = list(axes)
    tied = np.argwhere(errors <= errors.min() + _TIE)
    smaller = {key for key in names if AXES[key].simpler == "smaller"}
    smaller |= set() if wide_is_smooth else {WIDTH.key}
    deciding = sorted(names, key=lambda key: AXES[key].precedence)

    def simplicity(point: NDArray[np.intp]) -> tuple[int, ...]:
        position = dict(zip(names, point.tolist(), strict=True))
        return tuple(position[key] if key in smaller else -position[key] for key in deciding)

    index = tuple(min(tied, key=simplicity).tolist())
    at = dict(zip(names, index, strict=True))
    return Choice(
        index=index,
        values={axis: axes[axis][at[axis]] for axis in names},
        holdout_error=float(errors[index]),
        on_edge=tuple(
            axis for axis in names if len(axes[axis]) > 1 and at[axis] in (0, len(axes[axis]) - 1)
        ),
    )
