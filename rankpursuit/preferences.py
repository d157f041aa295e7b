"""Preference graphs: weighted pairs of points, and the quadratic forms that they define.

A graph W over n points has the Laplacian L. The ranking cost of a function f with values ``f``
at the points is ``(s - f)' L (s - f)``. With a root B of the Laplacian, ``L = B'B``, it is the
least-squares cost ``|B s - B f|^2``, so a ranking method is a regression method on transformed
rows. Everything here applies B or L to arrays.

All operators act on axis -2 of stacks of matrices of shape (..., n, k), and on vectors of
shape (n,). Callers never ask which kind of graph they have: its groups, its weight of regression
and whether its rows come in blocks are attributes of every graph.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from numbers import Real
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]
Indices = NDArray[np.intp]
Values = NDArray[np.floating]
Factors = slice | Indices
"""Columns of values that are factors of products of two."""

GroupWeight = Literal["pairs", "equal"]

_BLOCK_ENTRIES = 2**22
"""Values of functions processed at a time: 16 or 32 MB."""


def check_labels(groups: ArrayLike) -> NDArray:
    """Return the labels of groups (users, queries), shape (n,).

    Labels that NumPy would change are kept as objects: strings that end with a null character, and
    integers that are too large for the type of the array.

    Raises ValueError if a label is missing (NaN, NaT, None), or if labels have different types: 1
    and "1" may stand for the same group.
    """
    # NumPy converts a list of numbers and strings to strings, so the items are checked first.
    labels = np.asarray(groups, dtype=None if hasattr(groups, "dtype") else object)
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    if labels.ndim != 1:
        raise ValueError(f"groups: expected one label per point, shape (n,); got {labels.shape}")
    if labels.dtype.kind == "O":
        import pandas as pd  # slow to import, and not needed for numeric labels

        missing = np.flatnonzero(pd.isna(labels))
    else:
        missing = np.flatnonzero(labels != labels)
    if len(missing):
        raise ValueError(
            f"groups: the label of point {missing[0]} is missing ({labels[missing[0]]}); drop such "
            "points or label them"
        )
    if labels.dtype.kind == "O":
        kinds = {Real if isinstance(x, Real | np.bool_) else type(x): x for x in labels}
        if len(kinds) > 1:
            first, second, *_ = kinds.values()
            raise ValueError(
                f"groups: labels have different types, such as {first!r} and {second!r}; convert "
                "them to one type"
            )
        # Numbers of Python are compared exactly: np.int64(2**53 + 1) == 2.0**53.
        exact = [x.item() if isinstance(x, np.number) else x for x in labels]
        converted = np.asarray(exact, dtype=None if len(labels) else np.intp)
        if converted.ndim != 1:
            raise ValueError("groups: each label must be a number or a string")
        labels = converted if converted.tolist() == exact else np.array(exact, dtype=object)
    return labels


class Preferences(ABC):
    """Base class of quadratic forms ``L = B'B``, given by a root B."""

    n_points: int
    row_scale: Array
    """Weight of each point's square, (n,): the diagonal of L before group means are subtracted."""
    row_weights: Array | None = None
    """Weights of the samples, (n,), if there are any."""
    beta: float = 0.0
    """Weight of the regression part: 1 if the form is the identity, 0 if it only compares."""
    groups: GroupPreferences | None = None
    """The groups within which points are compared; None if points are compared by explicit pairs,
    or not at all."""

    @property
    def can_block(self) -> bool:
        """Whether the form is a sum over blocks of whole groups, with the same weight per group."""
        return False

    @abstractmethod
    def root(self, x: Array) -> Array:
        """Return ``B x``, of shape (..., r, k) for `x` of shape (..., n, k)."""

    @abstractmethod
    def root_transpose(self, x: Array) -> Array:
        """Return ``B' x``, of shape (..., n, k) for `x` of shape (..., r, k)."""

    def root_vectors(self, x: Array) -> Array:
        """Return ``B x`` of many vectors, of shape (..., r) for `x` of shape (..., n)."""
        return self.root(x[..., None])[..., 0]

    def laplacian(self, x: Array) -> Array:
        """Return ``L x = B' B x``, of the shape of `x`."""
        return self.root_transpose(self.root(x))

    def square_root(self) -> Preferences:
        """Return the same form with a root of at most n rows; by default, `self`."""
        return self

    def smallest_root(self, n_columns: int) -> Preferences:
        """Return the same form with the root that needs the least memory for k columns."""
        return self

    # Moments of N functions, given by their values (n, N), without a copy of all values. The values
    # may be single precision, and results in which rounding matters are computed in that.

    def squared_means(self, values: Values, factors: Factors) -> tuple[Array, Array]:
        """Return sums of squares weighted by `row_scale`, minus the diagonal of ``U' L U``.

        The first result, (N,), is for the functions U, the second, (F, F), for the products of any
        two of the F functions `factors`.
        """
        raise NotImplementedError

    def fourth_moments(self, values: Values) -> Array:
        """Return the sum over points of the squared contributions to each function's norm, (N,).

        The norm, the diagonal of ``U' L U``, is a sum of one contribution for each point, so that
        the square of the norm over this sum is the effective number of points of a function.
        """
        raise NotImplementedError


