"""Pursuits over functions and products of two of them, whose Gram matrix is never formed.

There may be a hundred thousand products, but a path needs only the rows of the Gram matrix of the
functions it chose. With the values U of the functions at the points, the inner products of a column
c with all products of two functions are the entries of ``U' diag(L c) U``: one matrix product, in
blocks of rows. The engine is that of :mod:`rankpursuit.solvers.pursuit`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields, replace

import numpy as np
from numpy.typing import NDArray

from rankpursuit.preferences import Blend, GroupPreferences, PairPreferences, Preferences
from rankpursuit.solvers.pursuit import (
    NOTHING_LEFT,
    Array,
    Fitting,
    Flags,
    Indices,
    PursuitPath,
    _follow,
    _most_steps,
)

Values = NDArray[np.floating]

FEWEST_ROWS = 20.0
"""Functions with a smaller effective number of rows are excluded; the limit is at most a twentieth
of all rows. The effective number is the squared sum of squares over the sum of fourth powers."""

_BLOCK_ENTRIES = 2**22
"""Values of functions processed at a time: 16 or 32 MB."""


class FunctionGram:
    """Gram matrix of N functions and m products of two, in a quadratic form, row by row.

    Parameters
    ----------
    values : ndarray of shape (n, N), float64 or float32
        Values of the functions at the points; products are computed in their precision.
    products : ndarray of shape (m, 2)
        The two functions of each product; products are numbered after the functions.
    form : Preferences

    Attributes
    ----------
    norms : ndarray of shape (N + m,)
        The diagonal; zero for functions that are constant or have too few effective rows.
    """

    def __init__(self, values: Values, products: Indices, form: Preferences) -> None:
        self.values, self.form = values, form
        self.products = products
        factors = np.unique(products)
        first = np.array_equal(factors, np.arange(len(factors)))  # then no copy is needed
        self._factors: slice | Indices = slice(len(factors)) if first else factors
        self._n_factors = len(factors)
        self._pairs = tuple(np.searchsorted(factors, products).T)
        squares = self._moments(form.row_scale)
        fourths = self._moments(np.square(form.row_scale), 4)
        if isinstance(form, GroupPreferences):
            fourths[: values.shape[1]] = self._fourths_within(form)
        norms = squares - self._squared_means(form)
        fewest = min(FEWEST_ROWS, len(values) / 20.0)
        rounding = 1e4 * np.finfo(values.dtype).eps * squares
        norms[(norms <= rounding) | (np.square(norms) < fewest * fourths)] = 0.0
        self.norms = norms
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
        """Return the weighted sums of powers of all functions and products, shape (N + m,).

        Fourth powers of functions are those of their deviations from the mean over all points.
        """
        singles = np.zeros(self.values.shape[1])
        doubles = np.zeros((self._n_factors,) * 2)
        mean = self.values.mean(axis=0) if power == 4 else 0.0
        for rows in _blocks(len(weights), self.values.shape[1]):
            values, own = self.values[rows], weights[rows]
            alone = values - mean if power == 4 else values
            singles += own.astype(values.dtype) @ (alone**power if power > 1 else alone)
            if len(doubles):
                values = values**power if power > 1 else values
                doubles += weighted_gram(values[:, self._factors], own)
        return np.concatenate([singles, doubles[self._pairs]])

    def _fourths_within(self, form: GroupPreferences) -> Array:
        """Return the weighted fourth powers of the functions' deviations from their group means."""
        fourths = np.zeros(self.values.shape[1])
        for rows in np.split(form.order, form.starts[1:]):
            values, own = self.values[rows], form.row_scale[rows]
            fourths += np.square(own) @ (values - own @ values / own.sum()) ** 4
        return fourths

    def _squared_means(self, form: Preferences) -> Array:
        """Return the sums of squares weighted by `row_scale`, minus the diagonal."""
        if isinstance(form, Blend):
            return (1.0 - form.beta) * self._squared_means(form.preferences)
        singles = np.zeros(self.values.shape[1])
        doubles = np.zeros((self._n_factors,) * 2)
        if isinstance(form, GroupPreferences):
            weights = np.ones(form.n_points) if form.row_weights is None else form.row_weights
            groups = np.split(form.order, form.starts[1:])
            for rows, scale in zip(groups, form.scale / form.masses, strict=True):
                values, own = self.values[rows], weights[rows]
                singles += scale * np.square(own @ values)
                if len(doubles):
                    squared = np.square(weighted_gram(values[:, self._factors], own))
                    squared *= scale
                    doubles += squared
        elif isinstance(form, PairPreferences):
            for rows in _blocks(form.n_pairs, self.values.shape[1]):
                (one, two), weights = form.ends[rows].T, 2.0 * form.weights[rows]
                values = self.values[one] * self.values[two]
                singles += weights @ values
                if len(doubles):
                    doubles += weighted_gram(values[:, self._factors], weights)
        return np.concatenate([singles, doubles[self._pairs]])


