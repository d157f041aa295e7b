"""Dictionaries of functions that a pursuit chooses from: of one feature, their products, kernels.

A dictionary is fitted to training points, and evaluates its functions at any points. A pursuit
accepts any object with three members as its `dictionary`: ``fit(X)``; ``columns(X, which)``, which
returns the values (m, len(which)) of the functions with these numbers; and ``terms``, with a
:class:`Term` for each function. :class:`GrownDictionary` has products too, which are numbered after
the functions; its `growth` says which ones a path may choose.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from enum import IntEnum
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm
from sklearn.base import BaseEstimator, clone
from sklearn.utils import Tags, gen_batches
from sklearn.utils.validation import validate_data

from rankpursuit.estimators._base import RandomState, draw_candidates, resolve_gamma
from rankpursuit.estimators._checks import (
    NONE,
    NOT_NEGATIVE,
    POSITIVE,
    Array,
    Constraint,
    Indices,
    check_parameter,
    evenly,
    integer,
    number,
    several,
    warn_of_far_values,
)
from rankpursuit.kernels import gaussian_stack, squared_distances
from rankpursuit.solvers import Growth
from rankpursuit.solvers.functions import FEWEST_ROWS

_N_LEVELS = 200
"""Quantiles of a feature between which its normal scores are interpolated."""
_HIGHEST_SCORE = 2.5
"""Largest absolute normal score; more extreme values are clipped."""
_SAMPLE_ROWS = 50_000
"""Rows that quantiles and means are computed from, evenly spread."""
_BLOCK_ENTRIES = 2**21
"""Values of functions computed at a time: 16 MB."""
_MAX_FACTORS = 600
"""Maximum number of functions multiplied with each other from the start: 180,000 products. With
more, only the ranks are multiplied, and with more of these nothing."""
_MAX_PARENTS = 60
"""Maximum number of chosen functions whose products are tried."""
_MEAN_ROWS = 5_000
"""Rows that the means of all functions are computed from, evenly spread."""
_MOST_LEVELS = 30
"""Maximum number of levels of a category with a function of their own, the most frequent ones."""
_DTYPES = (np.float64, np.float32)
_DEGREES = {"additive": 1, "pairs": 2, "grown": 3}
"""Degrees of dictionaries that have a name."""
_STEPS = ((30, 31), (60, 15), (np.inf, 7))
"""Number of features, and the default number of steps per feature up to it."""


class _Role(IntEnum):
    """What functions are used for besides being candidates; the first ones are all of it."""

    rank = 0
    """Multiplied with each other, and with chosen functions."""
    factor = 1
    """The same, unless there are too many of both."""
    step = 2
    """Multiplied with chosen functions."""
    other = 3


def _role(function: tuple[Any, ...]) -> int:
    return function[0]


class Term(NamedTuple):
    """Description of a function of a dictionary.

    Attributes
    ----------
    kind : str
        "rank", "bump", "above", "at most", "level", "rare", "missing", "present", "kernel" or
        "constant"; for a product, the kinds of its factors, as in "rank x bump".
    features : tuple of int
        Features that the function depends on.
    centres : tuple of float
        For each feature, the centre of a bump or kernel, the threshold of a step, or the value of a
        level, a code in a category; NaN for others.
    widths : tuple of float
        Standard deviations of bumps, in normal scores, or gamma of a kernel; NaN for others.
    """

    kind: str
    features: tuple[int, ...]
    centres: tuple[float, ...]
    widths: tuple[float, ...]


class Factor(NamedTuple):
    """A function of one feature, in a product or alone.

    Attributes
    ----------
    kind : {"rank", "bump", "above", "at most"}
    feature : int
    centre : float
        The threshold of a step, or the centre of a bump in normal scores; NaN for a rank.
    width : float
        Standard deviation of a bump, in normal scores; NaN for others.
    mean : float
        What is subtracted from the bump.
    """

    kind: str
    feature: int
    centre: float
    width: float
    mean: float


class GrownDictionary(BaseEstimator):
    """Functions of one feature, and products of them that grow along the path of a pursuit.

    The functions of a feature are its rank, Gaussian bumps over ranks, and steps. The rank of a
    value is its normal score: the standard normal quantile at its rank among the values of the
    feature. Hence neither units nor outliers matter, and functions do not grow outside the range of
    the training data. A feature with two values has a single function, which is 1 at the higher
    one. A constant function is used if the scores themselves are fitted, not only their
    differences.

    A missing value, NaN, has a function of its own, which is 1 there, where all others of this
    feature are zero. If there was none in the training data, the others have their means instead.
    The functions of a category, whose values are codes, are 1 at a level each, or at a rare level;
    codes below 0, for unknown levels, have none.

    Products are those of the ranks and a few bumps of two features, and those of a function that
    was chosen before with the rank, few bumps and all steps of another feature. A product of k
    functions is chosen only if it lowers the cost by more than the best of as many useless ones.

    Parameters
    ----------
    degree : int, default 3
        Maximum number of features of a function, from 1 to 3. The names "additive", "pairs" and
        "grown" stand for the degrees 1, 2 and 3.
    handicap : float, default 1
        What a function has to gain: a multiple of what chance gives the best of all useless ones.
    knots : int, default 7
        Number of bumps per feature and width, at evenly spaced quantiles without duplicates.
    widths : sequence of float, default (0.5, 1.0)
        Standard deviations of the bumps, in normal scores.
    steps : int or None, default None
        Maximum number of steps per feature, at midpoints between neighbouring values, evenly spaced
        by quantiles. None: 31 with up to 30 features, 15 with up to 60, and 7 with more.
    factor_knots : int, default 3
        Number of bumps per feature, of the largest width, that are factors of products.

    Attributes
    ----------
    terms : list of Term
        Description of each function of one feature.
    growth : Growth
        Which products a path may choose.

    Examples
    --------
    >>> import numpy as np
    >>> from rankpursuit import GrownDictionary
    >>> X = np.linspace(0.0, 3.0, 31).round(1)[:, None]
    >>> dictionary = GrownDictionary(knots=2, widths=[0.5], steps=2, factor_knots=0).fit(X)
    >>> [(term.kind, *term.centres) for term in dictionary.terms]
    [('rank', nan), ('above', 1.05), ('above', 2.05), ('bump', 1.0), ('bump', 2.0), ('constant',)]
    """

    def __init__(
        self,
        degree: int = 3,
        *,
        handicap: float = 1.0,
        knots: int = 7,
        widths: Sequence[float] = (0.5, 1.0),
        steps: int | None = None,
        factor_knots: int = 3,
    ) -> None:
        self.degree, self.handicap = degree, handicap
        self.knots, self.widths, self.steps = knots, widths, steps
        self.factor_knots = factor_knots

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.categorical = True
        return tags

    def fit(self, X: NDArray[np.floating], categories: Sequence[int] = ()) -> Self:
        """Place the functions by the quantiles of each feature of `X`, (n, n_features).

        Features in `categories` are codes of categories, from 0.
        """
        _check(
            self,
            degree=[number("an integer from 1 to 3", (1, 2, 3).__contains__, int | np.integer)],
            handicap=NOT_NEGATIVE,
            knots=[integer(0)],
            widths=[several(*POSITIVE)],
            steps=[integer(0), NONE],
            factor_knots=[integer(0)],
        )
        X = validate_data(self, X, dtype=_DTYPES, ensure_all_finite="allow-nan")
        sample = np.asarray(X[evenly(len(X), _SAMPLE_ROWS)], dtype=np.float64)
        self.levels_: dict[int, Array] = {}
        self.rare_: dict[int, Array] = {}
        self.missing_ = np.isnan(X.min(axis=0))
        present = [column[~np.isnan(column)] for column in sample.T]
        self.scores_ = [_normal_scores(column) for column in present]
        functions: list[tuple[Any, ...]] = []
        for feature, column in enumerate(present):
            if feature in categories:
                functions += self._place_levels(feature, column)
            else:
                functions += self._place(feature, np.unique(column), column)
            if self.missing_[feature]:
                functions.append((_Role.rank, "missing", feature, np.nan, np.nan))
        functions.append((_Role.other, "constant", -1, np.nan, np.nan))
        roles, kinds, features, centres, widths = zip(*sorted(functions, key=_role), strict=True)
        self.kinds_, self.features_ = np.array(kinds), np.array(features, dtype=np.intp)
        self.centres_, self.widths_ = np.array(centres), np.array(widths)
        sizes = [sum(role <= most for role in roles) for most in (_Role.factor, _Role.rank)]
        self.n_factors_ = next((size for size in sizes if size <= _MAX_FACTORS), 0)
        self.n_partners_ = sum(role <= _Role.step for role in roles)
        self.means_ = np.zeros(len(roles))
        centred = (self.kinds_ == "bump") & ~self.missing_[self.features_]
        bumps = np.flatnonzero(centred[: self.n_factors_])
        self.means_[bumps] = self._values(sample, bumps).mean(axis=0)
        complete = np.flatnonzero(~self.missing_[self.features_])
        self.replacements_ = np.zeros(len(roles))  # of functions at missing values
        few = sample[evenly(len(sample), _MEAN_ROWS)]
        self.replacements_[complete] = self._values(few, complete).mean(axis=0)
        return self

    def _place(self, feature: int, values: Array, column: Array) -> list[tuple[Any, ...]]:
        """Return role, kind, feature, centre and width of each function of a feature."""
        if len(values) < 2:
            return []
        if len(values) == 2 and self.missing_[feature]:
            return [(_Role.rank, "level", feature, value, np.nan) for value in values]
        if len(values) == 2:
            self.levels_[feature] = values
            return [(_Role.rank, "level", feature, values.mean(), np.nan)]
        scores, widest = self.scores_[feature][1], max(self.widths)
        factors = [(knot, widest) for knot in _knots(scores, self.factor_knots)]
        bumps = [(knot, width) for width in self.widths for knot in _knots(scores, self.knots)]
        most = self.steps
        if most is None:
            most = next(most for size, most in _STEPS if self.n_features_in_ <= size)
        cuts = _cuts(values, column, most)
        below = cuts if self.missing_[feature] else cuts[:0]  # where it is given, else the mirror
        return [
            *([(_Role.rank, "rank", feature, np.nan, np.nan)] if len(scores) > 1 else []),
            *((_Role.factor, "bump", feature, *bump) for bump in factors),
            *((_Role.step, "above", feature, cut, np.nan) for cut in cuts),
            *((_Role.step, "at most", feature, cut, np.nan) for cut in below),
            *((_Role.other, "bump", feature, *bump) for bump in bumps if bump not in factors),
        ]

    def _place_levels(self, feature: int, column: Array) -> list[tuple[Any, ...]]:
        """Return the functions of a category: of each frequent level, and of all others."""
        levels, counts = np.unique(column, return_counts=True)
        order = np.argsort(-counts, kind="stable")
        frequent = counts[order] >= min(FEWEST_ROWS, len(column) / 20.0)
        frequent[_MOST_LEVELS:] = False
        self.rare_[feature] = levels[order[~frequent]]
        functions = [
            (_Role.step, "level", feature, level, np.nan) for level in levels[order[frequent]]
        ]
        if len(self.rare_[feature]):
            functions.append((_Role.step, "rare", feature, np.nan, np.nan))
        return functions

    @property
    def growth(self) -> Growth:
        """Which products a path may choose."""
        return Growth(
            features=self.features_,
            means=self.means_,
            indicators=self._have_mirrors(),
            n_factors=self.n_factors_,
            n_partners=self.n_partners_,
            degree=self.degree,
            handicap=self.handicap,
            max_parents=_MAX_PARENTS,
        )

    def _have_mirrors(self) -> NDArray[np.bool_]:
        """Return which functions have mirrors: those that are 0 or 1, and not 0 for a lack."""
        whole = ~(self.missing_[self.features_] | np.isin(self.features_, list(self.rare_)))
        return (np.isin(self.kinds_, ["above", "level"]) & whole) | (self.kinds_ == "missing")

    def _values(self, X: Array, which: Indices) -> Array:
        """Return the values of functions of one feature."""
        out = np.ones((len(X), len(which)))
        for feature in np.unique(self.features_[which]):
            if feature < 0:  # the constant
                continue
            places = np.flatnonzero(self.features_[which] == feature)
            kinds, centres = self.kinds_[which[places]], self.centres_[which[places]]
            column = X[:, feature, None]
            scores = np.interp(column, *self.scores_[feature])
            with np.errstate(invalid="ignore"):
                bumps = np.exp(-0.5 * np.square((scores - centres) / self.widths_[which[places]]))
            values = np.where(kinds == "bump", bumps, column > centres)
            values = np.where(kinds == "rank", scores, values)
            if feature in self.rare_ or self.missing_[feature]:
                values = np.where(kinds == "level", column == centres, values)
                values = np.where(kinds == "at most", column <= centres, values)
                rare = np.isin(column, self.rare_.get(feature, []))
                values = np.where(kinds == "rare", rare, values)
            lacks = np.isnan(column)
            if lacks.any():
                replaced = np.where(kinds == "missing", 1.0, self.replacements_[which[places]])
                values = np.where(lacks, replaced, values)
            else:
                values = np.where(kinds == "missing", 0.0, values)
            out[:, places] = values
        return out

    def columns(self, X: Array, which: Indices) -> Array:
        """Return the values (m, len(which)) of some functions at points (m, n_features)."""
        X = validate_data(self, X, reset=False, dtype=_DTYPES, ensure_all_finite="allow-nan")
        which, n_functions = np.asarray(which), len(self.kinds_)
        if (which < n_functions).all():
            return self._values(X, which)
        factors = self.growth.decode(which)
        functions = np.unique(factors[factors >= 0] % n_functions)
        return self.growth.columns(self._values(X, functions), which, functions)

    @property
    def terms(self) -> list[Term]:
        """Description of each function of one feature."""
        return self.describe(np.arange(len(self.kinds_)))

    def describe(self, which: Indices) -> list[Term]:
        """Return a description of some functions, products among them."""
        described = []
        for factors in self.growth.decode(which):
            parts = [self._describe_factor(int(factor)) for factor in factors[factors >= 0]]
            kinds, *others = zip(*sorted(parts, key=lambda term: term.features), strict=True)
            described.append(Term(" x ".join(kinds), *(sum(values, ()) for values in others)))
        return described

    def factors(self, which: Indices) -> list[list[Factor]]:
        """Return the factors of some functions, products among them; none for a constant."""
        n_functions = len(self.kinds_)
        return [
            [
                self._factor(int(factor))
                for factor in factors[factors >= 0]
                if self.kinds_[factor % n_functions] != "constant"
            ]
            for factors in self.growth.decode(which)
        ]

    def _factor(self, factor: int) -> Factor:
        """Return a function, its mirror, or what is left of it above its mean."""
        variant, number = divmod(factor, len(self.kinds_))
        kind, feature = str(self.kinds_[number]), int(self.features_[number])
        if kind == "above" or feature in self.levels_:
            kind = ("above", "at most")[variant]
        elif variant == 1:
            kind = "present"
        mean = float(self.means_[number]) if variant == 2 else 0.0
        return Factor(
            kind, feature, float(self.centres_[number]), float(self.widths_[number]), mean
        )

    def _describe_factor(self, factor: int) -> Term:
        """Return a description of a function, its mirror, or what is left of it above its mean."""
        variant, number = divmod(factor, len(self.kinds_))
        kind, feature = str(self.kinds_[number]), int(self.features_[number])
        centre, width = float(self.centres_[number]), float(self.widths_[number])
        if kind == "constant":
            return Term(kind, (), (), ())
        if kind == "bump":
            values, scores = self.scores_[feature]
            centre = float(np.interp(centre, scores, values))
            kind = "centred bump" if variant == 2 else kind
        elif kind == "level" and feature in self.levels_:
            centre = float(self.levels_[feature][1 - variant])
        elif variant == 1:
            kind = "present" if kind == "missing" else "at most"
        return Term(kind, (feature,), (centre,), (width,))


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


def _check(dictionary: Any, **allowed: Sequence[Constraint]) -> None:
    """Raise a ValueError if a parameter of a dictionary is invalid."""
    for name, constraints in allowed.items():
        title = f"{name} of {type(dictionary).__name__}"
        check_parameter(title, getattr(dictionary, name), constraints)


def make_dictionary(dictionary: Any) -> Any:
    """Return an unfitted dictionary, by name or as a clone of an object."""
    if isinstance(dictionary, str):
        return GrownDictionary(_DEGREES[dictionary])
    return clone(dictionary, safe=False)


def describe_functions(dictionary: Any, which: Indices) -> list[Term]:
    """Return a description of some functions of a fitted dictionary."""
    if hasattr(dictionary, "describe"):
        return dictionary.describe(which)
    terms = dictionary.terms
    return [terms[number] for number in which]


def dictionary_values(dictionary: Any, X: NDArray[np.floating]) -> NDArray[np.floating]:
    """Return the values (n, N) of all functions, not of products, in the precision of `X`."""
    which = np.arange(len(dictionary.terms))
    needed, room = len(X) * len(which) * X.dtype.itemsize, _memory()
    if needed > room:
        raise ValueError(
            f"the values of {len(which):,} functions at {len(X):,} rows need {needed / 1e9:,.1f} "
            f"GB, and this machine has {room / 1e9:,.1f} GB: pass a dictionary with fewer steps or "
            "knots, such as GrownDictionary(steps=3, knots=3), a sample of the groups, or float32"
        )
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


def _memory() -> float:
    """Return the bytes of memory of this machine, infinity if that is unknown."""
    try:
        return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, OSError, ValueError):  # not on Windows
        return np.inf


def _knots(scores: Array, number: int) -> list[float]:
    """Return the normal scores nearest to evenly spaced quantiles, each once."""
    levels = norm.ppf(np.linspace(0.0, 1.0, number + 2)[1:-1])
    if len(scores) < 3:
        return []
    nearest = np.abs(scores[:, None] - levels).argmin(axis=0)
    return scores[np.unique(nearest)].tolist()


def _normal_scores(column: Array) -> tuple[Array, Array]:
    """Return values of a feature in ascending order, and the normal score of each."""
    if not len(column):  # all missing
        return np.zeros(1), np.zeros(1)
    n_levels = min(_N_LEVELS, len(column))
    levels = (np.arange(n_levels) + 0.5) / n_levels
    values, codes = np.unique(
        np.quantile(column, levels, method="inverted_cdf"), return_inverse=True
    )
    means = np.bincount(codes, levels) / np.bincount(codes)
    return values, np.clip(norm.ppf(means), -_HIGHEST_SCORE, _HIGHEST_SCORE)


def _cuts(values: Array, column: Array, number: int) -> Array:
    """Return midpoints between neighbours of the distinct values, at evenly spaced quantiles."""
    middles = (values[1:] + values[:-1]) / 2.0
    if len(middles) > number:
        levels = np.linspace(0.0, 1.0, number + 2)[1:-1]
        at = np.quantile(column, levels, method="inverted_cdf")
        middles = middles[np.unique(np.minimum(values.searchsorted(at), len(middles) - 1))]
    return middles