class Pointwise(Preferences):
    """Identity, or a diagonal of point weights, in place of a Laplacian: regression."""

    beta = 1.0

    def __init__(self, n_points: int, row_weights: Array | None = None) -> None:
        self.n_points, self.row_weights = n_points, row_weights
        self.row_scale = np.ones(n_points) if row_weights is None else row_weights

    def root(self, x: Array) -> Array:
        """Return `x`, times the square roots of the weights if there are any."""
        if self.row_weights is None:
            return x
        return np.sqrt(self.row_weights)[_point_axis(x)[1]] * x

    root_transpose = root

    @property
    def can_block(self) -> bool:
        """Whether there are no weights of samples."""
        return self.row_weights is None

    def squared_means(self, values: Values, factors: Factors) -> tuple[Array, Array]:
        """Return zeros: no mean is subtracted."""
        return _zero_sums(values, factors)

    def fourth_moments(self, values: Values) -> Array:
        """Return the weighted fourth powers of deviations from the mean over all points."""
        fourths, mean = np.zeros(values.shape[1]), values.mean(axis=0)
        for rows in iter_slices(len(values), values.shape[1]):
            weights = np.square(self.row_scale[rows]).astype(values.dtype)
            fourths += weights @ (values[rows] - mean) ** 4
        return fourths


class DenseRoot(Preferences):
    """The square root of a form given as a dense matrix."""

    def __init__(self, form: Array) -> None:
        self.n_points = len(form)
        values, vectors = np.linalg.eigh(form)
        # The square root of a rounding error of 1e-16 would be 1e-8.
        values[values <= values[-1] * self.n_points * np.finfo(np.float64).eps] = 0.0
        self._matrix = np.sqrt(values)[:, None] * vectors.T

    def root(self, x: Array) -> Array:
        """Apply the root."""
        return np.matmul(self._matrix, x)

    def root_transpose(self, x: Array) -> Array:
        """Apply its transpose."""
        return np.matmul(self._matrix.T, x)


