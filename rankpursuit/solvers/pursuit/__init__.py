"""Pursuits with one function: kernel matching pursuit, ranking pursuit, and their blend."""

from rankpursuit.solvers.pursuit.blocks import sum_rows
from rankpursuit.solvers.pursuit.engine import Fitting, pursue, pursue_gram
from rankpursuit.solvers.pursuit.form_choice import choose_form, is_exact, pursue_stack
from rankpursuit.solvers.pursuit.held_out import pursue_held_out
from rankpursuit.solvers.pursuit.path import PursuitPath, count_basis
from rankpursuit.solvers.pursuit.ridge import positive_part, ridge_gram, ridge_rows
from rankpursuit.solvers.pursuit.ridge_paths import ridge_paths
from rankpursuit.solvers.pursuit.sums import GramSums

__all__ = [
    "Fitting",
    "GramSums",
    "PursuitPath",
    "choose_form",
    "count_basis",
    "is_exact",
    "positive_part",
    "pursue",
    "pursue_gram",
    "pursue_held_out",
    "pursue_stack",
    "ridge_gram",
    "ridge_paths",
    "ridge_rows",
    "sum_rows",
]