def weighted_gram(values: Values, weights: Array) -> Values:
    """Return ``U' diag(w) U`` for values U (n, N) and weights of either sign.

    The difference of two symmetric products takes half the work of one general product.
    """
    found = np.zeros((values.shape[1],) * 2, dtype=values.dtype)
    for sign, combine in ((1.0, np.add), (-1.0, np.subtract)):
        own = np.flatnonzero(sign * weights > 0.0)
        if len(own):
            part = values[own]
            part *= np.sqrt(np.abs(weights[own])).astype(values.dtype)[:, None]
            combine(found, part.T @ part, out=found)
    return found


def _blocks(n_rows: int, n_columns: int) -> Iterator[slice]:
    step = max(1, _BLOCK_ENTRIES // max(1, n_columns))
    for start in range(0, n_rows, step):
        yield slice(start, start + step)


def pursue_functions(
    gram: FunctionGram,
    target: Array,
    penalties: Sequence[float] | Array,
    n_steps: int,
    *,
    fitting: Fitting = "basic",
    repeat: bool = False,
) -> PursuitPath:
    """Approximate a target (n,) by a growing sum of functions, for each of b ridges.

    A ridge penalises the squared coefficients of functions scaled to equal norms: it multiplies the
    diagonal of the Gram matrix by ``1 + ridge``. The result has b paths.
    """
    n_steps = _most_steps(n_steps, len(gram.norms), fitting, repeat)
    products, rooted = gram.correlate(target), gram.form.root(target)
    paths = []
    for penalty in penalties:
        form = _RowsOfGram(gram, products, penalty, n_steps, fitting != "basic")
        form.cost[:] = rooted @ rooted
        paths.append(_follow(form, n_steps, fitting, repeat))
    parts = {one.name: [getattr(path, one.name) for path in paths] for one in fields(PursuitPath)}
    if fitting == "basic":
        del parts["directions"]
    return replace(paths[0], **{name: np.concatenate(part) for name, part in parts.items()})


def predict_chosen(path: PursuitPath, columns: Array) -> Array:
    """Return the predictions (b, P, m) of every prefix from the columns (b, m, P) chosen."""
    places = np.arange(path.selected.shape[1])
    return replace(path, selected=np.where(path.selected < 0, -1, places)).predict(columns)


class _RowsOfGram:
    """The problem of one ridge, given by the rows of the Gram matrix that its path needs.

    It has the interface of the forms in :mod:`rankpursuit.solvers.pursuit`, for a batch of one.
    """

    def __init__(
        self, gram: FunctionGram, products: Array, penalty: float, n_steps: int, refit: bool
    ) -> None:
        single = gram.values.dtype == np.float32
        self.independent = 1e-5 if single else 1e-10
        self.nothing_left = 1e-10 if single else 1e-14 if refit else NOTHING_LEFT**2
        self._gram, self._penalty = gram, penalty
        self._chosen: list[int] = []
        self._rows = np.empty((n_steps if refit else 1, len(gram.norms)))
        self.norms = gram.norms[None] * (1.0 + penalty)
        self.left = self.norms.copy()
        self.correlation, self.cost = products[None].copy(), np.zeros(1)
        self.directions = np.zeros((1, n_steps, n_steps)) if refit else None

    def take(self, best: Indices, active: Flags) -> Array:
        """Append the best function; return the length of the step, (1,)."""
        number, p = int(best[0]), len(self._chosen)
        norm, row = self.norms[0, number], self._rows[0 if self.directions is None else p]
        row[:] = self._gram.row(number)
        row[number] += self._penalty * self._gram.norms[number]  # the ridge is on the diagonal
        if self.directions is None:
            length = self.correlation[:, number] / norm
            self.correlation -= length * row
            self.cost = self.cost - np.square(length) * norm
            return length
        earlier = self.directions[0, :p, :p]
        along = row[self._chosen] @ earlier
        left = np.sqrt(max(norm - along @ along, self.independent * norm))
        coefficients = np.append(earlier @ -along, 1.0) / left
        unit = coefficients @ self._rows[: p + 1]
        length = self.correlation[:, number] / left
        self.correlation -= length * unit
        self.cost = self.cost - np.square(length)
        self.left -= np.square(unit)
        self.directions[0, : p + 1, p] = coefficients
        self._chosen.append(number)
        return length
