"""Pairs of points with a preferred one, as operators on stacks of vectors."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

Array = NDArray[np.float64]


class OrderedPairs:
    """The p pairs (i, j) in which point i is preferred to point j.

    Parameters
    ----------
    scores : ndarray of shape (n,)
    pairs : ndarray of shape (p', 2)
        Pairs of points that may be compared, in any order, each pair once. Those with equal
        scores are left out.
    """

    def __init__(self, scores: Array, pairs: NDArray[np.intp]) -> None:
        difference = scores[pairs[:, 0]] - scores[pairs[:, 1]]
        ordered = np.where((difference < 0)[:, None], pairs[:, ::-1], pairs)[difference != 0]
        self.n_points, self.n_pairs = len(scores), len(ordered)
        self._ordered, self._cell = ordered, ordered[:, 0] * self.n_points + ordered[:, 1]
        met = np.zeros(self.n_points**2, dtype=np.bool_)
        met[self._cell] = True
        if np.count_nonzero(met) < self.n_pairs:
            raise ValueError("pairs: a pair occurs twice; give each pair once")

    @cached_property
    def _transposed(self) -> sp.csr_array:
        """The matrix with a column ``e_i - e_j`` for each pair."""
        signs, starts = np.tile([1.0, -1.0], self.n_pairs), np.arange(0, 2 * self.n_pairs + 1, 2)
        shape = (self.n_pairs, self.n_points)
        return sp.csr_array((signs, self._ordered.ravel(), starts), shape=shape).T.tocsr()

    @cached_property
    def bias(self) -> Array:
        """1 where i is preferred to j, minus infinity elsewhere, shape (n, n)."""
        result = np.full((self.n_points, self.n_points), -np.inf)
        result.ravel()[self._cell] = 1.0
        return result

    def margins(self, values: Array) -> Array:
        """Differences ``f_i - f_j`` of values of shape (b, n): shape (b, p)."""
        preferred, other = self._ordered.T
        return values[:, preferred] - values[:, other]

    def gather(self, weights: Array) -> Array:
        """``sum_ij w_ij (e_i - e_j)`` of weights of shape (b, p): shape (b, n)."""
        return np.asarray(self._transposed @ weights.T).T

    def laplacian(self, weights: NDArray) -> Array:
        """Laplacians of the pairs with weights of shape (b, p): shape (b, n, n)."""
        result = np.zeros((len(weights), self.n_points, self.n_points))
        result.reshape(len(weights), -1)[:, self._cell] = weights
        result += result.swapaxes(1, 2)
        degrees = result.sum(axis=2)
        np.negative(result, out=result)
        np.einsum("bii->bi", result)[...] = degrees
        return result
