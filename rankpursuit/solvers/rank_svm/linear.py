"""RankSVM of linear functions, solved in their d weights.

Newton's method on the primal: time grows with the points times the features, and nothing has as
many entries as there are pairs, see :mod:`rankpursuit.solvers.rank_svm.compared`. The hinge is made
smooth in a zone that shrinks until the duality gap of the hinge itself, not of the smooth loss, is
as small as was asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.sparse.linalg import LinearOperator, cg

from rankpursuit.solvers.fallbacks import solve
from rankpursuit.solvers.features import Features, moment, squares
from rankpursuit.solvers.rank_svm.compared import Compared
from rankpursuit.solvers.rank_svm.losses import Point, hinge, squared_hinge
from rankpursuit.solvers.rank_svm.path import Loss

Array = NDArray[np.float64]

_MOST_DENSE = 512
"""With more features a Newton step is found by conjugate gradients."""
_CG_STEPS = 250
_CG_TOLERANCE = 1e-3
_TRIALS = 30
_SETTLED = 1.0
"""The zone shrinks once the gradient's part of the gap is less than this share of the excess."""
_SHRINK = (0.1, 0.5)
"""By what a zone is multiplied: the least and the most."""
_NARROWEST = 1e-6
"""In a narrower zone, rounding errors of the sums of slacks would show in the gap."""


class LinearRankSVM(NamedTuple):
    """A linear function ``f(x) = w' x``.

    Attributes
    ----------
    weights : ndarray of shape (d,)
    objective : float
    gap : float
        Duality gap, relative to the objective.
    """

    weights: Array
    objective: float
    gap: float


def rank_svm_weights(
    X: Features,
    pairs: Compared,
    C: float,
    *,
    loss: Loss = "hinge",
    tol: float = 1e-3,
    max_iter: int = 500,
) -> LinearRankSVM:
    """Minimise ``|w|^2 / 2 + C sum w_ij max(0, 1 - (f_i - f_j))``, or the same with squares.

    Parameters
    ----------
    X : ndarray or sparse array of shape (n, d)
        The points.
    pairs : Compared
        Of the n points.
    C : float
        Positive.
    loss : {"hinge", "squared_hinge"}
    tol : float
        Relative duality gap at which the problem is solved.
    max_iter : int
        Largest number of Newton steps.

    Returns
    -------
    LinearRankSVM
        Finite. If the problem could not be solved, the best function that was met, and a gap above
        `tol`.
    """
    points = X if sp.issparse(X) else pairs.centred(X)
    # What overflows is found by its gap.
    with np.errstate(over="ignore", invalid="ignore", divide="ignore", under="ignore"):
        return _descend(points, pairs, np.float64(C), loss, tol, max_iter)


def _descend(
    X: Features, pairs: Compared, C: float, loss: Loss, tol: float, max_iter: int
) -> LinearRankSVM:
    zone = 1.0

    def at(weights: Array) -> Point:
        if loss == "squared_hinge":
            return squared_hinge(X, pairs, C, weights)
        return hinge(X, pairs, C, weights, zone)

    point = best = at(np.zeros(X.shape[1]))
    bound = 0.0
    for _ in range(max_iter):
        bound = max(bound, point.bound) if np.isfinite(point.bound) else bound
        best = min(best, point, key=lambda one: one.objective)
        if best.objective - bound <= tol * best.objective:
            break
        settled = 0.5 * float(point.gradient @ point.gradient) <= _SETTLED * point.excess
        reached = None if settled else _line_search(at, point, _newton_step(X, point))
        if reached is not None:
            point = reached
        elif point.excess > 0.0 and zone > _NARROWEST:
            # The excess grows about as the square of the zone.
            wanted = np.sqrt(0.5 * tol * best.objective / point.excess)
            zone *= float(np.clip(wanted, *_SHRINK))
            point = at(point.weights)
        else:
            break
    if best.objective == 0.0:  # no pairs
        return LinearRankSVM(best.weights, 0.0, 0.0)
    return LinearRankSVM(best.weights, best.objective, 1.0 - bound / best.objective)


def _line_search(at: Callable[[Array], Point], point: Point, step: Array) -> Point | None:
    """Shorten the step until it lowers the objective enough: to where its slope may vanish."""
    slope, length = float(point.gradient @ step), 1.0
    for _ in range(_TRIALS):
        reached = at(point.weights + length * step)
        if reached.smooth < point.smooth + 1e-4 * length * slope:
            return reached
        rise = float(reached.gradient @ step) - slope
        length *= min(max(-slope / rise, 0.05), 0.5) if rise > 0.0 else 0.5
    return None


def _newton_step(X: Features, point: Point) -> Array:
    """Solve ``(I + X' H X) step = -gradient``."""
    n_features = X.shape[1]
    if n_features <= _MOST_DENSE:
        system = moment(X, point.curvature)
        system.flat[:: n_features + 1] += 1.0
        try:
            return cho_solve(cho_factor(system, check_finite=False), -point.gradient)
        except (LinAlgError, ValueError):
            return solve(system[None], -point.gradient[None])[0]

    def product(direction: Array) -> Array:
        return direction + X.T @ point.curvature(X @ direction)

    shape = (n_features, n_features)
    diagonal = 1.0 + squares(X).T @ point.degrees
    step, _ = cg(
        LinearOperator(shape, matvec=product, dtype=np.float64),
        -point.gradient,
        rtol=_CG_TOLERANCE,
        maxiter=_CG_STEPS,
        M=LinearOperator(shape, matvec=lambda x: x / diagonal, dtype=np.float64),
    )
    return step
