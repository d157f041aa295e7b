"""Preference graphs."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from rankpursuit.labels import checked_labels

Array = NDArray[np.float64]


class Preferences(ABC):
    """The quadratic form of a method: a root B and the form ``B'B`` that it stands for."""

    n_points: int

    @abstractmethod
    def root(self, x: Array) -> Array:
        """``B x``, of shape (..., r, k) for `x` of shape (..., n, k)."""

    @abstractmethod
    def root_transpose(self, x: Array) -> Array:
        """``B' x``, of shape (..., n, k) for `x` of shape (..., r, k)."""

    def root_vectors(self, x: Array) -> Array:
        """``B x`` of each of many vectors, of shape (..., r) for `x` of shape (..., n)."""
        return self.root(x[..., None])[..., 0]

    def laplacian(self, x: Array) -> Array:
        """``L x = B' B x``, of the shape of `x`."""
        return self.root_transpose(self.root(x))

    def compact(self) -> Preferences:
        """Return the same form with a root of at most n rows; by default, `self`."""
        return self

    def slim(self, n_columns: int) -> Preferences:
        """Return the same form with the root that has less to keep for matrices of k columns.

        By default, `self`: its rows take less room than another root would.
        """
        return self


class Pointwise(Preferences):
    """The identity instead of a Laplacian: plain regression, no pairs."""

    def __init__(self, n_points: int) -> None:
        self.n_points = n_points

    def root(self, x: Array) -> Array:
        """`x` itself."""
        return x

    def root_transpose(self, x: Array) -> Array:
        """`x` itself."""
        return x


class DenseRoot(Preferences):
    """The square root of a form given as a dense matrix."""

    def __init__(self, form: Array) -> None:
        self.n_points = len(form)
        values, vectors = np.linalg.eigh(form)
        # The root of a zero eigenvalue's rounding error would be seven digits larger than it.
        values[values <= values[-1] * self.n_points * np.finfo(np.float64).eps] = 0.0
        self._matrix = np.sqrt(values)[:, None] * vectors.T

    def root(self, x: Array) -> Array:
        """Apply the root."""
        return np.matmul(self._matrix, x)

    def root_transpose(self, x: Array) -> Array:
        """Apply its transpose."""
        return np.matmul(self._matrix.T, x)


GroupWeight = Literal["pairs", "equal"]


