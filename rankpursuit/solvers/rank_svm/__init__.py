"""RankSVM: a hinge loss on every pair, solved in the n points and never in the pairs' kernel.

With ``f = K a`` and the slack ``t_ij = 1 - (f_i - f_j)`` of each pair in which i is preferred to
j, the objective is ``a' K a / 2 + C sum w_ij max(0, t_ij)``, or the same with squared slacks; the
weights w_ij of the pairs are 1 by default. The dual has one variable ``alpha_ij >= 0`` for each
pair, and ``a = B' alpha = sum alpha_ij (e_i - e_j)``. Both solvers work with n x n systems
``(I + L K) v = B' r`` only, where L is the Laplacian of the pairs under some weights; the pairs'
own kernel ``B K B'`` is never formed. Both stop at a stated duality gap.

Linear functions are solved in their weights instead, with nothing of the size of n x n.
"""

from rankpursuit.solvers.rank_svm.compared import Compared, GroupedPairs, ListedPairs
from rankpursuit.solvers.rank_svm.linear import LinearRankSVM, rank_svm_weights
from rankpursuit.solvers.rank_svm.path import Loss, rank_svm_path
from rankpursuit.solvers.rank_svm.point_pairs import OrderedPairs
from rankpursuit.solvers.rank_svm.solutions import RankSVMPath

__all__ = [
    "Compared",
    "GroupedPairs",
    "LinearRankSVM",
    "ListedPairs",
    "Loss",
    "OrderedPairs",
    "RankSVMPath",
    "rank_svm_path",
    "rank_svm_weights",
]
