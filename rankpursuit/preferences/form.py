"""The quadratic form of a method; that of plain regression, and one given as a matrix."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import NDArray

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
