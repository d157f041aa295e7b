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
        self._preferred, self._other = ordered[:, 0], ordered[:, 1]
        self._is_pair = np.zeros((self.n_points, self.n_points), dtype=np.bool_)
        self._is_pair[self._preferred, self._other] = True
        if np.count_nonzero(self._is_pair) < self.n_pairs:
            raise ValueError("pairs: a pair occurs twice; give each pair once")

    @cached_property
    def _transposed(self) -> sp.csr_array:
        rows = np.repeat(np.arange(self.n_pairs), 2)
        signs = np.tile([1.0, -1.0], self.n_pairs)
        points = np.stack([self._preferred, self._other], axis=1).ravel()
        shape = (self.n_pairs, self.n_points)
        return sp.csr_array((signs, (rows, points)), shape=shape).T.tocsr()

    @cached_property
    def bias(self) -> Array:
        """1 where i is preferred to j, minus infinity elsewhere, shape (n, n)."""
        return np.where(self._is_pair, 1.0, -np.inf)

    def margins(self, values: Array) -> Array:
        """Differences ``f_i - f_j`` of values of shape (b, n): shape (b, p)."""
        return values[:, self._preferred] - values[:, self._other]

    def gather(self, weights: Array) -> Array:
        """``sum_ij w_ij (e_i - e_j)`` of weights of shape (b, p): shape (b, n)."""
        return np.asarray(self._transposed @ weights.T).T

    def laplacian(self, weights: NDArray) -> Array:
        """Laplacians of the pairs with weights of shape (b, p): shape (b, n, n)."""
        result = np.zeros((len(weights), self.n_points, self.n_points))
        result[:, self._preferred, self._other] = weights
        result += result.swapaxes(1, 2)
        degrees = result.sum(axis=2)
        np.negative(result, out=result)
        np.einsum("bii->bi", result)[...] = degrees
        return result
