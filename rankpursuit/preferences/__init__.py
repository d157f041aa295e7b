"""Preference graphs: which pairs of points count, and how much.

A graph W over n points has the Laplacian L. The ranking cost of a function f with values ``f``
at the points is ``(s - f)' L (s - f)``. With a root B of the Laplacian, ``L = B'B``, it is the
least-squares cost ``|B s - B f|^2``, so a ranking method is a regression method on transformed
rows. Everything here applies B or L to arrays.

All operators act on axis -2 of stacks of matrices of shape (..., n, k), and on vectors of
shape (n,).
"""

from rankpursuit.preferences.blend import Blend
from rankpursuit.preferences.form import Pointwise, Preferences
from rankpursuit.preferences.groups import GroupPreferences, GroupWeight
from rankpursuit.preferences.pairs import PairPreferences

__all__ = [
    "Blend",
    "GroupPreferences",
    "GroupWeight",
    "PairPreferences",
    "Pointwise",
    "Preferences",
]
