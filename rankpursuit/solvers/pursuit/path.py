"""The paths of pursuits: every prefix of a growing sum of dictionary functions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True)
class PursuitPath:
    """Every prefix of the paths of a batch of b pursuits with up to P steps.

    Attributes
    ----------
    selected : ndarray of shape (b, P)
        The dictionary function chosen at each step; -1 behind the end of a path.
    weights : ndarray of shape (b, P)
        The length of each step, zero behind the end of a path.
    directions : ndarray of shape (b, P, P) or None
        Column p holds the coefficients, over the chosen functions, of the direction of step p.
        None stands for the identity: each step moves along the function that it chose.
    cost : ndarray of shape (b, P + 1)
        Training cost of every prefix, from the empty one on.
    n_steps : ndarray of shape (b,)
        Number of steps before the path ended.
    least_left : ndarray of shape (b,)
        Of all chosen functions, the smallest share of the squared norm that those before left;
        1 without a refit.
    """

    selected: NDArray[np.intp]
    weights: Array
    directions: Array | None
    cost: Array
    n_steps: NDArray[np.intp]
    least_left: Array

    def coefficients(self) -> Array:
        """Coefficients over the chosen functions, of every prefix.

        Returns
        -------
        ndarray of shape (b, P, P)
            Entry ``[i, p]`` belongs to the prefix of p + 1 steps, in the order of `selected`.
        """
        n_steps = self.selected.shape[1]
        directions = np.eye(n_steps) if self.directions is None else self.directions
        return np.cumsum(directions * self.weights[:, None, :], axis=2).swapaxes(1, 2)

    def expansion(self, problem: int) -> tuple[NDArray[np.intp], Array]:
        """Coefficients of every prefix of one path, over each chosen function once.

        Returns
        -------
        functions : ndarray of shape (f,)
            In the order in which they were first chosen.
        coefficients : ndarray of shape (n_steps, f)
        """
        n_steps = int(self.n_steps[problem])
        chosen, lengths = self.selected[problem, :n_steps], self.weights[problem, :n_steps]
        if self.directions is not None:  # with a refit no function is chosen twice
            steps = self.directions[problem, :n_steps, :n_steps] * lengths
            return chosen, np.cumsum(steps, axis=1).T
        functions, first, which = np.unique(chosen, return_index=True, return_inverse=True)
        order = np.argsort(first)
        place = np.empty_like(order)
        place[order] = np.arange(len(order))
        coefficients = np.zeros((n_steps, len(functions)))
        coefficients[np.arange(n_steps), place[which]] = lengths
        return functions[order], np.cumsum(coefficients, axis=0, out=coefficients)

    def predict(self, kernel: Array, steps: NDArray[np.intp] | None = None) -> Array:
        """Predictions of every prefix, or of some.

        Parameters
        ----------
        kernel : ndarray of shape (b, m, N)
            Values of the N dictionary functions at m points.
        steps : ndarray of shape (s,), optional
            Numbers of steps of the prefixes, from 1 to P. Default: all.

        Returns
        -------
        ndarray of shape (b, P, m) or (b, s, m)
        """
        n_steps = self.selected.shape[1]
        steps = np.arange(1, n_steps + 1) if steps is None else steps
        chosen = np.take_along_axis(kernel, np.maximum(self.selected, 0)[:, None, :], axis=2)
        if self.directions is None:
            lengths = self.weights[:, None, :] * (np.arange(n_steps) < steps[:, None])
            return np.matmul(lengths, chosen.swapaxes(1, 2))
        # Coefficients of functions that are nearly dependent are large and cancel each other: what
        # each step adds is small, and is added up.
        values = np.matmul(chosen, self.directions)
        values *= self.weights[:, None, :]
        return np.cumsum(values, axis=2, out=values)[:, :, steps - 1].swapaxes(1, 2)


MOST_BASIS = 100
"""Number of basis functions where none is said and there are as many to choose from."""


def count_basis(n_basis: int | float | None, n_points: int) -> int:
    """Turn a number of basis functions, or a share of the points, into a number.

    Parameters
    ----------
    n_basis : int, float or None
        A whole number of at least 1, or a float in (0, 1] as a share of `n_points`. None: 100, or
        `n_points` if that is less.
    n_points : int

    Returns
    -------
    int
        At least 1. A share is rounded to the nearest number.
    """
    if n_basis is None:
        return min(MOST_BASIS, n_points)
    whole = isinstance(n_basis, int | np.integer) and not isinstance(n_basis, bool)
    if whole and n_basis >= 1:
        return int(n_basis)
    if isinstance(n_basis, float | np.floating) and 0.0 < n_basis <= 1.0:
        return max(1, round(float(n_basis) * n_points))
    raise ValueError(
        "n_basis must be a whole number of at least 1, or a float in (0, 1] as a share of the "
        f"training points; got {n_basis!r}"
    )
