"""The greedy engine: matching pursuit over a stack of dictionaries, all prefixes at once.

A method is nothing but the rows that it passes. With the kernel columns K and the scores s:
kernel matching pursuit passes K and s, ranking pursuit ``B K`` and ``B s`` with the root B of its
preference graph, combined ranking and regression pursuit the rows of their blend.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from rankpursuit.solvers.orthogonal import nonzero_columns
from rankpursuit.solvers.pursuit.forms import Array, Form, GramForm, ResidueForm
from rankpursuit.solvers.pursuit.path import PursuitPath
from rankpursuit.solvers.ties import first_best

Fitting = Literal["basic", "backfit", "prefit"]


def pursue(
    dictionary: Array,
    target: Array,
    n_steps: int,
    *,
    fitting: Fitting = "basic",
    repeat: bool = False,
) -> PursuitPath:
    """Approximate the target by a growing sum of dictionary columns.

    Parameters
    ----------
    dictionary : ndarray of shape (b, m, N)
        A stack of b dictionaries of N columns.
    target : ndarray of shape (m,) or (b, m)
    n_steps : int
        Largest number of steps P; no more than N are made unless `repeat`.
    fitting : {"basic", "backfit", "prefit"}
        "basic" adds the column that lowers the cost ``|target - fit|^2`` most, with its best
        coefficient, and leaves the earlier coefficients alone. "backfit" chooses in the same way
        and then refits all coefficients by least squares. "prefit" chooses the column whose cost
        is lowest after the refit.
    repeat : bool
        Whether "basic" may choose a column again. A refit leaves nothing to gain from that.

    Returns
    -------
    PursuitPath
        A path ends early when no column is left that is linearly independent of the chosen ones
        to working precision, or when nothing is left of the residue.
    """
    n_steps = _most_steps(n_steps, dictionary.shape[2], fitting, repeat)
    form = ResidueForm(dictionary, target, n_steps, fitting != "basic")
    return _follow(form, n_steps, fitting, repeat)


def pursue_gram(
    gram: Array,
    products: Array,
    square: Array,
    n_steps: int,
    *,
    fitting: Fitting = "basic",
    repeat: bool = False,
) -> PursuitPath:
    """Do the same with nothing but the products of the columns: for any number of rows.

    Parameters
    ----------
    gram : ndarray of shape (b, N, N)
        Products ``X'X`` of the columns X of each dictionary.
    products : ndarray of shape (b, N)
        Products ``X'y`` with the target y.
    square : ndarray of shape (b,)
        ``y'y``.
    n_steps, fitting, repeat
        See :func:`pursue`.

    Returns
    -------
    PursuitPath
        That of :func:`pursue`, but for rounding, which is larger: columns of which less than
        1e-5 is left outside of the span of the chosen ones cannot be told from dependent ones.
    """
    n_steps = _most_steps(n_steps, products.shape[1], fitting, repeat)
    form = GramForm(gram, products, square, n_steps, fitting != "basic")
    return _follow(form, n_steps, fitting, repeat)


def _most_steps(n_steps: int, n_columns: int, fitting: Fitting, repeat: bool) -> int:
    return n_steps if repeat and fitting == "basic" else min(n_steps, n_columns)


def _follow(form: Form, n_steps: int, fitting: Fitting, repeat: bool) -> PursuitPath:
    n_problems = len(form.norms)
    usable = nonzero_columns(form.norms)
    problems = np.arange(n_problems)
    selected = np.full((n_problems, n_steps), -1, dtype=np.intp)
    weights = np.zeros((n_problems, n_steps))
    cost = np.empty((n_problems, n_steps + 1))
    cost[:, 0] = form.cost
    floor = form.nothing_left * cost[:, 0]
    active = np.ones(n_problems, dtype=bool)
    least_left = np.ones(n_problems)
    step = 0
    while step < n_steps:
        compared = form.left if fitting == "prefit" else form.norms
        gain = np.divide(
            np.square(form.correlation), compared, out=-np.ones_like(compared), where=usable
        )
        best = first_best(gain)
        active &= gain[problems, best] > floor
        if not active.any():
            break
        left, norms = form.left[problems, best], form.norms[problems, best]
        least_left[active] = np.minimum(least_left, left / np.where(active, norms, 1.0))[active]
        weights[:, step] = form.take(best, active)
        if fitting != "basic":
            usable &= form.left > form.independent * form.norms
        if not repeat:
            usable[problems[active], best[active]] = False
        selected[:, step] = np.where(active, best, -1)
        step += 1
        cost[:, step] = form.cost
    cost[:, step + 1 :] = cost[:, step, None]
    return PursuitPath(
        selected=selected,
        weights=weights,
        directions=form.directions,
        cost=cost,
        n_steps=np.count_nonzero(selected >= 0, axis=1),
        least_left=least_left,
    )
