"""All pairs inside each group of points."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankpursuit.labels import checked_labels
from rankpursuit.preferences.form import Array, Preferences

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
