"""Dictionaries of functions that a pursuit chooses from: of one feature, of two, and kernels.

A dictionary is fitted to training points, and evaluates its functions at any points. A pursuit
accepts any object with three members as its `dictionary`: ``fit(X)``; ``columns(X, which)``, which
returns the values (m, len(which)) of the functions with these indices; and ``terms``, with a
:class:`Term` for each function. A fourth, ``products``, is optional: an array of shape (m, 2) with
the two factors of each product; products are numbered after the functions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm
from sklearn.base import BaseEstimator, clone
from sklearn.utils import gen_batches
from sklearn.utils.validation import validate_data

from rankpursuit.estimators._base import RandomState, draw_candidates, resolve_gamma
from rankpursuit.estimators._checks import (
    NONE,
    PARAMETERS,
    POSITIVE,
    Array,
    Constraint,
    Indices,
    check_parameter,
    evenly,
    integer,
    several,
    warn_of_far_values,
)
from rankpursuit.kernels import gaussian_stack, squared_distances

MAX_FACTORS = 600
"""Default maximum number of functions multiplied with each other: about 180,000 products."""

_N_LEVELS = 200
"""Quantiles of a feature between which its normal scores are interpolated."""
_HIGHEST_SCORE = 2.5
"""Largest absolute normal score; more extreme values are clipped."""
_SAMPLE_ROWS = 50_000
"""Rows that quantiles, means and deviations are computed from, evenly spread."""
_BLOCK_ENTRIES = 2**21
"""Values of functions computed at a time: 16 MB."""
_NO_PRODUCTS = np.empty((0, 2), dtype=np.intp)
_DTYPES = (np.float64, np.float32)


class Term(NamedTuple):
    """Description of a function of a dictionary.

    Attributes
    ----------
    kind : str
        "linear", "bump", "kernel" or "constant"; for a product, the kinds of both factors, as in
        "linear x bump".
    features : tuple of int
        Features that the function depends on.
    centres : tuple of float
        For each feature, the centre of a bump or kernel; NaN if the function is linear.
    widths : tuple of float
        Standard deviations of bumps, in normal scores, or gamma of a kernel; NaN if it is linear.
    """

    kind: str
    features: tuple[int, ...]
    centres: tuple[float, ...]
    widths: tuple[float, ...]


class AdditiveDictionary(BaseEstimator):
    """Functions of one feature: its normal scores, and Gaussian bumps over these.

    The normal score of a value is the standard normal quantile at its rank among the values of the
    feature. Hence neither units nor outliers matter, and functions do not grow outside the range of
    the training data. A constant function is used if the scores themselves are fitted, not only
    their differences.

    Parameters
    ----------
    knots : int, default 7
        Number of bumps per feature and width, at evenly spaced quantiles without duplicates. A
        feature with two values has none.
    widths : sequence of float, default (0.5, 1.0)
        Standard deviations of the bumps, in normal scores.

    Attributes
    ----------
    terms : list of Term
        Description of each function.
    products : ndarray of shape (m, 2)
        Factors of each product. Products are numbered after the functions; here there are none.

    Examples
    --------
    >>> import numpy as np
    >>> from rankpursuit import AdditiveDictionary
    >>> X = np.linspace(0.0, 3.0, 31).round(1)[:, None]
    >>> dictionary = AdditiveDictionary(knots=3, widths=[0.5]).fit(X)
    >>> [(term.kind, *term.centres) for term in dictionary.terms]
    [('linear', nan), ('bump', 0.7), ('bump', 1.5), ('bump', 2.3), ('constant',)]
    """

    products: Indices = _NO_PRODUCTS

    def __init__(self, knots: int = 7, widths: Sequence[float] = (0.5, 1.0)) -> None:
        self.knots, self.widths = knots, widths

    def fit(self, X: NDArray[np.floating]) -> Self:
        """Place the functions by the quantiles of each feature of `X`, (n, n_features)."""
        _check(self, knots=[integer(0)], widths=[several(*POSITIVE)])
        X = validate_data(self, X, dtype=_DTYPES)
        sample = np.asarray(X[evenly(len(X), _SAMPLE_ROWS)], dtype=np.float64)
        n_levels = min(_N_LEVELS, len(sample))
        levels = (np.arange(n_levels) + 0.5) / n_levels
        self.scores_ = [_normal_scores(column, levels) for column in sample.T]
        functions = [
            (number, centre, width)
            for number, (values, scores) in enumerate(self.scores_)
            if len(values) > 1
            for centre, width in self._bumps(scores)
        ]
        functions.append((-1, np.nan, np.nan))  # the constant
        features, self.centres_, self.widths_ = np.array(functions).T
        self.features_ = features.astype(np.intp)
        self.mean_, self.scale_ = np.zeros(len(features)), np.ones(len(features))
        values = self._values(sample, np.arange(len(features) - 1))
        deviation = values.std(axis=0)
        self.mean_[:-1] = values.mean(axis=0)
        self.scale_[:-1] = np.where(deviation > 0.0, deviation, 1.0)
        return self

    def _bumps(self, scores: Array) -> list[tuple[float, float]]:
        """Return centre and width of each function of a feature; NaN stands for linear."""
        knots = _knots(scores, self.knots)
        return [(np.nan, np.nan)] + [(knot, width) for width in self.widths for knot in knots]

    def _values(self, X: Array, which: Indices) -> Array:
        """Return the centred and scaled values of functions, not of products."""
        out = np.ones((len(X), len(which)))
        for number in np.unique(self.features_[which]):
            if number < 0:
                continue
            own = np.flatnonzero(self.features_[which] == number)
            centres, widths = self.centres_[which[own]], self.widths_[which[own]]
            scores = np.interp(X[:, number], *self.scores_[number])[:, None]
            bumps = np.exp(-0.5 * np.square((scores - centres) / widths))
            out[:, own] = np.where(np.isnan(widths), scores, bumps)
        out -= self.mean_[which]
        out /= self.scale_[which]
        return out

    def columns(self, X: Array, which: Indices) -> Array:
        """Return the values (m, len(which)) of some functions at points (m, n_features)."""
        X = validate_data(self, X, reset=False, dtype=_DTYPES)
        which, n_functions = np.asarray(which), len(self.features_)
        out, single = np.empty((len(X), len(which))), which < n_functions
        out[:, single] = self._values(X, which[single])
        if not single.all():
            factors, places = np.unique(
                self.products[which[~single] - n_functions], return_inverse=True
            )
            one, two = places.reshape(-1, 2).T
            values = self._values(X, factors)
            out[:, ~single] = values[:, one] * values[:, two]
        return out

    @property
    def terms(self) -> list[Term]:
        """Description of each function, and of each product after them."""
        singles = []
        for number, score, width in zip(self.features_, self.centres_, self.widths_, strict=True):
            if number < 0:
                singles.append(Term("constant", (), (), ()))
                continue
            values, scores = self.scores_[number]
            centre = float(np.interp(score, scores, values)) if width > 0.0 else np.nan
            kind = "bump" if width > 0.0 else "linear"
            singles.append(Term(kind, (int(number),), (centre,), (float(width),)))
        doubles = []
        for one, two in self.products:
            (kind, *first), (other, *second) = singles[one], singles[two]
            both = (a + b for a, b in zip(first, second, strict=True))
            doubles.append(Term(f"{kind} x {other}", *both))
        return singles + doubles


class PairDictionary(AdditiveDictionary):
    """Functions of one feature, and products of two functions of different features.

    Parameters
    ----------
    knots, widths : optional
        The functions, as in :class:`AdditiveDictionary`.
    factor_knots : int, default 3
        Number of bumps per feature, of the largest width, that are factors of products in addition
        to the linear function.
    max_factors : int, default 600
        Maximum number of factors; with more, only the linear functions are multiplied.
    """

    def __init__(
        self,
        knots: int = 7,
        widths: Sequence[float] = (0.5, 1.0),
        factor_knots: int = 3,
        max_factors: int = MAX_FACTORS,
    ) -> None:
        super().__init__(knots, widths)
        self.factor_knots, self.max_factors = factor_knots, max_factors

    def fit(self, X: NDArray[np.floating]) -> Self:
        """Place the functions by the quantiles of each feature of `X`, (n, n_features)."""
        _check(self, factor_knots=[integer(0)], max_factors=[integer(1)])
        super().fit(X)
        linear = np.isnan(self.widths_) & (self.features_ >= 0)
        knots = [_knots(scores, self.factor_knots) for _, scores in self.scores_]
        bump = (self.widths_ == max(self.widths)) & np.array(
            [score in knots[j] for j, score in zip(self.features_, self.centres_, strict=True)]
        )
        factor = linear | bump if np.count_nonzero(linear | bump) <= self.max_factors else linear
        n_factors = int(np.count_nonzero(factor))
        if n_factors > self.max_factors:
            raise ValueError(
                f"X has {n_factors} features, but products take at most {self.max_factors} of "
                "them: select features first, use dictionary='additive', or pass "
                f"PairDictionary(max_factors={n_factors})"
            )
        order = np.argsort(~factor, kind="stable")  # factors first, as one slice of all functions
        for name in ("features_", "centres_", "widths_", "mean_", "scale_"):
            setattr(self, name, getattr(self, name)[order])
        one, two = np.triu_indices(n_factors, 1)
        apart = self.features_[one] != self.features_[two]
        self.products = np.column_stack([one[apart], two[apart]])
        return self

    def _bumps(self, scores: Array) -> list[tuple[float, float]]:
        others = [(knot, max(self.widths)) for knot in _knots(scores, self.factor_knots)]
        return list(dict.fromkeys([*super()._bumps(scores), *others]))


class KernelDictionary(BaseEstimator):
    """Gaussian kernels of several widths over all features, centred at some training points.

    Parameters
    ----------
    n_points : int or None, default 500
        Number of training points, drawn at random. None: all.
    widths : sequence of float, default (0.0625, 0.25, 1.0, 4.0)
        Values of gamma, as multiples of ``1 / (n_features * X.var())``.
    random_state : int, Generator, RandomState or None, default None
        Controls the random draw of the points.
    """

    def __init__(
        self,
        n_points: int | None = 500,
        widths: Sequence[float] = (0.0625, 0.25, 1.0, 4.0),
        random_state: RandomState = None,
    ) -> None:
        self.n_points, self.widths, self.random_state = n_points, widths, random_state

    def fit(self, X: NDArray[np.floating]) -> Self:
        """Draw the points from `X`, (n, n_features)."""
        _check(self, n_points=[integer(1), NONE], widths=[several(*POSITIVE)])
        X = validate_data(self, X, dtype=_DTYPES)
        warn_of_far_values(X)
        rows = draw_candidates(len(X), self.n_points, self.random_state)
        self.points_ = np.asarray(X[rows], dtype=np.float64)
        self.gammas_ = np.asarray(self.widths) * resolve_gamma("rbf", "scale", X)
        return self

    def columns(self, X: Array, which: Indices) -> Array:
        """Return the values (m, len(which)) of some functions at points (m, n_features)."""
        X = validate_data(self, X, reset=False, dtype=_DTYPES)
        widths, points = np.divmod(np.asarray(which), len(self.points_))
        used, places = np.unique(points, return_inverse=True)
        squared = squared_distances(X, self.points_[used])
        stack = gaussian_stack(squared, self.gammas_)
        return stack[widths, :, places].T

    @property
    def terms(self) -> list[Term]:
        """Description of each function."""
        features = tuple(range(self.points_.shape[1]))
        return [
            Term("kernel", features, tuple(point), (float(gamma),))
            for gamma in self.gammas_
            for point in self.points_.tolist()
        ]


class UnionDictionary(BaseEstimator):
    """The functions of several dictionaries.

    Parameters
    ----------
    parts : sequence of dictionaries
        Their functions are numbered part by part, followed by the products of all parts.
    """

    def __init__(self, parts: Sequence[Any]) -> None:
        self.parts = parts

    def fit(self, X: NDArray[np.floating]) -> Self:
        """Fit each part to `X`, (n, n_features)."""
        _check(self, parts=[several(PARAMETERS["dictionary"][1])])
        self.parts_ = [clone(part, safe=False).fit(X) for part in self.parts]
        sizes = [count_functions(part) for part in self.parts_]
        starts = np.cumsum([0, *sizes])
        own = [products_of(part) + start for part, start in zip(self.parts_, starts, strict=False)]
        self.products = np.concatenate([_NO_PRODUCTS, *own])
        # The part of each function, and its number there.
        counts = [len(part.terms) - size for part, size in zip(self.parts_, sizes, strict=True)]
        numbers = [np.arange(size) for size in sizes]
        numbers += [size + np.arange(m) for size, m in zip(sizes, counts, strict=True)]
        self.numbers_ = np.concatenate(numbers)
        self.owners_ = np.repeat(np.tile(np.arange(len(sizes)), 2), [*sizes, *counts])
        return self

    def columns(self, X: Array, which: Indices) -> Array:
        """Return the values (m, len(which)) of some functions at points (m, n_features)."""
        owners, numbers = self.owners_[which], self.numbers_[which]
        out = np.empty((len(X), len(owners)))
        for owner in np.unique(owners):
            own = owners == owner
            out[:, own] = self.parts_[owner].columns(X, numbers[own])
        return out

    @property
    def terms(self) -> list[Term]:
        """Description of each function, and of each product after them."""
        parts = [list(part.terms) for part in self.parts_]
        places = zip(self.owners_, self.numbers_, strict=True)
        return [parts[owner][number] for owner, number in places]


def _check(dictionary: Any, **allowed: Sequence[Constraint]) -> None:
    """Raise a ValueError if a parameter of a dictionary is invalid."""
    for name, constraints in allowed.items():
        title = f"{name} of {type(dictionary).__name__}"
        check_parameter(title, getattr(dictionary, name), constraints)


def make_dictionary(dictionary: Any) -> Any:
    """Return an unfitted dictionary, by name or as a clone of an object."""
    if isinstance(dictionary, str):
        return {"additive": AdditiveDictionary, "pairs": PairDictionary}[dictionary]()
    return clone(dictionary, safe=False)


def products_of(dictionary: Any) -> Indices:
    """Return the factors (m, 2) of the products of a dictionary; m may be 0."""
    return getattr(dictionary, "products", _NO_PRODUCTS)


def count_functions(dictionary: Any) -> int:
    """Return the number of functions of a dictionary without its products."""
    return len(dictionary.terms) - len(products_of(dictionary))


def dictionary_values(dictionary: Any, X: NDArray[np.floating]) -> NDArray[np.floating]:
    """Return the values (n, N) of all functions, not of products, in the precision of `X`."""
    which = np.arange(count_functions(dictionary))
    values = np.empty((len(X), len(which)), dtype=X.dtype)
    for rows in gen_batches(len(X), max(1, _BLOCK_ENTRIES // max(1, len(which)))):
        part = np.asarray(X[rows], dtype=np.float64)
        found = np.asarray(dictionary.columns(part, which))
        if found.shape != (len(part), len(which)):
            raise ValueError(
                "columns of a dictionary must return one value for each point and function, of the "
                f"shape {(len(part), len(which))}; got {found.shape}"
            )
        if not np.isfinite(found).all():
            raise ValueError("columns of a dictionary must return finite values")
        values[rows] = found
    return values


def _knots(scores: Array, number: int) -> list[float]:
    """Return the normal scores nearest to evenly spaced quantiles, each once."""
    levels = norm.ppf(np.linspace(0.0, 1.0, number + 2)[1:-1])
    if len(scores) < 3:
        return []
    nearest = np.abs(scores[:, None] - levels).argmin(axis=0)
    return scores[np.unique(nearest)].tolist()


def _normal_scores(column: Array, levels: Array) -> tuple[Array, Array]:
    """Return values of a feature in ascending order, and the normal score of each."""
    values, codes = np.unique(
        np.quantile(column, levels, method="inverted_cdf"), return_inverse=True
    )
    means = np.bincount(codes, levels) / np.bincount(codes)
    return values, np.clip(norm.ppf(means), -_HIGHEST_SCORE, _HIGHEST_SCORE)
