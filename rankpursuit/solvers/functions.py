"""Pursuits over functions of one feature, and over products of them that grow along the path.

There may be a hundred thousand products, which are never formed. With the values U of the functions
at the points, the inner products of a vector r with all products of two of them are the entries of
``U' diag(r) U``, and those with all products of a chosen function p are ``U' (p r)``.

Functions are chosen by the cost after a refit without a penalty. A ridge then shrinks the
coefficients of the functions chosen, so that the paths of all ridges choose the same functions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import solve_triangular

from rankpursuit.preferences import Preferences, Values, iter_slices, weighted_gram
from rankpursuit.solvers._linalg import first_best
from rankpursuit.solvers.pursuit import Array, Flags, Indices, PursuitPath

FEWEST_ROWS = 20.0
"""Functions with a smaller effective number of rows are excluded; the limit is at most a twentieth
of all rows. The effective number is the squared sum of squares over the sum of fourth powers."""
DEPENDENT = 1e-4
"""A function depends on the chosen ones if less than this fraction of its squared norm is outside
their span."""


@dataclass(frozen=True)
class Growth:
    """Which products of N functions a path may choose, and what they cost.

    Products of two of the centred factors are candidates from the start. When a function or a
    product of fewer than `degree` functions is chosen, its products with functions of features that
    it does not have become candidates, and so do those of its mirror: if the last function f of a
    product has the values 0 and 1, the mirror has ``1 - f`` in place of f. Nothing is centred in
    these products: they have the second function where the first is not zero.

    Attributes
    ----------
    features : ndarray of shape (N,)
        The feature of each function.
    means : ndarray of shape (N,)
        What is subtracted from each function in products of two factors.
    indicators : ndarray of shape (N,)
        Whether the only values of a function are 0 and 1.
    n_factors, n_partners : int
        The leading functions that are factors of products of two, and that chosen functions are
        multiplied with.
    degree : int
        Maximum number of functions in a product; 1 for no products.
    handicap : float
        The gain of a product of k functions counts ``handicap * k * 2 s^2 ln N`` less, with the
        remaining cost s^2 per degree of freedom: a handicap of 1 is what chance gives the best of
        the N^k / k! useless products.
    max_parents : int
        Maximum number of chosen functions, and mirrors, that are multiplied.
    """

    features: Indices
    means: Array
    indicators: Flags
    n_factors: int
    n_partners: int
    degree: int
    handicap: float
    max_parents: int

    def encode(self, factors: Indices) -> Indices:
        """Return the numbers (m,) of products of k functions, given (m, k).

        Of N functions, the factor j is the function j, N + j its mirror, and 2 N + j the function
        minus its mean. The product of one function is that function, with its own number.
        """
        digits = np.sort(factors, axis=1) + 1
        return digits @ self._base ** np.arange(digits.shape[1]) - 1

    def decode(self, numbers: Indices) -> Indices:
        """Return the factors (m, degree) of some products; -1 in place of missing ones."""
        powers = self._base ** np.arange(self.degree)
        return (np.asarray(numbers)[:, None] + 1) // powers % self._base - 1

    @property
    def _base(self) -> int:
        return 3 * len(self.features) + 1

    def columns(self, values: Values, numbers: Indices, functions: Indices) -> Array:
        """Return the values (m, p) of some products, given those of the functions they are made of.

        `functions`, in ascending order, are the functions whose `values`, (m, f), are given.
        """
        out = np.ones((len(values), len(numbers)))
        for factors in self.decode(numbers).T:
            given = np.flatnonzero(factors >= 0)
            kinds, which = np.divmod(factors[given], len(self.features))
            factor = values[:, np.searchsorted(functions, which)].astype(np.float64)
            factor[:, kinds == 1] = 1.0 - factor[:, kinds == 1]
            out[:, given] *= factor - np.where(kinds == 2, self.means[which], 0.0)
        return out


def no_growth(n_functions: int) -> Growth:
    """Return the growth of functions that are never multiplied."""
    nothing, no = np.zeros(n_functions), np.zeros(n_functions, dtype=bool)
    return Growth(np.arange(n_functions), nothing, no, 0, 0, 1, 0.0, 0)


class Functions:
    """N functions and their products, to be added up to approximate scores in a quadratic form.

    Parameters
    ----------
    values : ndarray of shape (n, N), float64 or float32
        Values of the functions at the points; products are computed in their precision.
    growth : Growth or None
        None: the functions are not multiplied.
    form : Preferences
    scores : ndarray of shape (n,)

    Attributes
    ----------
    numbers : ndarray of shape (C,)
        The candidates at the start of a path, see :meth:`Growth.encode`: the functions, and the
        products of two factors.
    degrees, last : ndarrays of shape (C,)
        Number of functions in each product, and the last of them.
    norms : ndarray of shape (C,)
        Their squared norms; zero for functions that are constant or have too few effective rows.
    """

    def __init__(
        self, values: Values, growth: Growth | None, form: Preferences, scores: Array
    ) -> None:
        self.values, self.form, self.scores = values, form, scores
        self.growth = growth = growth or no_growth(values.shape[1])
        factors = np.arange(growth.n_factors if growth.degree > 1 else 0)
        self._factors = values[:, factors] - growth.means[factors].astype(values.dtype)
        first, second = np.triu_indices(len(factors), 1)
        apart = growth.features[first] != growth.features[second]
        self._pairs = first[apart], second[apart]
        n_functions, n_pairs = values.shape[1], int(apart.sum())
        centred = factors + 2 * n_functions * (growth.means[factors] != 0.0)
        pairs = growth.encode(np.stack([centred[ends] for ends in self._pairs], axis=1))
        self.numbers = np.concatenate([np.arange(n_functions), pairs])
        self.degrees = np.repeat([1.0, 2.0], [n_functions, n_pairs])
        self.last = np.concatenate([np.arange(n_functions), self._pairs[1]])
        squares = self._moments(form.row_scale)
        fourths = self._moments(np.square(form.row_scale), 4)
        fourths[:n_functions] = form.fourth_moments(values)
        singles, _ = form.squared_means(values, slice(0))
        _, doubles = form.squared_means(self._factors, slice(len(factors)))
        means = np.concatenate([singles, doubles[self._pairs]])
        self.norms = self._usable(squares, means, fourths)
        self._children: dict[int, tuple[Values, Array]] = {}

    def _usable(self, squares: Array, means: Array, fourths: Array) -> Array:
        """Return squared norms, zero if they are rounding errors or come from too few rows."""
        norms = squares - means
        fewest = min(FEWEST_ROWS, len(self.values) / 20.0)
        rounding = 1e4 * np.finfo(self.values.dtype).eps * squares
        norms[(norms <= rounding) | (np.square(norms) < fewest * fourths)] = 0.0
        return norms

    def _moments(self, weights: Array, power: int = 2) -> Array:
        """Return the weighted sums of powers of all candidates at the start, (C,)."""
        singles = np.zeros(self.values.shape[1])
        doubles = np.zeros((self._factors.shape[1],) * 2)
        for rows in iter_slices(len(weights), self.values.shape[1]):
            for values, sums in ((self.values[rows], singles), (self._factors[rows], doubles)):
                powers = values**power if power > 1 else values
                if sums.ndim == 1:
                    sums += weights[rows].astype(values.dtype) @ powers
                elif len(sums):
                    sums += weighted_gram(powers, weights[rows])
        return np.concatenate([singles, doubles[self._pairs]])

    def column(self, number: int) -> Array:
        """Return the values of a candidate, shape (n,)."""
        numbers, every = np.array([number]), np.arange(self.values.shape[1])
        return self.growth.columns(self.values, numbers, every)[:, 0]

    def correlate(self, vector: Array) -> Array:
        """Return the inner products of a vector (n,) with all candidates at the start."""
        return self._moments(vector, 1)

    def children(self, parent: int) -> tuple[Values, Array]:
        """Return the values (n,) of a function, and squared norms (n_partners,) of its products."""
        if parent not in self._children:
            growth, form = self.growth, self.form
            column: Values = self.column(parent).astype(self.values.dtype)
            squares, means, fourths = np.zeros((3, growth.n_partners))
            for functions in iter_slices(growth.n_partners, len(column)):
                products = self.values[:, : growth.n_partners][:, functions] * column[:, None]
                means[functions] = form.squared_means(products, slice(0))[0]
                np.square(products, out=products)
                squares[functions] = form.row_scale.astype(products.dtype) @ products
                np.square(products, out=products)
                fourths[functions] = np.square(form.row_scale).astype(products.dtype) @ products
            norms = self._usable(squares, means, fourths)
            has = growth.decode(np.array([parent]))[0]
            features = growth.features[has[has >= 0] % len(growth.features)]
            norms[np.isin(growth.features[: growth.n_partners], features)] = 0.0
            self._children[parent] = column, norms
        return self._children[parent]


class _Choice:
    """The candidates along a path, and the functions chosen so far.

    The chosen functions are orthogonalised in the quadratic form L: `images`, (P, n), are ``L v``
    for the orthonormal functions v, and `triangle`, (P, P), has their products with the chosen
    ones, upper triangular.
    """

    def __init__(self, functions: Functions, n_steps: int) -> None:
        self.functions = functions
        self.numbers, self.degrees = functions.numbers, functions.degrees
        self.last, self.left = functions.last, functions.norms.copy()
        self.least = DEPENDENT * self.left
        self.left[self.left == 0.0] = np.inf
        self.residue = functions.form.laplacian(functions.scores)
        self.cost = float(functions.scores @ self.residue)
        self.correlation = functions.correlate(self.residue)
        self.images = np.zeros((n_steps, len(self.residue)))
        self.triangle = np.zeros((n_steps, n_steps))
        self.chosen: list[int] = []
        self.lengths: list[float] = []
        self.parents: list[int] = []
        self.parent_values = np.empty((len(self.residue), 0), dtype=functions.values.dtype)
        groups = functions.form.groups
        self._freedom = len(self.residue) - (groups.n_groups if groups else 0)

    def best(self) -> tuple[int, float, float]:
        """Return the best candidate beyond its handicap, how much it lowers the cost, and that."""
        gain = np.square(self.correlation) / self.left
        variance = self.cost / max(1, self._freedom - len(self.chosen))
        chance = 2.0 * variance * np.log(self.functions.values.shape[1])
        handicap = self.functions.growth.handicap * chance * self.degrees
        beyond = np.where(gain > 0.0, gain - handicap, -np.inf)
        place = int(first_best(beyond[None])[0])
        return place, float(gain[place]), float(handicap[place])

    def append(self, place: int) -> None:
        """Choose a candidate."""
        number, size = int(self.numbers[place]), len(self.chosen)
        column = self.functions.column(number)
        image = self.functions.form.laplacian(column)
        along = self.images[:size] @ column
        norm = np.sqrt(max(column @ image - along @ along, DEPENDENT**2 * (column @ image)))
        unit = (image - along @ self.images[:size]) / norm
        length = float(column @ self.residue) / norm
        self.images[size], self.triangle[: size + 1, size] = unit, [*along, norm]
        self.chosen.append(number)
        self.lengths.append(length)
        self.residue = self.residue - length * unit
        self.cost -= length**2
        products = self._correlate(unit)
        self.correlation -= length * products
        self.left -= np.square(products)
        self.left[self.left <= self.least] = np.inf
        self.left[place] = np.inf
        self._grow(number, int(self.last[place]))

    def _correlate(self, vector: Array) -> Array:
        """Return the inner products of a vector with all candidates."""
        start, values = self.functions.correlate(vector), self.functions.values
        if not self.parents:
            return start
        partners = values[:, : self.functions.growth.n_partners]
        weighted = self.parent_values * vector.astype(values.dtype)[:, None]
        return np.concatenate([start, (partners.T @ weighted).T.ravel()])

    def _grow(self, number: int, last: int) -> None:
        """Add the products of a chosen function, and of its mirror, to the candidates."""
        growth, n_functions = self.functions.growth, self.functions.values.shape[1]
        factors = growth.decode(np.array([number]))[0]
        factors = factors[factors >= 0]
        if len(factors) >= growth.degree or (factors >= 2 * n_functions).any():
            return
        parents = [number]
        if growth.indicators[last]:
            mirrored = np.where(factors == last, last + n_functions, factors)
            parents.append(int(growth.encode(mirrored[None])[0]))
        for parent in parents:
            if len(self.parents) < growth.max_parents and parent not in self.parents:
                self._add_children(parent)

    def _add_children(self, parent: int) -> None:
        functions, size = self.functions, len(self.chosen)
        growth, values = functions.growth, functions.values
        column, norms = functions.children(parent)
        factors = growth.decode(np.array([parent]))[0]
        factors = np.tile(factors[factors >= 0], (growth.n_partners, 1))
        partners = np.arange(growth.n_partners)
        numbers = growth.encode(np.column_stack([factors, partners]))
        norms = np.where(np.isin(numbers, self.numbers), 0.0, norms)  # a candidate already
        vectors = np.column_stack([self.residue, self.images[:size].T]).astype(values.dtype)
        products = values[:, partners].T @ (vectors * column[:, None])
        left = norms - np.square(products[:, 1:]).sum(axis=1)
        left[left <= DEPENDENT * norms] = np.inf
        self.parents.append(parent)
        self.parent_values = np.column_stack([self.parent_values, column])
        degrees = np.full(len(partners), 1.0 + factors.shape[1])
        for name, added in (
            ("numbers", numbers),
            ("degrees", degrees),
            ("last", partners),
            ("left", left),
            ("least", DEPENDENT * norms),
            ("correlation", products[:, 0]),
        ):
            setattr(self, name, np.concatenate([getattr(self, name), added]))


def pursue_functions(
    functions: Functions,
    ridges: Sequence[float] | Array,
    n_steps: int,
    *,
    ends: bool = False,
) -> PursuitPath:
    """Approximate the scores by a growing sum of functions, for each of b ridges.

    A ridge penalises the squared coefficients of functions scaled to equal norms. The result has b
    paths of the same functions. They end early if no function is left that is linearly independent
    and reduces the cost, or, with `ends`, reduces it by more than its handicap.
    """
    choice = _Choice(functions, n_steps)
    square = choice.cost
    floor = (1e-10 if functions.values.dtype == np.float32 else 1e-14) * square
    for _ in range(n_steps):
        place, gain, handicap = choice.best()
        if gain <= (max(floor, handicap) if ends else floor):
            break
        choice.append(place)
    size, ridges = len(choice.chosen), np.asarray(ridges, dtype=np.float64)
    triangle, lengths = choice.triangle[:size, :size], np.array(choice.lengths)
    norms = np.square(triangle).sum(axis=0)
    directions = np.zeros((len(ridges), n_steps, n_steps))
    weights, cost = np.zeros((len(ridges), n_steps)), np.full((len(ridges), n_steps + 1), square)
    for place, ridge in enumerate(ridges):
        rows = np.concatenate([triangle, np.diag(np.sqrt(ridge * norms))])
        rotation, refitted = np.linalg.qr(rows)
        directions[place, :size, :size] = solve_triangular(refitted, np.eye(size))
        weights[place, :size] = lengths @ rotation[:size]
        cost[place, 1:] -= np.cumsum(np.square(weights[place]))
    selected = np.full((len(ridges), n_steps), -1, dtype=np.intp)
    selected[:, :size] = choice.chosen
    fractions = np.square(np.diagonal(triangle)) / norms
    return PursuitPath(
        selected=selected,
        weights=weights,
        directions=directions,
        cost=np.maximum(cost, 0.0),
        n_steps=np.full(len(ridges), size),
        least_left=np.full(len(ridges), fractions.min(initial=1.0)),
    )


def predict_chosen(path: PursuitPath, columns: Array, steps: Indices | None = None) -> Array:
    """Return the result of :meth:`PursuitPath.predict` from the columns (w, m, P) chosen."""
    places = np.arange(path.selected.shape[1])
    return replace(path, selected=np.where(path.selected < 0, -1, places)).predict(columns, steps)
