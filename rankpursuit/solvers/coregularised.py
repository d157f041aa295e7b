"""Co-regularised pursuit."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import rankdata

from rankpursuit.preferences import Preferences
from rankpursuit.solvers._linalg import GrowingBasis, first_best, least_tied, nonzero_columns
from rankpursuit.solvers.pursuit import NOTHING_LEFT, ridge_rows

Views = Literal["points", "loss", "features"]
"""What is dealt out to the views: the dictionary, the dictionary and the loss, or the features."""


def split_points(
    scored: NDArray[np.bool_], n_views: int, generator: np.random.Generator | np.random.RandomState
) -> list[NDArray[np.intp]]:
    """Deal the points out to the views: each gets its part of the scored and of the unscored.

    Parameters
    ----------
    scored : ndarray of shape (n,)
        Which points have a score.
    n_views : int
    generator : numpy Generator or RandomState

    Returns
    -------
    list of `n_views` ndarrays
        Indices of the points of each view, rising; sizes differ by at most one.
    """
    dealt = np.concatenate(
        [generator.permutation(np.flatnonzero(part)) for part in (scored, ~scored)]
    )
    return [np.sort(dealt[view::n_views]) for view in range(n_views)]


def split_features(
    n_features: int, n_views: int, generator: np.random.Generator | np.random.RandomState
) -> list[NDArray[np.intp]]:
    """Deal the features out to the views at random; sizes differ by at most one."""
    dealt = generator.permutation(n_features)
    return [np.sort(dealt[view::n_views]) for view in range(n_views)]


Array = NDArray[np.float64]

Aggregation = Literal["mean", "median", "borda", "weighted"]
"""The mean of the functions, their median, the mean of their ranks, or a weighted mean."""


def median(values: Sequence[Array]) -> Array:
    """Median over the views of predictions of shape (..., m)."""
    return np.median(values, axis=0)


def borda(values: Sequence[Array]) -> Array:
    """Borda's count: the mean over the views of the ranks among m points, from 1, ties shared."""
    return np.mean([rankdata(part, axis=-1) for part in values], axis=0)


def weighted_mean(values: Sequence[Array], skills: Array) -> Array:
    """Mean over the views weighted by their skills.

    Parameters
    ----------
    values : sequence of M ndarrays of shape (..., m)
        Predictions of each view.
    skills : ndarray of shape (M, ...)
        A view without skill, zero or less, has no weight. If none has any, all weigh the same.
    """
    weights = np.maximum(skills, 0.0)
    weights = np.where(weights.sum(axis=0) > 0, weights, 1.0)
    weights /= weights.sum(axis=0)
    return sum(w[..., None] * part for w, part in zip(weights, values, strict=True))


AGGREGATIONS: dict[str, Callable[[Sequence[Array]], Array]] = {"median": median, "borda": borda}
"""The aggregations of predictions that need nothing else."""


Indices = NDArray[np.intp]
Flags = NDArray[np.bool_]
Agreement = Literal["cumulative", "incremental"]


@dataclass(frozen=True)
class JointProblem:
    """Dictionaries and targets of M views, for b problems and k values of nu.

    Attributes
    ----------
    scored : sequence of M ndarrays of shape (b, N_v, m_v)
        For each view, its functions in the rows of the scored points.
    unscored : sequence of M ndarrays of shape (b, N_v, l)
        For each view, its functions in the rows of the unscored points.
    targets : sequence of M ndarrays of shape (m_v,) or (b, m_v)
    nu : ndarray of shape (k,)
    agreement : {"cumulative", "incremental"}
        Whether a step is chosen by the whole residue, or by its rows on the scored points alone.
    """

    scored: Sequence[Array]
    unscored: Sequence[Array]
    targets: Sequence[Array]
    nu: Array
    agreement: Agreement

    @property
    def n_views(self) -> int:
        """Number of views M."""
        return len(self.scored)

    @property
    def sizes(self) -> list[int]:
        """For each view, the number N_v of its functions."""
        return [functions.shape[1] for functions in self.scored]

    @property
    def batch(self) -> tuple[int, int]:
        """The numbers b and k."""
        return len(self.scored[0]), len(self.nu)


SINGULAR = 1e-12
"""A system, scaled to 1 on its diagonal, is singular if no more than this is left of it."""
_SWEEPS = 20


class BestTuple(NamedTuple):
    """The best tuple of each problem, and the step along it.

    Attributes
    ----------
    chosen : ndarray of shape (b, k, M)
        The function of each view.
    gain : ndarray of shape (b, k)
        How much the step lowers the cost; zero or NaN where no tuple can be used.
    steps : ndarray of shape (b, k, M)
        The solution of the system of the tuple.
    """

    chosen: Indices
    gain: Array
    steps: Array


