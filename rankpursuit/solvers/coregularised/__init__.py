"""Co-regularised pursuit: one function a view, that agree with each other on unscored points.

The cost of the views' functions ``f_1 .. f_M`` is that of the paper,

    sum_v |B s - B f_v|^2 + nu sum_{v,u} |B' f_v - B' f_u|^2        (B' on the unscored points),

each pair of views counted twice: one least-squares problem, see
:mod:`rankpursuit.solvers.coregularised.joint_problem`. A step appends one function to every view:
the tuple that lowers the cost most.
"""

from rankpursuit.solvers.coregularised.joint_problem import Agreement
from rankpursuit.solvers.coregularised.of_kernels import pursue_views
from rankpursuit.solvers.coregularised.path import (
    CoregularisedPath,
    JointFitting,
    coregularised_pursuit,
)

__all__ = [
    "Agreement",
    "CoregularisedPath",
    "JointFitting",
    "coregularised_pursuit",
    "pursue_views",
]
