"""The losses of RankSVM at one linear function, from sums over the pairs with a small margin.

With the slack ``t_ij = c - (f_i - f_j)`` of the pairs below a margin c, and their balance b and
Laplacian L, all that is needed follows from ``L f``:

    sum w_ij t_ij (e_i - e_j) = c b - L f,    sum w_ij t_ij = c sum w_ij - b' f,
    sum w_ij t_ij^2 = c sum w_ij t_ij - (c b - L f)' f.

Every function comes with a lower bound of the least objective: the dual objective of
``alpha_ij``, the derivatives of the pairs' losses, scaled by the number that makes it largest.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rankpursuit.solvers.features import Features
from rankpursuit.solvers.rank_svm.compared import Compared, Violated

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Point:
    """A linear function, its objective, and the quadratic that its surroundings look like.

    Attributes
    ----------
    weights : ndarray of shape (d,)
    objective : float
    bound : float
        The least objective is at least this.
    smooth : float
        What Newton's method lowers: the objective, or a smooth one close to it.
    gradient : ndarray of shape (d,)
        Of `smooth`.
    curvature : callable
        The Hessian of `smooth` is ``I + X' H X``; returns ``H x`` for x of shape (n,) or (n, k).
    degrees : ndarray of shape (n,)
        Diagonal of H.
    excess : float
        Part of the duality gap that is left where the gradient is zero: that of the pairs for
        which `smooth` is not the objective. The gap is this and half of the gradient's square.
    """

    weights: Array
    objective: float
    bound: float
    smooth: float
    gradient: Array
    curvature: Callable[[Array], Array]
    degrees: Array
    excess: float = 0.0


def squared_hinge(X: Features, pairs: Compared, C: float, weights: Array) -> Point:
    """Return what follows for the loss ``w_ij max(0, t_ij)^2``.

    Parameters
    ----------
    X : ndarray or sparse array of shape (n, d)
    pairs : Compared
        Of the n points.
    C : float
    weights : ndarray of shape (d,)
    """
    values = X @ weights
    below = pairs.violated(values, 1.0)
    pulls = below.balance - below.laplacian(values)
    slack = below.count - below.balance @ values
    squares = slack - pulls @ values
    along = X.T @ pulls
    objective = 0.5 * weights @ weights + C * squares
    # Scaled by q, the dual objective is q (2 C slack) - q^2 (C squares + 2 C^2 |along|^2).
    against = C * squares + 2.0 * C**2 * (along @ along)
    bound = (C * slack) ** 2 / against if against > 0.0 else 0.0
    return Point(
        weights,
        objective,
        bound,
        objective,
        weights - 2.0 * C * along,
        lambda x: 2.0 * C * below.laplacian(x),
        2.0 * C * below.degrees,
    )


def hinge(X: Features, pairs: Compared, C: float, weights: Array, zone: float) -> Point:
    """Return what follows for the loss ``w_ij max(0, t_ij)``, made smooth in a zone above 0.

    For slacks below `zone` it is ``t_ij^2 / (2 zone)``, and behind that ``t_ij - zone / 2``.
    """
    values = X @ weights
    below, behind = (pairs.violated(values, margin) for margin in (1.0, 1.0 - zone))
    pulls, slack, squares = _between(below, behind, values)
    far = behind.count - behind.balance @ values
    along = X.T @ (pulls / zone + behind.balance)
    norm = 0.5 * weights @ weights
    # The dual variables are C t_ij / zone, and C behind the zone: the scale is at most 1.
    gain, against = C * (slack / zone + behind.count), C**2 * (along @ along)
    scale = min(1.0, gain / against) if against > 0.0 else 1.0
    return Point(
        weights,
        norm + C * (slack + far),
        scale * gain - 0.5 * scale**2 * against,
        norm + C * (squares / (2.0 * zone) + far - 0.5 * zone * behind.count),
        weights - C * along,
        lambda x: C / zone * (below.laplacian(x) - behind.laplacian(x)),
        C / zone * (below.degrees - behind.degrees),
        C * (slack - squares / zone),
    )


def _between(below: Violated, behind: Violated, values: Array) -> tuple[Array, float, float]:
    """Add up the pairs of `below` that are not of `behind`, with the margin 1.

    Returns
    -------
    pulls : ndarray of shape (n,)
        ``sum w_ij t_ij (e_i - e_j)``.
    slack, squares : float
        ``sum w_ij t_ij`` and ``sum w_ij t_ij^2``.
    """
    balance = below.balance - behind.balance
    pulls = balance - (below.laplacian(values) - behind.laplacian(values))
    slack = float(below.count - behind.count - balance @ values)
    return pulls, slack, slack - float(pulls @ values)
