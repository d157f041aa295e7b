"""The greedy engine: matching pursuit over a stack of dictionaries, all prefixes at once.

A method is nothing but the rows that it passes. With the kernel columns K and the scores s:
kernel matching pursuit passes K and s, ranking pursuit ``B K`` and ``B s`` with the root B of its
preference graph, combined ranking and regression pursuit the rows of their blend.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from rankpursuit.solvers.orthogonal import nonzero_columns
from rankpursuit.solvers.pursuit.forms import Array, Form, GramForm, ResidueForm
from rankpursuit.solvers.pursuit.path import PursuitPath
from rankpursuit.solvers.ties import first_best

Fitting = Literal["basic", "backfit", "prefit"]

_STEPS_OF_A_COPY = 4
"""Steps that take about as long as a copy of a problem: what the paths that go on are copied for,
so that no more work is done on those that have ended."""


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
    norms = form.norms
    n_problems, n_columns = norms.shape
    selected = np.full((n_problems, n_steps), -1, dtype=np.intp)
    weights = np.zeros((n_problems, n_steps))
    left = np.zeros((n_problems, n_steps))
    cost = np.empty((n_problems, n_steps + 1))
    cost[:, 0] = form.cost
    floor = form.nothing_left * cost[:, 0]
    # What cannot be chosen counts as infinitely long: nothing is gained by it.
    lengths = form.left if fitting == "prefit" else norms.copy()
    lengths[~nonzero_columns(norms)] = np.inf
    dependent = form.independent * norms
    running: slice | NDArray[np.intp] = slice(None)  # problems that are still followed
    active = np.ones(n_problems, dtype=bool)
    starts = np.arange(0, norms.size, n_columns)
    gain = np.empty_like(norms)
    step = 0
    while step < n_steps:
        np.square(form.correlation, out=gain)
        gain /= lengths
        best = first_best(gain)
        at = starts + best
        active &= gain.take(at) > floor
        n_active = np.count_nonzero(active)
        if not n_active:
            break
        if fitting != "basic":
            left[running, step] = form.left.take(at)
        weights[running, step] = form.take(best, active)
        if fitting != "basic":
            lengths[form.left <= dependent] = np.inf
        if not repeat:
            lengths.put(at, np.inf)
        selected[running, step] = best if n_active == len(active) else np.where(active, best, -1)
        step += 1
        cost[running, step] = form.cost
        if (len(active) - n_active) * (n_steps - step) > _STEPS_OF_A_COPY * n_active:
            kept = np.flatnonzero(active)
            form.keep(kept)
            lengths = form.left if fitting == "prefit" else lengths[kept]
            floor, dependent, gain = floor[kept], dependent[kept], gain[: len(kept)]
            active, starts = active[kept], starts[: len(kept)]
            running = kept if isinstance(running, slice) else running[kept]
    taken = selected >= 0
    shares = np.ones_like(left)
    if fitting != "basic":
        whole = np.take_along_axis(norms, np.maximum(selected, 0), axis=1)
        np.divide(left, whole, out=shares, where=taken)
    reached = np.count_nonzero(taken, axis=1)
    last = np.minimum(np.arange(n_steps + 1), reached[:, None])
    return PursuitPath(
        selected=selected,
        weights=weights,
        directions=form.directions,
        cost=np.maximum(np.take_along_axis(cost, last, axis=1), 0.0),
        n_steps=reached,
        least_left=shares.min(axis=1, initial=1.0),
    )
