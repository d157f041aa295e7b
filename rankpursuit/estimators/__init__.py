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
from rankpursuit.estimators.groups import groups_from_sizes, sizes_from_groups
from rankpursuit.estimators.loading import load_model
from rankpursuit.estimators.onnx_export import to_onnx
from rankpursuit.estimators.pursuit import (
    CombinedRankingRegressionPursuit,
    KernelMatchingPursuit,
    RankingPursuit,
)
from rankpursuit.estimators.rank_svm import RankSVM
from rankpursuit.estimators.ranking_scorers import (
    kendall_scorer,
    map_scorer,
    mrr_scorer,
    ndcg_scorer,
)
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
    "groups_from_sizes",
    "kendall_scorer",
    "load_model",
    "map_scorer",
    "mrr_scorer",
    "ndcg_scorer",
    "sizes_from_groups",
    "to_onnx",
]
