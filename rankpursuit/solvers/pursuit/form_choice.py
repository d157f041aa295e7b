"""By which form a pursuit is followed: by all of its rows, or by the products of its columns.

The products of many rows are sums over blocks of them; those of a stack of small problems, of which
all rows are there, are found at once.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from rankpursuit.preferences import Blend, GroupPreferences, Pointwise, Preferences
from rankpursuit.solvers.pursuit.engine import Fitting, pursue, pursue_gram
from rankpursuit.solvers.pursuit.forms import Array
from rankpursuit.solvers.pursuit.path import PursuitPath

FormName = Literal["rows", "sums", "sums if exact"]

FEW_ENTRIES = 2**18
"""Kernel values up to which rows take no more than hundredths of a second."""

ROWS_ENTRIES = 2**25
"""Most kernel values that are kept as rows: 256 MB, of which a fit holds three or four at once."""

MANY_ROWS = 4
"""Rows for each candidate from which on a Gram matrix takes much less room than the rows."""

MANY_STEPS = 4
"""Columns for each step up to which their products take less time than the steps by rows."""

EXACT = 1e-6
"""Shares of squared norms, known to 1e-14 of the whole, that keep eight digits."""


def choose_form(
    n_rows: int, n_candidates: int, preferences: Preferences, fitting: Fitting
) -> FormName:
    """Say by which form a pursuit is followed.

    Rows are exact to working precision, but each step is a pass over all of them. Sums take one
    pass in all, in bounded memory. They need rows that can be cut into blocks, that is, no explicit
    pairs, and save nothing unless there are at least `MANY_ROWS` rows for each candidate.

    Parameters
    ----------
    n_rows, n_candidates : int
    preferences : Preferences
        The form of the rows.
    fitting : {"basic", "backfit", "prefit"}

    Returns
    -------
    {"rows", "sums", "sums if exact"}
        "sums" where the kernel values of the rows are more than `ROWS_ENTRIES`. "sums if exact"
        where they are more than `FEW_ENTRIES`: sums are faster, but their path counts only if
        :func:`is_exact` says so. "prefit" may choose functions that are nearly dependent, which
        sums cannot tell from dependent ones, so its rows are kept as long as they fit.

    Examples
    --------
    >>> choose_form(1_000_000, 1_000, Pointwise(1_000_000), "backfit")
    'sums'
    >>> choose_form(20_000, 1_000, Pointwise(20_000), "backfit")
    'sums if exact'
    >>> choose_form(500, 500, Pointwise(500), "backfit")
    'rows'
    """
    ranking = preferences.preferences if isinstance(preferences, Blend) else preferences
    n_entries = n_rows * n_candidates
    can_be_cut = isinstance(ranking, Pointwise | GroupPreferences)
    if not can_be_cut or n_rows < MANY_ROWS * n_candidates or n_entries <= FEW_ENTRIES:
        return "rows"
    if n_entries > ROWS_ENTRIES:
        return "sums"
    return "rows" if fitting == "prefit" else "sums if exact"


def is_exact(path: PursuitPath) -> bool:
    """Say whether paths of sums are those of the rows to about eight digits.

    They are if none ended early, if they leave more than `EXACT` of the cost, and if the functions
    that were chosen before left more than that of each one that was chosen.
    """
    n_steps = path.selected.shape[1]
    return bool(
        (path.n_steps == n_steps).all()
        and (path.cost[:, -1] > EXACT * path.cost[:, 0]).all()
        and (path.least_left > EXACT).all()
    )


def pursue_stack(
    dictionary: Array,
    target: Array,
    n_steps: int,
    *,
    fitting: Fitting = "basic",
    repeat: bool = False,
) -> PursuitPath:
    """Pursue the targets of a stack of small problems, in the form that takes less time.

    Parameters
    ----------
    dictionary, target, n_steps, fitting, repeat
        See :func:`rankpursuit.solvers.pursuit.pursue`.

    Returns
    -------
    PursuitPath
        By the products of the columns for "basic", unless its steps are few: each is then a
        difference of two rows, and as exact as with the residue, but for `cost`, which is known to
        1e-15 of the first one. A refit divides by what is left of columns that are nearly
        dependent, of which products keep half of the digits: it follows the rows.

    Examples
    --------
    >>> pursue_stack(np.eye(3)[None], np.array([1.0, 3.0, 2.0]), 2).selected
    array([[1, 2]])
    """
    if fitting != "basic" or n_steps * MANY_STEPS < dictionary.shape[2]:
        return pursue(dictionary, target, n_steps, fitting=fitting, repeat=repeat)
    columns = dictionary.swapaxes(1, 2)
    target = np.broadcast_to(target, dictionary.shape[:2])
    return pursue_gram(
        np.matmul(columns, dictionary),
        np.matmul(columns, target[:, :, None])[:, :, 0],
        np.einsum("bm,bm->b", target, target),
        n_steps,
        repeat=repeat,
    )
