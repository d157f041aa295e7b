"""What a user would write instead, with scikit-learn and numpy: the baselines of bench.py.

All of them take a problem of one task.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import orthogonal_mp
from sklearn.svm import SVC

from rankpursuit.experiments.tasks import Problem
from rankpursuit.kernels import gamma_from_width, gaussian_stack, squared_distances
from rankpursuit.preferences import Blend, GroupPreferences
from rankpursuit.solvers import count_basis
from rankpursuit.solvers.coregularised import split_points


def scored_scores(problem: Problem) -> np.ndarray:
    """Scores of the scored points."""
    return problem.scores[0, : problem.n_scored]


def scored_kernel(problem: Problem, width: float) -> np.ndarray:
    """Kernel of the scored points with each other."""
    scored = problem.features[0, : problem.n_scored]
    return gaussian_stack(squared_distances(scored), [gamma_from_width(width)])[0]


def _kernels(problem: Problem, width: float) -> tuple[np.ndarray, np.ndarray]:
    """Kernel of the scored points with each other, and of the test points with them."""
    features = problem.features[0]
    scored, test = features[: problem.n_scored], features[problem.n_train :]
    new = gaussian_stack(squared_distances(test, scored), [gamma_from_width(width)])[0]
    return scored_kernel(problem, width), new


def kernel_ridge_grid(problem: Problem, widths: Sequence[float], lambdas: Sequence[float]) -> None:
    """RLS: fit and predict at every width and lambda."""
    features, scores = problem.features[0], scored_scores(problem)
    scored, test = features[: problem.n_scored], features[problem.n_train :]
    for width in widths:
        for weight in lambdas:
            model = KernelRidge(alpha=weight, kernel="rbf", gamma=gamma_from_width(width))
            model.fit(scored, scores).predict(test)


def kernel_ridge_on_pairs_grid(
    problem: Problem, widths: Sequence[float], lambdas: Sequence[float]
) -> None:
    """RankRLS: kernel ridge regression with the centred kernel at every width and lambda."""
    n = problem.n_scored
    centre = np.sqrt(n) * (np.eye(n) - 1.0 / n)
    for width in widths:
        kernel, new = _kernels(problem, width)
        for weight in lambdas:
            model = KernelRidge(alpha=weight, kernel="precomputed")
            model.fit(centre @ kernel @ centre, centre @ scored_scores(problem))
            model.predict(new @ centre)


def orthogonal_mp_grid(
    problem: Problem, widths: Sequence[float], form: Literal["points", "pairs", "both"]
) -> None:
    """Back-fitted pursuits: scikit-learn's path and the predictions of all prefixes, by width."""
    pairs = GroupPreferences.single(problem.n_scored)
    blend = Blend(pairs, 0.5)
    roots = {"points": lambda x: x, "pairs": pairs.root, "both": blend.root}
    root = roots[form]
    target = root(scored_scores(problem))
    for width in widths:
        kernel, new = _kernels(problem, width)
        rows = root(kernel)
        norms = np.sqrt(np.einsum("ij,ij->j", rows, rows))
        norms[norms == 0.0] = 1.0
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            path = orthogonal_mp(
                rows / norms, target, n_nonzero_coefs=problem.n_scored, return_path=True
            )
        _ = (new / norms) @ path


def svc_grid(
    problem: Problem, widths: Sequence[float], Cs: Sequence[float], tol: float
) -> np.ndarray:
    """RankSVM: SVC on the explicit kernel of the pairs' differences, at every width and C.

    Returns
    -------
    ndarray of shape (number of widths, number of C, n)
        Coefficients over the scored points.
    """
    scores = scored_scores(problem)
    better, worse = np.nonzero(scores[:, None] > scores[None, :])
    # SVC wants two classes and fits an intercept: every pair in both directions makes it vanish.
    first, second = np.concatenate([better, worse]), np.concatenate([worse, better])
    labels = np.repeat([1, -1], len(better))
    coefficients = np.zeros((len(widths), len(Cs), problem.n_scored))
    for w, width in enumerate(widths):
        kernel, new = _kernels(problem, width)
        differences = kernel[first] - kernel[second]
        of_pairs = differences[:, first] - differences[:, second]
        for weights, C in zip(coefficients[w], Cs, strict=True):
            model = SVC(C=C / 2, kernel="precomputed", tol=tol).fit(of_pairs, labels)
            np.add.at(weights, first[model.support_], model.dual_coef_[0])
            np.subtract.at(weights, second[model.support_], model.dual_coef_[0])
            _ = new @ weights
    return coefficients


def loop_over_pairs(problem: Problem, spec: Any) -> None:
    """SS ranking pursuit: the paper's 2 x 2 system for every pair of candidates, in a loop."""
    n, t = problem.n_scored, problem.n_train
    is_scored = np.arange(t) < n
    views = split_points(is_scored, 2, problem.tasks[0].generator("views"))
    scored, unscored = GroupPreferences.single(n), GroupPreferences.single(t - n)
    n_steps = count_basis(max(spec.n_basis), min(map(len, views)))
    for kernel in problem.kernel:
        rows = [scored.root(kernel[:n, view]) for view in views]
        bars = [unscored.root(kernel[n:t, view]) for view in views]
        for nu in spec.nu:
            _loop(rows, bars, scored.root(scored_scores(problem)), nu, n_steps)


def _loop(
    rows: list[np.ndarray], bars: list[np.ndarray], target: np.ndarray, nu: float, n_steps: int
) -> None:
    residues = [target.copy(), target.copy()]
    apart = np.zeros(len(bars[0]))
    left = [list(range(part.shape[1])) for part in rows]
    for _ in range(n_steps):
        best, chosen, steps = -np.inf, (0, 0), np.zeros(2)
        for i in left[0]:
            for j in left[1]:
                k, h, p, q = rows[0][:, i], rows[1][:, j], bars[0][:, i], bars[1][:, j]
                off = -2.0 * nu * (p @ q)
                system = np.array(
                    [[k @ k + 2.0 * nu * (p @ p), off], [off, h @ h + 2.0 * nu * (q @ q)]]
                )
                right = np.array(
                    [
                        k @ residues[0] - 2.0 * nu * (p @ apart),
                        h @ residues[1] + 2.0 * nu * (q @ apart),
                    ]
                )
                try:
                    solved = np.linalg.solve(system, right)
                except np.linalg.LinAlgError:
                    continue
                if right @ solved > best:
                    best, chosen, steps = right @ solved, (i, j), solved
        i, j = chosen
        if i not in left[0] or j not in left[1]:
            break
        left[0].remove(i)
        left[1].remove(j)
        residues[0] -= steps[0] * rows[0][:, i]
        residues[1] -= steps[1] * rows[1][:, j]
        apart += steps[0] * bars[0][:, i] - steps[1] * bars[1][:, j]