class TupleSearch(Protocol):
    """What a pursuit asks of a search."""

    def best(self, correlation: Sequence[Array]) -> BestTuple:
        """Return the best tuple of each problem.

        `correlation` holds, for each view, the products c of all its functions with the
        residue, shape (b, k, N_v).
        """

    def forbid(self, chosen: Indices, active: Flags) -> None:
        """Take the chosen functions out of the dictionaries of the active problems."""


class SystemSearch:
    """The systems of all tuples, and which functions may still be chosen.

    Parameters
    ----------
    problem : JointProblem
    """

    def __init__(self, problem: JointProblem) -> None:
        self.n_views = problem.n_views
        self.coupling = -2.0 * problem.nu
        self.unscored = problem.unscored
        self.diagonal = [
            _squares(own) - (self.n_views - 1) * self.coupling[:, None] * _squares(bar)
            for own, bar in zip(problem.scored, problem.unscored, strict=True)
        ]
        self.usable = [nonzero_columns(diagonal) for diagonal in self.diagonal]

    def best(self, correlation: Sequence[Array]) -> BestTuple:
        """Choose tuples, and solve their systems."""
        chosen = self._choose(correlation)
        system, right, _ = self._system(correlation, chosen, range(self.n_views))
        steps = _solve(system, right)
        usable = np.logical_and.reduce(
            [_at(flags, index) for flags, index in zip(self.usable, chosen, strict=True)]
        )
        gain = np.einsum("bkv,bkv->bk", right, steps) * usable
        return BestTuple(np.stack(chosen, axis=-1), gain, steps)

    def forbid(self, chosen: Indices, active: Flags) -> None:
        """Mark the chosen functions as used up."""
        problems = np.nonzero(active)
        for v, usable in enumerate(self.usable):
            usable[*problems, chosen[*problems, v]] = False

    def _choose(self, correlation: Sequence[Array]) -> list[Indices]:
        """For each view, the index in its dictionary, shape (b, k)."""
        raise NotImplementedError

    def _system(
        self, correlation: Sequence[Array], chosen: Sequence[Indices], views: Sequence[int]
    ) -> tuple[Array, Array, list[Array]]:
        """System, right-hand side and unscored values of the chosen functions of some views."""
        problems = np.arange(len(chosen[0]))[:, None]
        values = [self.unscored[v][problems, chosen[v]] for v in views]
        system = np.empty((*chosen[0].shape, len(views), len(views)))
        for i, v in enumerate(views):
            for j in range(i):
                cross = np.einsum("bkl,bkl->bk", values[i], values[j])
                system[..., i, j] = system[..., j, i] = self.coupling * cross
            system[..., i, i] = _at(self.diagonal[v], chosen[v])
        right = np.stack([_at(correlation[v], chosen[v]) for v in views], axis=-1)
        return system, right, values


class SharedSearch(SystemSearch):
    """All views take the same index: one system for each index."""

    def __init__(self, problem: JointProblem) -> None:
        super().__init__(problem)
        system = np.empty((*self.diagonal[0].shape, self.n_views, self.n_views))
        for v in range(self.n_views):
            for u in range(v):
                cross = np.einsum("bnl,bnl->bn", self.unscored[v], self.unscored[u])[:, None]
                system[..., v, u] = system[..., u, v] = self.coupling[:, None] * cross
            system[..., v, v] = self.diagonal[v]
        self._systems = system

    def _choose(self, correlation: Sequence[Array]) -> list[Indices]:
        """Compare all indices."""
        right = np.stack(correlation, axis=-1)
        gain = np.einsum("bknv,bknv->bkn", right, _solve(self._systems, right))
        gain[~np.logical_and.reduce(self.usable)] = -np.inf
        return [first_best(gain)] * self.n_views


class AlternatingSearch(SystemSearch):
    """Any number of views: search the tuples by turns.

    Starts with the function of each view that is best on its own. Then each view in turn takes
    the function that is best together with those of the other views, until no view changes its
    choice: every turn lowers the cost, so this ends, though not always at the best of all
    tuples. For one view it is exact.
    """

    def _choose(self, correlation: Sequence[Array]) -> list[Indices]:
        """Take turns until no view changes its choice."""
        chosen = [
            first_best(_masked(np.square(c), diagonal, usable))
            for c, diagonal, usable in zip(correlation, self.diagonal, self.usable, strict=True)
        ]
        for _ in range(_SWEEPS if self.n_views > 1 else 0):
            before = list(chosen)
            for view in range(self.n_views):
                chosen[view] = self._best_given_others(correlation, chosen, view)
            if all(np.array_equal(old, new) for old, new in zip(before, chosen, strict=True)):
                break
        return chosen

    def _best_given_others(
        self, correlation: Sequence[Array], chosen: list[Indices], view: int
    ) -> Indices:
        """Best function of one view beside those of the others, by a Schur complement."""
        others = [u for u in range(self.n_views) if u != view]
        system, right, values = self._system(correlation, chosen, others)
        functions = self.unscored[view].swapaxes(1, 2)[:, None]
        coupled = np.matmul(np.stack(values, axis=-2), functions)
        coupled *= self.coupling[:, None, None]  # (b, k, M - 1, N_v)
        solved = _solve(system[..., None, :, :], coupled.swapaxes(2, 3)).swapaxes(2, 3)
        gradient = correlation[view] - np.matmul(right[..., None, :], solved)[..., 0, :]
        curvature = self.diagonal[view] - np.einsum("bkun,bkun->bkn", coupled, solved)
        allowed = self.usable[view] & (curvature > SINGULAR * self.diagonal[view])
        gain = _masked(np.square(gradient), curvature, allowed)
        best = first_best(gain)
        # Keep the old choice unless the new one is better, lest ties make the search circle.
        better = _at(gain, best) > np.maximum(_at(gain, chosen[view]), 0.0) * (1.0 + 1e-12)
        return np.where(better, best, chosen[view])


