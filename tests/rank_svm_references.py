"""RankSVM by the explicit differences of its pairs, with the solvers of others."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.svm import SVC

from rankpursuit.solvers import OrderedPairs

LOSSES = ["hinge", "squared_hinge"]
ANY_LOSS = pytest.mark.parametrize("loss", LOSSES)
Cs = np.array([0.01, 0.3, 10.0])


def ordered(problem):
    return OrderedPairs.of_scores(problem.scores, problem.preferences.pairs())


def differences_by_loops(scores, groups):
    """One row ``e_i - e_j`` for each pair inside a group in which i is preferred to j."""
    rows = []
    for i in range(len(scores)):
        for j in range(len(scores)):
            if groups[i] == groups[j] and scores[i] > scores[j]:
                row = np.zeros(len(scores))
                row[i], row[j] = 1.0, -1.0
                rows.append(row)
    return np.array(rows).reshape(-1, len(scores))


def objective(kernel, rows, a, C, loss, weights=1.0):
    slack = np.maximum(0.0, 1.0 - rows @ kernel @ a)
    return 0.5 * a @ kernel @ a + C * np.sum(weights * (slack if loss == "hinge" else slack**2))


def least_objective(kernel, rows, C, loss, weights=1.0):
    if loss == "squared_hinge":
        return best_squared_hinge(kernel, rows, C, weights)
    a = best_hinge(kernel, rows, C, weights)
    return objective(kernel, rows, a, C, loss, weights)


def best_hinge(kernel, rows, C, weights=1.0):
    """Coefficients of scikit-learn's SVC on the kernel of the pairs' differences.

    Each pair is given in both orientations with half of C: by symmetry and convexity an intercept
    of zero is among the best ones.
    """
    gram = rows @ kernel @ rows.T
    both = np.block([[gram, -gram], [-gram, gram]])
    labels = np.repeat([1, -1], len(rows))
    twice = np.tile(np.broadcast_to(weights, len(rows)), 2)
    svc = SVC(C=C / 2.0, kernel="precomputed", tol=1e-5).fit(both, labels, sample_weight=twice)
    dual = np.zeros(2 * len(rows))
    dual[svc.support_] = svc.dual_coef_[0]
    return rows.T @ (dual[: len(rows)] - dual[len(rows) :])


def best_squared_hinge(kernel, rows, C, weights=1.0):
    """Least objective by L-BFGS on the primal, in an explicit feature space of the kernel."""
    values, vectors = np.linalg.eigh(kernel)
    features = vectors * np.sqrt(np.maximum(values, 0.0))
    X = rows @ features

    def primal(w):
        slack = np.maximum(0.0, 1.0 - X @ w)
        pull = C * weights * slack
        return 0.5 * w @ w + pull @ slack, w - 2.0 * X.T @ pull

    start = np.zeros(len(kernel))
    tight = {"maxiter": 10_000, "ftol": 1e-15, "gtol": 1e-10}
    return minimize(primal, start, jac=True, method="L-BFGS-B", options=tight).fun