class GroupPreferences(Preferences):
    """All pairs within a group (a user, a query), and no pairs across groups.

    For a group of ``n_g`` points whose pairs have the weight ``w_g``, the root is
    ``B x = sqrt(n_g w_g) (x - mean(x))``: as many rows as points, and O(n) to apply.

    Parameters
    ----------
    groups : array-like of shape (n,)
        Label of each point. With one constant label all pairs count.
    weight : {"pairs", "equal"} or array-like of shape (number of groups,)
        Weight of each group's pairs. "pairs": 1, so that large groups dominate. "equal": one over
        the size of the group, so that its cost is the sum of squared deviations of its points.
        Otherwise a positive number for each group, in the order of the sorted labels.
    sample_weight : array-like of shape (n,), optional
        Positive weights ``v``; a pair is weighted by the product of the weights of its points.
        Means are then weighted, and ``n_g`` is the sum of the weights of the group; the root is
        ``sqrt(n_g w_g v) (x - mean(x))``.

    Attributes
    ----------
    codes, order : ndarrays of shape (n,)
        Index of each point's group, in the order of the sorted labels; the points group by group.
    sizes, starts, scale : ndarrays of shape (n_groups,)
        Number of points of each group; position of its first point in `order`; ``n_g w_g``, the
        weight of its squared deviations.
    row_scale : ndarray of shape (n,)
        The `scale` of each point's group, times its weight.
    """

    def __init__(
        self,
        groups: ArrayLike,
        weight: GroupWeight | ArrayLike = "pairs",
        sample_weight: ArrayLike | None = None,
    ) -> None:
        labels = check_labels(groups)
        _, codes = np.unique(labels, return_inverse=True)
        self.codes: Indices = codes.reshape(-1)
        self.sizes = np.bincount(self.codes)
        self.n_points, self.n_groups = len(labels), len(self.sizes)
        # Sorted by group once, sums over the groups are one reduceat.
        self.order = np.argsort(self.codes, kind="stable")
        self.starts = np.concatenate([[0], np.cumsum(self.sizes)[:-1]])
        self.row_weights = None if sample_weight is None else np.asarray(sample_weight, dtype=float)
        self.masses = np.bincount(self.codes, self.row_weights).astype(np.float64)
        self.scale = self.masses.copy()
        if not isinstance(weight, str):
            self.scale *= np.asarray(weight, dtype=np.float64)
        elif weight == "equal":
            self.scale[:] = 1.0
        self.row_scale = self.scale[self.codes]
        if self.row_weights is not None:
            self.row_scale *= self.row_weights

    @classmethod
    def single(cls, n_points: int) -> GroupPreferences:
        """Put all points into one group."""
        return cls(np.zeros(n_points, dtype=np.intp))

    @property
    def groups(self) -> GroupPreferences:  # type: ignore[override]
        """The form itself."""
        return self

    @property
    def can_block(self) -> bool:
        """Whether there are no weights of samples."""
        return self.row_weights is None

    @property
    def n_pairs(self) -> int:
        """Number of unordered pairs that count."""
        return int((self.sizes * (self.sizes - 1) // 2).sum())

    @property
    def point_weights(self) -> Array:
        """Weight of the pairs of each point's group, shape (n,)."""
        return (self.scale / self.sizes)[self.codes]

    def root(self, x: Array) -> Array:
        """Return ``sqrt(n_g w_g) (x - mean_g(x))``, times the roots of sample weights."""
        return self._centred(x, np.sqrt(self.row_scale))

    def root_transpose(self, x: Array) -> Array:
        """Apply the transpose of the root, which is symmetric without sample weights."""
        if self.row_weights is None:
            return self.root(x)
        axis, column = _point_axis(x)
        scaled = np.sqrt(self.row_scale)[column] * x
        sums = np.add.reduceat(np.take(scaled, self.order, axis=axis), self.starts, axis=axis)
        means = np.take(sums / self.masses[column], self.codes, axis=axis)
        return scaled - self.row_weights[column] * means

    def laplacian(self, x: Array) -> Array:
        """Return ``n_g w_g (x - mean_g(x))``, times the sample weights."""
        return self._centred(x, self.row_scale)

    def _centred(self, x: Array, scale: Array) -> Array:
        """Return the deviations from the group means, times the `scale` (n,) of each row."""
        # Subtracting the group's first row makes constants exactly zero, and a large common offset
        # loses no digits.
        axis, column = _point_axis(x)
        first, weights = np.take(x, self.order[self.starts], axis=axis), self.row_weights
        if len(self.sizes) == 1:
            centred = x - first
            sums = np.matmul(np.ones(self.n_points) if weights is None else weights, centred)
            centred -= np.expand_dims(sums / self.masses[0], axis)
        else:
            centred = x - np.take(first, self.codes, axis=axis)
            weighted = centred if weights is None else weights[column] * centred
            ordered = np.take(weighted, self.order, axis=axis)
            sums = np.add.reduceat(ordered, self.starts, axis=axis)
            centred -= np.take(sums / self.masses[column], self.codes, axis=axis)
        centred *= scale[column]
        return centred

    def squared_means(self, values: Values, factors: Factors) -> tuple[Array, Array]:
        """Return the squares of the weighted group means, summed up."""
        singles, doubles = _zero_sums(values, factors)
        weights = np.ones(self.n_points) if self.row_weights is None else self.row_weights
        scales = self.scale / self.masses
        for rows, scale in zip(np.split(self.order, self.starts[1:]), scales, strict=True):
            group_values = values[rows]
            singles += scale * np.square(weights[rows] @ group_values)
            if len(doubles):
                squared = np.square(weighted_gram(group_values[:, factors], weights[rows]))
                squared *= scale
                doubles += squared
        return singles, doubles

    def fourth_moments(self, values: Values) -> Array:
        """Return the weighted fourth powers of deviations from the group means."""
        fourths = np.zeros(values.shape[1])
        for rows in np.split(self.order, self.starts[1:]):
            group_values, weights = values[rows], self.row_scale[rows]
            mean = weights @ group_values / weights.sum()
            fourths += np.square(weights) @ (group_values - mean) ** 4
        return fourths

    def pairs(self) -> Indices:
        """Return the unordered pairs that count, shape (p, 2), smaller index first."""
        blocks = []
        for start, size in zip(self.starts, self.sizes, strict=True):
            members = np.sort(self.order[start : start + size])
            first, second = np.triu_indices(size, k=1)
            blocks.append(np.column_stack([members[first], members[second]]))
        return np.concatenate(blocks) if blocks else np.empty((0, 2), dtype=np.intp)

    def pair_weights(self) -> Array:
        """Return the weights of :meth:`pairs`, shape (p,)."""
        return np.repeat(self.scale / self.sizes, self.sizes * (self.sizes - 1) // 2)


class PairPreferences(Preferences):
    """Explicit weighted pairs; the root is their sparse weighted incidence matrix.

    `pairs`, (p, 2), has the indices of the two points of each pair, in any order, without
    duplicates; `weights`, (p,), are the entries of W, by default 1.
    """

    def __init__(self, n_points: int, pairs: ArrayLike, weights: ArrayLike | None = None) -> None:
        self.n_points = n_points
        pairs = np.asarray(pairs, dtype=np.intp).reshape(-1, 2)
        self.ends, self.n_pairs = pairs, len(pairs)
        n_pairs = self.n_pairs
        self.weights = np.ones(n_pairs) if weights is None else np.asarray(weights, dtype=float)
        rows = np.repeat(np.arange(n_pairs), 2)
        signs = np.column_stack([np.sqrt(self.weights), -np.sqrt(self.weights)]).ravel()
        shape = (n_pairs, n_points)
        self._incidence = sp.csr_array((signs, (rows, pairs.ravel())), shape=shape)
        self.row_scale = np.bincount(pairs.ravel(), np.repeat(self.weights, 2), n_points).astype(
            float
        )
        self._transposed = self._incidence.T.tocsr()

    def root(self, x: Array) -> Array:
        """Return the differences ``sqrt(w_ij) (x_i - x_j)``, one row for each pair."""
        return _sparse_apply(self._incidence, x)

    def root_transpose(self, x: Array) -> Array:
        """Apply the transpose of the incidence matrix."""
        return _sparse_apply(self._transposed, x)

    def square_root(self) -> Preferences:
        """Return the same form with at most n rows: a square root of the Laplacian."""
        if self.n_pairs <= self.n_points:
            return self
        return DenseRoot((self._transposed @ self._incidence).toarray())

    def smallest_root(self, n_columns: int) -> Preferences:
        """Return the square root if p rows of k columns need more memory than that."""
        return self if self.n_pairs * n_columns <= self.n_points**2 else self.square_root()

    def squared_means(self, values: Values, factors: Factors) -> tuple[Array, Array]:
        """Return twice the weighted products of the two points of each pair, summed up."""
        singles, doubles = _zero_sums(values, factors)
        for rows in iter_slices(self.n_pairs, values.shape[1]):
            (first, second), weights = self.ends[rows].T, 2.0 * self.weights[rows]
            both = values[first] * values[second]
            singles += weights @ both
            if len(doubles):
                doubles += weighted_gram(both[:, factors], weights)
        return singles, doubles

    def fourth_moments(self, values: Values) -> Array:
        """Return the squares of each point's contribution: half of the squares of its pairs.

        Differences of pairs depend on no mean, neither over all points nor in a group. A function
        that is nonzero at one point has at most four effective points.
        """
        fourths, pairs_of_points = np.zeros(values.shape[1]), abs(self._transposed.sign())
        for columns in iter_slices(values.shape[1], max(self.n_pairs, self.n_points)):
            differences = self.root(np.asarray(values[:, columns], dtype=np.float64))
            fourths[columns] = np.square(0.5 * (pairs_of_points @ np.square(differences))).sum(0)
        return fourths


def _zero_sums(values: Values, factors: Factors) -> tuple[Array, Array]:
    """Return zeros in the shapes of :meth:`Preferences.squared_means`."""
    return np.zeros(values.shape[1]), np.zeros((values[:0, factors].shape[1],) * 2)


def weighted_gram(values: Values, weights: Array) -> Values:
    """Return ``U' diag(w) U`` for values U (n, N) and weights of either sign.

    The difference of two symmetric products takes half the work of one general product.
    """
    total = np.zeros((values.shape[1],) * 2, dtype=values.dtype)
    for sign, combine in ((1.0, np.add), (-1.0, np.subtract)):
        rows = np.flatnonzero(sign * weights > 0.0)
        if len(rows):
            rooted = values[rows]
            rooted *= np.sqrt(np.abs(weights[rows])).astype(values.dtype)[:, None]
            combine(total, rooted.T @ rooted, out=total)
    return total


def iter_slices(number: int, width: int) -> Iterator[slice]:
    """Yield slices of rows, or columns, of a width; a slice holds a limited number of values."""
    step = max(1, _BLOCK_ENTRIES // max(1, width))
    for start in range(0, number, step):
        yield slice(start, start + step)


def _point_axis(x: Array) -> tuple[int, tuple[Any, ...]]:
    """Return the axis of the points, and the index that broadcasts an array (n,) to `x`."""
    return (-1, (slice(None),)) if x.ndim == 1 else (-2, (slice(None), None))


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

    Its root stacks ``sqrt(beta) x`` over ``sqrt(1 - beta) B x``. A `beta` of 1 is
    regression alone, 0 is ranking alone.
    """

    def __init__(self, preferences: Preferences, beta: float) -> None:
        self.n_points, self.row_weights = preferences.n_points, preferences.row_weights
        self.preferences, self.groups = preferences, preferences.groups
        self.beta = float(beta)
        self.pointwise = Pointwise(self.n_points, self.row_weights)
        both = np.stack([self.pointwise.row_scale, preferences.row_scale])
        self.row_scale = np.array([self.beta, 1.0 - self.beta]) @ both

    def root(self, x: Array) -> Array:
        """Return ``sqrt(beta) x`` over ``sqrt(1 - beta) B x``."""
        regression = np.sqrt(self.beta) * self.pointwise.root(x)
        ranking = np.sqrt(1.0 - self.beta) * self.preferences.root(x)
        return np.concatenate([regression, ranking], axis=-1 if x.ndim == 1 else -2)

    def root_transpose(self, x: Array) -> Array:
        """Apply the transpose of :meth:`root`."""
        regression, ranking = np.split(x, [self.n_points], axis=-1 if x.ndim == 1 else -2)
        ranking = self.preferences.root_transpose(ranking)
        regression = np.sqrt(self.beta) * self.pointwise.root(regression)
        return regression + np.sqrt(1.0 - self.beta) * ranking

    def square_root(self) -> Preferences:
        """Return the same form with n rows: the square root of the dense blend."""
        return DenseRoot(self.laplacian(np.eye(self.n_points)))

    @property
    def can_block(self) -> bool:
        """Whether the ranking part comes in blocks."""
        return self.preferences.can_block

    def squared_means(self, values: Values, factors: Factors) -> tuple[Array, Array]:
        """Return those of the ranking part, times its weight."""
        singles, doubles = self.preferences.squared_means(values, factors)
        return (1.0 - self.beta) * singles, (1.0 - self.beta) * doubles

    def fourth_moments(self, values: Values) -> Array:
        """Return an upper bound from both parts, exact where their contributions are proportional.

        The effective number of points is then at least the smaller one of both parts.
        """
        regression = np.sqrt(self.pointwise.fourth_moments(values))
        ranking = np.sqrt(self.preferences.fourth_moments(values))
        return np.square(self.beta * regression + (1.0 - self.beta) * ranking)
