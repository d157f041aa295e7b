"""RankSVM."""

from __future__ import annotations

import warnings
from dataclasses import field
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning

from rankpursuit.estimators._comparisons import (
    checked_pairs,
    checked_target,
)
from rankpursuit.estimators._constraints import POSITIVE, Choice, Constraints
from rankpursuit.estimators._docs import documented
from rankpursuit.estimators._fitting import Ranker
from rankpursuit.estimators._kernels import Array
from rankpursuit.estimators._linear import LinearModel
from rankpursuit.estimators._ordered import Order, OrderOfPairs, OrderOfScores
from rankpursuit.estimators._parameters import parameters
from rankpursuit.estimators._scaling import shifted
from rankpursuit.solvers import rank_svm_path, rank_svm_weights
from rankpursuit.solvers.least_squares import add_up_ordered, linear_kernel
from rankpursuit.solvers.rank_svm import Loss

FEWEST_POINTS, FEW_POINTS = 200, 1000
"""Up to so many, a linear kernel is solved in the points: always, and if they are fewer than the
features or it is not solved otherwise."""
LARGEST_C = 1e300
"""C times the size of the kernel counts as at most this, and as at least one over it."""


@documented
@parameters
class RankSVM(Ranker, LinearModel):
    """Ranking support vector machine: a hinge loss on every pair inside a group.

    Minimises ``a' K a / 2 + C sum w_ij max(0, 1 - (f_i - f_j))`` over the pairs in which i has a
    higher score than j, weighted as `group_weight` says, or as `fit` is told. Time and memory grow
    with the number of pairs, but no kernel of pairs is ever formed; with a linear kernel the pairs
    are counted by sorting, and time and memory grow with the number of points.

    Parameters
    ----------
    C : float, default 1
        Weight of the loss; positive.
    loss : {"hinge", "squared_hinge"}, default "hinge"
        Loss of a pair: its slack, or the square of that, which is solved faster.
    {group_weight, kernel_parameters}
    tol : float, default 1e-3
        Relative duality gap at which the solution is good enough. If it is not reached, the best
        solution that was met is kept, and a ConvergenceWarning names its gap.

    Attributes
    ----------
    basis_ : ndarray of shape (n_basis,)
        The training points with a coefficient other than zero; with a linear kernel all
        features.
    {coef_, X_basis_, n_groups_, input_attributes}
    duality_gap_ : float
        Relative duality gap of the solution.

    See Also
    --------
    RankRLS : The squared loss on the same pairs.

    Notes
    -----
    {linear_note}

    With a kernel that is not positive definite, the problem is not convex: the solution is where
    the solver stopped, and a warning says so. "additive_chi2" does no harm, for it is positive
    definite on differences. Pairs that no function of the kernel separates have dual variables of
    the size of C: from about 1e12 times the inverse of the kernel values on, they cannot be told
    to a small gap in double precision.

    Examples
    --------
    >>> import numpy as np
    >>> from rankpursuit import RankSVM
    >>> rng = np.random.default_rng(0)
    >>> X, groups = rng.normal(size=(40, 2)), np.repeat(np.arange(4), 10)
    >>> y = X[:, 0] + 10 * groups
    >>> model = RankSVM(kernel="linear").fit(X, y, groups)
    >>> round(model.score(X, y, groups), 2), bool(model.duality_gap_ <= model.tol)
    (1.0, True)

    Judgements instead of scores, the first of them twice.

    >>> model = RankSVM(kernel="linear").fit(X, pairs=[(3, 1), (0, 2), (3, 1)])
    >>> first, second, third, fourth = model.predict(X[:4])
    >>> bool(fourth > second and first > third)
    True
    """

    C: float = field(default=1.0, kw_only=False)
    loss: Loss = "hinge"
    tol: float = 1e-3

    _constraints: ClassVar[Constraints] = {
        "C": POSITIVE,
        "loss": (Choice.of(Loss),),
        "tol": POSITIVE,
    }

    @documented
    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        *,
        pairs: ArrayLike | None = None,
        weights: ArrayLike | None = None,
    ) -> Self:
        """Fit to the order of scores inside each group, or of explicit pairs.

        Parameters
        ----------
        {X_train}
        y : array-like of shape (n,), optional
            Scores; ties produce no pair. Not with `pairs`, which say the order themselves.
        {groups}
        pairs : array-like of shape (p, 2), optional
            Instead of scores, the order of some pairs: a row (i, j) says that sample i is
            preferred to sample j. The weights of a row that occurs more than once add up, and
            (i, j) and (j, i) are two pairs, each with its loss. The indices are those of the
            rows of X, so a cross-validation that draws rows cannot pass pairs on.
        weights : array-like of shape (p,), optional
            Positive weights of the pairs' losses. Default: all 1.

        Returns
        -------
        self
        """
        if pairs is None and weights is None:
            X, y = self._check_scored(X, checked_target(self, y), min_samples=2)
            order: Order = OrderOfScores(y, self._compared(groups, len(y)))
        else:
            X, self.n_groups_ = self._check_points(X, min_samples=2), None
            told = checked_pairs(pairs, weights, groups, X.shape[0])
            if y is not None:
                raise ValueError("y and pairs both say what is preferred; pass one of them")
            order = OrderOfPairs(X.shape[0], *add_up_ordered(*told))
        if self._is_linear:
            self._fit_linear(X, order)
        else:
            self._fit_kernel(X, order)
        if not abs(self.duality_gap_) <= self.tol:
            warnings.warn(
                f"RankSVM stopped at a relative duality gap of {self.duality_gap_:.1e}, above "
                f"tol={self.tol:g}; scale the features, lower C or use a positive definite kernel",
                ConvergenceWarning,
                stacklevel=2,
            )
        return self

    def _fit_kernel(self, X: Array, order: Order) -> None:
        kernel, exponent = self._training_kernel(X, np.arange(len(X)))
        C = self._scaled_C(exponent)
        path = rank_svm_path(kernel[None], order.listed(), [C], loss=self.loss, tol=self.tol)
        self.duality_gap_ = float(path.gap[0, 0])
        coef = shifted(path.coefficients[0, 0], -exponent)
        support = np.flatnonzero(coef)
        self._keep(X, support, coef[support])

    def _fit_linear(self, X: Any, order: Order) -> None:
        """Solve in the weights of the features, or in few points."""
        points, exponent = self._scaled_points(X)
        C, (n_points, n_features) = self._scaled_C(exponent), points.shape
        weights, gap = np.zeros(n_features), np.inf
        if n_points > (FEW_POINTS if n_points <= n_features else FEWEST_POINTS):
            solved = rank_svm_weights(points, order.compared(), C, loss=self.loss, tol=self.tol)
            weights, gap = solved.weights, solved.gap
        if not gap <= self.tol and n_points <= FEW_POINTS:
            kernel = linear_kernel(points, points)[None]
            path = rank_svm_path(kernel, order.listed(), [C], loss=self.loss, tol=self.tol)
            if path.gap[0, 0] < gap:
                weights, gap = points.T @ path.coefficients[0, 0], path.gap[0, 0]
        self.duality_gap_ = float(gap)
        self._keep_weights(weights, -exponent // 2)

    def _scaled_C(self, exponent: int) -> float:
        return float(np.clip(shifted(float(self.C), exponent), 1.0 / LARGEST_C, LARGEST_C))
