"""The algorithms of the paper as pure functions on arrays: whole paths for stacks of kernels.

:mod:`~rankpursuit.solvers.pursuit` has the greedy engine of the pursuits with one function,
:mod:`~rankpursuit.solvers.functions` its dictionaries of functions and their products,
:mod:`~rankpursuit.solvers.coregularised` the engine with one function per view,
:mod:`~rankpursuit.solvers.least_squares` RLS and RankRLS, and
:mod:`~rankpursuit.solvers.rank_svm` RankSVM. :mod:`~rankpursuit.solvers.paths` has one function for
each method, with its whole grid.
"""

# ruff: noqa: F401

from rankpursuit.solvers.coregularised import (
    AGGREGATIONS,
    Aggregation,
    Agreement,
    CoregularisedPath,
    JointFitting,
    Views,
    coregularised_pursuit,
    split_features,
    split_points,
    weighted_mean,
)
from rankpursuit.solvers.functions import (
    Functions,
    Growth,
    predict_chosen,
    pursue_functions,
)
from rankpursuit.solvers.least_squares import (
    Edges,
    add_up,
    add_up_ordered,
    grounded,
    linear_kernel,
    nearest_scores,
    nested_rls_path,
    rls_path,
    rls_solution,
    rls_weights,
    sparse_rls_weights,
)
from rankpursuit.solvers.paths import (
    CoefficientGrid,
    JointGrid,
    PursuitGrid,
    RankSVMGrid,
    Rows,
    View,
    joint_grid,
    least_squares_grid,
    pursuit_grid,
    rank_svm_grid,
    subset_grid,
)
from rankpursuit.solvers.pursuit import (
    MAX_BASIS,
    Columns,
    Fitting,
    GramSums,
    PursuitPath,
    choose_form,
    count_basis,
    is_exact,
    pursue,
    pursue_gram,
    pursue_stack,
    ridge_gram,
    ridge_paths,
    ridge_rows,
    sum_rows,
)
from rankpursuit.solvers.rank_svm import (
    GroupedPairs,
    Loss,
    OrderedPairs,
    rank_svm_path,
    rank_svm_weights,
)
