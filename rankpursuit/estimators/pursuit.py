"""The pursuits with one function: kernel matching pursuit, ranking pursuit, and their blend."""

from __future__ import annotations

from typing import ClassVar, Self

from numpy.typing import ArrayLike, NDArray

from rankpursuit.estimators._block_pursuit import BlockPursuit
from rankpursuit.estimators._constraints import Constraints, Number
from rankpursuit.estimators._docs import documented
from rankpursuit.estimators._fitting import FitsOrder, FitsScores, Ranker
from rankpursuit.estimators._parameters import parameters
from rankpursuit.preferences import Blend, Preferences


@documented
class KernelMatchingPursuit(FitsScores, BlockPursuit):
    """Kernel matching pursuit: a sparse expansion grown greedily by least squares on the scores.

    Parameters
    ----------
    {n_basis, fitting, repeat, ridge, n_candidates, kernel_parameters, random_state}

    Attributes
    ----------
    {basis_, coef_, staged_coef_, cost_, X_basis_, input_attributes}

    See Also
    --------
    RankingPursuit : The same on the differences of pairs.
    CombinedRankingRegressionPursuit : A blend of both.
    RLS : Regularised least squares with all points.

    Notes
    -----
    {columns_note}

    {memory_note}

    Examples
    --------
    >>> import numpy as np
    >>> from rankpursuit import KernelMatchingPursuit
    >>> X = np.linspace(0.0, 3.0, 31)[:, None]
    >>> model = KernelMatchingPursuit(n_basis=3, ridge=0.01).fit(X, np.sin(X[:, 0]))
    >>> model.basis_
    array([16,  3, 30])
    >>> model.predict([[0.25], [1.25]]).round(2)
    array([0.3 , 0.96])
    """


@documented
@parameters
class RankingPursuit(FitsOrder, BlockPursuit):
    """Ranking pursuit: a sparse expansion grown greedily on the differences of pairs.

    Every step lowers ``(s - f)' L (s - f)``, the squared loss on all pairs inside a group, with
    the Laplacian L of the preference graph.

    Parameters
    ----------
    {n_basis, fitting, repeat, ridge, group_weight, n_candidates, kernel_parameters, random_state}

    Attributes
    ----------
    {basis_, coef_, staged_coef_, cost_, X_basis_, n_groups_, input_attributes}

    See Also
    --------
    KernelMatchingPursuit : The same on the scores of single points.
    CombinedRankingRegressionPursuit : A blend of both.
    SemiSupervisedRankingPursuit : Learns from unscored points too.
    RankRLS : Regularised least squares on the same differences.
    RankingPursuitCV : The same with its parameters chosen by cross-validation.

    Notes
    -----
    {columns_note}

    {memory_note}

    The defaults are what does well over data of different kinds, and then on data that took no
    part in that choice (results/defaults.md): refitted, regularised, and each query counting by
    its size and not by its pairs. The pursuit of the paper is
    ``fitting="basic", ridge=0, group_weight="pairs", n_candidates=None``.
    :class:`RankingPursuitCV` chooses the ridge, the width and the number of functions.

    Examples
    --------
    >>> import numpy as np
    >>> from rankpursuit import RankingPursuit
    >>> rng = np.random.default_rng(0)
    >>> X, groups = rng.normal(size=(40, 2)), np.repeat(np.arange(4), 10)
    >>> y = X[:, 0] + 10 * groups
    >>> model = RankingPursuit(n_basis=8).fit(X, y, groups)
    >>> model.basis_.shape, round(model.score(X, y, groups), 2)
    ((8,), 0.93)

    Clicks instead of scores: each sample over the next one.

    >>> order = np.argsort(-X[:, 0])
    >>> clicks = np.column_stack([order[:-1], order[1:]])
    >>> model = RankingPursuit(n_basis=8).fit(X, pairs=clicks)
    >>> round(model.score(X, X[:, 0]), 2)
    0.97
    """


@documented
@parameters
class CombinedRankingRegressionPursuit(Ranker, BlockPursuit):
    """Combined ranking and regression pursuit (CRRP).

    Every step lowers ``(s - f)' (beta I + (1 - beta) L) (s - f)``: kernel matching pursuit for
    beta = 1, ranking pursuit for beta = 0.

    Parameters
    ----------
    {n_basis}
    beta : float, default 0.5
        Weight of the regression part, from 0 to 1.
    {fitting, repeat, ridge, group_weight, n_candidates, kernel_parameters, random_state}

    Attributes
    ----------
    {basis_, coef_, staged_coef_, cost_, X_basis_, n_groups_, input_attributes}

    See Also
    --------
    KernelMatchingPursuit : The regression part alone.
    RankingPursuit : The ranking part alone.

    Notes
    -----
    {columns_note}

    {memory_note}

    Examples
    --------
    >>> import numpy as np
    >>> from rankpursuit import CombinedRankingRegressionPursuit
    >>> X = np.linspace(0.0, 3.0, 31)[:, None]
    >>> model = CombinedRankingRegressionPursuit(n_basis=6, ridge=0.01)
    >>> model.fit(X, np.exp(X[:, 0])).predict([[1.0], [2.0]]).round(1)
    array([2.4, 7.1])
    """

    beta: float = 0.5

    _constraints: ClassVar[Constraints] = {"beta": (Number(low=0.0, high=1.0),)}

    @documented
    def fit(self, X: ArrayLike, y: ArrayLike, groups: ArrayLike | None = None) -> Self:
        """Fit to scores, and to their order inside each group.

        Parameters
        ----------
        {X_train, scores, groups}

        Returns
        -------
        self
        """
        X, y = self._check_scored(X, y, min_samples=2)
        return self._learn(X, y, Blend(self._compared(groups, len(X)), self.beta))

    def _block_form(self, labels: NDArray) -> Preferences:
        """Return the blend of both parts for points with these labels."""
        return Blend(super()._block_form(labels), self.beta)
