"""Regularised least squares: on points (RLS), on pairs (RankRLS), and on a subset of regressors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np

from rankpursuit.estimators._base import (
    PENALTIES,
    FoldPath,
    Grid,
    KernelEstimator,
    RandomState,
    Split,
    TrainingData,
    random_generator,
)
from rankpursuit.estimators._checks import (
    N_BASIS,
    Array,
    Constraints,
    GroupWeights,
    Indices,
    Kernel,
)
from rankpursuit.preferences import Preferences
from rankpursuit.solvers import (
    count_basis,
    least_squares_grid,
    subset_grid,
)


class _LeastSquares(KernelEstimator):
    """Base of the methods with one coefficient per training point, or feature."""

    _has_linear_form = True
    _path_axes = ("alpha",)
    _search_values: ClassVar = {"alpha": PENALTIES}

    def __init__(
        self,
        alpha: float = 1.0,
        *,
        kernel: Kernel = "rbf",
        gamma: float | str | None = "scale",
        degree: int = 3,
        coef0: float = 1.0,
        kernel_params: Mapping[str, Any] | None = None,
    ) -> None:
        self._set_parameters(locals())

    def _fit(self, X: Any, scores: Array, preferences: Preferences) -> Self:
        every = np.arange(X.shape[0])
        columns = X if self._in_features else self._training_kernel(X, every)[None]
        path = least_squares_grid(columns, scores, preferences, {"alpha": [self.alpha]})
        basis, coef = path.coefficients((0, 0))
        return (
            self._store_weights(coef)
            if self._in_features
            else self._store_expansion(X, basis, coef)
        )

    def _iter_paths(
        self, data: TrainingData, splits: list[Split], gammas: list[Any], grid: Grid
    ) -> Iterator[FoldPath]:
        X, every = self._check_for_kernel(data.X), np.arange(len(data.y))
        stack = None if self._in_features else self._stack(X, every, every, gammas)
        for train, test in splits:
            if stack is None:
                columns, new = X[train], X[test]
            else:
                columns, new = stack[:, train[:, None], train], stack[:, test[:, None], train]
            form = data.preferences(self, train)
            yield partial(least_squares_grid, columns, data.y[train], form, grid), new


class RLS(_LeastSquares):
    """Regularised least squares, also known as kernel ridge regression.

    Solves ``(K + alpha I) a = s``.

    Parameters
    ----------
    alpha : float, default 1
        Weight of the regulariser, the paper's lambda; positive.
    kernel, gamma, degree, coef0, kernel_params : optional
        The kernel, as in :class:`RankingPursuit`.

    Attributes
    ----------
    basis_ : ndarray of shape (n,)
        Indices of all training points; with a linear kernel, of all features.
    coef_ : ndarray of shape (n,)
        Coefficients a; with a linear kernel, the weights of the features.
    X_basis_ : ndarray of shape (n, n_features) or None
        The training points; None with a precomputed or a linear kernel.
    gamma_, n_features_in_, feature_names_in_
    categories_, missing_, group_column_
        As in :class:`RankingPursuit`.

    See Also
    --------
    RankRLS : The same on the differences of pairs.
    KernelMatchingPursuit : A sparse expansion for the same scores.

    Notes
    -----
    With a linear kernel the model is ``f(x) = coef_' x``. Time and memory depend on the number of
    features, not on all pairs of points, and X may be sparse. A kernel that is not positive
    semi-definite is solved as in :class:`sklearn.kernel_ridge.KernelRidge`, without guarantees
    about the solution.

    Examples
    --------
    >>> import numpy as np
    >>> from rankpursuit import RLS
    >>> X = np.linspace(0.0, 3.0, 7)[:, None]
    >>> model = RLS(alpha=0.01).fit(X, np.sin(X[:, 0]))
    >>> model.predict([[0.25], [1.25]]).round(2)
    array([0.23, 0.94])
    """

    _ranks = False
    _not_taken = ("pairs", "weights")


class RankRLS(_LeastSquares):
    """Regularised least squares on the differences of all pairs within a group.

    Solves ``(L K + alpha I) a = L s``, with the Laplacian L of the preference graph.

    Parameters
    ----------
    alpha : float, default 1
        Weight of the regulariser, the paper's lambda; positive.
    group_weight, kernel, gamma, degree, coef0, kernel_params : optional
        The weights of groups and the kernel, as in :class:`RankingPursuit`.

    Attributes
    ----------
    basis_, coef_, X_basis_
        As in :class:`RLS`.
    gamma_, n_groups_, n_features_in_, feature_names_in_
    categories_, missing_, group_column_
        As in :class:`RankingPursuit`.

    See Also
    --------
    SparseRankRLS : The same on a random subset of regressors.
    RankingPursuit : A sparse expansion for the same cost.
    RankSVM : A hinge loss on the same pairs.

    Notes
    -----
    Linear kernels, and kernels that are not positive semi-definite, are treated as in :class:`RLS`.

    Examples
    --------
    >>> import numpy as np
    >>> from rankpursuit import RankRLS
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> model = RankRLS(kernel="linear").fit(X, [10.0, 11.0, 57.0, 58.0], groups=[0, 0, 1, 1])
    >>> model.predict(X).round(2)
    array([0. , 0.5, 1. , 1.5])

    Judgements instead of scores: two of three prefer the third sample to the first.

    >>> model = RankRLS(kernel="linear").fit(X, pairs=[(2, 0), (2, 0), (0, 2), (3, 2)])
    >>> model.predict(X).round(2)
    array([0.  , 0.21, 0.43, 0.64])
    """

    def __init__(
        self,
        alpha: float = 1.0,
        *,
        group_weight: GroupWeights = "equal",
        kernel: Kernel = "rbf",
        gamma: float | str | None = "scale",
        degree: int = 3,
        coef0: float = 1.0,
        kernel_params: Mapping[str, Any] | None = None,
    ) -> None:
        self._set_parameters(locals())


class SparseRankRLS(KernelEstimator):
    """RankRLS on a random subset of regressors.

    Solves ``(K_R' L K_R + alpha K_RR) a = K_R' L s`` for a random subset R of the points.

    Parameters
    ----------
    n_basis : int or float, default 0.5
        Size of the subset: a number of points, or a fraction of them in (0, 1].
    alpha : float, default 1
        Weight of the regulariser, the paper's lambda; positive.
    group_weight, kernel, gamma, degree, coef0, kernel_params : optional
        The weights of groups and the kernel, as in :class:`RankingPursuit`.
    random_state : int, Generator, RandomState or None, default None
        Controls the random draw of the subset.

    Attributes
    ----------
    basis_ : ndarray of shape (n_basis,)
        Indices of the subset; with a linear kernel, of all features.
    coef_ : ndarray of shape (n_basis,)
        Coefficients of the subset; with a linear kernel, the weights of the features.
    X_basis_, gamma_, n_groups_, n_features_in_, feature_names_in_
    categories_, missing_, group_column_
        As in :class:`RankingPursuit`.

    See Also
    --------
    RankRLS : The same with all points as regressors.
    RankingPursuit : Chooses its regressors one by one.

    Notes
    -----
    With a linear kernel the weights minimise the cost of RankRLS over the linear combinations of
    the subset's points; as many points as features usually span all weights.

    A point of the subset whose kernel function depends, to working precision, on those of the
    points before it gets no weight.

    Examples
    --------
    >>> import numpy as np
    >>> from rankpursuit import SparseRankRLS
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> model = SparseRankRLS(n_basis=20, alpha=0.1, random_state=0).fit(X, X[:, 0] * X[:, 1])
    >>> model.basis_.shape, round(model.score(X, X[:, 0] * X[:, 1]), 2)
    ((20,), 0.94)
    """

    _constraints: ClassVar[Constraints] = {"n_basis": N_BASIS}
    _has_linear_form = True
    _path_axes = ("n_basis", "alpha")
    _search_values: ClassVar = {"n_basis": None, "alpha": PENALTIES}

    def __init__(
        self,
        n_basis: int | float = 0.5,
        alpha: float = 1.0,
        *,
        group_weight: GroupWeights = "equal",
        kernel: Kernel = "rbf",
        gamma: float | str | None = "scale",
        degree: int = 3,
        coef0: float = 1.0,
        kernel_params: Mapping[str, Any] | None = None,
        random_state: RandomState = None,
    ) -> None:
        self._set_parameters(locals())

    def _fit(self, X: Any, scores: Array, preferences: Preferences) -> Self:
        n_points = X.shape[0]
        size = min(count_basis(self.n_basis, n_points), n_points)
        subset = random_generator(self.random_state).permutation(n_points)[:size]
        grid = {"n_basis": [size], "alpha": [self.alpha]}
        if self._in_features:
            path = subset_grid(X, subset, scores, preferences, grid)
            return self._store_weights(path.coefficients((0, 0, 0))[1])
        columns, form = self._training_kernel(X, subset)[None], preferences.smallest_root(size)
        path = subset_grid(columns, columns[:, subset], scores, form, grid)
        return self._store_expansion(X, subset, path.coefficients((0, 0, 0))[1])

    def _n_available(self, data: TrainingData, train: Indices) -> int:
        return len(train)

    def _default_values(self, name: str, X: Any, n_available: int) -> Any:
        if name == "n_basis":  # up to five sizes, each half of the next
            return sorted({max(1, min(1000, n_available) >> halving) for halving in range(5)})
        return super()._default_values(name, X, n_available)

    def _iter_paths(
        self, data: TrainingData, splits: list[Split], gammas: list[Any], grid: Grid
    ) -> Iterator[FoldPath]:
        for train, test in splits:
            sizes = [min(count_basis(size, len(train)), len(train)) for size in grid["n_basis"]]
            order = train[random_generator(self.random_state).permutation(len(train))]
            subset = order[: max(sizes)]
            columns, among, new = (
                self._stack(data.X, rows, subset, gammas) for rows in (train, subset, test)
            )
            form, axes = data.preferences(self, train), {**grid, "n_basis": sizes}
            yield partial(subset_grid, columns, among, data.y[train], form, axes), new
