"""RankSVM: a hinge loss on every pair, solved without the kernel of the pairs.

With ``f = K a`` and the slack ``t_ij = 1 - (f_i - f_j)`` of each pair in which i is preferred to
j, the objective is ``a' K a / 2 + C sum w_ij max(0, t_ij)``, or the same with squared slacks; the
weights w_ij of the pairs are 1 by default. The dual has one variable ``alpha_ij >= 0`` for each
pair, and ``a = B' alpha = sum alpha_ij (e_i - e_j)``. Both kernel solvers work with n x n systems
``(I + L K) v = B' r`` only, where L is the Laplacian of the pairs under some weights; the pairs'
own kernel ``B K B'`` is never formed. All solvers stop at a given duality gap.

Linear functions are solved for their weights, without any n x n matrix; pairs within groups are
counted by sorting.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve, lapack
from scipy.sparse.linalg import LinearOperator, cg

from rankpursuit.kernels import function_values
from rankpursuit.preferences import GroupPreferences
from rankpursuit.solvers.least_squares import Features, moment

Array = NDArray[np.float64]
Index = NDArray[np.intp]
Flags = NDArray[np.bool_]
Loss = Literal["hinge", "squared_hinge"]

_HALVINGS = 30
"""Maximum number of times that a step is shortened."""
_TO_BOUNDARY = 0.99
"""Fraction of the way to the boundary that an interior-point step may go."""
_MAX_DENSE = 512
"""Number of features above which Newton steps of linear functions use conjugate gradients."""
_SHRINK = (0.1, 0.5)
"""Smallest and largest factor by which the smoothing zone shrinks."""
_NARROWEST = 1e-6
"""Minimum width of the smoothing zone; below it, rounding errors of the slacks affect the gap."""


class OrderedPairs:
    """The p pairs (i, j) in which point i is preferred to point j.

    `ordered`, (p, 2), has the preferred point of each pair first, without duplicates.
    Contradictions are allowed: (i, j) and (j, i) are two pairs, each with its loss. `weights`,
    (p,), are positive weights of the losses, by default 1.
    """

    def __init__(self, n_points: int, ordered: ArrayLike, weights: ArrayLike | None = None) -> None:
        self._ordered = np.asarray(ordered, dtype=np.intp).reshape(-1, 2)
        self.n_points, self.n_pairs = n_points, len(self._ordered)
        self._cell = self._ordered[:, 0] * n_points + self._ordered[:, 1]
        self.weights = None if weights is None else np.asarray(weights, dtype=np.float64)

    @classmethod
    def of_scores(cls, scores: Array, pairs: Index, weights: Array | None = None) -> OrderedPairs:
        """Prefer the point with the higher score, of scores (n,), in each pair; leave ties out.

        `pairs`, (p', 2), has the points that may be compared, in any order, each pair once, and
        `weights`, (p',), the weights of their losses.
        """
        difference = scores[pairs[:, 0]] - scores[pairs[:, 1]]
        ordered = np.where((difference < 0)[:, None], pairs[:, ::-1], pairs)
        untied = difference != 0
        return cls(len(scores), ordered[untied], None if weights is None else weights[untied])

    @cached_property
    def _differences(self) -> sp.csr_array:
        """The matrix with a row ``e_i - e_j`` for each pair."""
        signs, starts = np.tile([1.0, -1.0], self.n_pairs), np.arange(0, 2 * self.n_pairs + 1, 2)
        shape = (self.n_pairs, self.n_points)
        return sp.csr_array((signs, self._ordered.ravel(), starts), shape=shape)

    @cached_property
    def _transposed(self) -> sp.csr_array:
        return self._differences.T.tocsr()

    def matrix(self, entries: Array | float, elsewhere: float) -> Array:
        """Return a matrix (n, n) with an entry for each pair, and a constant elsewhere."""
        result = np.full((self.n_points, self.n_points), elsewhere)
        result.ravel()[self._cell] = entries
        return result

    def weighted(self, x: Array) -> Array:
        """Return ``w_ij x_ij`` for arrays of shape (b, p) or (b, 1); `x` itself without weights."""
        return x if self.weights is None else self.weights * x

    def margins(self, values: Array) -> Array:
        """Return the differences ``f_i - f_j``, shape (b, p), of values of shape (b, n)."""
        preferred, other = self._ordered.T
        return values[:, preferred] - values[:, other]

    def gather(self, x: Array) -> Array:
        """Return ``sum_ij x_ij (e_i - e_j)``, shape (b, n), of arrays of shape (b, p)."""
        return np.asarray(self._transposed @ x.T).T

    def laplacian(self, x: Array) -> Array:
        """Return ``sum_ij x_ij (e_i - e_j)(e_i - e_j)'``, (b, n, n), of arrays (b, p)."""
        result = np.zeros((len(x), self.n_points, self.n_points))
        result.reshape(len(x), -1)[:, self._cell] = x
        result += result.swapaxes(1, 2)
        degrees = result.sum(axis=2)
        np.negative(result, out=result)
        np.einsum("bii->bi", result)[...] = degrees
        return result

    def violated(self, values: Array, margin: float) -> Violated:
        """Return sums over the pairs with ``f_i - f_j < margin``, for values f of shape (n,)."""
        which = np.flatnonzero(self._differences @ values < margin)
        some, weights = self._differences[which], self.weighted(np.ones(self.n_pairs))[which]
        return Violated(
            float(weights.sum()),
            np.asarray(some.T @ weights),
            np.asarray(abs(some).T @ weights),
            lambda x: np.asarray(some.T @ ((some @ x).T * weights).T),
        )

    def centred(self, X: Array) -> Array:
        """Subtract the mean from points of shape (n, d), which changes no difference."""
        return X - X.mean(axis=0)


@dataclass(frozen=True)
class RankSVMPath:
    """Solutions for b kernels of n points and k values of C: coefficients (b, k, n).

    `objective`, (b, k), is the primal one, and `gap`, (b, k), the duality gap relative to it: the
    minimum lies between ``objective * (1 - gap)`` and ``objective``.
    """

    coefficients: Array
    objective: Array
    gap: Array


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

    An unsolved problem gets the best solution found, and a gap above `tol`.

    Parameters
    ----------
    kernel : ndarray of shape (b, n, n)
    pairs : OrderedPairs or sequence of b OrderedPairs
        The same for all kernels, or one for each. Kernels may share an object, which saves time
        with the hinge loss. A kernel without any pair gets zeros.
    Cs : array-like of shape (k,)
        Positive.
    loss : {"hinge", "squared_hinge"}
    tol : float
        Relative duality gap at which a problem is solved.
    max_iter : int
        Maximum number of steps for each problem.
    """
    Cs = np.asarray(Cs, dtype=np.float64)
    each = [pairs] * len(kernel) if isinstance(pairs, OrderedPairs) else pairs
    solver = _hinge_path if loss == "hinge" else _squared_hinge_path
    # Steps that overflow, as they may for a large C, are discarded.
    with np.errstate(over="ignore", invalid="ignore", divide="ignore", under="ignore"):
        return RankSVMPath(*solver(kernel, each, Cs, tol, max_iter))


# The hinge loss: a feasible primal-dual interior-point method
#
# The dual is ``min alpha' G alpha / 2 - sum alpha`` in the box ``0 <= alpha_ij <= C w_ij`` with
# ``G = B K B'`` and the weights w_ij of the pairs; z and s are the multipliers of the two bounds,
# and s is also the slack of the primal. A Newton step solves ``(G + D) d = r`` with a diagonal D,
# through the identity ``d = (r - B K v) / D`` with ``(I + B' D^-1 B K) v = B' D^-1 r``.


def _hinge_path(
    kernel: Array, pairs: Sequence[OrderedPairs], Cs: Array, tol: float, max_iter: int
) -> tuple[Array, Array, Array]:
    """Solve for all C of the kernels that share an object of pairs in one batch."""
    grid = (len(kernel), len(Cs))
    path = np.zeros((*grid, kernel.shape[1])), np.zeros(grid), np.zeros(grid)
    batches: dict[int, list[int]] = {}
    for index, own in enumerate(pairs):
        if own.n_pairs:
            batches.setdefault(id(own), []).append(index)
    for members in batches.values():
        C = np.tile(Cs, len(members))[:, None]
        repeated = kernel[np.repeat(members, len(Cs))]
        solved = _interior_point(repeated, C, pairs[members[0]], tol, max_iter)
        for part, own in zip(path, solved, strict=True):
            part[members] = own.reshape(len(members), len(Cs), *own.shape[1:])
    return path


def _interior_point(
    kernel: Array, C: Array, pairs: OrderedPairs, tol: float, max_iter: int
) -> tuple[Array, Array, Array]:
    """Return coefficients, objective and gap of the best iterates; C has the shape (b, 1)."""
    # For small C every pair is at its upper bound, so this is tried first.
    bound = pairs.weighted(np.repeat(C, pairs.n_pairs, axis=1))
    best = _evaluate_dual(pairs, kernel, C, bound)
    gap = best[2]
    live = np.flatnonzero(gap > tol)
    kernel, C = kernel[live], C[live]
    alpha = 0.5 * bound[live]
    surplus = pairs.margins(function_values(kernel, pairs.gather(alpha))) - 1.0
    z, s = np.maximum(surplus, 0.0) + 0.5, np.maximum(-surplus, 0.0) + 0.5
    centring = np.full(len(live), 0.1)
    for _ in range(max_iter):
        if not len(live):
            break
        try:
            alpha, z, s, centring = _interior_step(pairs, kernel, C, alpha, z, s, centring)
        except np.linalg.LinAlgError:
            break
        reached = _evaluate_dual(pairs, kernel, C, alpha)
        better = reached[2] < gap[live]
        for kept, new in zip(best, reached, strict=True):
            kept[live[better]] = new[better]
        unsolved = (gap[live] > tol) & np.isfinite(reached[2])
        if not unsolved.all():
            live, C, centring = live[unsolved], C[unsolved], centring[unsolved]
            alpha, z, s, kernel = alpha[unsolved], z[unsolved], s[unsolved], kernel[unsolved]
    return best


def _evaluate_dual(
    pairs: OrderedPairs, kernel: Array, C: Array, alpha: Array
) -> tuple[Array, Array, Array]:
    """Return coefficients, objective and relative duality gap of dual variables (b, p)."""
    a = pairs.gather(alpha)
    values = function_values(kernel, a)
    norm = np.einsum("bn,bn->b", a, values)
    loss = pairs.weighted(np.maximum(1.0 - pairs.margins(values), 0.0))
    objective = 0.5 * norm + C[:, 0] * loss.sum(axis=1)
    return a, objective, (objective - alpha.sum(axis=1) + 0.5 * norm) / objective


def _interior_step(
    pairs: OrderedPairs, kernel: Array, C: Array, alpha: Array, z: Array, s: Array, centring: Array
) -> tuple[Array, Array, Array, Array]:
    """Take one step; also return the centring parameter of the next one."""
    room = pairs.weighted(C) - alpha
    products = np.einsum("bp,bp->b", alpha, z) + np.einsum("bp,bp->b", room, s)
    aim = (centring * products / (2 * pairs.n_pairs))[:, None]
    inverse = alpha * room / (z * room + s * alpha)  # of D
    pull = aim / alpha - z - aim / room + s
    system = np.matmul(pairs.laplacian(inverse), kernel)
    np.einsum("bii->bi", system)[...] += 1.0
    solved = np.linalg.solve(system, pairs.gather(inverse * pull)[..., None])[..., 0]
    d_alpha = inverse * (pull - pairs.margins(function_values(kernel, solved)))
    d_z = (aim - z * d_alpha) / alpha - z
    d_s = (aim + s * d_alpha) / room - s
    ratios = (-d_alpha / alpha, d_alpha / room, -d_z / z, -d_s / s)
    blocked = np.maximum.reduce([ratio.max(axis=1) for ratio in ratios])
    step = np.minimum(1.0, _TO_BOUNDARY / np.maximum(blocked, 1e-300))
    alpha, z, s = (x + step[:, None] * d for x, d in ((alpha, d_alpha), (z, d_z), (s, d_s)))
    return alpha, z, s, np.where(step > 0.8, 0.05, 0.3)


# The squared hinge loss: Newton's method on stacks of small problems, warm-started along C
#
# The n x n systems are dense, so the pairs are too: every two points have a slack, which is minus
# infinity if they form no pair.


def _squared_hinge_path(
    kernel: Array, pairs: Sequence[OrderedPairs], Cs: Array, tol: float, max_iter: int
) -> tuple[Array, Array, Array]:
    """Solve for increasing C, each from the solution of the one before."""
    coefficients = np.empty((len(kernel), len(Cs), kernel.shape[1]))
    bounds = np.empty((len(kernel), len(Cs), 2))
    problems, systems = _Problems.of(kernel, pairs), _Systems(*kernel.shape[:2])
    points = problems.evaluate(np.zeros(kernel.shape[:2]))
    for c in np.argsort(Cs, kind="stable"):
        live, C = np.arange(len(kernel)), float(Cs[c])
        left, now, reached = problems, points, points.bounds(C)
        bounds[:, c] = reached
        for _ in range(max_iter):
            unsolved = (_gap(reached) > tol).nonzero()[0]
            if not len(unsolved):
                break
            if len(unsolved) < len(live):
                live, reached = live[unsolved], reached[unsolved]
                left, now = left.take(unsolved), now.take(unsolved)
            before = now.active
            minimum = systems.solve(live, left, before, C)
            now, reached = _step(left, now, reached, minimum, C)
            systems.expire(live[(now.active != before).any(axis=(1, 2))])
            points.put(live, now)
            bounds[live, c] = reached
        coefficients[:, c] = points.coefficients
    return coefficients, bounds[..., 0], _gap(bounds)


class _Points(NamedTuple):
    """Coefficients (b, n) of b problems, and quantities that depend on them but not on C."""

    coefficients: Array
    active: Flags  # (b, n, n): whether i is preferred to j and the slack t_ij is positive
    sums: Array  # (b, 4): a' f, g' f, g' K g and sum w_ij t_ij; g = sum w_ij t_ij (e_i - e_j)

    def take(self, which: Index) -> _Points:
        coefficients, active, sums = self
        return _Points(coefficients[which], active[which], sums[which])

    def put(self, which: Index, points: _Points) -> None:
        for stored, new in zip(self, points, strict=True):
            stored[which] = new

    def bounds(self, C: float) -> Array:
        """Return the objective and that of the dual variables ``2C w_ij t_ij``, shape (b, 2)."""
        # An active pair has t_ij = 1 - (f_i - f_j), so that sum w_ij t_ij^2 = sum w_ij t_ij - g' f.
        norm, along, pulled, slack = self.sums.T
        dual = C * (slack + along) - (2.0 * C * C) * pulled
        return np.stack([0.5 * norm + C * (slack - along), dual], axis=1)


class _Problems(NamedTuple):
    """Kernels (b, n, n) of b problems, and their pairs as dense matrices."""

    kernel: Array
    bias: Array  # (b or 1, n, n): 1 where i is preferred to j, minus infinity elsewhere
    weights: Array | None  # of the same shape; None means ones

    @classmethod
    def of(cls, kernel: Array, pairs: Sequence[OrderedPairs]) -> _Problems:
        if len({id(own) for own in pairs}) == 1:
            pairs = pairs[:1]
        weights = None
        if any(own.weights is not None for own in pairs):
            each = (1.0 if own.weights is None else own.weights for own in pairs)
            weights = np.stack([own.matrix(w, 0.0) for own, w in zip(pairs, each, strict=True)])
        bias = np.stack([own.matrix(1.0, -np.inf) for own in pairs])
        return cls(np.ascontiguousarray(kernel), bias, weights)

    def take(self, which: Index) -> _Problems:
        kernel, bias, weights = self.kernel[which], self.bias, self.weights
        if len(bias) > 1:
            bias, weights = bias[which], None if weights is None else weights[which]
        return _Problems(kernel, bias, weights)

    def evaluate(self, coefficients: Array) -> _Points:
        values = function_values(self.kernel, coefficients)
        # f_j - f_i as a product of matrices: its two terms are exact, and it is faster than a
        # difference of rows and columns.
        b, n = values.shape
        left, right, ones = np.ones((b, n, 2)), np.ones((b, 2, n)), np.ones(n)
        np.negative(values, out=left[:, :, 1])
        right[:, 0] = values
        slack = np.matmul(left, right)
        slack += self.bias
        np.maximum(slack, 0.0, out=slack)
        if self.weights is not None:
            slack *= self.weights
        preferred_sums = np.matmul(slack, ones)
        pull = preferred_sums - np.matmul(ones, slack)
        along = pull * function_values(self.kernel, pull)
        products = np.stack([coefficients * values, pull * values, along, preferred_sums], axis=1)
        return _Points(coefficients, slack > 0.0, np.matmul(products, ones))

    def systems(self, active: Flags) -> tuple[Array, Array]:
        """Return ``-(L K)'`` and ``sum w_ij (e_i - e_j)``, over the active pairs."""
        graph = active.astype(np.float64) if self.weights is None else active * self.weights
        ones = np.ones(graph.shape[1])
        preferred_sums, other_sums = np.matmul(graph, ones), np.matmul(ones, graph)
        minus_laplacian = graph + graph.swapaxes(1, 2)
        np.einsum("bii->bi", minus_laplacian)[...] = -(preferred_sums + other_sums)
        return np.matmul(self.kernel.swapaxes(1, 2), minus_laplacian), other_sums - preferred_sums


class _Systems:
    """The systems of b problems of n points, kept as long as their active pairs stay the same."""

    def __init__(self, n_problems: int, n_points: int) -> None:
        self._products = np.empty((n_problems, n_points, n_points))
        self._right = np.empty((n_problems, n_points))
        self._is_outdated = np.ones(n_problems, dtype=np.bool_)

    def expire(self, which: Index) -> None:
        """Note that the active pairs of some problems have changed."""
        self._is_outdated[which] = True

    def solve(self, which: Index, problems: _Problems, active: Flags, C: float) -> Array:
        """Solve ``(I / 2C + L K) a = sum w_ij (e_i - e_j)`` over active pairs; NaN if singular.

        `problems` and `active` are those of `which`.
        """
        outdated = self._is_outdated[which].nonzero()[0]
        if len(outdated):
            if len(outdated) < len(which):
                problems, active = problems.take(outdated), active[outdated]
            places = which[outdated]
            self._products[places], self._right[places] = problems.systems(active)
            self._is_outdated[places] = False
        systems, solved = self._products[which], self._right[which]
        np.einsum("bii->bi", systems)[...] -= 0.5 / C
        # In Fortran order a system is its transpose: LAPACK needs no copy.
        for solution, factor in zip(solved, systems.swapaxes(1, 2), strict=True):
            if lapack.dgesv(factor, solution, overwrite_a=1, overwrite_b=1)[3]:
                solution[:] = np.nan
        return solved


def _step(
    problems: _Problems, points: _Points, bounds: Array, minimum: Array, C: float
) -> tuple[_Points, Array]:
    """Take a Newton step to a minimum, halved until the objective falls.

    Also return the new bounds.
    """
    start = points.coefficients
    direction = minimum - start
    reached = problems.evaluate(start + direction)
    new_bounds = reached.bounds(C)
    for _ in range(_HALVINGS):
        # NaN, from a singular system, counts as worse.
        worse = (~(new_bounds[:, 0] <= bounds[:, 0])).nonzero()[0]
        if not len(worse):
            break
        direction[worse] *= 0.5
        nearer = start[worse] + direction[worse]
        reached.put(worse, problems.take(worse).evaluate(nearer))
        new_bounds = reached.bounds(C)
    else:  # some problems found no better point
        lost = (~np.isfinite(new_bounds[:, 0])).nonzero()[0]
        reached.put(lost, points.take(lost))
        new_bounds[lost] = bounds[lost]
    return reached, new_bounds


def _gap(bounds: Array) -> Array:
    objective, dual = np.moveaxis(bounds, -1, 0)
    return np.where(objective == 0.0, 0.0, 1.0 - dual / objective)  # zero without any pair


# Pairs by the order of their points' values, for linear functions


class Violated(NamedTuple):
    """Sums over the pairs (i, j), of weights w_ij, whose margin ``f_i - f_j`` is too small."""

    total: float  # of the weights
    balance: Array  # sum w_ij (e_i - e_j), (n,)
    degrees: Array  # sum w_ij (e_i + e_j), (n,)
    laplacian: Callable[[Array], Array]  # sum w_ij (e_i - e_j)(e_i - e_j)' x of x, (n,) or (n, k)


class GroupedPairs:
    """All pairs of points of a group whose scores differ; the higher score is preferred.

    The distinct scores of a group are ranked. Each pair belongs to the highest binary digit in
    which the ranks of its points differ: the points share the higher digits, which define a block
    of the group, and are in different halves of that block. One sort by value per digit puts all
    pairs in order, and sums over pairs become cumulative sums: O(n log n) for each of the at most
    log2(largest group) digits.

    `groups`, (n,), has the index of each point's group, from 0, and `weights`, (n,), the positive
    weight of the pairs of that group.
    """

    def __init__(self, scores: Array, groups: Index, weights: Array) -> None:
        self._weights, self._groups = weights, groups
        order = np.lexsort((scores, groups))
        new_group = np.diff(groups[order], prepend=-1) > 0
        number = np.cumsum(new_group | (np.diff(scores[order], prepend=np.nan) != 0))
        ranks = np.empty(len(scores), dtype=np.intp)
        ranks[order] = number - number[new_group][np.cumsum(new_group) - 1]
        # Points of blocks with both halves, whether they are in the upper half, and the start and
        # end of their block.
        self._digits = []
        for digit in range(int(ranks.max(initial=0)).bit_length()):
            block = groups * len(ranks) + (ranks >> (digit + 1))
            upper = (ranks >> digit & 1).astype(np.bool_)
            both = np.isin(block, block[upper]) & np.isin(block, block[~upper])
            points = np.flatnonzero(both)[np.argsort(block[both], kind="stable")]
            block = block[points]
            ends = block.searchsorted(block), block.searchsorted(block, side="right")
            self._digits.append((points, upper[points], *ends))

    def violated(self, values: Array, margin: float) -> Violated:
        """Return sums over the pairs with ``f_i - f_j < margin``, for values f of shape (n,)."""
        digits = [_partners(values, margin, *halves) for halves in self._digits]
        weights = self._weights
        preferred, other = np.zeros(len(weights)), np.zeros(len(weights))
        for upper, lower, (after, end), (start, before) in digits:
            preferred[upper] += end - after
            other[lower] += before - start
        degrees = weights * (preferred + other)

        def laplacian(x: Array) -> Array:
            result = np.zeros_like(x)
            for upper, lower, after, before in digits:
                result[upper] += _sums_between(x[lower], *after)
                result[lower] += _sums_between(x[upper], *before)
            column = (slice(None),) + (None,) * (x.ndim - 1)
            result *= -weights[column]
            result += degrees[column] * x
            return result

        return Violated(
            float(weights @ preferred), weights * (preferred - other), degrees, laplacian
        )

    def centred(self, X: Array) -> Array:
        """Subtract its group's mean from each point of shape (n, d)."""
        return GroupPreferences(self._groups, "equal").root(X)


Compared = OrderedPairs | GroupedPairs


def _partners(
    values: Array, margin: float, points: Index, upper: Flags, first: Index, last: Index
) -> tuple[Index, Index, tuple[Index, Index], tuple[Index, Index]]:
    """Sort each block by value, the lower half moved up by the margin.

    Returns the upper and the lower points, and for each upper point the range of its partners
    among the lower ones, which come after it, and vice versa.
    """
    order = np.lexsort((values[points] + np.where(upper, 0.0, margin), first))
    points, upper = points[order], upper[order]
    # Number of points of each half before each position, and in total.
    n_upper = np.concatenate([[0], np.cumsum(upper)])
    n_lower = np.arange(len(n_upper)) - n_upper
    return (
        points[upper],
        points[~upper],
        (n_lower[:-1][upper], n_lower[last[upper]]),
        (n_upper[first[~upper]], n_upper[:-1][~upper]),
    )


def _sums_between(x: Array, start: Index, end: Index) -> Array:
    """Add up x[start], ..., x[end - 1] for each of many starts and ends."""
    sums = np.zeros((len(x) + 1, *x.shape[1:]))
    np.cumsum(x, axis=0, out=sums[1:])
    result = sums.take(end, axis=0)
    result -= sums.take(start, axis=0)
    return result


# Linear functions: Newton's method on the primal
#
# With the slack ``t_ij = 1 - (f_i - f_j)`` of the violated pairs, their balance b and Laplacian L,
#
#     sum w_ij t_ij (e_i - e_j) = b - L f,    sum w_ij t_ij = sum w_ij - b' f,
#     sum w_ij t_ij^2 = sum w_ij t_ij - (b - L f)' f.
#
# Every function comes with a lower bound of the minimum: the dual objective of ``alpha_ij``, the
# derivatives of the pairs' losses, scaled by the factor that makes it largest.


class LinearRankSVM(NamedTuple):
    """The weights (d,) of a linear function, its objective, and its relative duality gap."""

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

    Time grows with the points times the features; `X`, (n, d), may be sparse. The hinge is
    smoothed in a zone that shrinks until the duality gap of the hinge itself, not of the smooth
    loss, is at most `tol`. If that fails, the result is the best function found.
    """
    X = X if sp.issparse(X) else pairs.centred(X)
    zone = 1.0

    def at(weights: Array) -> _LinearPoint:
        if loss == "squared_hinge":
            return _squared_hinge_point(X, pairs, C, weights)
        return _hinge_point(X, pairs, C, weights, zone)

    point = best = at(np.zeros(X.shape[1]))
    bound = 0.0
    for _ in range(max_iter):
        bound = max(bound, point.bound)
        best = min(best, point, key=lambda one: one.objective)
        if best.objective - bound <= tol * best.objective:
            break
        settled = 0.5 * float(point.gradient @ point.gradient) <= point.excess
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


class _LinearPoint(NamedTuple):
    """A linear function, and the quadratic approximation of its objective."""

    weights: Array
    objective: float
    bound: float  # lower bound of the minimum
    smooth: float  # the objective or a smooth one close to it, which Newton's method lowers
    gradient: Array
    curvature: Callable[[Array], Array]  # H x, where the Hessian is I + X' H X
    degrees: Array  # diagonal of H, (n,)
    excess: float = 0.0  # duality gap minus half of the squared gradient norm


def _squared_hinge_point(X: Features, pairs: Compared, C: float, weights: Array) -> _LinearPoint:
    """Evaluate the loss ``w_ij max(0, t_ij)^2``."""
    values = X @ weights
    below = pairs.violated(values, 1.0)
    pulls = below.balance - below.laplacian(values)
    slack = below.total - below.balance @ values
    squares = slack - pulls @ values
    along = X.T @ pulls
    objective = 0.5 * weights @ weights + C * squares
    # Scaled by q, the dual objective is q (2 C slack) - q^2 (C squares + 2 C^2 |along|^2).
    against = C * squares + 2.0 * C**2 * (along @ along)
    return _LinearPoint(
        weights,
        objective,
        (C * slack) ** 2 / against if against > 0.0 else 0.0,
        objective,
        weights - 2.0 * C * along,
        lambda x: 2.0 * C * below.laplacian(x),
        2.0 * C * below.degrees,
    )


def _hinge_point(
    X: Features, pairs: Compared, C: float, weights: Array, zone: float
) -> _LinearPoint:
    """Evaluate the loss ``w_ij max(0, t_ij)``, smoothed in a zone above 0.

    For slacks below `zone` it is ``t_ij^2 / (2 zone)``, and above ``t_ij - zone / 2``.
    """
    values = X @ weights
    below, beyond = (pairs.violated(values, margin) for margin in (1.0, 1.0 - zone))
    # Sums over the pairs inside the zone.
    balance = below.balance - beyond.balance
    pulls = balance - (below.laplacian(values) - beyond.laplacian(values))
    slack = float(below.total - beyond.total - balance @ values)
    squares = slack - float(pulls @ values)
    far = beyond.total - beyond.balance @ values
    along = X.T @ (pulls / zone + beyond.balance)
    norm = 0.5 * weights @ weights
    # The dual variables are C t_ij / zone, and C beyond the zone: the scale is at most 1.
    gain, against = C * (slack / zone + beyond.total), C**2 * (along @ along)
    scale = min(1.0, gain / against) if against > 0.0 else 1.0
    return _LinearPoint(
        weights,
        norm + C * (slack + far),
        scale * gain - 0.5 * scale**2 * against,
        norm + C * (squares / (2.0 * zone) + far - 0.5 * zone * beyond.total),
        weights - C * along,
        lambda x: C / zone * (below.laplacian(x) - beyond.laplacian(x)),
        C / zone * (below.degrees - beyond.degrees),
        C * (slack - squares / zone),
    )


def _line_search(
    at: Callable[[Array], _LinearPoint], point: _LinearPoint, step: Array
) -> _LinearPoint | None:
    """Shorten the step, by the secant of its slope, until it lowers the objective enough."""
    slope, length = float(point.gradient @ step), 1.0
    for _ in range(_HALVINGS):
        reached = at(point.weights + length * step)
        if reached.smooth < point.smooth + 1e-4 * length * slope:
            return reached
        rise = float(reached.gradient @ step) - slope
        length *= min(max(-slope / rise, 0.05), 0.5) if rise > 0.0 else 0.5
    return None


def _newton_step(X: Features, point: _LinearPoint) -> Array:
    """Solve ``(I + X' H X) step = -gradient``; return the negative gradient if that fails."""
    n_features = X.shape[1]
    if n_features <= _MAX_DENSE:
        system = moment(X, point.curvature)
        system.flat[:: n_features + 1] += 1.0
        try:
            return cho_solve(cho_factor(system), -point.gradient)
        except (LinAlgError, ValueError):  # not finite
            return -point.gradient

    def product(direction: Array) -> Array:
        return direction + X.T @ point.curvature(X @ direction)

    shape = (n_features, n_features)
    diagonal = 1.0 + (X.power(2) if sp.issparse(X) else np.square(X)).T @ point.degrees
    step, _ = cg(
        LinearOperator(shape, matvec=product, dtype=np.float64),
        -point.gradient,
        rtol=1e-3,
        maxiter=250,
        M=LinearOperator(shape, matvec=lambda x: x / diagonal, dtype=np.float64),
    )
    return step
