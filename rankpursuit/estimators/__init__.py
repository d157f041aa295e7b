"""Every algorithm of the paper as a scikit-learn estimator."""

from rankpursuit.estimators.loading import load_model
from rankpursuit.estimators.onnx_export import to_onnx
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
    "CombinedRankingRegressionPursuit",
    "KernelMatchingPursuit",
    "RankRLS",
    "RankSVM",
    "RankingPursuit",
    "SemiSupervisedRankingPursuit",
    "SparseRankRLS",
    "group_scorer",
    "load_model",
    "to_onnx",
]
