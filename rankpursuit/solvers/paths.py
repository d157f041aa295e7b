"""One function per method: its whole grid, over a stack of w kernels.

``fit`` is a stack of one and a grid of one; cross-validation and experiments call the same
functions, and nothing else computes a grid. Each returns an object with

- ``predict(new_kernels)``: predictions (w, *axes, m) at m points, the axes in the order of the
  grid in the signature;
- ``n_basis``: numbers of basis functions, broadcastable to (w, *axes);
- ``coefficients(index)``: the chosen functions and their coefficients at one point of the grid,
  an index into (w, *axes); for pursuits the coefficients of every step up to that point.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankpursuit.kernels import function_values
from rankpursuit.preferences import Preferences
from rankpursuit.solvers.coregularised import (
    Agreement,
    CoregularisedPath,
    JointFitting,
    coregularised_pursuit,
)
from rankpursuit.solvers.functions import Functions, predict_chosen, pursue_functions
from rankpursuit.solvers.least_squares import (
    Features,
    nested_rls_path,
    rls_path,
    rls_solution,
    rls_weights,
    sparse_rls_weights,
)
from rankpursuit.solvers.pursuit import (
    Fitting,
    GramSums,
    PursuitPath,
    pursue,
    pursue_stack,
    repeat_each,
    ridge_paths,
    ridge_rows,
)
from rankpursuit.solvers.rank_svm import Loss, rank_svm_path, rank_svm_weights

Array = NDArray[np.float64]
Indices = NDArray[np.intp]
Grid = Mapping[str, ArrayLike]
"""Values along each axis of a grid, (k,), by the name of the parameter."""

MANY_POINTS = 500
"""Number of points from which a single alpha is solved by a Cholesky factor of each kernel. The
tridiagonal form of a stack takes five times the arithmetic, but fewer calls."""


@dataclass(frozen=True)
class CoefficientGrid:
    """One expansion per point of a grid: coefficients ``(w, *axes, n)`` over n functions."""

    coef: Array
    n_basis: Indices

    def predict(self, new_kernels: Array) -> Array:
        """Return the predictions ``(w, *axes, m)``, given kernel values (w, m, n).

        For weights of features, these are the m points, (m, n).
        """
        stack = new_kernels if new_kernels.ndim == 3 else new_kernels[None]
        return function_values(stack, self.coef)

    def coefficients(self, index: tuple[int, ...]) -> tuple[Indices, Array]:
        """Return the functions of one expansion, and their coefficients."""
        size = int(np.broadcast_to(self.n_basis, self.coef.shape[:-1])[index])
        return np.arange(size), self.coef[index][:size]


def least_squares_grid(
    columns: Array | Features, scores: Array, preferences: Preferences, grid: Grid
) -> CoefficientGrid:
    """Solve RLS, or RankRLS, for a grid of "alpha".

    `columns` are kernels (w, n, n), or features (n, d) of linear functions, which are solved for
    their weights; then w is 1. `scores` have the shape (n,) or (w, n).
    """
    alphas = np.asarray(grid["alpha"], dtype=np.float64)
    if columns.ndim == 2:
        weights = [rls_weights(columns, scores, alpha, preferences) for alpha in alphas.tolist()]
        return CoefficientGrid(np.stack(weights)[None], np.array(columns.shape[1]))
    n_points = columns.shape[2]
    if len(alphas) == 1 and n_points >= MANY_POINTS:
        targets = np.broadcast_to(scores, columns.shape[:2])
        coef = np.stack(
            [
                rls_solution(kernel, target, float(alphas[0]), preferences)
                for kernel, target in zip(columns, targets, strict=True)
            ]
        )[:, None]
    else:
        coef = rls_path(columns, scores, alphas, preferences)
    return CoefficientGrid(coef, np.array(n_points))


def subset_grid(
    columns: Array | Features, among: Any, scores: Array, preferences: Preferences, grid: Grid
) -> CoefficientGrid:
    """Solve RankRLS on nested subsets of regressors for a grid of "n_basis" and "alpha".

    The subsets are the leading points of one order for each kernel. `columns`, (w, n, r), are the
    kernels of all points with the largest subset, and `among`, (w, r, r), those of the largest
    subset; so are the new kernels, (w, m, r), of `predict`. Or `columns` are features (n, d) of
    linear functions, which are solved for their weights, and `among`, (r,), the largest subset.
    """
    sizes = np.asarray(grid["n_basis"], dtype=np.intp)
    if columns.ndim == 2:
        alphas = np.asarray(grid["alpha"], dtype=np.float64).tolist()
        weights = [
            [sparse_rls_weights(columns, among[:size], scores, x, preferences) for x in alphas]
            for size in sizes
        ]
        return CoefficientGrid(np.array(weights)[None], np.array(columns.shape[1]))
    coef = nested_rls_path(columns, among, sizes.tolist(), scores, grid["alpha"], preferences)
    return CoefficientGrid(coef, sizes[:, None])


@dataclass(frozen=True)
class RankSVMGrid(CoefficientGrid):
    """Solutions of RankSVM with their relative duality gaps, (w, k)."""

    gap: Array

    def coefficients(self, index: tuple[int, ...]) -> tuple[Indices, Array]:
        """Return the support of one solution, and its coefficients."""
        support = np.flatnonzero(self.coef[index])
        return support, self.coef[index][support]


def rank_svm_grid(
    columns: Array | Features,
    pairs: Any,
    grid: Grid,
    *,
    loss: Loss = "hinge",
    tol: float = 1e-3,
) -> RankSVMGrid:
    """Solve RankSVM for a grid of "C".

    `columns` are kernels (w, n, n), or features (n, d) of linear functions, which are solved for
    their weights; then w is 1. `pairs` are :class:`OrderedPairs`, the same for all kernels or a
    sequence with those of each; for linear functions also :class:`GroupedPairs`.
    """
    Cs = np.asarray(grid["C"], dtype=np.float64)
    if columns.ndim == 2:
        solved = [rank_svm_weights(columns, pairs, C, loss=loss, tol=tol) for C in Cs.tolist()]
        weights, gaps = np.stack([x.weights for x in solved]), np.array([x.gap for x in solved])
        return RankSVMGrid(weights[None], np.array(columns.shape[1]), gaps[None])
    path = rank_svm_path(columns, pairs, Cs, loss=loss, tol=tol)
    n_basis = np.count_nonzero(path.coefficients, axis=2)
    return RankSVMGrid(path.coefficients, n_basis, path.gap)


# Pursuits


class Rows(NamedTuple):
    """Rows of w least-squares problems over N candidates.

    `columns`, (w, m, N), and `target`, (m,) or (w, m), are the kernel columns and the scores after
    the root of the preferences is applied. A stack of `small` problems is followed by its Gram
    matrices where that is faster, see :func:`pursue_stack`.
    """

    columns: Array
    target: Array
    small: bool = False


Columns = Array | Callable[[Indices], Array]
"""Values of the functions at m points: (w, m, N), or evaluated for some functions, (m, F)."""


@dataclass(frozen=True)
class PursuitGrid:
    """The paths of w problems and r ridges, evaluated at some numbers of basis functions.

    `path` has w * r paths, with the ridges of a problem next to each other, and `sizes` the values
    of "n_basis".
    """

    path: PursuitPath
    n_ridges: int
    sizes: Indices

    @property
    def n_basis(self) -> Indices:
        """Number of steps made, (w, r, p)."""
        reached = np.minimum(self.sizes, self.path.n_steps[:, None])
        return reached.reshape(-1, self.n_ridges, len(self.sizes))

    def predict(self, new_kernels: Columns) -> Array:
        """Return the predictions (w, r, p, m), given the values of the functions at m points."""
        steps, places = np.unique(self.sizes, return_inverse=True)
        reached = np.minimum(steps, self.path.selected.shape[1])
        if callable(new_kernels):
            functions, where = np.unique(np.maximum(self.path.selected, 0), return_inverse=True)
            columns = new_kernels(functions)[:, where.reshape(self.path.selected.shape)]
            values = predict_chosen(self.path, columns.swapaxes(0, 1), reached)
        else:
            values = self.path.predict(new_kernels, reached)
        return values[:, places].reshape(-1, self.n_ridges, *values[:, places].shape[1:])

    def coefficients(self, index: tuple[int, ...]) -> tuple[Indices, Array]:
        """Return the f functions chosen up to one point, and their coefficients in every step."""
        kernel, ridge, place = index
        path = replace(self.path, n_steps=np.minimum(self.path.n_steps, self.sizes[place]))
        return path.expansion(kernel * self.n_ridges + ridge)


def pursuit_grid(
    problem: Rows | GramSums | Functions,
    grid: Grid,
    *,
    kernel: Array | None = None,
    fitting: Fitting = "basic",
    repeat: bool = False,
    tol: float | None = None,
    ends: bool = False,
) -> PursuitGrid:
    """Follow the pursuit of a problem for a grid of "ridge" and "n_basis".

    A path ends when its cost is at most `tol`, if that is given.
    `kernel`, (w, N, N), is that of the candidates, whose functions a ridge penalises: required
    unless the only ridge is 0, or the problem is one of :class:`Functions`. These are always chosen
    by the cost after a refit, "prefit"; with `ends`, as long as they gain more than chance would.
    """
    ridges, sizes = np.asarray(grid["ridge"], dtype=np.float64), np.asarray(grid["n_basis"])
    n_steps = int(sizes.max())
    options: Any = {"fitting": fitting, "repeat": repeat}
    if isinstance(problem, Functions):
        path = pursue_functions(problem, ridges, n_steps, ends=ends)
    elif isinstance(problem, GramSums):
        path = ridge_paths(problem, kernel, ridges, n_steps, **options)
    else:
        rows = ridge_rows(problem.columns, problem.target, kernel, ridges)
        follow = pursue_stack if problem.small else pursue
        path = follow(*rows, n_steps, **options)
    return PursuitGrid(path if tol is None else _end_at(path, tol), len(ridges), sizes)


def _end_at(path: PursuitPath, tol: float) -> PursuitPath:
    """Return each path up to the first step after which its cost is at most `tol`."""
    enough = path.cost <= tol
    last = np.where(enough.any(axis=1), enough.argmax(axis=1), path.cost.shape[1])
    left_out = np.arange(path.selected.shape[1]) >= last[:, None]
    return replace(
        path,
        selected=np.where(left_out, -1, path.selected),
        weights=np.where(left_out, 0.0, path.weights),
        n_steps=np.minimum(path.n_steps, last),
    )


class View(NamedTuple):
    """Rows of one view of w joint problems, over the N_v functions of its dictionary.

    `columns`, (w, m_v, N_v), and `target`, (m_v,) or (w, m_v), belong to its loss, `agreeing`, (w,
    l, N_v), to the points on which the views should agree, all after the root of the preferences is
    applied; `kernel`, (w, N_v, N_v), is that of the dictionary, whose functions a ridge penalises.
    """

    columns: Array
    target: Array
    agreeing: Array
    kernel: Array


@dataclass(frozen=True)
class JointGrid:
    """The joint paths of w problems and r ridges, evaluated at some numbers of functions per view.

    `path` has w * r paths for each of k values of nu, with the ridges of a problem next to each
    other, and `sizes` the values of "n_basis", the number of functions of each view.
    """

    path: CoregularisedPath
    n_ridges: int
    sizes: Indices

    @property
    def n_basis(self) -> Indices:
        """Number of functions of all views, (w, r, k, p)."""
        *_, n_views = self.path.selected.shape
        return n_views * self._by_ridge(np.minimum(self.sizes, self.path.n_steps[..., None]))

    def predict(self, new_kernels: Sequence[Array]) -> Array:
        """Return the mean predictions (w, r, k, p, m), given kernel values (w, m, N_v) of views."""
        steps, places = self._steps()
        return self._by_ridge(self.path.predict_mean(new_kernels, steps)[:, :, places])

    def predict_views(self, new_kernels: Sequence[Array]) -> list[Array]:
        """Return the predictions (w, r, k, p, m) of each view."""
        steps, places = self._steps()
        return [
            self._by_ridge(self.path.predict(kernel, view)[:, :, steps[places] - 1])
            for view, kernel in enumerate(new_kernels)
        ]

    def coefficients(self, index: tuple[int, ...]) -> list[tuple[Indices, Array]]:
        """Return, for each view, the functions up to one point, and their staged coefficients."""
        kernel, ridge, nu, place = index
        number = kernel * self.n_ridges + ridge
        reached = int(min(self.path.n_steps[number, nu], self.sizes[place]))
        chosen = self.path.selected[number, nu, :reached]
        return [
            (functions, self.path.coefficients(view)[number, nu, :reached, :reached])
            for view, functions in enumerate(chosen.T)
        ]

    def _steps(self) -> tuple[Indices, Indices]:
        steps, places = np.unique(self.sizes, return_inverse=True)
        return np.minimum(steps, self.path.selected.shape[2]), places

    def _by_ridge(self, values: NDArray[Any]) -> NDArray[Any]:
        return values.reshape(-1, self.n_ridges, *values.shape[1:])


def joint_grid(
    views: Sequence[View],
    grid: Grid,
    *,
    fitting: JointFitting = "basic",
    agreement: Agreement = "cumulative",
    shared: bool = False,
) -> JointGrid:
    """Follow the joint pursuit of several views for a grid of "ridge", "nu" and "n_basis"."""
    ridges, sizes = np.asarray(grid["ridge"], dtype=np.float64), np.asarray(grid["n_basis"])
    penalised = [ridge_rows(view.columns, view.target, view.kernel, ridges) for view in views]
    path = coregularised_pursuit(
        [rows for rows, _ in penalised],
        [repeat_each(view.agreeing, len(ridges)) for view in views],
        [target for _, target in penalised],
        grid["nu"],
        int(sizes.max()),
        fitting=fitting,
        agreement=agreement,
        shared=shared,
    )
    return JointGrid(path, len(ridges), sizes)
