"""The candidates of a pursuit: points whose kernel functions make up its dictionary."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rankpursuit.estimators._kernels import Array
from rankpursuit.estimators._parameters import RandomState, random_generator
from rankpursuit.estimators._spread import Spread

Indices = NDArray[np.intp]


@dataclass(frozen=True)
class Dictionary:
    """Candidates apart from the rows that they were drawn from.

    Attributes
    ----------
    points : ndarray of shape (N, n_features)
    rows : ndarray of shape (N,)
        Which rows they are: what `basis_` tells of them.
    gamma : float or None
        That of the kernel.
    """

    points: Array
    rows: Indices
    gamma: float | None

    @classmethod
    def of(cls, X: NDArray[np.floating], rows: Indices, gamma: float | None) -> Dictionary:
        """Take some rows of `X`."""
        return cls(np.asarray(X[rows], dtype=np.float64), rows, gamma)


def draw_candidates(n_points: int, n_candidates: int | None, random_state: RandomState) -> Indices:
    """Draw the training points whose kernel functions make up the dictionary, in rising order.

    Each point gets a random number, and the smallest ones win: points that come block by block,
    in the same order, get the same numbers.
    """
    if n_candidates is None or n_candidates >= n_points:
        return np.arange(n_points)
    keys = random_generator(random_state).random(n_points)
    return np.sort(_smallest(keys, n_candidates))


class Reservoir:
    """Candidates drawn from points that come block by block: those of :func:`draw_candidates`.

    Parameters
    ----------
    n_candidates : int or None
        None keeps all points.
    random_state : int, Generator, RandomState or None
    """

    def __init__(self, n_candidates: int | None, random_state: RandomState) -> None:
        self._n_candidates = n_candidates
        self._generator = random_generator(random_state)
        self._kept: list[tuple[Array, Indices, Array]] = []
        self.n_rows = 0
        self.spread = Spread()

    def add(self, X: NDArray[np.floating]) -> None:
        """Show the points of a block, of shape (m, n_features)."""
        keys = self._generator.random(len(X))
        rows = np.arange(self.n_rows, self.n_rows + len(X))
        self.n_rows += len(X)
        self.spread += Spread.of(X)
        if self._n_candidates is None:
            self._kept.append((keys, rows, np.array(X, dtype=np.float64)))
            return
        new = _smallest(keys, self._n_candidates)
        self._kept.append((keys[new], rows[new], np.asarray(X[new], dtype=np.float64)))
        all_keys, all_rows, points = self._joined()
        best = _smallest(all_keys, self._n_candidates)
        self._kept = [(all_keys[best], all_rows[best], points[best])]

    def drawn(self) -> tuple[Array, Indices]:
        """Return the points, and which rows they are, in rising order."""
        _, rows, points = self._joined()
        order = np.argsort(rows)
        return points[order], rows[order]

    def _joined(self) -> tuple[Array, Indices, Array]:
        keys, rows, points = (np.concatenate(parts) for parts in zip(*self._kept, strict=True))
        return keys, rows, points


def _smallest(keys: Array, number: int) -> Indices:
    return (
        np.argpartition(keys, number - 1)[:number] if number < len(keys) else np.arange(len(keys))
    )