def _solve(system: Array, right: Array) -> Array:
    """Solve symmetric positive semi-definite M x M systems; zero where one is singular."""
    diagonal = np.einsum("...vv->...v", system)
    scale = 1.0 / np.sqrt(np.where(diagonal > 0.0, diagonal, 1.0))
    scaled = system * scale[..., :, None] * scale[..., None, :]
    if system.shape[-1] == 2:
        return _solve_two(scaled[..., 0, 1], right * scale) * scale
    regular = np.linalg.eigvalsh(scaled)[..., 0] > SINGULAR
    scaled = np.where(regular[..., None, None], scaled, np.eye(system.shape[-1]))
    solution = np.linalg.solve(scaled, (right * scale)[..., None])[..., 0] * scale
    return np.where(regular[..., None], solution, 0.0)


def _solve_two(rho: Array, right: Array) -> Array:
    """Solve 2 x 2 systems with 1 on the diagonal and `rho` off it; zero where one is singular."""
    regular = 1.0 - np.abs(rho) > SINGULAR
    factor = np.divide(1.0, 1.0 - rho * rho, out=np.zeros_like(rho), where=regular)
    return (right - rho[..., None] * right[..., ::-1]) * factor[..., None]


def _masked(numerator: Array, denominator: Array, allowed: Flags) -> Array:
    return np.divide(numerator, denominator, out=np.full_like(numerator, -np.inf), where=allowed)


def _at(values: NDArray, index: Indices) -> NDArray:
    """Entry of each problem's values, shape (b, k, N), at its index, shape (b, k)."""
    flat = index.ravel()
    return values.reshape(flat.size, -1)[np.arange(flat.size), flat].reshape(index.shape)


def _squares(functions: Array) -> Array:
    """Squared norms of functions of shape (b, N, m), with an axis for nu: shape (b, 1, N)."""
    return np.einsum("bnm,bnm->bn", functions, functions)[:, None]


_CACHED = 1 << 16
"""Pairs of functions compared at a time: few enough for the cache, many for one call."""


