"""Co-regularised pursuit: one function a view, that agree with each other on unscored points.

The cost of the views' functions ``f_1 .. f_M`` is that of the paper,

    sum_v |B s - B f_v|^2 + nu sum_{v,u} |B' f_v - B' f_u|^2        (B' on the unscored points),

each pair of views counted twice. It is one least-squares problem whose rows are those of the
views, one block each, followed by ``sqrt(2 nu) B' (f_v - f_u)`` for each pair of views v < u.
A step appends one function to every view: the tuple that lowers the cost most.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankpursuit.solvers.orthogonal import GrowingBasis
from rankpursuit.solvers.pursuit import NOTHING_LEFT
from rankpursuit.solvers.tuples import AlternatingSearch, PairSearch, SharedSearch, TupleSearch

Array = NDArray[np.float64]
Agreement = Literal["cumulative", "incremental"]
JointFitting = Literal["basic", "backfit"]


@dataclass(frozen=True)
class CoregularisedPath:
    """Every prefix of the paths of k values of nu times b dictionaries, with M views and P steps.

    Attributes
    ----------
    selected : ndarray of shape (k, b, P, M)
        The function chosen for each view at each step; -1 behind the end of a path.
    weights : ndarray of shape (k, b, P * M)
        The lengths of the steps, view by view, zero behind the end of a path.
    directions : ndarray of shape (k, b, P * M, P * M) or None
        Column c holds the coefficients, over the chosen functions of all views, of direction c.
        None stands for the identity.
    cost : ndarray of shape (k, b, P + 1)
        The cost of every prefix, from the empty one on.
    n_steps : ndarray of shape (k, b)
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
        ndarray of shape (k, b, P, P)
            Entry ``[..., p, :]`` belongs to the prefix of p + 1 steps.
        """
        n_views = self.selected.shape[3]
        if self.directions is None:
            steps = np.eye(self.selected.shape[2]) * self.weights[..., None, view::n_views]
            return np.cumsum(steps, axis=3).swapaxes(2, 3)
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
        ndarray of shape (k, b, P, m)
        """
        n_views = self.selected.shape[3]
        functions = np.ascontiguousarray(kernel.swapaxes(1, 2))
        problems = np.arange(len(kernel))[:, None]
        chosen = functions[problems, np.maximum(self.selected[..., view], 0)]
        if self.directions is None:
            chosen *= self.weights[..., view::n_views, None]
            return np.cumsum(chosen, axis=2, out=chosen)
        steps = np.matmul(self.directions[..., view::n_views, :].swapaxes(2, 3), chosen)
        steps *= self.weights[..., None]
        return np.cumsum(steps, axis=2)[..., n_views - 1 :: n_views, :]


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
    targets : sequence of M ndarrays of shape (m_v,)
        For each view, the rows of the scores, ``B s``.
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
    :class:`rankpursuit.solvers.tuples.AlternatingSearch`.
    """
    nu = np.asarray(nus, dtype=np.float64)
    n_views = len(scored)
    sizes = [columns.shape[2] for columns in scored]
    if shared and len(set(sizes)) > 1:
        raise ValueError(f"shared: the dictionaries have different sizes, {sizes}")
    n_steps = min(n_steps, *sizes)
    scored, unscored = ([_by_function(part) for part in parts] for parts in (scored, unscored))
    problem = _Joint(scored, unscored, targets, nu)
    search: TupleSearch
    if shared:
        search = SharedSearch(scored, unscored, nu)
    else:
        search = (PairSearch if n_views == 2 else AlternatingSearch)(scored, unscored, nu)
    batch = problem.residue.shape[:2]
    basis = (
        GrowingBasis(batch, problem.residue.shape[2], n_steps * n_views)
        if fitting == "backfit"
        else None
    )
    selected = np.full((*batch, n_steps, n_views), -1, dtype=np.intp)
    weights = np.zeros((*batch, n_steps * n_views))
    cost = np.empty((*batch, n_steps + 1))
    cost[..., 0] = problem.cost()
    floor = NOTHING_LEFT**2 * cost[..., 0]
    active = np.ones(batch, dtype=bool)
    step = 0
    while step < n_steps:
        correlation = problem.correlations(agreement)
        chosen = search.best(correlation)
        gain, steps = search.gain_and_steps(correlation, chosen)
        active &= gain > floor
        if not active.any():
            break
        for v in range(n_views):
            if basis is None:
                length = steps[..., v] * active
                problem.move(v, chosen[v], length)
            else:
                unit = basis.append(problem.column(v, chosen[v]))
                length = np.einsum("bkr,bkr->bk", unit, problem.residue) * active
                problem.residue -= length[..., None] * unit
            weights[..., step * n_views + v] = length
            selected[..., step, v] = np.where(active, chosen[v], -1)
        search.forbid(chosen, active)
        step += 1
        cost[..., step] = problem.cost()
    cost[..., step + 1 :] = cost[..., step, None]
    return CoregularisedPath(
        selected=selected.swapaxes(0, 1),
        weights=weights.swapaxes(0, 1),
        directions=None if basis is None else basis.directions.swapaxes(0, 1),
        cost=cost.swapaxes(0, 1),
        n_steps=np.count_nonzero(selected[..., 0] >= 0, axis=2).swapaxes(0, 1),
    )


def _by_function(columns: Array) -> Array:
    """Turn (b, m, N) into (b, N, m): the values of one function side by side."""
    return np.ascontiguousarray(columns.swapaxes(1, 2))


class _Joint:
    """The joint least-squares problem: residue, columns and correlations of all views.

    The k values of nu are rows of the residue, shape (b, k, rows), so that the correlations of
    all of them are one product.
    """

    def __init__(
        self,
        scored: Sequence[Array],
        unscored: Sequence[Array],
        targets: Sequence[Array],
        nu: Array,
    ) -> None:
        self._scored, self._unscored = scored, unscored
        self._root = np.sqrt(2.0 * nu)[:, None]
        self._problems = np.arange(len(scored[0]))[:, None]
        ends = np.cumsum([columns.shape[2] for columns in scored])
        self._blocks = [slice(end - len(y), end) for end, y in zip(ends, targets, strict=True)]
        self._pairs: dict[tuple[int, int], slice] = {}
        start, length = int(ends[-1]), unscored[0].shape[2]
        for pair in combinations(range(len(scored)), 2):
            self._pairs[pair] = slice(start, start + length)
            start += length
        self.residue = np.zeros((len(scored[0]), len(nu), start))
        for block, target in zip(self._blocks, targets, strict=True):
            self.residue[..., block] = target

    def cost(self) -> Array:
        """Cost of the functions so far, shape (b, k)."""
        return np.einsum("bkr,bkr->bk", self.residue, self.residue)

    def correlations(self, agreement: Agreement) -> list[Array]:
        """For each view, the products of its columns with the residue, shape (b, k, N_v)."""
        result = []
        for v, functions in enumerate(self._scored):
            rows = self.residue[..., self._blocks[v]]
            product = np.matmul(rows, functions.swapaxes(1, 2))
            if agreement == "cumulative" and self._pairs:
                apart = np.zeros((*self.residue.shape[:2], self._unscored[v].shape[2]))
                for sign, block in self._agreements(v):
                    apart += sign * self.residue[..., block]
                apart *= self._root
                product += np.matmul(apart, self._unscored[v].swapaxes(1, 2))
            result.append(product)
        return result

    def move(self, view: int, chosen: NDArray[np.intp], length: Array) -> None:
        """Take so much of the functions `chosen`, shape (b, k), of a view off the residue."""
        own = self._scored[view][self._problems, chosen]
        own *= length[..., None]
        self.residue[..., self._blocks[view]] -= own
        values = self._unscored[view][self._problems, chosen]
        values *= self._root * length[..., None]
        for sign, block in self._agreements(view):
            self.residue[..., block] -= sign * values

    def column(self, view: int, chosen: NDArray[np.intp]) -> Array:
        """Joint columns of the functions `chosen`, shape (b, k), for a view: (b, k, rows)."""
        column = np.zeros_like(self.residue)
        column[..., self._blocks[view]] = self._scored[view][self._problems, chosen]
        values = self._root * self._unscored[view][self._problems, chosen]
        for sign, block in self._agreements(view):
            column[..., block] = sign * values
        return column

    def _agreements(self, view: int) -> Iterator[tuple[float, slice]]:
        """Sign of this view's function, and block, in each pair of views with this one."""
        for pair, block in self._pairs.items():
            if view in pair:
                yield 1.0 if view == pair[0] else -1.0, block
