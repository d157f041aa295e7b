"""Pursuits with one function: kernel matching pursuit, ranking pursuit, and their blend."""

from rankpursuit.solvers.pursuit.engine import Fitting, pursue, pursue_gram
from rankpursuit.solvers.pursuit.held_out import pursue_held_out
from rankpursuit.solvers.pursuit.path import PursuitPath, count_basis
from rankpursuit.solvers.pursuit.ridge import positive_part, ridge_gram, ridge_rows
from rankpursuit.solvers.pursuit.sums import GramSums

__all__ = [
    "Fitting",
    "GramSums",
    "PursuitPath",
    "count_basis",
    "positive_part",
    "pursue",
    "pursue_gram",
    "pursue_held_out",
    "ridge_gram",
    "ridge_rows",
]
