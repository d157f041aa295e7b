"""Explicit pairs of points."""

from __future__ import annotations

import math

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from rankpursuit.preferences.form import Array, DenseRoot, Preferences


class PairPreferences(Preferences):
    """Explicit weighted pairs; the root is their sparse weighted incidence matrix.

    Parameters
    ----------
    n_points : int
    pairs : array-like of shape (p, 2)
        Indices of the two points of each pair, in any order, each pair once.
    weights : array-like of shape (p,), optional
        Non-negative weights of the pairs, the entries of W. Default: all 1.
    """

    def __init__(self, n_points: int, pairs: ArrayLike, weights: ArrayLike | None = None) -> None:
        self.n_points = n_points
        pairs = np.asarray(pairs, dtype=np.intp).reshape(-1, 2)
        self.n_pairs = n_pairs = len(pairs)
        self.weights = np.ones(n_pairs) if weights is None else np.asarray(weights, dtype=float)
        if self.weights.shape != (n_pairs,) or not np.all(self.weights >= 0):
            raise ValueError(f"weights: expected {n_pairs} non-negative numbers, one for each pair")
        if n_pairs and not (pairs.min() >= 0 and pairs.max() < n_points):
            raise ValueError(f"pairs: expected point indices from 0 to {n_points - 1}")
        if np.any(pairs[:, 0] == pairs[:, 1]):
            raise ValueError("pairs: a point cannot be paired with itself")
        if len(np.unique(np.sort(pairs, axis=1), axis=0)) < n_pairs:
            raise ValueError("pairs: a pair occurs twice; add up its weights")
        rows = np.repeat(np.arange(n_pairs), 2)
        signs = np.column_stack([np.sqrt(self.weights), -np.sqrt(self.weights)]).ravel()
        shape = (n_pairs, n_points)
        self._incidence = sp.csr_array((signs, (rows, pairs.ravel())), shape=shape)
        self._transposed = self._incidence.T.tocsr()

    def root(self, x: Array) -> Array:
        """Weighted differences ``sqrt(w_ij) (x_i - x_j)``, one row for each pair."""
        return _sparse_apply(self._incidence, x)

    def root_transpose(self, x: Array) -> Array:
        """Transpose of the incidence matrix, applied."""
        return _sparse_apply(self._transposed, x)

    def compact(self) -> Preferences:
        """Return the same form with at most n rows: a square root of the Laplacian."""
        if self.n_pairs <= self.n_points:
            return self
        return DenseRoot((self._transposed @ self._incidence).toarray())

    def slim(self, n_columns: int) -> Preferences:
        """Return the compact form where p rows of k columns take more room than its dense root."""
        return self if self.n_pairs * n_columns <= self.n_points**2 else self.compact()


def _sparse_apply(matrix: sp.csr_array, x: Array) -> Array:
    """Apply a sparse matrix to a vector or to axis -2 of a stack."""
    if x.ndim <= 2:
        return np.asarray(matrix @ x)
    rows_first = np.moveaxis(x, -2, 0)
    others = rows_first.shape[1:]
    flat = np.asarray(matrix @ rows_first.reshape(len(rows_first), math.prod(others)))
    return np.moveaxis(flat.reshape(len(flat), *others), 0, -2)
