"""Sparse preference learning by pursuit: the algorithms and experiments of one paper."""

# ruff: noqa: F403, F405
from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "1.0.0"

if TYPE_CHECKING:
    from rankpursuit.estimators import *

__all__ = [
    "RLS",
    "CombinedRankingRegressionPursuit",
    "ContributionsDisplay",
    "FunctionsDisplay",
    "GrownDictionary",
    "KernelDictionary",
    "KernelMatchingPursuit",
    "PathCV",
    "PathDisplay",
    "RankRLS",
    "RankSVM",
    "RankingPursuit",
    "RankingPursuitCV",
    "SemiSupervisedRankingPursuit",
    "SparseRankRLS",
    "group_scorer",
    "groups_from_sizes",
    "kendall_scorer",
    "load_model",
    "map_scorer",
    "mrr_scorer",
    "ndcg_scorer",
    "sizes_from_groups",
]


def __getattr__(name: str) -> Any:
    # scikit-learn takes a second to import; a command that prints its help must not wait for it.
    if name in __all__:
        import rankpursuit.estimators

        return getattr(rankpursuit.estimators, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(globals().keys() - {"Any", "TYPE_CHECKING", "annotations"} | set(__all__))