class GroupPreferences(Preferences):
    """All pairs inside a group (a user, a query) count, no pair across groups.

    For a group of ``n_g`` points whose pairs have the weight ``w_g`` the root is
    ``B x = sqrt(n_g w_g) (x - mean(x))``: as many rows as points, and O(n) to apply.

    Parameters
    ----------
    groups : array-like of shape (n,)
        A label for each point. One constant label makes all pairs count.
    weight : {"pairs", "equal"} or array-like of shape (number of groups,)
        The weight of a group's pairs: 1, so that large groups dominate; 1 over the size of the
        group, so that its cost is the squared deviation of its points; or a positive number for
        each group, in the order of the sorted labels.
    """

    def __init__(self, groups: ArrayLike, weight: GroupWeight | ArrayLike = "pairs") -> None:
        labels = checked_labels(groups)
        self.n_points = len(labels)
        _, codes = np.unique(labels, return_inverse=True)
        self._codes = codes.reshape(-1)
        self._sizes = np.bincount(self._codes)
        # Sorted by group once, sums over the groups are one reduceat.
        self._order = np.argsort(self._codes, kind="stable")
        self._starts = np.concatenate([[0], np.cumsum(self._sizes)[:-1]])
        self._weight = weight
        self._scale = self._sizes.astype(np.float64)
        if not isinstance(weight, str):
            self._scale *= np.asarray(weight, dtype=np.float64)
        elif weight == "equal":
            self._scale[:] = 1.0

    @classmethod
    def single(cls, n_points: int) -> GroupPreferences:
        """All pairs of `n_points` points."""
        return cls(np.zeros(n_points, dtype=np.intp))

    @property
    def n_pairs(self) -> int:
        """Number of unordered pairs that count."""
        return int((self._sizes * (self._sizes - 1) // 2).sum())

    @property
    def order(self) -> NDArray[np.intp]:
        """The points by group, as they come inside a group, shape (n,)."""
        return self._order

    @property
    def sizes(self) -> NDArray[np.intp]:
        """Number of points of each group, in the order of the sorted labels."""
        return self._sizes

    @property
    def scale(self) -> Array:
        """``n_g w_g`` of each group: what its squared deviations count."""
        return self._scale

    @property
    def n_groups(self) -> int:
        """Number of groups, of a single point too."""
        return len(self._sizes)

    @property
    def codes(self) -> NDArray[np.intp]:
        """Number of each point's group, in the order of the sorted labels, shape (n,)."""
        return self._codes

    @property
    def point_weights(self) -> Array:
        """Weight of the pairs of each point's group, shape (n,)."""
        return (self._scale / self._sizes)[self._codes]

    def root(self, x: Array) -> Array:
        """``sqrt(n_g w_g) (x - mean_g(x))``."""
        return self._centred(x, np.sqrt(self._scale))

    def root_transpose(self, x: Array) -> Array:
        """``B' x = B x``: this root is symmetric."""
        return self.root(x)

    def laplacian(self, x: Array) -> Array:
        """``n_g w_g (x - mean_g(x))``."""
        return self._centred(x, self._scale)

    def _centred(self, x: Array, scale: Array) -> Array:
        # Seen from the group's first point, constants are exactly zero and a common level of the
        # values costs no digits.
        axis = -1 if x.ndim == 1 else -2
        first = np.take(x, self._order[self._starts], axis=axis)
        if len(self._sizes) == 1:
            centred = x - first
            sums = np.matmul(np.ones(self.n_points), centred)
            centred -= np.expand_dims(sums / self.n_points, axis)
            centred *= scale[0]
            return centred
        column = (slice(None),) + (None,) * (-axis - 1)
        centred = x - np.take(first, self._codes, axis=axis)
        sums = np.add.reduceat(np.take(centred, self._order, axis=axis), self._starts, axis=axis)
        centred -= np.take(sums / self._sizes[column], self._codes, axis=axis)
        centred *= scale[self._codes][column]
        return centred

    def pairs(self) -> NDArray[np.intp]:
        """Return the unordered pairs that count, shape (p, 2), smaller index first."""
        blocks = []
        for start, size in zip(self._starts, self._sizes, strict=True):
            members = np.sort(self._order[start : start + size])
            first, second = np.triu_indices(size, k=1)
            blocks.append(np.column_stack([members[first], members[second]]))
        return np.concatenate(blocks) if blocks else np.empty((0, 2), dtype=np.intp)

    def pair_weights(self) -> Array | None:
        """Return the weights of :meth:`pairs`, shape (p,); None if all are 1."""
        if isinstance(self._weight, str) and self._weight == "pairs":
            return None
        return np.repeat(self._scale / self._sizes, self._sizes * (self._sizes - 1) // 2)


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


class Blend(Preferences):
    """The combined ranking and regression form ``beta I + (1 - beta) L`` of CRRP.

    Its root stacks ``sqrt(beta) x`` over ``sqrt(1 - beta) B x``.

    Parameters
    ----------
    preferences : Preferences
        The ranking part.
    beta : float in [0, 1]
        1 is regression alone, 0 is ranking alone.
    """

    def __init__(self, preferences: Preferences, beta: float) -> None:
        if not 0.0 <= beta <= 1.0:
            raise ValueError(f"beta: expected a number from 0 to 1, got {beta}")
        self.n_points = preferences.n_points
        self.preferences = preferences
        self.beta = float(beta)

    def root(self, x: Array) -> Array:
        """``sqrt(beta) x`` over ``sqrt(1 - beta) B x``."""
        ranking = np.sqrt(1.0 - self.beta) * self.preferences.root(x)
        return np.concatenate([np.sqrt(self.beta) * x, ranking], axis=-1 if x.ndim == 1 else -2)

    def root_transpose(self, x: Array) -> Array:
        """Transpose of :meth:`root`, applied."""
        regression, ranking = np.split(x, [self.n_points], axis=-1 if x.ndim == 1 else -2)
        ranking = self.preferences.root_transpose(ranking)
        return np.sqrt(self.beta) * regression + np.sqrt(1.0 - self.beta) * ranking

    def compact(self) -> Preferences:
        """Return the same form with n rows: the square root of the dense blend."""
        return DenseRoot(self.laplacian(np.eye(self.n_points)))
