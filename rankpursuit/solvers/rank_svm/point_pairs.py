"""Pairs of points with a preferred one, as operators on stacks of vectors."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]


class OrderedPairs:
    """The p pairs (i, j) in which point i is preferred to point j.

    Parameters
    ----------
    n_points : int
    ordered : array-like of shape (p, 2)
        In each row the preferred point and the other one, each pair at most once. Two points may
        contradict themselves: i preferred to j and j to i are two pairs, each with its loss.
    weights : array-like of shape (p,), optional
        Positive weights of the pairs' losses. Default: all 1.

    Attributes
    ----------
    n_points, n_pairs : int
    weights : ndarray of shape (p,) or None
        None stands for ones.
    """

    def __init__(self, n_points: int, ordered: ArrayLike, weights: ArrayLike | None = None) -> None:
        self._ordered = np.asarray(ordered, dtype=np.intp).reshape(-1, 2)
        self.n_points, self.n_pairs = n_points, len(self._ordered)
        if self.n_pairs and not (self._ordered.min() >= 0 and self._ordered.max() < n_points):
            raise ValueError(f"ordered: expected point indices from 0 to {n_points - 1}")
        self._cell = self._ordered[:, 0] * n_points + self._ordered[:, 1]
        _refuse_repeated(self._cell, n_points)
        self.weights = None if weights is None else np.asarray(weights, dtype=np.float64)
        if self.weights is not None:
            _refuse_weights(self.weights, self.n_pairs)

    @classmethod
    def of_scores(
        cls, scores: Array, pairs: NDArray[np.intp], weights: Array | None = None
    ) -> OrderedPairs:
        """In each pair the point with the higher score is preferred; ties are left out.

        Parameters
        ----------
        scores : ndarray of shape (n,)
        pairs : ndarray of shape (p', 2)
            Pairs of points that may be compared, in any order, each pair once.
        weights : ndarray of shape (p',), optional
            Positive weights of the pairs' losses. Default: all 1.
        """
        difference = scores[pairs[:, 0]] - scores[pairs[:, 1]]
        ordered = np.where((difference < 0)[:, None], pairs[:, ::-1], pairs)
        untied = difference != 0
        return cls(len(scores), ordered[untied], None if weights is None else weights[untied])

    @cached_property
    def _transposed(self) -> sp.csr_array:
        """The matrix with a column ``e_i - e_j`` for each pair."""
        signs, starts = np.tile([1.0, -1.0], self.n_pairs), np.arange(0, 2 * self.n_pairs + 1, 2)
        shape = (self.n_pairs, self.n_points)
        return sp.csr_array((signs, self._ordered.ravel(), starts), shape=shape).T.tocsr()

    @cached_property
    def bias(self) -> Array:
        """1 where i is preferred to j, minus infinity elsewhere, shape (n, n)."""
        return self._spread(1.0, -np.inf)

    @cached_property
    def weight_matrix(self) -> Array:
        """Weights where i is preferred to j, zero elsewhere, shape (n, n)."""
        return self._spread(1.0 if self.weights is None else self.weights, 0.0)

    def _spread(self, own: Array | float, elsewhere: float) -> Array:
        """Entries of the pairs in a matrix of shape (n, n)."""
        result = np.full((self.n_points, self.n_points), elsewhere)
        result.ravel()[self._cell] = own
        return result

    def weighted(self, x: Array) -> Array:
        """``w_ij x_ij`` of arrays of shape (b, p), or of (b, 1); `x` itself without weights."""
        return x if self.weights is None else self.weights * x

    def margins(self, values: Array) -> Array:
        """Differences ``f_i - f_j`` of values of shape (b, n): shape (b, p)."""
        preferred, other = self._ordered.T
        return values[:, preferred] - values[:, other]

    def gather(self, x: Array) -> Array:
        """``sum_ij x_ij (e_i - e_j)`` of arrays of shape (b, p): shape (b, n)."""
        return np.asarray(self._transposed @ x.T).T

    def laplacian(self, x: Array) -> Array:
        """Laplacians ``sum_ij x_ij (e_i - e_j)(e_i - e_j)'`` of (b, p): shape (b, n, n)."""
        result = np.zeros((len(x), self.n_points, self.n_points))
        result.reshape(len(x), -1)[:, self._cell] = x
        result += result.swapaxes(1, 2)
        degrees = result.sum(axis=2)
        np.negative(result, out=result)
        np.einsum("bii->bi", result)[...] = degrees
        return result


def _refuse_repeated(cell: NDArray[np.intp], n_points: int) -> None:
    """Raise a ValueError if a pair, given as ``i n + j``, occurs twice or is of one point."""
    met = np.zeros(n_points**2, dtype=np.bool_)
    met[cell] = True
    if met[:: n_points + 1].any():
        point = int(np.flatnonzero(met[:: n_points + 1])[0])
        raise ValueError(f"ordered: point {point} cannot be preferred to itself")
    if np.count_nonzero(met) < len(cell):
        values, counts = np.unique(cell, return_counts=True)
        i, j = divmod(int(values[counts > 1][0]), n_points)
        raise ValueError(f"ordered: the pair ({i}, {j}) occurs twice; give it once")


def _refuse_weights(weights: Array, n_pairs: int) -> None:
    """Raise a ValueError if weights are not one positive number for each pair."""
    if weights.shape != (n_pairs,):
        raise ValueError(f"weights: expected {n_pairs}, one for each pair; got {weights.shape}")
    bad = ~((weights > 0.0) & np.isfinite(weights))
    if bad.any():
        pair = int(np.flatnonzero(bad)[0])
        raise ValueError(
            f"weights: expected positive numbers; got {weights[pair]} for pair {pair}. Leave out "
            "pairs that do not count"
        )
