"""The algorithms of the paper as pure functions on arrays, whole paths over stacks of kernels."""

from rankpursuit.solvers.coregularised import CoregularisedPath, coregularised_pursuit
from rankpursuit.solvers.linear_rls import rls_weights, sparse_rls_weights
from rankpursuit.solvers.pursuit import (
    PursuitPath,
    count_basis,
    pursue,
    pursue_gram,
    pursue_held_out,
    pursue_stack,
    ridge_gram,
    ridge_rows,
)
from rankpursuit.solvers.rank_svm import (
    OrderedPairs,
    RankSVMPath,
    rank_svm_path,
    rank_svm_weights,
)
from rankpursuit.solvers.rls import (
    nested_rls_path,
    rls_path,
    rls_solution,
    sparse_rls_path,
)
from rankpursuit.solvers.rls_held_out import rls_held_out, sparse_rls_held_out

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
    "pursue_held_out",
    "pursue_stack",
    "rank_svm_path",
    "rank_svm_weights",
    "ridge_gram",
    "ridge_rows",
    "rls_held_out",
    "rls_path",
    "rls_solution",
    "rls_weights",
    "sparse_rls_held_out",
    "sparse_rls_path",
    "sparse_rls_weights",
]
