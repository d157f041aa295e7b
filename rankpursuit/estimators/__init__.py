"""Every algorithm of the paper as a scikit-learn estimator."""

# ruff: noqa: F401

from rankpursuit.estimators._checks import groups_from_sizes
from rankpursuit.estimators.dictionaries import GrownDictionary, KernelDictionary
from rankpursuit.estimators.inspection import (
    ContributionsDisplay,
    FunctionsDisplay,
    PathDisplay,
)
from rankpursuit.estimators.io import load_model
from rankpursuit.estimators.least_squares import RLS, RankRLS, SparseRankRLS
from rankpursuit.estimators.path_cv import PathCV, RankingPursuitCV
from rankpursuit.estimators.pursuit import (
    CombinedRankingRegressionPursuit,
    KernelMatchingPursuit,
    RankingPursuit,
)
from rankpursuit.estimators.rank_svm import RankSVM
from rankpursuit.estimators.scoring import (
    group_scorer,
    kendall_scorer,
    map_scorer,
    mrr_scorer,
    ndcg_scorer,
    sizes_from_groups,
)
from rankpursuit.estimators.semi_supervised import SemiSupervisedRankingPursuit
