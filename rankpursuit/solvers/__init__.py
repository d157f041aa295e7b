"""The algorithms of the paper as pure functions on arrays, whole paths over stacks of kernels."""

from rankpursuit.solvers.coregularised import CoregularisedPath, coregularised_pursuit
from rankpursuit.solvers.pursuit import (
    PursuitPath,
    count_basis,
    pursue,
    pursue_gram,
    ridge_gram,
    ridge_rows,
)
from rankpursuit.solvers.rank_svm import OrderedPairs, RankSVMPath, rank_svm_path
from rankpursuit.solvers.rls import (
    nested_rls_path,
    rls_path,
    rls_solution,
    sparse_rls_path,
)

__all__ = [
    "CoregularisedPath",
    "OrderedPairs",
    "PursuitPath",
    "RankSVMPath",
    "coregularised_pursuit",
    "count_basis",
    "nested_rls_path",
    "pursue",
    "pursue_gram",
    "rank_svm_path",
    "ridge_gram",
    "ridge_rows",
    "rls_path",
    "rls_solution",
    "sparse_rls_path",
]
