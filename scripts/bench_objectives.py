"""Whether RankSVM and SVC reach the same objective, so that their times can be compared."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from bench_baselines import scored_kernel, scored_scores, svc_grid

from rankpursuit.experiments.problem import Problem
from rankpursuit.kernels import function_values
from rankpursuit.preferences import GroupPreferences
from rankpursuit.solvers import OrderedPairs, rank_svm_path

TOLERANCES = (1e-1, 3e-2, 1e-2, 3e-3, 1e-3, 3e-4, 1e-4)


def loosest_tolerance(
    problem: Problem, widths: Sequence[float], Cs: Sequence[float], goal: float
) -> tuple[float, float]:
    """Return the loosest `tol` of SVC whose objectives are ours to within the goal.

    Returns
    -------
    tolerance : float
        The tightest one that was tried if none is enough.
    difference : float
        The largest relative difference of the objectives over all widths and C.
    """
    pairs = OrderedPairs.of_scores(
        scored_scores(problem), GroupPreferences.single(problem.n_scored).pairs()
    )
    path = rank_svm_path(problem.scored_kernel, pairs, Cs, loss="hinge")
    ours = _objectives(problem, widths, Cs, path.coefficients[problem.kernel_index[0]])
    for tolerance in TOLERANCES:
        theirs = _objectives(problem, widths, Cs, svc_grid(problem, widths, Cs, tolerance))
        difference = float(np.max(np.abs(theirs - ours) / np.minimum(theirs, ours)))
        if difference <= goal:
            break
    return tolerance, difference


def _objectives(
    problem: Problem, widths: Sequence[float], Cs: Sequence[float], coefficients: np.ndarray
) -> np.ndarray:
    """Return ``a' K a / 2 + C sum max(0, 1 - (f_i - f_j))`` for a of shape (widths, C, n)."""
    scores = scored_scores(problem)
    better, worse = np.nonzero(scores[:, None] > scores[None, :])
    kernels = np.stack([scored_kernel(problem, width) for width in widths])
    values = function_values(kernels, coefficients)
    slack = np.maximum(1.0 - (values[..., better] - values[..., worse]), 0.0).sum(axis=2)
    return 0.5 * np.einsum("wci,wci->wc", coefficients, values) + np.asarray(Cs) * slack
