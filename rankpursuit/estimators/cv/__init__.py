"""Estimators that choose their parameters by cross-validation along whole paths."""

from rankpursuit.estimators.cv.pursuit import (
    CombinedRankingRegressionPursuitCV,
    KernelMatchingPursuitCV,
    RankingPursuitCV,
)
from rankpursuit.estimators.cv.rls import RLSCV, RankRLSCV, SparseRankRLSCV
from rankpursuit.estimators.cv.semi_supervised import SemiSupervisedRankingPursuitCV

__all__ = [
    "RLSCV",
    "CombinedRankingRegressionPursuitCV",
    "KernelMatchingPursuitCV",
    "RankRLSCV",
    "RankingPursuitCV",
    "SemiSupervisedRankingPursuitCV",
    "SparseRankRLSCV",
]
