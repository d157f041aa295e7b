"""Pursuits over functions and products of two of them, whose Gram matrix is never formed.

There may be a hundred thousand products, but a path needs only the rows of the Gram matrix of the
functions it chose. With the values U of the functions at the points, the inner products of a column
c with all products of two functions are the entries of ``U' diag(L c) U``: one matrix product, in
blocks of rows. The engine is that of :mod:`rankpursuit.solvers.pursuit`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from rankpursuit.preferences import Factors, Preferences, Values, iter_slices, weighted_gram
from rankpursuit.solvers.pursuit import (
    Array,
    Fitting,
    GramForm,
    Indices,
    PursuitPath,
    follow,
    join_paths,
    most_steps,
)

FEWEST_ROWS = 20.0
"""Functions with a smaller effective number of rows are excluded; the limit is at most a twentieth
of all rows. The effective number is the squared sum of squares over the sum of fourth powers."""


class FunctionGram:
    """Gram matrix of N functions and m products of two, in a quadratic form, row by row.

    Parameters
    ----------
    values : ndarray of shape (n, N), float64 or float32
        Values of the functions at the points; products are computed in their precision.
    products : ndarray of shape (m, 2)
        The two functions of each product; products are numbered after the functions.
    form : Preferences
    scores : ndarray of shape (n,)

    Attributes
    ----------
    norms : ndarray of shape (N + m,)
        The diagonal; zero for functions that are constant or have too few effective rows.
    correlation : ndarray of shape (N + m,)
        The products of all functions with the scores, in the quadratic form.
    square : float
        The quadratic form of the scores.
    """

    def __init__(self, values: Values, products: Indices, form: Preferences, scores: Array) -> None:
        self.values, self.form = values, form
        self.products = products
        factors = np.unique(products)
        first = np.array_equal(factors, np.arange(len(factors)))  # then no copy is needed
        self._factors: Factors = slice(len(factors)) if first else factors
        self._n_factors = len(factors)
        self._pairs = tuple(np.searchsorted(factors, products).T)
        squares = self._moments(form.row_scale)
        fourths = self._moments(np.square(form.row_scale), 4)
        fourths[: values.shape[1]] = form.fourth_moments(values)
        singles, doubles = form.squared_means(values, self._factors)
        norms = squares - np.concatenate([singles, doubles[self._pairs]])
        fewest = min(FEWEST_ROWS, len(values) / 20.0)
        rounding = 1e4 * np.finfo(values.dtype).eps * squares
        norms[(norms <= rounding) | (np.square(norms) < fewest * fourths)] = 0.0
        self.norms = norms
        rooted = form.root(scores)
        self.correlation, self.square = self.correlate(scores), float(rooted @ rooted)
        self._rows: dict[int, Array] = {}

    def column(self, number: int) -> Array:
        """Return the values of a function or product, shape (n,)."""
        if number < self.values.shape[1]:
            return self.values[:, number].astype(np.float64)
        one, two = self.products[number - self.values.shape[1]]
        return self.values[:, one].astype(np.float64) * self.values[:, two]

    def correlate(self, vector: Array) -> Array:
        """Return the products of all functions with a vector (n,), after the form is applied."""
        return self._moments(self.form.laplacian(vector), 1)

    def row(self, number: int) -> Array:
        """Return a row of the Gram matrix, shape (N + m,); rows are cached."""
        if number not in self._rows:
            self._rows[number] = self.correlate(self.column(number))
        return self._rows[number]

    def _moments(self, weights: Array, power: int = 2) -> Array:
        """Return the weighted sums of powers of all functions and products, shape (N + m,)."""
        singles = np.zeros(self.values.shape[1])
        doubles = np.zeros((self._n_factors,) * 2)
        for rows in iter_slices(len(weights), self.values.shape[1]):
            values, block_weights = self.values[rows], weights[rows]
            powers = values**power if power > 1 else values
            singles += block_weights.astype(values.dtype) @ powers
            if len(doubles):
                doubles += weighted_gram(powers[:, self._factors], block_weights)
        return np.concatenate([singles, doubles[self._pairs]])


def pursue_functions(
    gram: FunctionGram,
    ridges: Sequence[float] | Array,
    n_steps: int,
    *,
    fitting: Fitting = "basic",
    repeat: bool = False,
) -> PursuitPath:
    """Approximate the scores by a growing sum of functions, for each of b ridges.

    A ridge penalises the squared coefficients of functions scaled to equal norms: it multiplies the
    diagonal of the Gram matrix by ``1 + ridge``. The result has b paths.
    """
    n_steps = most_steps(n_steps, len(gram.norms), fitting, repeat)
    single, paths = gram.values.dtype == np.float32, []
    for ridge in ridges:

        def row(best: Indices, ridge: float = ridge) -> Array:
            values = gram.row(int(best[0]))[None].copy()
            values[0, best] += ridge * gram.norms[best]
            return values

        norms, products = gram.norms[None] * (1.0 + ridge), gram.correlation[None]
        form = GramForm(row, norms, products, [gram.square], n_steps, fitting, single=single)
        paths.append(follow(form, n_steps, fitting, repeat))
    return join_paths(paths)


def predict_chosen(path: PursuitPath, columns: Array, steps: Indices | None = None) -> Array:
    """Return the result of :meth:`PursuitPath.predict` from the columns (b, m, P) chosen."""
    places = np.arange(path.selected.shape[1])
    return replace(path, selected=np.where(path.selected < 0, -1, places)).predict(columns, steps)
