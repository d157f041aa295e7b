"""RankSVM."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple, Protocol

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.sparse.linalg import LinearOperator, cg

from rankpursuit.kernels import function_values
from rankpursuit.preferences import GroupPreferences
from rankpursuit.solvers._linalg import eigh, solve, solve_transposed
from rankpursuit.solvers.least_squares import Features, moment, squares

Array = NDArray[np.float64]


class OrderedPairs:
    """The p pairs (i, j) in which point i is preferred to point j.

    Parameters
    ----------
    n_points : int
    ordered : array-like of shape (p, 2)
        In each row the preferred point and the other one, each pair at most once. Two points may
        contradict themselves: i preferred to j and j to i are two pairs, each with its loss.
    weights : array-like of shape (p,), optional
        Positive weights of the pairs' losses. Default: all 1.

    Attributes
    ----------
    n_points, n_pairs : int
    weights : ndarray of shape (p,) or None
        None stands for ones.
    """

    def __init__(self, n_points: int, ordered: ArrayLike, weights: ArrayLike | None = None) -> None:
        self._ordered = np.asarray(ordered, dtype=np.intp).reshape(-1, 2)
        self.n_points, self.n_pairs = n_points, len(self._ordered)
        if self.n_pairs and not (self._ordered.min() >= 0 and self._ordered.max() < n_points):
            raise ValueError(f"ordered: expected point indices from 0 to {n_points - 1}")
        self._cell = self._ordered[:, 0] * n_points + self._ordered[:, 1]
        _refuse_repeated(self._cell, n_points)
        self.weights = None if weights is None else np.asarray(weights, dtype=np.float64)
        if self.weights is not None:
            _refuse_weights(self.weights, self.n_pairs)

    @classmethod
    def of_scores(
        cls, scores: Array, pairs: NDArray[np.intp], weights: Array | None = None
    ) -> OrderedPairs:
        """In each pair the point with the higher score is preferred; ties are left out.

        Parameters
        ----------
        scores : ndarray of shape (n,)
        pairs : ndarray of shape (p', 2)
            Pairs of points that may be compared, in any order, each pair once.
        weights : ndarray of shape (p',), optional
            Positive weights of the pairs' losses. Default: all 1.
        """
        difference = scores[pairs[:, 0]] - scores[pairs[:, 1]]
        ordered = np.where((difference < 0)[:, None], pairs[:, ::-1], pairs)
        untied = difference != 0
        return cls(len(scores), ordered[untied], None if weights is None else weights[untied])

    @cached_property
    def _transposed(self) -> sp.csr_array:
        """The matrix with a column ``e_i - e_j`` for each pair."""
        signs, starts = np.tile([1.0, -1.0], self.n_pairs), np.arange(0, 2 * self.n_pairs + 1, 2)
        shape = (self.n_pairs, self.n_points)
        return sp.csr_array((signs, self._ordered.ravel(), starts), shape=shape).T.tocsr()

    @cached_property
    def bias(self) -> Array:
        """1 where i is preferred to j, minus infinity elsewhere, shape (n, n)."""
        return self._spread(1.0, -np.inf)

    @cached_property
    def weight_matrix(self) -> Array:
        """Weights where i is preferred to j, zero elsewhere, shape (n, n)."""
        return self._spread(1.0 if self.weights is None else self.weights, 0.0)

    def _spread(self, own: Array | float, elsewhere: float) -> Array:
        """Entries of the pairs in a matrix of shape (n, n)."""
        result = np.full((self.n_points, self.n_points), elsewhere)
        result.ravel()[self._cell] = own
        return result

    def weighted(self, x: Array) -> Array:
        """``w_ij x_ij`` of arrays of shape (b, p), or of (b, 1); `x` itself without weights."""
        return x if self.weights is None else self.weights * x

    def margins(self, values: Array) -> Array:
        """Differences ``f_i - f_j`` of values of shape (b, n): shape (b, p)."""
        preferred, other = self._ordered.T
        return values[:, preferred] - values[:, other]

    def gather(self, x: Array) -> Array:
        """``sum_ij x_ij (e_i - e_j)`` of arrays of shape (b, p): shape (b, n)."""
        return np.asarray(self._transposed @ x.T).T

    def laplacian(self, x: Array) -> Array:
        """Laplacians ``sum_ij x_ij (e_i - e_j)(e_i - e_j)'`` of (b, p): shape (b, n, n)."""
        result = np.zeros((len(x), self.n_points, self.n_points))
        result.reshape(len(x), -1)[:, self._cell] = x
        result += result.swapaxes(1, 2)
        degrees = result.sum(axis=2)
        np.negative(result, out=result)
        np.einsum("bii->bi", result)[...] = degrees
        return result


def _refuse_repeated(cell: NDArray[np.intp], n_points: int) -> None:
    """Raise a ValueError if a pair, given as ``i n + j``, occurs twice or is of one point."""
    met = np.zeros(n_points**2, dtype=np.bool_)
    met[cell] = True
    if met[:: n_points + 1].any():
        point = int(np.flatnonzero(met[:: n_points + 1])[0])
        raise ValueError(f"ordered: point {point} cannot be preferred to itself")
    if np.count_nonzero(met) < len(cell):
        values, counts = np.unique(cell, return_counts=True)
        i, j = divmod(int(values[counts > 1][0]), n_points)
        raise ValueError(f"ordered: the pair ({i}, {j}) occurs twice; give it once")


def _refuse_weights(weights: Array, n_pairs: int) -> None:
    """Raise a ValueError if weights are not one positive number for each pair."""
    if weights.shape != (n_pairs,):
        raise ValueError(f"weights: expected {n_pairs}, one for each pair; got {weights.shape}")
    bad = ~((weights > 0.0) & np.isfinite(weights))
    if bad.any():
        pair = int(np.flatnonzero(bad)[0])
        raise ValueError(
            f"weights: expected positive numbers; got {weights[pair]} for pair {pair}. Leave out "
            "pairs that do not count"
        )


@dataclass(frozen=True)
class RankSVMPath:
    """Solutions for b kernels of n points and k values of C.

    Attributes
    ----------
    coefficients : ndarray of shape (b, k, n)
    objective : ndarray of shape (b, k)
        Primal objective.
    gap : ndarray of shape (b, k)
        Duality gap, relative to the objective: the minimum lies between
        ``objective * (1 - gap)`` and ``objective``.
    """

    coefficients: Array
    objective: Array
    gap: Array

    @classmethod
    def zeros(cls, n_kernels: int, n_Cs: int, n_points: int) -> RankSVMPath:
        """Zero functions, which solve problems without any pair."""
        grid = (n_kernels, n_Cs)
        return cls(np.zeros((*grid, n_points)), np.zeros(grid), np.zeros(grid))

    def put(self, kernels: Sequence[int], path: RankSVMPath) -> None:
        """Set the solutions of some kernels."""
        self.coefficients[kernels] = path.coefficients
        self.objective[kernels] = path.objective
        self.gap[kernels] = path.gap

    def put_Cs(self, Cs: NDArray[np.bool_], path: RankSVMPath) -> None:
        """Set the solutions of some values of C, for all kernels."""
        self.coefficients[:, Cs] = path.coefficients
        self.objective[:, Cs] = path.objective
        self.gap[:, Cs] = path.gap


Index = NDArray[np.intp]


class Violated(Protocol):
    """The pairs (i, j) of weights w_ij whose margin is too small.

    Attributes
    ----------
    count : float
        Sum of the weights.
    balance : ndarray of shape (n,)
        ``sum w_ij (e_i - e_j)``.
    degrees : ndarray of shape (n,)
        ``sum w_ij (e_i + e_j)``.
    """

    count: float
    balance: Array
    degrees: Array

    def laplacian(self, x: Array) -> Array:
        """``sum w_ij (e_i - e_j)(e_i - e_j)' x``, of the shape (n,) or (n, k) of `x`."""


class Compared(Protocol):
    """Pairs of n points, in each of which one is preferred."""

    def violated(self, values: Array, margin: float) -> Violated:
        """Pairs with ``f_i - f_j < margin`` for values f of shape (n,)."""

    def centred(self, X: Array) -> Array:
        """Points of shape (n, d) without a level that no comparison sees."""


class ListedPairs:
    """Explicit pairs.

    Parameters
    ----------
    n_points : int
    ordered : ndarray of shape (p, 2)
        In each row the preferred point and the other one.
    weights : ndarray of shape (p,)
        Positive.
    """

    def __init__(self, n_points: int, ordered: Index, weights: Array) -> None:
        self._ordered, self._weights = ordered, weights
        signs, starts = np.tile([1.0, -1.0], len(ordered)), np.arange(0, 2 * len(ordered) + 1, 2)
        self._differences = sp.csr_array(
            (signs, ordered.ravel(), starts), shape=(len(ordered), n_points)
        )

    def violated(self, values: Array, margin: float) -> Violated:
        """Pick the pairs by their differences."""
        which = np.flatnonzero(self._differences @ values < margin)
        return _Listed(self._differences[which], self._weights[which])

    def centred(self, X: Array) -> Array:
        """Points seen from their mean."""
        return X - X.mean(axis=0)


class _Listed:
    def __init__(self, differences: sp.csr_array, weights: Array) -> None:
        self._differences, self._weights = differences, weights
        self.count = float(weights.sum())
        self.balance = np.asarray(differences.T @ weights)
        self.degrees = np.asarray(abs(differences).T @ weights)

    def laplacian(self, x: Array) -> Array:
        scaled = (self._differences @ x).T * self._weights
        return np.asarray(self._differences.T @ scaled.T)


@dataclass(frozen=True)
class _Halves:
    """Blocks of points in two halves, each point of the upper one preferred to all of the lower.

    Attributes
    ----------
    points : ndarray of shape (m,)
        The points, block after block.
    block : ndarray of shape (m,)
        Number of each point's block.
    upper : ndarray of bool of shape (m,)
    first, last : ndarray of shape (m,)
        Where the block of a place begins and ends.
    """

    points: Index
    block: Index
    upper: NDArray[np.bool_]
    first: Index
    last: Index


class GroupedPairs:
    """All pairs of points of a group whose scores differ; the higher score is preferred.

    The distinct scores of a group have ranks. Two ranks have a highest binary digit in which they
    differ, so each pair belongs to one digit: there its points are in the same block, of one group
    and the same higher digits, in different halves. So one sort by value for each digit puts all
    pairs in order, and sums over them are running sums: O(n log n) for each of the at most
    log2(largest group) digits.

    Parameters
    ----------
    scores : ndarray of shape (n,)
    groups : ndarray of shape (n,)
        Number of each point's group, from 0.
    weights : ndarray of shape (n,)
        Weight of the pairs of each point's group; positive.
    """

    def __init__(self, scores: Array, groups: Index, weights: Array) -> None:
        self._weights = weights
        ranks = _ranks(scores, groups)
        digits = int(ranks.max(initial=0)).bit_length()
        self._digits = [_halves(ranks, groups, digit) for digit in range(digits)]
        self._groups = groups

    def violated(self, values: Array, margin: float) -> Violated:
        """Sort the points of each digit by their values, those of the lower halves moved up."""
        return _Sorted([_merged(halves, values, margin) for halves in self._digits], self._weights)

    def centred(self, X: Array) -> Array:
        """Points seen from the mean of their group."""
        return GroupPreferences(self._groups, "equal").root(X)


class _Merged(NamedTuple):
    """Points in the order of their values inside each block: pairs are (upper, lower behind).

    Attributes
    ----------
    upper, lower : ndarray
        The points of each half, block after block.
    lower_behind : two ndarrays of the shape of `upper`
        From which to which of `lower` the partners of an upper point go.
    upper_before : two ndarrays of the shape of `lower`
        The other way round.
    """

    upper: Index
    lower: Index
    lower_behind: tuple[Index, Index]
    upper_before: tuple[Index, Index]


class _Sorted:
    def __init__(self, digits: list[_Merged], weights: Array) -> None:
        self._digits, self._weights = digits, weights
        preferred, other = np.zeros(len(weights)), np.zeros(len(weights))
        for upper, lower, (behind, end), (start, before) in digits:
            preferred[upper] += end - behind
            other[lower] += before - start
        self.balance = weights * (preferred - other)
        self.degrees = weights * (preferred + other)
        self.count = float(weights @ preferred)

    def laplacian(self, x: Array) -> Array:
        result = np.zeros_like(x)
        for upper, lower, behind, before in self._digits:
            result[upper] += _sums_between(x[lower], *behind)
            result[lower] += _sums_between(x[upper], *before)
        column = (slice(None),) + (None,) * (x.ndim - 1)
        result *= -self._weights[column]
        result += self.degrees[column] * x
        return result


def _sums_between(x: Array, start: Index, end: Index) -> Array:
    """Add up x[start], ..., x[end - 1] for each of many starts and ends."""
    sums = np.zeros((len(x) + 1, *x.shape[1:]))
    np.cumsum(x, axis=0, out=sums[1:])
    result = sums.take(end, axis=0)
    result -= sums.take(start, axis=0)
    return result


def _ranks(scores: Array, groups: Index) -> Index:
    """Rank of each score among the distinct ones of its group, from 0."""
    order = np.lexsort((scores, groups))
    sorted_scores, sorted_groups = scores[order], groups[order]
    new_group = np.diff(sorted_groups, prepend=-1) > 0
    step = new_group | (np.diff(sorted_scores, prepend=np.nan) != 0)
    number = np.cumsum(step)
    ranks = np.empty(len(scores), dtype=np.intp)
    ranks[order] = number - number[new_group][np.cumsum(new_group) - 1]
    return ranks


def _halves(ranks: Index, groups: Index, digit: int) -> _Halves:
    """Blocks of one binary digit of the ranks, without those that lack one of their halves."""
    higher = ranks >> (digit + 1)
    _, block = np.unique(groups * (higher.max(initial=0) + 1) + higher, return_inverse=True)
    upper = (ranks >> digit & 1).astype(np.bool_)
    sizes = np.bincount(block)
    n_upper = np.bincount(block, upper, len(sizes))
    points = np.flatnonzero(((n_upper > 0) & (n_upper < sizes))[block])
    points = points[np.argsort(block[points], kind="stable")]
    _, number, sizes = np.unique(block[points], return_inverse=True, return_counts=True)
    ends = np.cumsum(sizes)
    return _Halves(points, number, upper[points], (ends - sizes)[number], ends[number])


def _merged(halves: _Halves, values: Array, margin: float) -> _Merged:
    moved = values[halves.points] + np.where(halves.upper, 0.0, margin)
    order = np.lexsort((moved, halves.block))
    points, upper = halves.points[order], halves.upper[order]
    # How many of each half there are before each place, and before the end.
    n_upper = np.concatenate([[0], np.cumsum(upper)])
    n_lower = np.arange(len(n_upper)) - n_upper
    return _Merged(
        points[upper],
        points[~upper],
        (n_lower[:-1][upper], n_lower[halves.last[upper]]),
        (n_upper[halves.first[~upper]], n_upper[:-1][~upper]),
    )


_EPS = np.finfo(np.float64).eps


class KernelForm(Protocol):
    """What the interior-point method asks of b kernels K of n points."""

    def take(self, which: Index) -> KernelForm:
        """Return some of the kernels."""

    def values(self, coefficients: Array) -> Array:
        """``K a`` of coefficients of shape (b, n), of the same shape."""

    def newton_values(self, laplacian: Array, right: Array) -> Array:
        """``K v`` with ``(I + L K) v = r``, for L of shape (b, n, n) and r of shape (b, n)."""


class PlainForm:
    """The kernels themselves, of shape (b, n, n)."""

    def __init__(self, kernel: Array) -> None:
        self._kernel = kernel

    def take(self, which: Index) -> PlainForm:
        """Return some of the kernels."""
        return PlainForm(self._kernel[which])

    def values(self, coefficients: Array) -> Array:
        """``K a``."""
        return function_values(self._kernel, coefficients)

    def newton_values(self, laplacian: Array, right: Array) -> Array:
        """Solve the system of n rows as it stands."""
        system = np.matmul(laplacian, self._kernel)
        np.einsum("bii->bi", system)[...] += 1.0
        return function_values(self._kernel, solve(system, right))


def factored(kernel: Array) -> tuple[FactorForm, NDArray[np.bool_]]:
    """Factor kernels, without directions that are negative or rounding errors.

    Parameters
    ----------
    kernel : ndarray of shape (b, n, n)

    Returns
    -------
    FactorForm
    definite : ndarray of bool of shape (b,)
        Whether what was left out is no more than the rounding errors of a kernel without negative
        directions: to the root of the working precision, as nearly equal points leave them.
    """
    values, vectors = eigh(kernel)
    kept = values > values[:, -1:] * (_EPS * kernel.shape[1])
    factors = vectors * np.sqrt(np.where(kept, values, 0.0))[:, None, :]
    return FactorForm(factors), values[:, 0] >= -np.sqrt(_EPS) * values[:, -1]


class FactorForm:
    """Factors F of shape (b, n, n), with ``K = F F'``."""

    def __init__(self, factors: Array) -> None:
        self._factors = factors

    def take(self, which: Index) -> FactorForm:
        """Return some of the kernels."""
        return FactorForm(self._factors[which])

    def values(self, coefficients: Array) -> Array:
        """``F (F' a)``."""
        along = np.matmul(coefficients[:, None, :], self._factors)
        return np.matmul(along, self._factors.swapaxes(1, 2))[:, 0]

    def newton_values(self, laplacian: Array, right: Array) -> Array:
        """``F u`` with ``(I + F' L F) u = F' r``."""
        transposed = self._factors.swapaxes(1, 2)
        system = np.matmul(transposed, np.matmul(laplacian, self._factors))
        np.einsum("bii->bi", system)[...] += 1.0
        along = solve(system, np.matmul(transposed, right[..., None])[..., 0])
        return np.matmul(self._factors, along[..., None])[..., 0]


_TO_BOUNDARY = 0.99


def hinge_path(
    kernel: Array, pairs: Sequence[OrderedPairs], Cs: Array, tol: float, max_iter: int
) -> RankSVMPath:
    """Solve for all C in one batch: an interior-point method gains little from a start.

    As :func:`rankpursuit.solvers.rank_svm.rank_svm_path`, with at least one pair for each kernel.
    Kernels that share an object of pairs are one batch.
    """
    path = RankSVMPath.zeros(len(kernel), len(Cs), kernel.shape[1])
    for members in _sharing(pairs):
        grid = (len(members), len(Cs))
        repeated = kernel[np.repeat(members, len(Cs))]
        C = np.tile(Cs, len(members))[:, None]
        solved = _solve_hinge(PlainForm(repeated), C, pairs[members[0]], tol, max_iter)
        if not (solved[2] <= tol).all():
            _solve_hinge_again(solved, repeated, C, pairs[members[0]], tol, max_iter)
        path.put(members, RankSVMPath(*(part.reshape(*grid, *part.shape[1:]) for part in solved)))
    return path


def _sharing(pairs: Sequence[OrderedPairs]) -> list[list[int]]:
    """Kernels with the same object of pairs."""
    batches: dict[int, list[int]] = {}
    for index, own in enumerate(pairs):
        batches.setdefault(id(own), []).append(index)
    return list(batches.values())


def _solve_hinge(
    form: KernelForm, C: Array, pairs: OrderedPairs, tol: float, max_iter: int
) -> tuple[Array, Array, Array]:
    """Coefficients, objective and gap for b kernels and C of shape (b, 1)."""
    # For small C every pair is at its upper bound: that is tried first.
    bound = pairs.weighted(np.repeat(C, pairs.n_pairs, axis=1))
    coefficients, objective, gap = _judge(pairs, form, C, bound)
    lost = ~np.isfinite(gap)
    coefficients[lost], objective[lost], gap[lost] = 0.0, bound[lost].sum(axis=1), 1.0
    live = np.flatnonzero(gap > tol)
    form, C = form.take(live), C[live]
    alpha = 0.5 * bound[live]
    surplus = pairs.margins(form.values(pairs.gather(alpha))) - 1.0
    z, s = np.maximum(surplus, 0.0) + 0.5, np.maximum(-surplus, 0.0) + 0.5
    centring = np.full(len(live), 0.1)
    for _ in range(max_iter):
        if not len(live):
            break
        alpha, z, s, centring = _interior_step(pairs, form, C, alpha, z, s, centring)
        reached = _judge(pairs, form, C, alpha)
        better = reached[2] < gap[live]
        for kept, new in zip((coefficients, objective, gap), reached, strict=True):
            kept[live[better]] = new[better]
        unsolved = (gap[live] > tol) & np.isfinite(reached[2])
        if not unsolved.all():
            live, C, centring = live[unsolved], C[unsolved], centring[unsolved]
            alpha, z, s = alpha[unsolved], z[unsolved], s[unsolved]
            form = form.take(np.flatnonzero(unsolved))
    return coefficients, objective, gap


def _solve_hinge_again(
    solved: tuple[Array, Array, Array],
    kernel: Array,
    C: Array,
    pairs: OrderedPairs,
    tol: float,
    max_iter: int,
) -> None:
    """Put in better solutions where a kernel without negative directions was not solved."""
    again = np.flatnonzero(~(solved[2] <= tol))
    form, definite = factored(kernel[again])
    again, form = again[definite], form.take(np.flatnonzero(definite))
    second = _solve_hinge(form, C[again], pairs, tol, max_iter)
    better = second[2] < solved[2][again]
    for kept, new in zip(solved, second, strict=True):
        kept[again[better]] = new[better]


def _judge(
    pairs: OrderedPairs, form: KernelForm, C: Array, alpha: Array
) -> tuple[Array, Array, Array]:
    """Coefficients, primal objective and relative duality gap of dual variables of shape (b, p)."""
    a = pairs.gather(alpha)
    values = form.values(a)
    norm = np.einsum("bn,bn->b", a, values)
    loss = pairs.weighted(np.maximum(1.0 - pairs.margins(values), 0.0))
    objective = 0.5 * norm + C[:, 0] * loss.sum(axis=1)
    return a, objective, (objective - alpha.sum(axis=1) + 0.5 * norm) / objective


def _interior_step(
    pairs: OrderedPairs,
    form: KernelForm,
    C: Array,
    alpha: Array,
    z: Array,
    s: Array,
    centring: Array,
) -> tuple[Array, Array, Array, Array]:
    """One step towards the solution, and how much the next one should keep to the centre."""
    room = pairs.weighted(C) - alpha
    products = np.einsum("bp,bp->b", alpha, z) + np.einsum("bp,bp->b", room, s)
    aim = (centring * products / (2 * pairs.n_pairs))[:, None]
    inverse = alpha * room / (z * room + s * alpha)  # of D
    pull = aim / alpha - z - aim / room + s
    moved = form.newton_values(pairs.laplacian(inverse), pairs.gather(inverse * pull))
    d_alpha = inverse * (pull - pairs.margins(moved))
    d_z = (aim - z * d_alpha) / alpha - z
    d_s = (aim + s * d_alpha) / room - s
    blocked = np.maximum.reduce(
        [
            (-d_alpha / alpha).max(axis=1),
            (d_alpha / room).max(axis=1),
            (-d_z / z).max(axis=1),
            (-d_s / s).max(axis=1),
        ]
    )
    step = np.minimum(1.0, _TO_BOUNDARY / np.maximum(blocked, 1e-300))
    alpha, z, s = (x + step[:, None] * d for x, d in ((alpha, d_alpha), (z, d_z), (s, d_s)))
    return alpha, z, s, np.where(step > 0.8, 0.05, 0.3)


_HALVINGS = 30


def squared_hinge_path(
    kernel: Array, pairs: Sequence[OrderedPairs], Cs: Array, tol: float, max_iter: int
) -> RankSVMPath:
    """Solve for rising C, each from the solution of the one before.

    As :func:`rankpursuit.solvers.rank_svm.rank_svm_path`, with at least one pair for each kernel.
    """
    coefficients = np.empty((len(kernel), len(Cs), kernel.shape[1]))
    bounds = np.empty((len(kernel), len(Cs), 2))
    problems = _Problems.of(np.ascontiguousarray(kernel), pairs)
    points = problems.evaluate(np.zeros(kernel.shape[:2]))
    for c in np.argsort(Cs, kind="stable"):
        bounds[:, c] = _descend(problems, points, float(Cs[c]), tol, max_iter)
        coefficients[:, c] = points.coefficients
    return RankSVMPath(coefficients, bounds[..., 0], _gap(bounds))


class _Points(NamedTuple):
    """Coefficients of b problems, and what follows from them for any C.

    Attributes
    ----------
    coefficients : ndarray of shape (b, n)
    active : ndarray of bool of shape (b, n, n)
        Where i is preferred to j and the slack t_ij is positive.
    sums : ndarray of shape (b, 4)
        ``a' f``, ``g' f``, ``g' K g`` and ``sum w_ij t_ij`` over the active pairs, with
        ``g = sum w_ij t_ij (e_i - e_j)``.
    """

    coefficients: Array
    active: NDArray[np.bool_]
    sums: Array

    def take(self, which: Index) -> _Points:
        coefficients, active, sums = self
        return _Points(coefficients[which], active[which], sums[which])

    def put(self, which: Index, points: _Points) -> None:
        for part, new in zip(self, points, strict=True):
            part[which] = new

    def bounds(self, C: float) -> Array:
        """Bounds of the minimum, shape (b, 2).

        The objective, and that of the dual variables ``2C w_ij t_ij``.
        """
        # An active pair has t_ij = 1 - (f_i - f_j), so that sum w_ij t_ij^2 = sum w_ij t_ij - g' f.
        norm, along, pulled, slack = self.sums.T
        bounds = np.empty((len(norm), 2))
        bounds[:, 0] = 0.5 * norm + C * (slack - along)
        bounds[:, 1] = C * (slack + along) - (2.0 * C * C) * pulled
        return bounds


class _Systems(NamedTuple):
    """What Newton's method solves for b problems, but for C: it serves while their pairs stay.

    Attributes
    ----------
    product : ndarray of shape (b, n, n)
        ``-(L K)'``; its diagonal is overwritten for each C.
    diagonal : ndarray of shape (b, n)
        That of the product.
    right : ndarray of shape (b, n)
        ``-sum w_ij (e_i - e_j)`` of the active pairs.
    stale : ndarray of bool of shape (b,)
        Whether the active pairs are others by now.
    """

    product: Array
    diagonal: Array
    right: Array
    stale: NDArray[np.bool_]

    @classmethod
    def of(cls, b: int, n: int) -> _Systems:
        return cls(np.empty((b, n, n)), np.empty((b, n)), np.empty((b, n)), np.ones(b, dtype=bool))


class _Problems(NamedTuple):
    """Kernels of b problems, their pairs as dense matrices, and memory to work in.

    Attributes
    ----------
    kernel : ndarray of shape (b, n, n)
    bias : ndarray of shape (b, n, n) or (1, n, n)
        1 where i is preferred to j, minus infinity elsewhere.
    weights : ndarray of the shape of `bias` or None
        Weights of the pairs; None stands for ones.
    ones : ndarray of shape (n,)
    work : two ndarrays of shape (b, n, n)
    systems : _Systems
    places : ndarray of shape (b,)
        Where the systems of the problems are.
    """

    kernel: Array
    bias: Array
    weights: Array | None
    ones: Array
    work: tuple[Array, Array]
    systems: _Systems
    places: Index

    @classmethod
    def of(cls, kernel: Array, pairs: Sequence[OrderedPairs]) -> _Problems:
        if len({id(own) for own in pairs}) == 1:
            pairs = pairs[:1]
        weights = None
        if any(own.weights is not None for own in pairs):
            weights = np.stack([own.weight_matrix for own in pairs])
        bias = np.stack([own.bias for own in pairs])
        b, n, _ = kernel.shape
        work = np.empty(kernel.shape), np.empty(kernel.shape)
        systems = _Systems.of(b, n)
        return cls(kernel, bias, weights, np.ones(n), work, systems, np.arange(b))

    def take(self, which: Index) -> _Problems:
        """Return some of the problems; they work in the same memory."""
        bias, weights = self.bias, self.weights
        if len(bias) > 1:
            bias = bias.take(which, axis=0)
            weights = None if weights is None else weights.take(which, axis=0)
        work = self.work[0][: len(which)], self.work[1][: len(which)]
        kernel, places = self.kernel.take(which, axis=0), self.places[which]
        return _Problems(kernel, bias, weights, self.ones, work, self.systems, places)

    def evaluate(self, coefficients: Array) -> _Points:
        kernel, bias, weights, ones, slack = *self[:4], self.work[0]
        values = function_values(kernel, coefficients)
        _differences(values, slack)
        slack += bias
        np.maximum(slack, 0.0, out=slack)
        if weights is not None:
            slack *= weights
        products = np.empty((len(kernel), 4, len(ones)))
        of_preferred = np.matmul(slack, ones, out=products[:, 3])
        pull = of_preferred - np.matmul(ones, slack)
        np.multiply(coefficients, values, out=products[:, 0])
        np.multiply(pull, values, out=products[:, 1])
        np.multiply(pull, function_values(kernel, pull), out=products[:, 2])
        return _Points(coefficients, slack > 0.0, np.matmul(products, ones))

    def minimum(self, active: NDArray[np.bool_], C: float) -> Array:
        """Coefficients that are best if the same pairs stay active.

        With the Laplacian L of these pairs, ``(I / 2C + L K) a = sum w_ij (e_i - e_j)``.
        """
        product, diagonal, right, stale = self.systems
        changed = stale[self.places].nonzero()[0]
        if len(changed):
            self._multiply(changed, active)
            stale[self.places[changed]] = False
        _diagonal(product)[self.places] = diagonal[self.places] - 0.5 / C
        return solve_transposed(product, self.places, right[self.places])

    def _multiply(self, which: Index, active: NDArray[np.bool_]) -> None:
        """Make the systems of some problems anew."""
        graph, minus_laplacian = (work[: len(which)] for work in self.work)
        np.copyto(graph, active[which])
        if self.weights is not None:
            graph *= self.weights[which] if len(self.weights) > 1 else self.weights
        of_preferred, of_other = np.matmul(graph, self.ones), np.matmul(self.ones, graph)
        np.add(graph, graph.swapaxes(1, 2), out=minus_laplacian)
        np.negative(of_preferred + of_other, out=_diagonal(minus_laplacian))
        systems, places = self.systems, self.places[which]
        kernel = self.kernel if len(which) == len(self.kernel) else self.kernel[which]
        np.matmul(kernel.swapaxes(1, 2), minus_laplacian, out=graph)
        systems.product[places], systems.diagonal[places] = graph, _diagonal(graph)
        systems.right[places] = of_other - of_preferred


def _descend(problems: _Problems, points: _Points, C: float, tol: float, max_iter: int) -> Array:
    """Move all points to a gap of at most tol; solved problems leave the batch.

    Returns
    -------
    ndarray of shape (b, 2)
        Their bounds.
    """
    result = bounds = points.bounds(C)
    live, now = np.arange(len(bounds)), points
    for _ in range(max_iter):
        unsolved = (_gap(bounds) > tol).nonzero()[0]
        if not len(unsolved):
            break
        if len(unsolved) < len(live):
            live, bounds = live[unsolved], bounds[unsolved]
            problems, now = problems.take(unsolved), now.take(unsolved)
        now, bounds = _step(problems, now, bounds, C)
        points.put(live, now)
        result[live] = bounds
    return result


def _step(problems: _Problems, points: _Points, bounds: Array, C: float) -> tuple[_Points, Array]:
    """Newton's step, halved until the objective falls; also the new bounds."""
    start = points.coefficients
    direction = problems.minimum(points.active, C) - start
    reached = problems.evaluate(start + direction)
    new_bounds = reached.bounds(C)
    for _ in range(_HALVINGS):
        # NaN, of a step that overflows, is worse too.
        worse = (~(new_bounds[:, 0] <= bounds[:, 0])).nonzero()[0]
        if not len(worse):
            break
        direction[worse] *= 0.5
        nearer = start[worse] + direction[worse]
        reached.put(worse, problems.take(worse).evaluate(nearer))
        new_bounds = reached.bounds(C)
    else:  # no step is short enough for some
        lost = (~np.isfinite(new_bounds[:, 0])).nonzero()[0]
        reached.put(lost, points.take(lost))
        new_bounds[lost] = bounds[lost]
    changed = (reached.active != points.active).any(axis=(1, 2))
    problems.systems.stale[problems.places] = changed
    return reached, new_bounds


def _gap(bounds: Array) -> Array:
    return 1.0 - bounds[..., 1] / bounds[..., 0]


def _differences(values: Array, out: Array) -> None:
    """``f_j - f_i`` of values of shape (b, n), to an array of shape (b, n, n).

    As a product of matrices: its two terms are exact, and it is faster than a difference of rows
    and columns.
    """
    b, n = values.shape
    left, right = np.ones((b, n, 2)), np.ones((b, 2, n))
    np.negative(values, out=left[:, :, 1])
    right[:, 0] = values
    np.matmul(left, right, out=out)


def _diagonal(matrices: Array) -> Array:
    """View of the diagonals of contiguous matrices of shape (b, n, n)."""
    b, n, _ = matrices.shape
    return matrices.reshape(b, n * n)[:, :: n + 1]


Solver = Callable[[Array, Sequence[OrderedPairs], Array, float, int], RankSVMPath]

LARGEST = 1e100
"""Up to this product of C, a weight and a kernel value the solvers are called at all.

They square it, and multiply that with the numbers of pairs and points; the largest float is 1e308.
"""
_DECADES = np.arange(-3.0, 12.0)
"""Smaller C, as powers of ten over the largest kernel value: behind the last, digits are lost."""
_SHARPER = 0.25
"""The smaller C are solved to this share of the gap asked for, which their scaling uses up."""


def magnitude(kernel: Array, pairs: Sequence[OrderedPairs]) -> float:
    """Return a bound of the products of a weight and a kernel value in a stack (b, n, n)."""
    weights = [own.weights.max() for own in pairs if own.weights is not None]
    return max(kernel.max(), -kernel.min()) * max(weights, default=1.0)


def zero_functions(pairs: Sequence[OrderedPairs], Cs: Array) -> RankSVMPath:
    """Zero functions for problems that have pairs, with their objective: a gap of 1 is certain."""
    path = RankSVMPath.zeros(len(pairs), len(Cs), pairs[0].n_points)
    losses = [own.n_pairs if own.weights is None else own.weights.sum() for own in pairs]
    path.objective[...] = np.array(losses)[:, None] * Cs
    path.gap[...] = 1.0
    return path


def improve(
    path: RankSVMPath,
    solver: Solver,
    power: int,
    kernel: Array,
    pairs: Sequence[OrderedPairs],
    Cs: Array,
    tol: float,
    max_iter: int,
) -> None:
    """Replace solutions above the gap asked for where smaller C lead to better ones.

    Parameters
    ----------
    path : RankSVMPath
        Of b kernels and k values of C; changed in place.
    solver : callable
        The solver of the path.
    power : int
        1 for the hinge loss, 2 for its square.
    kernel, pairs, Cs, tol, max_iter
        As for the solver.
    """
    some = np.flatnonzero((~(path.gap <= tol)).any(axis=1))
    _, definite = factored(kernel[some])
    for b in map(int, some[definite]):
        unsolved = np.flatnonzero(~(path.gap[b] <= tol))
        smaller = 10.0**_DECADES / (magnitude(kernel[b : b + 1], [pairs[b]]) or 1.0)
        smaller = smaller[(smaller < Cs[unsolved].max()) & (smaller > 0.0)]
        if len(smaller):
            own, one = kernel[b : b + 1], [pairs[b]]
            easier = solver(own, one, smaller, _SHARPER * tol, max_iter)
            for c in map(int, unsolved):
                below = smaller < Cs[c]
                _take_best(path, easier, (b, c), below, own, pairs[b], float(Cs[c]), power)


def _take_best(
    path: RankSVMPath,
    easier: RankSVMPath,
    place: tuple[int, int],
    below: NDArray[np.bool_],
    kernel: Array,
    pairs: OrderedPairs,
    C: float,
    power: int,
) -> None:
    """Put the best of the functions for smaller C, of any scale, in one place of the path."""
    gap, objective = easier.gap[0, below], easier.objective[0, below]
    coefficients = easier.coefficients[:, below]
    bounds = (objective * (1.0 - gap))[np.isfinite(gap)]
    if not len(bounds):
        return
    values = function_values(kernel, coefficients)[0]
    margins = pairs.margins(values).min(axis=1)
    scales = np.concatenate([np.ones(len(margins)), 1.0 / np.where(margins > 0.0, margins, 1.0)])
    functions = np.tile(coefficients[0], (2, 1)) * scales[:, None]
    values = np.tile(values, (2, 1)) * scales[:, None]
    # Margins of exactly 1 may come out a rounding error below it, which a large C would count.
    slack = 1.0 - pairs.margins(values)
    slack[slack <= 8.0 * np.finfo(np.float64).eps] = 0.0
    norms = np.einsum("bn,bn->b", functions, values)
    objectives = 0.5 * norms + C * pairs.weighted(slack**power).sum(axis=1)
    objectives[~(objectives > 0.0)] = np.inf
    best = int(np.argmin(objectives))
    before = path.objective[place]
    if objectives[best] < before or (np.isnan(before) and np.isfinite(objectives[best])):
        lowest = np.fmax(before * (1.0 - path.gap[place]), bounds.max())
        path.coefficients[place] = functions[best]
        path.objective[place] = objectives[best]
        path.gap[place] = 1.0 - lowest / objectives[best]


Loss = Literal["hinge", "squared_hinge"]

_SOLVERS = {"hinge": hinge_path, "squared_hinge": squared_hinge_path}
_POWERS = {"hinge": 1, "squared_hinge": 2}


def rank_svm_path(
    kernel: Array,
    pairs: OrderedPairs | Sequence[OrderedPairs],
    Cs: ArrayLike,
    *,
    loss: Loss = "hinge",
    tol: float = 1e-3,
    max_iter: int = 100,
) -> RankSVMPath:
    """Solve RankSVM for a stack of kernels and many values of C.

    Parameters
    ----------
    kernel : ndarray of shape (b, n, n)
    pairs : OrderedPairs or sequence of b OrderedPairs
        Of the n points: the same for all kernels, or one for each kernel. Kernels may share an
        object, which saves time with the hinge loss. A kernel without any pair gets zeros.
    Cs : array-like of shape (k,)
        Positive.
    loss : {"hinge", "squared_hinge"}
    tol : float
        Relative duality gap at which a problem is solved.
    max_iter : int
        Largest number of steps for each problem, at each attempt.

    Returns
    -------
    RankSVMPath
        Finite, whatever C is. A problem that could not be solved has the solution with the
        smallest gap that was met, and a gap above `tol`.
    """
    if loss not in _SOLVERS:
        raise ValueError(f"loss: expected one of {', '.join(_SOLVERS)}; got {loss!r}")
    Cs = np.asarray(Cs, dtype=np.float64)
    each = [pairs] * len(kernel) if isinstance(pairs, OrderedPairs) else list(pairs)
    if len(each) != len(kernel):
        raise ValueError(f"pairs: expected one for each of {len(kernel)} kernels, got {len(each)}")
    paired = [index for index, own in enumerate(each) if own.n_pairs]
    if len(paired) == len(kernel):
        return _solve(kernel, each, Cs, loss, tol, max_iter)
    path = RankSVMPath.zeros(len(kernel), len(Cs), kernel.shape[1])
    if paired:
        some = [each[index] for index in paired]
        path.put(paired, _solve(kernel[paired], some, Cs, loss, tol, max_iter))
    return path


def _solve(
    kernel: Array, pairs: Sequence[OrderedPairs], Cs: Array, loss: Loss, tol: float, max_iter: int
) -> RankSVMPath:
    """Solve problems that have pairs, at second attempt if need be."""
    solver = _SOLVERS[loss]
    # What overflows is found by its gap.
    with np.errstate(over="ignore", invalid="ignore", divide="ignore", under="ignore"):
        moderate = Cs <= LARGEST / max(magnitude(kernel, pairs), 1.0)
        if moderate.all():
            path = solver(kernel, pairs, Cs, tol, max_iter)
        else:
            path = zero_functions(pairs, Cs)
            path.put_Cs(moderate, solver(kernel, pairs, Cs[moderate], tol, max_iter))
        if not (path.gap <= tol).all():
            improve(path, solver, _POWERS[loss], kernel, pairs, Cs, tol, max_iter)
    return path


@dataclass(frozen=True)
class Point:
    """A linear function, its objective, and the quadratic that its surroundings look like.

    Attributes
    ----------
    weights : ndarray of shape (d,)
    objective : float
    bound : float
        The least objective is at least this.
    smooth : float
        What Newton's method lowers: the objective, or a smooth one close to it.
    gradient : ndarray of shape (d,)
        Of `smooth`.
    curvature : callable
        The Hessian of `smooth` is ``I + X' H X``; returns ``H x`` for x of shape (n,) or (n, k).
    degrees : ndarray of shape (n,)
        Diagonal of H.
    excess : float
        Part of the duality gap that is left where the gradient is zero: that of the pairs for
        which `smooth` is not the objective. The gap is this and half of the gradient's square.
    """

    weights: Array
    objective: float
    bound: float
    smooth: float
    gradient: Array
    curvature: Callable[[Array], Array]
    degrees: Array
    excess: float = 0.0


def squared_hinge_point(X: Features, pairs: Compared, C: float, weights: Array) -> Point:
    """Return what follows for the loss ``w_ij max(0, t_ij)^2``.

    Parameters
    ----------
    X : ndarray or sparse array of shape (n, d)
    pairs : Compared
        Of the n points.
    C : float
    weights : ndarray of shape (d,)
    """
    values = X @ weights
    below = pairs.violated(values, 1.0)
    pulls = below.balance - below.laplacian(values)
    slack = below.count - below.balance @ values
    squares = slack - pulls @ values
    along = X.T @ pulls
    objective = 0.5 * weights @ weights + C * squares
    # Scaled by q, the dual objective is q (2 C slack) - q^2 (C squares + 2 C^2 |along|^2).
    against = C * squares + 2.0 * C**2 * (along @ along)
    bound = (C * slack) ** 2 / against if against > 0.0 else 0.0
    return Point(
        weights,
        objective,
        bound,
        objective,
        weights - 2.0 * C * along,
        lambda x: 2.0 * C * below.laplacian(x),
        2.0 * C * below.degrees,
    )


def hinge_point(X: Features, pairs: Compared, C: float, weights: Array, zone: float) -> Point:
    """Return what follows for the loss ``w_ij max(0, t_ij)``, made smooth in a zone above 0.

    For slacks below `zone` it is ``t_ij^2 / (2 zone)``, and behind that ``t_ij - zone / 2``.
    """
    values = X @ weights
    below, behind = (pairs.violated(values, margin) for margin in (1.0, 1.0 - zone))
    pulls, slack, squares = _between(below, behind, values)
    far = behind.count - behind.balance @ values
    along = X.T @ (pulls / zone + behind.balance)
    norm = 0.5 * weights @ weights
    # The dual variables are C t_ij / zone, and C behind the zone: the scale is at most 1.
    gain, against = C * (slack / zone + behind.count), C**2 * (along @ along)
    scale = min(1.0, gain / against) if against > 0.0 else 1.0
    return Point(
        weights,
        norm + C * (slack + far),
        scale * gain - 0.5 * scale**2 * against,
        norm + C * (squares / (2.0 * zone) + far - 0.5 * zone * behind.count),
        weights - C * along,
        lambda x: C / zone * (below.laplacian(x) - behind.laplacian(x)),
        C / zone * (below.degrees - behind.degrees),
        C * (slack - squares / zone),
    )


def _between(below: Violated, behind: Violated, values: Array) -> tuple[Array, float, float]:
    """Add up the pairs of `below` that are not of `behind`, with the margin 1.

    Returns
    -------
    pulls : ndarray of shape (n,)
        ``sum w_ij t_ij (e_i - e_j)``.
    slack, squares : float
        ``sum w_ij t_ij`` and ``sum w_ij t_ij^2``.
    """
    balance = below.balance - behind.balance
    pulls = balance - (below.laplacian(values) - behind.laplacian(values))
    slack = float(below.count - behind.count - balance @ values)
    return pulls, slack, slack - float(pulls @ values)


_MOST_DENSE = 512
"""With more features a Newton step is found by conjugate gradients."""
_CG_STEPS = 250
_CG_TOLERANCE = 1e-3
_TRIALS = 30
_SETTLED = 1.0
"""The zone shrinks once the gradient's part of the gap is less than this share of the excess."""
_SHRINK = (0.1, 0.5)
"""By what a zone is multiplied: the least and the most."""
_NARROWEST = 1e-6
"""In a narrower zone, rounding errors of the sums of slacks would show in the gap."""


class LinearRankSVM(NamedTuple):
    """A linear function ``f(x) = w' x``.

    Attributes
    ----------
    weights : ndarray of shape (d,)
    objective : float
    gap : float
        Duality gap, relative to the objective.
    """

    weights: Array
    objective: float
    gap: float


def rank_svm_weights(
    X: Features,
    pairs: Compared,
    C: float,
    *,
    loss: Loss = "hinge",
    tol: float = 1e-3,
    max_iter: int = 500,
) -> LinearRankSVM:
    """Minimise ``|w|^2 / 2 + C sum w_ij max(0, 1 - (f_i - f_j))``, or the same with squares.

    Parameters
    ----------
    X : ndarray or sparse array of shape (n, d)
        The points.
    pairs : Compared
        Of the n points.
    C : float
        Positive.
    loss : {"hinge", "squared_hinge"}
    tol : float
        Relative duality gap at which the problem is solved.
    max_iter : int
        Largest number of Newton steps.

    Returns
    -------
    LinearRankSVM
        Finite. If the problem could not be solved, the best function that was met, and a gap above
        `tol`.
    """
    points = X if sp.issparse(X) else pairs.centred(X)
    # What overflows is found by its gap.
    with np.errstate(over="ignore", invalid="ignore", divide="ignore", under="ignore"):
        return _descend_linear(points, pairs, np.float64(C), loss, tol, max_iter)


def _descend_linear(
    X: Features, pairs: Compared, C: float, loss: Loss, tol: float, max_iter: int
) -> LinearRankSVM:
    zone = 1.0

    def at(weights: Array) -> Point:
        if loss == "squared_hinge":
            return squared_hinge_point(X, pairs, C, weights)
        return hinge_point(X, pairs, C, weights, zone)

    point = best = at(np.zeros(X.shape[1]))
    bound = 0.0
    for _ in range(max_iter):
        bound = max(bound, point.bound) if np.isfinite(point.bound) else bound
        best = min(best, point, key=lambda one: one.objective)
        if best.objective - bound <= tol * best.objective:
            break
        settled = 0.5 * float(point.gradient @ point.gradient) <= _SETTLED * point.excess
        reached = None if settled else _line_search(at, point, _newton_step(X, point))
        if reached is not None:
            point = reached
        elif point.excess > 0.0 and zone > _NARROWEST:
            # The excess grows about as the square of the zone.
            wanted = np.sqrt(0.5 * tol * best.objective / point.excess)
            zone *= float(np.clip(wanted, *_SHRINK))
            point = at(point.weights)
        else:
            break
    if best.objective == 0.0:  # no pairs
        return LinearRankSVM(best.weights, 0.0, 0.0)
    return LinearRankSVM(best.weights, best.objective, 1.0 - bound / best.objective)


def _line_search(at: Callable[[Array], Point], point: Point, step: Array) -> Point | None:
    """Shorten the step until it lowers the objective enough: to where its slope may vanish."""
    slope, length = float(point.gradient @ step), 1.0
    for _ in range(_TRIALS):
        reached = at(point.weights + length * step)
        if reached.smooth < point.smooth + 1e-4 * length * slope:
            return reached
        rise = float(reached.gradient @ step) - slope
        length *= min(max(-slope / rise, 0.05), 0.5) if rise > 0.0 else 0.5
    return None


def _newton_step(X: Features, point: Point) -> Array:
    """Solve ``(I + X' H X) step = -gradient``."""
    n_features = X.shape[1]
    if n_features <= _MOST_DENSE:
        system = moment(X, point.curvature)
        system.flat[:: n_features + 1] += 1.0
        try:
            return cho_solve(cho_factor(system, check_finite=False), -point.gradient)
        except (LinAlgError, ValueError):
            return solve(system[None], -point.gradient[None])[0]

    def product(direction: Array) -> Array:
        return direction + X.T @ point.curvature(X @ direction)

    shape = (n_features, n_features)
    diagonal = 1.0 + squares(X).T @ point.degrees
    step, _ = cg(
        LinearOperator(shape, matvec=product, dtype=np.float64),
        -point.gradient,
        rtol=_CG_TOLERANCE,
        maxiter=_CG_STEPS,
        M=LinearOperator(shape, matvec=lambda x: x / diagonal, dtype=np.float64),
    )
    return step