class PairSearch:
    """Two views: compare all pairs of functions.

    The b k problems are the last axis of all arrays here, which makes it long. NaN marks what
    cannot be chosen: it is the scale of a function without length, and the factor
    ``1 / (1 - rho^2)`` of a pair whose functions depend on each other. The last function that is
    left takes the place of one that is used up, so that only pairs that are left are compared.

    Parameters
    ----------
    gram : Gram
    nu : ndarray of shape (k,)
    """

    def __init__(self, gram: Gram, nu: Array) -> None:
        self._batch = (len(gram.products), len(nu))
        self._problems = np.arange(math.prod(self._batch))
        self._sizes, self._n_left = gram.sizes, list(gram.sizes)
        self._scales, self._places = [], []
        squares = np.einsum("bnpn->pbn", gram.products)[:, :, None]
        for size, view in zip(gram.sizes, gram.views, strict=True):
            own, apart = squares[..., view]
            diagonal = (own + 2.0 * nu[:, None] * apart).reshape(-1, size)
            diagonal[~nonzero_columns(diagonal)] = np.nan
            self._scales.append(np.ascontiguousarray(1.0 / np.sqrt(diagonal.T)))
            self._places.append(np.arange(size)[:, None] + size * self._problems)
        cross = gram.products[:, gram.views[0], 1, gram.views[1]]
        self._rho = np.repeat(cross.transpose(1, 2, 0), len(nu), axis=2)
        self._rho *= (np.tile(2.0 * nu, len(cross)) * self._scales[0])[:, None]
        self._rho *= self._scales[1]
        self._factor = np.square(self._rho)
        np.subtract(1.0, self._factor, out=self._factor)
        self._factor[self._factor <= SINGULAR] = np.nan
        np.divide(1.0, self._factor, out=self._factor)
        # What leads, in these flat arrays, from one pair to those of its row and its column.
        n_problems, n_pairs = len(self._problems), self._rho[0].size
        self._along_row = n_problems * np.arange(self._sizes[1])[:, None]
        self._along_column = n_pairs * np.arange(self._sizes[0])[:, None]

    def best(self, correlation: Sequence[Array]) -> BestTuple:
        """Compare all pairs."""
        first, second = (
            c.reshape(-1).take(places[:n]) * scale[:n]
            for c, places, scale, n in zip(
                correlation, self._places, self._scales, self._n_left, strict=True
            )
        )
        self._find_pairs(first, second)
        at, pair = self._found, self._row + self._found[1] - self._problems
        rho, factor = self._rho.take(pair), self._factor.take(pair)
        x, y = first.take(at[0]), second.take(at[1])
        left = y - rho * x
        lengths = np.empty((2, *x.shape))
        lengths[1] = left * factor
        lengths[0] = x - rho * lengths[1]
        gain = x * x + left * lengths[1]
        chosen = np.empty(lengths.shape, dtype=np.intp)
        for v in range(2):
            lengths[v] *= self._scales[v].take(at[v])
            chosen[v] = self._places[v].take(at[v]) - self._sizes[v] * self._problems
        return BestTuple(
            chosen.T.reshape(*self._batch, 2),
            gain.reshape(self._batch),
            lengths.T.reshape(*self._batch, 2),
        )

    def forbid(self, chosen: Indices, active: Flags) -> None:
        """Take the pairs found out of all problems: those at their end are past caring."""
        last_row, last_column = self._n_left = [n - 1 for n in self._n_left]
        row = self._row + self._along_row[: last_column + 1]
        column = self._found[1] + self._along_column[:last_row]
        for pairs in (self._rho, self._factor):
            flat = pairs.reshape(-1)
            flat[row] = pairs[last_row, : last_column + 1]
            flat[column] = pairs[:last_row, last_column]
        for v, last in enumerate(self._n_left):
            for of_functions in (self._scales[v], self._places[v]):
                of_functions.reshape(-1)[self._found[v]] = of_functions[last]

    def _find_pairs(self, first: Array, second: Array) -> None:
        """Find the best pairs; of tied ones, the first row of the dictionary, then column."""
        (n_rows, n_columns), n_problems = self._n_left, len(self._problems)
        gain = np.empty_like(first)
        step = max(1, _CACHED // second.size)
        work = np.empty((step, *second.shape))
        for start in range(0, n_rows, step):
            rows = slice(start, min(start + step, n_rows))
            part = _second_part(
                self._rho[rows, :n_columns],
                self._factor[rows, :n_columns],
                first[rows, None],
                second,
                out=work[: n_rows - start],
            )
            np.fmax.reduce(part, axis=1, out=gain[rows])
        squares = np.square(first)
        gain += squares
        least = least_tied(np.fmax.reduce(gain, axis=0))
        i = _first_place(gain >= least, self._places[0])
        in_first = i * n_problems + self._problems
        self._row = i * self._rho[0].size + self._problems
        row = self._row + self._along_row[:n_columns]
        part = _second_part(
            self._rho.take(row),
            self._factor.take(row),
            first.take(in_first),
            second,
            out=np.empty_like(second),
        )
        j = _first_place(part >= least - squares.take(in_first), self._places[1])
        self._found = [in_first, j * n_problems + self._problems]


def _first_place(good: Flags, places: Indices) -> Indices:
    """For each problem, where the one of its good functions stands that is first by its place."""
    last = np.iinfo(places.dtype).max
    return np.where(good, places[: len(good)], last).argmin(axis=0)


def _second_part(rho: Array, factor: Array, x: Array, y: Array, out: Array) -> Array:
    """``(y - rho x)^2 / (1 - rho^2)``: what the second function of a pair adds to the gain."""
    # A product in place, and a copy, take less than one that is written elsewhere.
    np.copyto(out, x)
    np.multiply(out, rho, out=out)
    np.subtract(y, out, out=out)
    np.square(out, out=out)
    return np.multiply(out, factor, out=out)


class Gram:
    """Gram matrices of the N = N_1 + N_2 functions of two views.

    Parameters
    ----------
    problem : JointProblem

    Attributes
    ----------
    sizes : list of int
        N_1 and N_2.
    views : list of slice
        Where the functions of each view stand.
    products : ndarray of shape (b, N, 2, N)
        Products over the rows on the scored points, zero for functions of different views, and
        over those on the unscored points without their weight ``2 nu``, negative for them.
    """

    def __init__(self, problem: JointProblem) -> None:
        self.sizes = problem.sizes
        size = sum(self.sizes)
        self.views = [slice(0, self.sizes[0]), slice(self.sizes[0], size)]
        self.products = np.zeros((problem.batch[0], size, 2, size))
        for view, functions in zip(self.views, problem.scored, strict=True):
            own = self.products[:, view, 0, view]
            np.matmul(functions, functions.swapaxes(1, 2), out=own)
        apart = np.concatenate([problem.unscored[0], -problem.unscored[1]], axis=1)
        np.matmul(apart, apart.swapaxes(1, 2), out=self.products[:, :, 1])


class GramForm:
    """The joint problem of two views by their Gram matrices instead of the residue.

    A step takes time for each function, whatever the number of rows.

    Parameters
    ----------
    problem : JointProblem
    gram : Gram
        Of this problem.
    """

    def __init__(self, problem: JointProblem, gram: Gram) -> None:
        nu = problem.nu
        self._views = gram.views
        size = sum(gram.sizes)
        self._gram = gram.products.reshape(-1, 2, size)
        self._weights = np.stack([np.ones_like(nu), 2.0 * nu], axis=-1)[:, None]
        self.cost = np.zeros(problem.batch)
        self._whole = np.empty((*self.cost.shape, size))
        for view, functions, target in zip(
            self._views, problem.scored, problem.targets, strict=True
        ):
            self._whole[..., view] = np.matmul(functions, target[..., None]).swapaxes(1, 2)
            self.cost += np.square(target).sum(axis=-1)[..., None]
        self._own = self._whole.copy() if problem.agreement == "incremental" else None
        # Where the first function of each view stands, for each problem, in these arrays.
        problems = np.arange(self.cost.size).reshape(*self.cost.shape, 1)
        first = np.array([view.start for view in gram.views])
        self._places = size * problems + first
        self._rows = size * (problems // len(nu)) + first

    def correlations(self) -> list[Array]:
        """Return the products that the steps keep up to date."""
        products = self._whole if self._own is None else self._own
        return [products[..., view] for view in self._views]

    def take(self, best: BestTuple, active: Flags) -> Array:
        """Take the rows of the chosen functions, in the Gram matrices, off the products."""
        lengths = np.where(active[..., None], best.steps, 0.0)
        places = best.chosen + self._places
        products = self._whole.take(places)
        rows = self._gram.take(best.chosen + self._rows, axis=0)
        self._whole -= _combined(lengths[..., None] * self._weights, rows)
        if self._own is not None:
            self._own -= _combined(lengths, rows[..., 0, :])
        products += self._whole.take(places)
        # 2 a'c - a'A a is a' times the sum of c before the step and c - A a after it.
        fall = np.einsum("bkv,bkv->bk", lengths, products)
        self.cost = np.maximum(self.cost - fall, 0.0)
        return lengths


def _combined(weights: Array, rows: Array) -> Array:
    """Sum of the rows of each problem, shape (b, k, ..., N), with weights (b, k, ...)."""
    batch, size = weights.shape[:2], rows.shape[-1]
    rows = rows.reshape(*batch, -1, size)
    return np.matmul(weights.reshape(*batch, 1, -1), rows).reshape(*batch, size)


class JointForm(Protocol):
    """What a pursuit asks of the joint problem."""

    @property
    def cost(self) -> Array:
        """Cost of the functions so far, shape (b, k)."""

    def correlations(self) -> list[Array]:
        """For each view, the products of its functions with the residue, shape (b, k, N_v).

        Of the whole residue for cumulative agreement, of its rows on the scored points for
        incremental agreement.
        """

    def take(self, best: BestTuple, active: Flags) -> Array:
        """Append the best tuples of the active problems.

        Returns
        -------
        ndarray of shape (b, k, M)
            The lengths of the steps, zero in the other problems.
        """


class ResidueForm:
    """The joint problem by its residue, for any number of views.

    The k values of nu are rows of the residue, shape (b, k, rows), so that the correlations of
    all of them are one product.

    Parameters
    ----------
    problem : JointProblem
    """

    def __init__(self, problem: JointProblem) -> None:
        self._scored, self._unscored = problem.scored, problem.unscored
        self._root = np.sqrt(2.0 * problem.nu)[:, None]
        self._problems = np.arange(problem.batch[0])[:, None]
        self._blocks, self._pairs = [], {}
        n_rows, n_agreeing = 0, problem.unscored[0].shape[2]
        for functions in problem.scored:
            self._blocks.append(slice(n_rows, n_rows + functions.shape[2]))
            n_rows += functions.shape[2]
        for pair in combinations(range(problem.n_views), 2):
            self._pairs[pair] = slice(n_rows, n_rows + n_agreeing)
            n_rows += n_agreeing
        self._agree = problem.agreement == "cumulative" and bool(self._pairs)
        self.residue = np.zeros((*problem.batch, n_rows))
        for block, target in zip(self._blocks, problem.targets, strict=True):
            self.residue[..., block] = target[..., None, :]

    @property
    def cost(self) -> Array:
        """Cost of the functions so far."""
        return np.einsum("bkr,bkr->bk", self.residue, self.residue)

    def correlations(self) -> list[Array]:
        """Multiply the functions with the residue."""
        result = []
        for v, functions in enumerate(self._scored):
            product = np.matmul(self.residue[..., self._blocks[v]], functions.swapaxes(1, 2))
            if self._agree:
                apart = np.zeros((*self.residue.shape[:2], self._unscored[v].shape[2]))
                for sign, block in self._agreements(v):
                    apart += sign * self.residue[..., block]
                apart *= self._root
                product += np.matmul(apart, self._unscored[v].swapaxes(1, 2))
            result.append(product)
        return result

    def take(self, best: BestTuple, active: Flags) -> Array:
        """Take the steps off the residue."""
        lengths = np.where(active[..., None], best.steps, 0.0)
        for view in range(len(self._scored)):
            own, values = self._functions(view, best.chosen)
            length = lengths[..., view, None]
            self.residue[..., self._blocks[view]] -= length * own
            values *= length
            for sign, block in self._agreements(view):
                self.residue[..., block] -= sign * values
        return lengths

    def _functions(self, view: int, chosen: Indices) -> tuple[Array, Array]:
        """Entries of the chosen functions in their view's rows, and in those of agreement."""
        own, values = (
            functions[view][self._problems, chosen[..., view]]
            for functions in (self._scored, self._unscored)
        )
        return own, self._root * values

    def _agreements(self, view: int) -> Iterator[tuple[float, slice]]:
        """Sign of this view's function, and block, in each pair of views with this one."""
        for pair, block in self._pairs.items():
            if view in pair:
                yield 1.0 if view == pair[0] else -1.0, block


class RefittedForm(ResidueForm):
    """The joint problem whose coefficients are all refitted after each step.

    Parameters
    ----------
    problem : JointProblem
    n_steps : int
        Largest number of steps.
    """

    def __init__(self, problem: JointProblem, n_steps: int) -> None:
        super().__init__(problem)
        n_rows = self.residue.shape[2]
        self._basis = GrowingBasis(problem.batch, n_rows, n_steps * problem.n_views)

    @property
    def directions(self) -> Array:
        """Coefficients of each direction over the chosen functions."""
        return self._basis.directions

    def take(self, best: BestTuple, active: Flags) -> Array:
        """Take what is new in the chosen functions off the residue, view by view."""
        lengths = np.empty_like(best.steps)
        for view in range(len(self._scored)):
            column = np.zeros_like(self.residue)
            column[..., self._blocks[view]], values = self._functions(view, best.chosen)
            for sign, block in self._agreements(view):
                column[..., block] = sign * values
            unit = self._basis.append(column)
            length = np.einsum("bkr,bkr->bk", unit, self.residue) * active
            self.residue -= length[..., None] * unit
            lengths[..., view] = length
        return lengths


JointFitting = Literal["basic", "backfit"]


@dataclass(frozen=True)
class CoregularisedPath:
    """Every prefix of the paths of b dictionaries times k values of nu, with M views and P steps.

    Attributes
    ----------
    selected : ndarray of shape (b, k, P, M)
        The function chosen for each view at each step; -1 behind the end of a path.
    weights : ndarray of shape (b, k, P * M)
        The lengths of the steps, view by view, zero behind the end of a path.
    directions : ndarray of shape (b, k, P * M, P * M) or None
        Column c holds the coefficients, over the chosen functions of all views, of direction c.
        None stands for the identity.
    cost : ndarray of shape (b, k, P + 1)
        The cost of every prefix, from the empty one on.
    n_steps : ndarray of shape (b, k)
        Number of steps before the path ended.
    """

    selected: NDArray[np.intp]
    weights: Array
    directions: Array | None
    cost: Array
    n_steps: NDArray[np.intp]

    def coefficients(self, view: int) -> Array:
        """Coefficients over the chosen functions of one view, of every prefix.

        Returns
        -------
        ndarray of shape (b, k, P, P)
            Entry ``[..., p, :]`` belongs to the prefix of p + 1 steps.
        """
        n_steps, n_views = self.selected.shape[2:]
        if self.directions is None:
            return np.tri(n_steps) * self.weights[..., None, view::n_views]
        steps = self.directions[..., view::n_views, :] * self.weights[..., None, :]
        return np.cumsum(steps, axis=3)[..., n_views - 1 :: n_views].swapaxes(2, 3)

    def predict(self, kernel: Array, view: int) -> Array:
        """Predictions of one view's function, of every prefix.

        Parameters
        ----------
        kernel : ndarray of shape (b, m, N)
            Values of the N dictionary functions of the view at m points.
        view : int

        Returns
        -------
        ndarray of shape (b, k, P, m)
        """
        own = slice(view, None, self.selected.shape[3])
        return self._staged(kernel.swapaxes(1, 2), self.selected[..., view], own)

    def predict_mean(self, kernels: Sequence[Array], steps: NDArray[np.intp]) -> Array:
        """Mean of the predictions of all views, of some prefixes.

        Parameters
        ----------
        kernels : sequence of M ndarrays of shape (b, m, N_v)
            For each view, the values of its dictionary functions at m points.
        steps : ndarray of shape (s,)
            Numbers of steps of the prefixes, from 1 to P.

        Returns
        -------
        ndarray of shape (b, k, s, m)
        """
        functions = np.concatenate([kernel.swapaxes(1, 2) for kernel in kernels], axis=1)
        starts = np.cumsum([0, *(kernel.shape[2] for kernel in kernels[:-1])])
        selected = (self.selected + starts).reshape(self.weights.shape)
        if self.directions is None:
            mean = self._stepwise(functions, selected, steps)
        else:
            mean = self._staged(functions, selected, slice(None)).take(steps - 1, axis=2)
        mean /= len(kernels)
        return mean

    def _stepwise(
        self, functions: Array, selected: NDArray[np.intp], steps: NDArray[np.intp]
    ) -> Array:
        """Add up all views' functions; return the sums after some steps, shape (b, k, s, m).

        The terms of a step fit into the cache of a core; those of a whole path would not.
        """
        n_functions, n_points = functions.shape[1:]
        rows = functions.reshape(-1, n_points)
        first = n_functions * np.arange(len(functions))[:, None, None]
        batch, n_views = self.weights.shape[:2], self.selected.shape[3]
        # The problems side by side, behind the views and the steps.
        chosen = _steps_first(selected + first, n_views)
        weights = _steps_first(self.weights, n_views)[..., None]
        terms = np.empty((*chosen.shape[1:], n_points))
        total = np.zeros(terms.shape[1:])
        result = np.empty((len(total), len(steps), n_points))
        for step in range(int(steps.max(initial=0))):
            # Behind the end of a path, weights are zero and any function will do.
            rows.take(chosen[step], axis=0, out=terms, mode="clip")
            terms *= weights[step]
            for term in terms[1:]:
                terms[0] += term
            total += terms[0]
            for place in np.flatnonzero(steps == step + 1):
                result[:, place] = total
        return result.reshape(*batch, len(steps), n_points)

    def _staged(self, functions: Array, selected: NDArray[np.intp], part: slice) -> Array:
        """Values, of every prefix, of that part of the chosen functions: shape (b, k, P, m).

        Term by term, so that points where the functions are equal have equal values.
        """
        dictionaries = np.arange(len(functions))[:, None, None]
        terms = functions[dictionaries, selected]
        weights = self.weights[..., None]
        if self.directions is None:
            terms *= weights[:, :, part]
        else:
            directions = self.directions[:, :, part]
            terms = np.matmul(directions.swapaxes(2, 3), terms)
            terms *= weights
        n_steps, n_points = self.selected.shape[2], terms.shape[3]
        by_step = terms.reshape(*terms.shape[:2], n_steps, -1, n_points)
        sums = by_step.sum(axis=3)
        for before, after in pairwise(np.moveaxis(sums, 2, 0)):
            after += before
        return sums


def coregularised_pursuit(
    scored: Sequence[Array],
    unscored: Sequence[Array],
    targets: Sequence[Array],
    nus: ArrayLike,
    n_steps: int,
    *,
    fitting: JointFitting = "basic",
    agreement: Agreement = "cumulative",
    shared: bool = False,
) -> CoregularisedPath:
    """Pursue one function a view on the scored points, agreeing on the unscored ones.

    Parameters
    ----------
    scored : sequence of M ndarrays of shape (b, m_v, N_v)
        For each view, the rows of its dictionary on the scored points, ``B K_v``.
    unscored : sequence of M ndarrays of shape (b, l, N_v)
        For each view, the rows of its dictionary on the unscored points. Without unscored
        points, pass the rows of the scored ones: the views then agree on those.
    targets : sequence of M ndarrays of shape (m_v,) or (b, m_v)
        For each view, the rows of the scores, ``B s``: the same for all dictionaries, or those
        of each dictionary.
    nus : array-like of shape (k,)
        Weights of the agreement; not negative.
    n_steps : int
        Largest number of steps P; no more than the smallest N_v are made.
    fitting : {"basic", "backfit"}
        Whether a step leaves the earlier coefficients alone, or refits those of all views
        jointly. Each function is chosen at most once.
    agreement : {"cumulative", "incremental"}
        Whether a step is chosen to bring the whole functions so far together, or only what it
        adds to them (the formula as printed in the paper). A refit always is of the whole.
    shared : bool
        Choose the same index for all views, whose dictionaries must be of one size.

    Returns
    -------
    CoregularisedPath

    Notes
    -----
    For two views all pairs of functions are compared; for more, see
    :class:`rankpursuit.solvers.coregularised.function_tuples.AlternatingSearch`.
    """
    problem = JointProblem(
        scored=[_by_function(columns) for columns in scored],
        unscored=[_by_function(columns) for columns in unscored],
        targets=targets,
        nu=np.asarray(nus, dtype=np.float64),
        agreement=agreement,
    )
    if shared and len(set(problem.sizes)) > 1:
        raise ValueError(f"shared: the dictionaries have different sizes, {problem.sizes}")
    n_steps = min(n_steps, *problem.sizes)
    search, form = _search_and_form(problem, fitting, shared, n_steps)
    batch = problem.batch
    selected = np.full((*batch, n_steps, problem.n_views), -1, dtype=np.intp)
    weights = np.zeros(selected.shape)
    cost = np.empty((*batch, n_steps + 1))
    cost[..., 0] = form.cost
    floor = NOTHING_LEFT**2 * form.cost
    active = np.ones(batch, dtype=bool)
    step = 0
    while step < n_steps:
        best = search.best(form.correlations())
        active &= best.gain > floor
        if not active.any():
            break
        selected[..., step, :] = np.where(active[..., None], best.chosen, -1)
        weights[..., step, :] = form.take(best, active)
        search.forbid(best.chosen, active)
        step += 1
        cost[..., step] = form.cost
    cost[..., step + 1 :] = cost[..., step, None]
    return CoregularisedPath(
        selected=selected,
        weights=weights.reshape(*batch, -1),
        directions=form.directions if isinstance(form, RefittedForm) else None,
        cost=cost,
        n_steps=np.count_nonzero(selected[..., 0] >= 0, axis=2),
    )


def _search_and_form(
    problem: JointProblem, fitting: JointFitting, shared: bool, n_steps: int
) -> tuple[TupleSearch, JointForm]:
    """Return the search for the best tuples, and the form that follows their steps."""
    search: TupleSearch
    form: JointForm
    gram = Gram(problem) if problem.n_views == 2 and not shared else None
    if gram is not None:
        search = PairSearch(gram, problem.nu)
    else:
        search = (SharedSearch if shared else AlternatingSearch)(problem)
    if fitting == "backfit":
        form = RefittedForm(problem, n_steps)
    elif gram is not None:
        form = GramForm(problem, gram)
    else:
        form = ResidueForm(problem)
    return search, form


def _steps_first(values: NDArray[Any], n_views: int) -> NDArray[Any]:
    """Turn (b, k, P * M) into (P, M, b * k)."""
    n_values = values.shape[2]
    return np.ascontiguousarray(values.reshape(-1, n_values).T).reshape(
        n_values // n_views, n_views, -1
    )


def _by_function(columns: Array) -> Array:
    """Turn (b, m, N) into (b, N, m): the values of one function side by side."""
    return np.ascontiguousarray(columns.swapaxes(1, 2))


def pursue_views(
    kernels: Sequence[Array],
    scores: Array,
    points: Sequence[Indices],
    losses: Sequence[Indices],
    forms: Sequence[Preferences],
    agreeing: tuple[Indices, Preferences],
    ridges: ArrayLike,
    nus: ArrayLike,
    n_steps: int,
    *,
    fitting: JointFitting,
    agreement: Agreement,
    shared: bool,
) -> CoregularisedPath:
    """Pursue one function a view, for a stack of kernels and all ridges and nus.

    Parameters
    ----------
    kernels : sequence of M ndarrays of shape (w, n, N_v)
        For each view, kernel values of the n points with those of its dictionary.
    scores : ndarray of shape (n,)
        Those of unscored points are never read.
    points, losses : sequence of M ndarrays
        For each view, the points of its dictionary and the scored points of its loss.
    forms : sequence of M Preferences
        For each view, the form of its loss.
    agreeing : tuple of ndarray and Preferences
        The points on which the views are to agree, and their form.
    ridges : array-like of shape (r,)
    nus : array-like of shape (k,)
    n_steps, fitting, agreement, shared
        See :func:`coregularised_pursuit`.

    Returns
    -------
    CoregularisedPath
        Of w * r dictionaries, those of a kernel's ridges beside each other.
    """
    where, common = agreeing
    penalised = [
        ridge_rows(form.root(kernel[:, loss]), form.root(scores[loss]), kernel[:, own], ridges)
        for form, kernel, loss, own in zip(forms, kernels, losses, points, strict=True)
    ]
    return coregularised_pursuit(
        [dictionary for dictionary, _ in penalised],
        [np.repeat(common.root(kernel[:, where]), np.size(ridges), axis=0) for kernel in kernels],
        [target for _, target in penalised],
        nus,
        n_steps,
        fitting=fitting,
        agreement=agreement,
        shared=shared,
    )
