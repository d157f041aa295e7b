"""Regularised least squares on the training part of every split, judged on the rest."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from numpy.typing import ArrayLike

from rankpursuit.kernels import function_values
from rankpursuit.solvers.folds import Array, FormOf, Indices, KernelOf, Split
from rankpursuit.solvers.least_squares import nested_rls_path, rls_path


def rls_held_out(
    kernel: Array, scores: Array, splits: Sequence[Split], form_of: FormOf, lambdas: ArrayLike
) -> Iterator[Array]:
    """Predict the held-out points of every split, for a stack of kernels and all lambdas.

    Parameters
    ----------
    kernel : ndarray of shape (w, n, n)
        Kernels of all points.
    scores : ndarray of shape (n,)
    splits : sequence of Split
    form_of : callable
        The form of some of the points.
    lambdas : array-like of shape (k,)

    Yields
    ------
    ndarray of shape (w, k, m)
        Predictions of the m held-out points.
    """
    for train, test in splits:
        own = kernel[:, train[:, None], train]
        coef = rls_path(own, scores[train], lambdas, form_of(train))
        yield function_values(kernel[:, test[:, None], train], coef)


def sparse_rls_held_out(
    kernel_of: KernelOf,
    scores: Array,
    splits: Sequence[Split],
    form_of: FormOf,
    orders: Sequence[Indices],
    sizes: Sequence[int],
    lambdas: ArrayLike,
    *,
    positive: bool,
) -> Iterator[Array]:
    """Do the same on subsets of regressors of several sizes, the smaller inside the larger.

    Parameters
    ----------
    kernel_of : callable
        The kernels of some points with others.
    scores, splits, form_of, lambdas
        See :func:`rls_held_out`.
    orders : sequence of ndarray
        For each split its training points in the order in which they become regressors.
    sizes : sequence of int
        Sizes of the subsets.
    positive : bool
        Whether the kernels are known to be positive semi-definite, see :func:`nested_rls_path`.

    Yields
    ------
    ndarray of shape (w, len(sizes), k, m)
    """
    for (train, test), order in zip(splits, orders, strict=True):
        chosen = order[: max(sizes)]
        columns, among = kernel_of(train, chosen), kernel_of(chosen, chosen)
        new, form = kernel_of(test, chosen), form_of(train).slim(len(chosen))
        coef = nested_rls_path(columns, among, sizes, scores[train], lambdas, form)
        yield function_values(new, coef)
