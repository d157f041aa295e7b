"""Co-regularised pursuit: one function per view, agreeing on the unscored points.

The cost of the views' functions ``f_1 .. f_M`` is that of the paper,

    sum_v |B s - B f_v|^2 + nu sum_{v,u} |Bbar f_v - Bbar f_u|^2    (Bbar on the unscored points),

each pair of views counted twice. It is one least-squares problem, whose rows are those of the views
on the scored points, one block each, followed by ``sqrt(2 nu) Bbar (f_v - f_u)`` on the unscored
points for each pair of views v < u. A step appends one function to every view: the tuple that
lowers the cost most.

A step along one function ``k_v`` per view solves the paper's M x M system
``A a = c``, where ``A_vv = k' L k + 2 nu (M - 1) kbar' Lbar kbar`` of view v's function,
``A_vu = -2 nu kbar_v' Lbar kbar_u``, and c holds the products of the functions with the residue.
It lowers the cost by ``c' A^-1 c``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankpursuit.solvers._linalg import GrowingBasis, first_best, least_tied, nonzero_columns
from rankpursuit.solvers.pursuit import NOTHING_LEFT

Array = NDArray[np.float64]
Indices = NDArray[np.intp]
Flags = NDArray[np.bool_]

Agreement = Literal["cumulative", "incremental"]
Aggregation = Literal["mean", "median", "borda", "weighted"]
"""The mean of the functions, their median, the mean of their ranks, or a weighted mean."""
JointFitting = Literal["basic", "backfit"]
Views = Literal["points", "loss", "features"]
"""Parts split among the views: the dictionary, the dictionary and the loss, or the features."""

SINGULAR = 1e-12
"""A system with unit diagonal is singular if its last pivot or smallest eigenvalue is at most
this."""
_LAST = np.iinfo(np.intp).max
_SWEEPS = 20
"""Maximum number of turns of each view in a search."""
_CACHED = 1 << 16
"""Pairs of functions compared at a time: few enough to stay in the cache."""


# Views and their aggregation


def split_points(
    scored: Flags, n_views: int, generator: np.random.Generator | np.random.RandomState
) -> list[Indices]:
    """Split the scored and the unscored points at random and evenly; return sorted indices."""
    shuffled = np.concatenate(
        [generator.permutation(np.flatnonzero(of_kind)) for of_kind in (scored, ~scored)]
    )
    return [np.sort(shuffled[view::n_views]) for view in range(n_views)]


def split_features(
    n_features: int, n_views: int, generator: np.random.Generator | np.random.RandomState
) -> list[Indices]:
    """Split the features among the views at random; sizes differ by at most one."""
    shuffled = generator.permutation(n_features)
    return [np.sort(shuffled[view::n_views]) for view in range(n_views)]


def weighted_mean(values: Sequence[Array], skills: Array) -> Array:
    """Return the mean over the views of predictions (..., m), weighted by their skills (M, ...).

    A view with a skill of zero or less has no weight. If all have none, the mean is unweighted.
    """
    weights = np.maximum(skills, 0.0)
    weights = np.where(weights.sum(axis=0) > 0, weights, 1.0)
    weights /= weights.sum(axis=0)
    return sum(w[..., None] * view_values for w, view_values in zip(weights, values, strict=True))


def _mean_rank(values: Sequence[Array]) -> Array:
    from scipy.stats import rankdata  # slow to import, and needed here only

    return np.mean([rankdata(predictions, axis=-1) for predictions in values], axis=0)


AGGREGATIONS: dict[str, Callable[[Sequence[Array]], Array]] = {
    "median": lambda values: np.median(values, axis=0),
    "borda": _mean_rank,
}
"""Aggregations that need only the predictions of the views, (..., m)."""


# The pursuit


@dataclass(frozen=True)
class CoregularisedPath:
    """Every prefix of the paths of b dictionaries times k values of nu, with M views and P steps.

    Attributes
    ----------
    selected : ndarray of shape (b, k, P, M)
        The function chosen for each view at each step; -1 after the path ends.
    weights : ndarray of shape (b, k, P * M)
        The lengths of the steps, those of the M views of a step adjacent; zero after the path ends.
    directions : ndarray of shape (b, k, P * M, P * M) or None
        Column c has the coefficients, over the chosen functions of all views, of direction c. None
        means the identity.
    cost, n_steps : ndarrays of shape (b, k, P + 1) and (b, k)
        The cost of every prefix, and the number of steps before the path ended.
    """

    selected: Indices
    weights: Array
    directions: Array | None
    cost: Array
    n_steps: Indices

    def coefficients(self, view: int) -> Array:
        """Return the coefficients (b, k, P, P) over one view's chosen functions.

        Entry ``[..., p, :]`` belongs to the prefix of p + 1 steps.
        """
        n_steps, n_views = self.selected.shape[2:]
        if self.directions is None:
            return np.tri(n_steps) * self.weights[..., None, view::n_views]
        steps = self.directions[..., view::n_views, :] * self.weights[..., None, :]
        return np.cumsum(steps, axis=3)[..., n_views - 1 :: n_views].swapaxes(2, 3)

    def predict(self, kernel: Array, view: int) -> Array:
        """Return the predictions (b, k, P, m) of one view for every prefix.

        `kernel`, (w, m, N), has the values of the view's dictionary functions at m points; every
        b / w paths next to each other share them.
        """
        of_view = slice(view, None, self.selected.shape[3])
        return self._staged(kernel.swapaxes(1, 2), self.selected[..., view], of_view)

    def predict_mean(self, kernels: Sequence[Array], steps: Indices) -> Array:
        """Return the mean predictions (b, k, s, m) of all views for some prefixes.

        `kernels` has, for each view, the values (w, m, N_v) of its dictionary functions at m
        points, and `steps`, (s,), the numbers of steps of the prefixes, from 1 to P.
        """
        functions = np.concatenate([kernel.swapaxes(1, 2) for kernel in kernels], axis=1)
        starts = np.cumsum([0, *(kernel.shape[2] for kernel in kernels[:-1])])
        selected = (self.selected + starts).reshape(self.weights.shape)
        if self.directions is None:
            sums = self._sums(functions, selected, steps)
        else:
            sums = self._staged(functions, selected, slice(None)).take(steps - 1, axis=2)
        sums /= len(kernels)
        return sums

    def _sums(self, functions: Array, selected: Indices, steps: Indices) -> Array:
        """Return the sums (b, k, s, m) of the functions chosen in some numbers of steps.

        `functions`, (w, N, m), are those of all views. One step of all paths fits into the cache.
        """
        (n_paths, n_nus, n_chosen), n_points = selected.shape, functions.shape[2]
        n_views = self.selected.shape[3]
        first = np.arange(n_paths) // (n_paths // len(functions)) * functions.shape[1]
        by_step = n_chosen // n_views, n_views, n_paths * n_nus
        chosen = np.moveaxis(selected + first[:, None, None], 2, 0).reshape(by_step)
        weights = np.moveaxis(self.weights, 2, 0).reshape(by_step)[..., None]
        values = functions.reshape(-1, n_points)
        terms = np.empty((*by_step[1:], n_points))
        total = np.zeros(terms.shape[1:])
        sums = np.empty((len(total), len(steps), n_points))
        for step in range(int(steps.max(initial=0))):
            # After the end of a path weights are zero, and any function will do.
            values.take(chosen[step], axis=0, out=terms, mode="clip")
            terms *= weights[step]
            for term in terms[1:]:
                terms[0] += term
            total += terms[0]
            for place in np.flatnonzero(steps == step + 1):
                sums[:, place] = total
        return sums.reshape(n_paths, n_nus, len(steps), n_points)

    def _staged(self, functions: Array, selected: Indices, which: slice) -> Array:
        """Return the values (b, k, P, m) of part of the chosen functions for every prefix."""
        # Summed term by term, so that points where the functions are equal have equal values.
        n_paths = len(selected)
        dictionaries = np.arange(n_paths) // (n_paths // len(functions))
        terms = functions[dictionaries[:, None, None], selected]
        weights = self.weights[..., None]
        if self.directions is None:
            terms *= weights[:, :, which]
        else:
            directions = self.directions[:, :, which]
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
    """Pursue one function per view on the scored points, agreeing on the unscored ones.

    For two views all pairs of functions are compared; for more, the views take turns.

    Parameters
    ----------
    scored, unscored : sequences of M ndarrays of shape (b, m_v, N_v) and (b, l, N_v)
        The rows of each view's dictionary on the scored points, ``B K_v``, and the unscored ones.
        Without unscored points, pass those of the scored ones: the views then agree on them.
    targets : sequence of M ndarrays of shape (m_v,) or (b, m_v)
        For each view, the rows of the scores, ``B s``.
    nus : array-like of shape (k,)
        Weights of the agreement, at least 0.
    n_steps : int
        Maximum number of steps P; at most the smallest N_v are made.
    fitting : {"basic", "backfit"}
        "basic" keeps the earlier coefficients; "backfit" refits those of all views jointly after
        every step. Each function is chosen at most once.
    agreement : {"cumulative", "incremental"}
        A step is chosen by the disagreement of the whole functions so far ("cumulative"), or only
        of the functions that it adds, the formula as printed in the paper ("incremental"). A refit
        always uses the whole functions.
    shared : bool
        Choose the same index for all views, whose dictionaries must have the same size.
    """
    problem = _JointProblem(
        # (b, N, m) instead of (b, m, N): the values of one function are contiguous.
        scored=[np.ascontiguousarray(columns.swapaxes(1, 2)) for columns in scored],
        unscored=[np.ascontiguousarray(columns.swapaxes(1, 2)) for columns in unscored],
        targets=targets,
        nu=np.asarray(nus, dtype=np.float64),
        agreement=agreement,
    )
    if shared and len(set(problem.sizes)) > 1:
        raise ValueError(f"shared: the dictionaries have different sizes, {problem.sizes}")
    n_steps = min(n_steps, *problem.sizes)
    by_pairs, refit = problem.n_views == 2 and not shared, fitting == "backfit"
    search = _PairSearch(problem) if by_pairs else _TupleSearch(problem, shared)
    form: _Residue | _GramForm
    if by_pairs and not refit:
        form = _GramForm(problem)
    else:
        form = _Residue(problem, n_steps if refit else 0)
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
        directions=form.directions,
        cost=cost,
        n_steps=np.count_nonzero(selected[..., 0] >= 0, axis=2),
    )


@dataclass(frozen=True)
class _JointProblem:
    """Functions (b, N_v, m_v) and (b, N_v, l) of M views, targets, and k values of nu."""

    scored: Sequence[Array]
    unscored: Sequence[Array]
    targets: Sequence[Array]
    nu: Array
    agreement: Agreement

    @property
    def n_views(self) -> int:
        return len(self.scored)

    @property
    def sizes(self) -> list[int]:
        return [functions.shape[1] for functions in self.scored]

    @property
    def batch(self) -> tuple[int, int]:
        return len(self.scored[0]), len(self.nu)

    def diagonals(self) -> list[Array]:
        """Return, for each view, ``A_vv`` of each of its functions: (b, k, N_v)."""
        weight = 2.0 * (self.n_views - 1) * self.nu[:, None]
        return [
            np.square(own).sum(axis=2)[:, None] + weight * np.square(bar).sum(axis=2)[:, None]
            for own, bar in zip(self.scored, self.unscored, strict=True)
        ]


class _BestTuple(NamedTuple):
    """The best tuple of each problem."""

    chosen: Indices  # (b, k, M): the function of each view
    gain: Array  # (b, k): fall of the cost along the tuple; zero or NaN if no tuple can be used
    steps: Array  # (b, k, M): solution of the tuple's system


# The joint problem, and steps along a tuple


class _Residue:
    """The joint problem given by its residue, (b, k, rows); refits up to `n_refitted` steps."""

    def __init__(self, problem: _JointProblem, n_refitted: int) -> None:
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
        capacity = n_refitted * problem.n_views
        self._basis = GrowingBasis(problem.batch, n_rows, capacity) if n_refitted else None

    @property
    def cost(self) -> Array:
        return np.einsum("bkr,bkr->bk", self.residue, self.residue)

    @property
    def directions(self) -> Array | None:
        return None if self._basis is None else self._basis.directions

    def correlations(self) -> list[Array]:
        """Return the products (b, k, N_v) of each view's functions with the residue.

        With incremental agreement only the rows of scored points count.
        """
        result = []
        for v, functions in enumerate(self._scored):
            product = np.matmul(self.residue[..., self._blocks[v]], functions.swapaxes(1, 2))
            if self._agree:
                apart = sum(sign * self.residue[..., block] for sign, block in self._agreements(v))
                product += np.matmul(self._root * apart, self._unscored[v].swapaxes(1, 2))
            result.append(product)
        return result

    def take(self, best: _BestTuple, active: Flags) -> Array:
        """Append the best tuples of the active problems; return the lengths (b, k, M)."""
        lengths = np.where(active[..., None], best.steps, 0.0)
        for view, chosen in enumerate(np.moveaxis(best.chosen, 2, 0)):
            column = np.zeros_like(self.residue)
            column[..., self._blocks[view]] = self._scored[view][self._problems, chosen]
            values = self._root * self._unscored[view][self._problems, chosen]
            for sign, block in self._agreements(view):
                column[..., block] = sign * values
            if self._basis is not None:  # the part orthogonal to the earlier functions
                column = self._basis.append(column)
                lengths[..., view] = np.einsum("bkr,bkr->bk", column, self.residue) * active
            self.residue -= lengths[..., view, None] * column
        return lengths

    def _agreements(self, view: int) -> Iterator[tuple[float, slice]]:
        """Yield the sign of this view and the block of rows for each pair of views with it."""
        for pair, block in self._pairs.items():
            if view in pair:
                yield 1.0 if view == pair[0] else -1.0, block


class _GramForm:
    """The joint problem of two views given by two Gram matrices of their N functions, (b, N, 2, N).

    The first is over the scored points, and zero between different views. The second is over the
    unscored points without their weight ``2 nu``, and has a negative sign between different views.
    """

    directions = None

    def __init__(self, problem: _JointProblem) -> None:
        nu, size = problem.nu, sum(problem.sizes)
        self._views = [slice(0, problem.sizes[0]), slice(problem.sizes[0], size)]
        gram = np.zeros((problem.batch[0], size, 2, size))
        for view, functions in zip(self._views, problem.scored, strict=True):
            np.matmul(functions, functions.swapaxes(1, 2), out=gram[:, view, 0, view])
        apart = np.concatenate([problem.unscored[0], -problem.unscored[1]], axis=1)
        np.matmul(apart, apart.swapaxes(1, 2), out=gram[:, :, 1])
        self._gram = gram.reshape(-1, 2, size)
        self._weights = np.stack([np.ones_like(nu), 2.0 * nu], axis=-1)[:, None]
        self.cost = np.zeros(problem.batch)
        self._whole = np.empty((*self.cost.shape, size))
        for view, functions, target in zip(
            self._views, problem.scored, problem.targets, strict=True
        ):
            self._whole[..., view] = np.matmul(functions, target[..., None]).swapaxes(1, 2)
            self.cost += np.square(target).sum(axis=-1)[..., None]
        self._own = self._whole.copy() if problem.agreement == "incremental" else None
        # Indices of the first function of each view, for each problem, in these arrays.
        problems = np.arange(self.cost.size).reshape(*self.cost.shape, 1)
        first = np.array([view.start for view in self._views])
        self._places = size * problems + first
        self._rows = size * (problems // len(nu)) + first

    def correlations(self) -> list[Array]:
        products = self._whole if self._own is None else self._own
        return [products[..., view] for view in self._views]

    def take(self, best: _BestTuple, active: Flags) -> Array:
        """Append the best tuples by their rows of the Gram matrices; return the lengths."""
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
    """Return the weighted sum of the rows of each problem, (b, k, ..., N)."""
    batch, size = weights.shape[:2], rows.shape[-1]
    rows = rows.reshape(*batch, -1, size)
    return np.matmul(weights.reshape(*batch, 1, -1), rows).reshape(*batch, size)


# The search for the best tuple


class _PairSearch:
    """Two views: compare all pairs of functions.

    With both functions scaled so that the diagonal of their system A is 1, with rho off the
    diagonal and with x and y for their products with the residue, a pair lowers the cost by
    ``x^2 + (y - rho x)^2 / (1 - rho^2)``.

    The b k problems are the last, long axis of all arrays. NaN marks functions and pairs that
    cannot be chosen: the scale of a zero function, the factor ``1 / (1 - rho^2)`` of dependent
    functions. A chosen function is overwritten by the last remaining one, so that only remaining
    pairs are compared.
    """

    def __init__(self, problem: _JointProblem) -> None:
        nu, self._batch = problem.nu, problem.batch
        self._problems = np.arange(math.prod(self._batch))
        self._sizes, self._n_left = problem.sizes, problem.sizes
        self._scales, self._places = [], []
        for size, diagonal in zip(self._sizes, problem.diagonals(), strict=True):
            diagonal = diagonal.reshape(-1, size)
            diagonal[~nonzero_columns(diagonal)] = np.nan
            self._scales.append(np.ascontiguousarray(1.0 / np.sqrt(diagonal.T)))
            self._places.append(np.arange(size)[:, None] + size * self._problems)
        cross = -np.matmul(problem.unscored[0], problem.unscored[1].swapaxes(1, 2))
        self._rho = np.repeat(cross.transpose(1, 2, 0), len(nu), axis=2)
        self._rho *= (np.tile(2.0 * nu, len(cross)) * self._scales[0])[:, None]
        self._rho *= self._scales[1]
        self._factor = np.square(self._rho)
        np.subtract(1.0, self._factor, out=self._factor)
        self._factor[self._factor <= SINGULAR] = np.nan
        np.divide(1.0, self._factor, out=self._factor)
        # Offsets, in these flat arrays, from one pair to those of its row and its column.
        n_problems, n_pairs = len(self._problems), self._rho[0].size
        self._along_row = n_problems * np.arange(self._sizes[1])[:, None]
        self._along_column = n_pairs * np.arange(self._sizes[0])[:, None]

    def best(self, correlation: Sequence[Array]) -> _BestTuple:
        """Return the best pairs, given the products (b, k, N_v) with the residue."""
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
        shape = (*self._batch, 2)
        return _BestTuple(
            chosen.T.reshape(shape), gain.reshape(shape[:2]), lengths.T.reshape(shape)
        )

    def forbid(self, chosen: Indices, active: Flags) -> None:
        """Remove the pairs found from all problems; ended paths no longer need theirs."""
        last_row, last_column = self._n_left = [n - 1 for n in self._n_left]
        row = self._row + self._along_row[: last_column + 1]
        column = self._found[1] + self._along_column[:last_row]
        for pairs in (self._rho, self._factor):
            flat = pairs.reshape(-1)
            flat[row] = pairs[last_row, : last_column + 1]
            flat[column] = pairs[:last_row, last_column]
        for v, last in enumerate(self._n_left):
            for values in (self._scales[v], self._places[v]):
                values.reshape(-1)[self._found[v]] = values[last]

    def _find_pairs(self, first: Array, second: Array) -> None:
        """Find the best pairs; ties go to the first function of view 0, then of view 1."""
        (n_rows, n_columns), n_problems = self._n_left, len(self._problems)
        gain = np.empty_like(first)
        step = max(1, _CACHED // second.size)
        work = np.empty((step, *second.shape))
        for start in range(0, n_rows, step):
            rows = slice(start, min(start + step, n_rows))
            rho, factor = self._rho[rows, :n_columns], self._factor[rows, :n_columns]
            second_gain = _second_part(
                rho, factor, first[rows, None], second, work[: n_rows - start]
            )
            np.fmax.reduce(second_gain, axis=1, out=gain[rows])
        squares = np.square(first)
        gain += squares
        least = least_tied(np.fmax.reduce(gain, axis=0))
        i = _first_place(gain >= least, self._places[0])
        in_first = i * n_problems + self._problems
        self._row = i * self._rho[0].size + self._problems
        row = self._row + self._along_row[:n_columns]
        rho, factor = self._rho.take(row), self._factor.take(row)
        second_gain = _second_part(rho, factor, first.take(in_first), second, np.empty_like(second))
        j = _first_place(second_gain >= least - squares.take(in_first), self._places[1])
        self._found = [in_first, j * n_problems + self._problems]


def _first_place(good: Flags, places: Indices) -> Indices:
    """Return, for each problem, the row of the good function with the lowest place."""
    return np.where(good, places[: len(good)], _LAST).argmin(axis=0)


def _second_part(rho: Array, factor: Array, x: Array, y: Array, out: Array) -> Array:
    """Return ``(y - rho x)^2 / (1 - rho^2)``, the gain of the second function of a pair."""
    # Copying and multiplying in place is faster than multiplying into another array.
    np.copyto(out, x)
    np.multiply(out, rho, out=out)
    np.subtract(y, out, out=out)
    np.square(out, out=out)
    return np.multiply(out, factor, out=out)


class _TupleSearch:
    """Any number of views: solve the systems of their tuples.

    With shared indices, all of them are compared. Otherwise each view starts with its best single
    function, and the views take turns: each chooses the best function given those of the others,
    until none changes. Every turn lowers the cost, but the result may be a local optimum.
    """

    def __init__(self, problem: _JointProblem, shared: bool) -> None:
        self._n_views, self._unscored = problem.n_views, problem.unscored
        self._coupling = -2.0 * problem.nu
        self._diagonal = problem.diagonals()
        self._usable = [nonzero_columns(diagonal) for diagonal in self._diagonal]
        self._shared = self._shared_systems() if shared else None

    def best(self, correlation: Sequence[Array]) -> _BestTuple:
        """Return the best tuples, given the products (b, k, N_v) with the residue."""
        if self._shared is None:
            chosen = self._by_turns(correlation)
        else:
            chosen = self._same(correlation, self._shared)
        system, right, _ = self._system(correlation, chosen, range(self._n_views))
        steps = _solve(system, right)
        usable = np.logical_and.reduce(
            [_at(flags, index) for flags, index in zip(self._usable, chosen, strict=True)]
        )
        gain = np.einsum("bkv,bkv->bk", right, steps) * usable
        return _BestTuple(np.stack(chosen, axis=-1), gain, steps)

    def forbid(self, chosen: Indices, active: Flags) -> None:
        """Remove the chosen functions from the dictionaries of the active problems."""
        problems = np.nonzero(active)
        for v, usable in enumerate(self._usable):
            usable[*problems, chosen[*problems, v]] = False

    def _system(
        self, correlation: Sequence[Array], chosen: Sequence[Indices], views: Sequence[int]
    ) -> tuple[Array, Array, list[Array]]:
        """Return system, right-hand side and unscored values of the tuple of some views."""
        problems = np.arange(len(chosen[0]))[:, None]
        values = [self._unscored[v][problems, chosen[v]] for v in views]
        system = np.empty((*chosen[0].shape, len(views), len(views)))
        for i, v in enumerate(views):
            for j in range(i):
                cross = np.einsum("bkl,bkl->bk", values[i], values[j])
                system[..., i, j] = system[..., j, i] = self._coupling * cross
            system[..., i, i] = _at(self._diagonal[v], chosen[v])
        right = np.stack([_at(correlation[v], chosen[v]) for v in views], axis=-1)
        return system, right, values

    def _shared_systems(self) -> Array:
        """Return the system of each index, shape (b, k, N, M, M)."""
        system = np.empty((*self._diagonal[0].shape, self._n_views, self._n_views))
        for v in range(self._n_views):
            for u in range(v):
                cross = np.einsum("bnl,bnl->bn", self._unscored[v], self._unscored[u])[:, None]
                system[..., v, u] = system[..., u, v] = self._coupling[:, None] * cross
            system[..., v, v] = self._diagonal[v]
        return system

    def _same(self, correlation: Sequence[Array], systems: Array) -> list[Indices]:
        """Choose the same index for all views."""
        right = np.stack(correlation, axis=-1)
        gain = np.einsum("bknv,bknv->bkn", right, _solve(systems, right))
        gain[~np.logical_and.reduce(self._usable)] = -np.inf
        return [first_best(gain)] * self._n_views

    def _by_turns(self, correlation: Sequence[Array]) -> list[Indices]:
        """Choose by turns until no view changes its choice."""
        chosen = [
            first_best(_masked(np.square(c), diagonal, usable))
            for c, diagonal, usable in zip(correlation, self._diagonal, self._usable, strict=True)
        ]
        for _ in range(_SWEEPS if self._n_views > 1 else 0):
            before = list(chosen)
            for view in range(self._n_views):
                chosen[view] = self._best_given_others(correlation, chosen, view)
            if all(np.array_equal(old, new) for old, new in zip(before, chosen, strict=True)):
                break
        return chosen

    def _best_given_others(
        self, correlation: Sequence[Array], chosen: list[Indices], view: int
    ) -> Indices:
        """Choose the best function of one view given those of the others: a Schur complement."""
        others = [u for u in range(self._n_views) if u != view]
        system, right, values = self._system(correlation, chosen, others)
        functions = self._unscored[view].swapaxes(1, 2)[:, None]
        coupled = np.matmul(np.stack(values, axis=-2), functions)
        coupled *= self._coupling[:, None, None]  # (b, k, M - 1, N_v)
        solved = _solve(system[..., None, :, :], coupled.swapaxes(2, 3)).swapaxes(2, 3)
        gradient = correlation[view] - np.matmul(right[..., None, :], solved)[..., 0, :]
        curvature = self._diagonal[view] - np.einsum("bkun,bkun->bkn", coupled, solved)
        allowed = self._usable[view] & (curvature > SINGULAR * self._diagonal[view])
        gain = _masked(np.square(gradient), curvature, allowed)
        best = first_best(gain)
        # Keep the old choice unless the new one is better, or ties could make the search cycle.
        better = _at(gain, best) > np.maximum(_at(gain, chosen[view]), 0.0) * (1.0 + 1e-12)
        return np.where(better, best, chosen[view])


def _solve(system: Array, right: Array) -> Array:
    """Solve symmetric positive semi-definite M x M systems; zero where one is singular."""
    diagonal = np.einsum("...vv->...v", system)
    scale = 1.0 / np.sqrt(np.where(diagonal > 0.0, diagonal, 1.0))
    scaled = system * scale[..., :, None] * scale[..., None, :]
    if system.shape[-1] == 2:
        rho, aim = scaled[..., 0, 1], right * scale
        regular = 1.0 - np.abs(rho) > SINGULAR
        factor = np.divide(1.0, 1.0 - rho * rho, out=np.zeros_like(rho), where=regular)
        return (aim - rho[..., None] * aim[..., ::-1]) * factor[..., None] * scale
    regular = np.linalg.eigvalsh(scaled)[..., 0] > SINGULAR
    scaled = np.where(regular[..., None, None], scaled, np.eye(system.shape[-1]))
    solution = np.linalg.solve(scaled, (right * scale)[..., None])[..., 0] * scale
    return np.where(regular[..., None], solution, 0.0)


def _masked(numerator: Array, denominator: Array, allowed: Flags) -> Array:
    return np.divide(numerator, denominator, out=np.full_like(numerator, -np.inf), where=allowed)


def _at(values: NDArray, index: Indices) -> NDArray:
    """Return the entries of values (b, k, N) at the index of each problem, (b, k)."""
    flat = index.ravel()
    return values.reshape(flat.size, -1)[np.arange(flat.size), flat].reshape(index.shape)
