"""RankSVM with squared slacks: Newton's method on stacks of small problems, warm along C.

The n x n systems are dense, and so the pairs are too: a slack is kept for every two points, with
a start of minus infinity where they make no pair. All that does not depend on C is computed once
for each point that the method reaches, and serves the next C as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankpursuit.kernels import function_values
from rankpursuit.solvers.fallbacks import solve_transposed
from rankpursuit.solvers.rank_svm.point_pairs import OrderedPairs
from rankpursuit.solvers.rank_svm.solutions import RankSVMPath

Array = NDArray[np.float64]
Index = NDArray[np.intp]

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
