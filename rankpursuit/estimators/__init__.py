"""Every algorithm of the paper as a scikit-learn estimator."""

from rankpursuit.estimators.cv import (
    RLSCV,
    CombinedRankingRegressionPursuitCV,
    KernelMatchingPursuitCV,
    RankingPursuitCV,
    RankRLSCV,
    SemiSupervisedRankingPursuitCV,
    SparseRankRLSCV,
)
from rankpursuit.estimators.pursuit import (
    CombinedRankingRegressionPursuit,
    KernelMatchingPursuit,
    RankingPursuit,
)
from rankpursuit.estimators.rank_svm import RankSVM
from rankpursuit.estimators.rls import RLS, RankRLS, SparseRankRLS
from rankpursuit.estimators.scoring import group_scorer
from rankpursuit.estimators.semi_supervised import SemiSupervisedRankingPursuit

__all__ = [
    "RLS",
    "RLSCV",
    "CombinedRankingRegressionPursuit",
    "CombinedRankingRegressionPursuitCV",
    "KernelMatchingPursuit",
    "KernelMatchingPursuitCV",
    "RankRLS",
    "RankRLSCV",
    "RankSVM",
    "RankingPursuit",
    "RankingPursuitCV",
    "SemiSupervisedRankingPursuit",
    "SemiSupervisedRankingPursuitCV",
    "SparseRankRLS",
    "SparseRankRLSCV",
    "group_scorer",
]
