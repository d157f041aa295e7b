"""Problems of several views, the paper's formulas for them, and what a basic path must be."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, product

import numpy as np
import pytest
from problems import dense_laplacian, group_graph, ranking_cost

from rankpursuit.preferences import GroupPreferences
from rankpursuit.solvers import coregularised_pursuit

AGREEMENTS = ["cumulative", "incremental"]
ANY_AGREEMENT = pytest.mark.parametrize("agreement", AGREEMENTS)


@dataclass(frozen=True)
class Views:
    """Kernel columns of M views on the scored and the unscored points, and the scores."""

    scored: list  # of arrays of shape (b, n, N_v)
    unscored: list  # of arrays of shape (b, l, N_v)
    scores: np.ndarray
    groups: np.ndarray
    unscored_groups: np.ndarray

    @property
    def n_views(self):
        return len(self.scored)

    @property
    def root(self):
        return GroupPreferences(self.groups).root

    @property
    def unscored_root(self):
        return GroupPreferences(self.unscored_groups).root

    @cached_property
    def laplacians(self):
        return [dense_laplacian(group_graph(g)) for g in (self.groups, self.unscored_groups)]

    def pursue(self, nus, n_steps, **options):
        return coregularised_pursuit(
            [self.root(columns) for columns in self.scored],
            [self.unscored_root(columns) for columns in self.unscored],
            [self.root(self.scores)] * self.n_views,
            nus,
            n_steps,
            **options,
        )

    def cost(self, i, nu, coefficients):
        """The paper's cost of functions with dense coefficients, a vector for each view."""
        graph, unscored_graph = group_graph(self.groups), group_graph(self.unscored_groups)
        total = 0.0
        for v in range(self.n_views):
            total += ranking_cost(graph, self.scores - self.scored[v][i] @ coefficients[v])
            for u in range(self.n_views):
                apart = (
                    self.unscored[v][i] @ coefficients[v] - self.unscored[u][i] @ coefficients[u]
                )
                total += nu * ranking_cost(unscored_graph, apart)
        return total

    def system(self, i, nu, chosen, coefficients, agreement):
        """The paper's M x M system of a tuple, with the functions so far in its right side."""
        lap, bar = self.laplacians
        views = range(self.n_views)
        k = [self.scored[v][i][:, chosen[v]] for v in views]
        k_bar = [self.unscored[v][i][:, chosen[v]] for v in views]
        matrix, right = np.zeros((self.n_views, self.n_views)), np.zeros(self.n_views)
        for v in views:
            g = k[v] @ lap @ k[v]
            g_nu = 2.0 * nu * (self.n_views - 1) * k_bar[v] @ bar @ k_bar[v]
            matrix[v, v] = g + g_nu
            right[v] = k[v] @ lap @ (self.scores - self.scored[v][i] @ coefficients[v])
            for u in views:
                if u != v:
                    matrix[v, u] = -2.0 * nu * k_bar[v] @ bar @ k_bar[u]
                    if agreement == "cumulative":
                        f_v = self.unscored[v][i] @ coefficients[v]
                        f_u = self.unscored[u][i] @ coefficients[u]
                        right[v] -= 2.0 * nu * k_bar[v] @ bar @ (f_v - f_u)
        return matrix, right

    def gain(self, i, nu, chosen, coefficients, agreement):
        matrix, right = self.system(i, nu, chosen, coefficients, agreement)
        return right @ np.linalg.solve(matrix, right)

    def tuples_left(self, used, shared):
        left = [
            [g for g in range(self.scored[v].shape[2]) if g not in used[v]]
            for v in range(self.n_views)
        ]
        return [(g,) * self.n_views for g in left[0]] if shared else list(product(*left))

    def joint_columns(self, i, nu):
        """Rows of the joint least-squares problem; columns ordered by view."""
        root, bar = self.root, self.unscored_root
        sizes = [columns.shape[2] for columns in self.scored]
        starts = np.concatenate([[0], np.cumsum(sizes)])
        blocks = []
        for v in range(self.n_views):
            block = np.zeros((len(self.scores), starts[-1]))
            block[:, starts[v] : starts[v + 1]] = root(self.scored[v][i])
            blocks.append(block)
        for v, u in combinations(range(self.n_views), 2):
            block = np.zeros((len(self.unscored_groups), starts[-1]))
            block[:, starts[v] : starts[v + 1]] = bar(self.unscored[v][i])
            block[:, starts[u] : starts[u + 1]] = -bar(self.unscored[u][i])
            blocks.append(np.sqrt(2.0 * nu) * block)
        target = np.concatenate([root(self.scores)] * self.n_views)
        joint = np.concatenate(blocks)
        return joint, np.concatenate([target, np.zeros(len(joint) - len(target))]), starts


def random_views(seed, n_views=2, sizes=None, n_problems=2, n_scored=7, n_unscored=5, n_groups=1):
    rng = np.random.default_rng(seed)
    sizes = sizes or [5] * n_views
    return Views(
        [rng.normal(size=(n_problems, n_scored, size)) for size in sizes],
        [rng.normal(size=(n_problems, n_unscored, size)) for size in sizes],
        rng.normal(size=n_scored),
        np.arange(n_scored) % n_groups,
        np.arange(n_unscored) % n_groups,
    )


def dense_coefficients(views, path, i, k, p):
    """Coefficients of the prefix of p steps over the whole dictionaries."""
    result = []
    for v in range(views.n_views):
        dense = np.zeros(views.scored[v].shape[2])
        if p:
            chosen = path.selected[i, k, :, v]
            coefficients = path.coefficients(v)[i, k, p - 1]
            assert not coefficients[chosen < 0].any()
            dense[chosen[chosen >= 0]] = coefficients[chosen >= 0]
        result.append(dense)
    return result


def assert_basic_path(views, path, nus, agreement, shared=False, exhaustive=True):
    """Follow a basic path: each step is the solution of the paper's system of a best tuple."""
    for k, nu in enumerate(nus):
        for i in range(len(views.scored[0])):
            used = [[] for _ in range(views.n_views)]
            assert path.cost[i, k, 0] == pytest.approx(
                views.cost(i, nu, dense_coefficients(views, path, i, k, 0))
            )
            for p in range(path.n_steps[i, k]):
                before = dense_coefficients(views, path, i, k, p)
                after = dense_coefficients(views, path, i, k, p + 1)
                chosen = tuple(path.selected[i, k, p])
                if shared:
                    assert len(set(chosen)) == 1
                steps = [after[v][chosen[v]] - before[v][chosen[v]] for v in range(views.n_views)]
                matrix, right = views.system(i, nu, chosen, before, agreement)
                expected = np.linalg.solve(matrix, right)
                np.testing.assert_allclose(steps, expected, rtol=1e-8, atol=1e-10)
                gain = right @ expected
                if exhaustive:
                    gains = [
                        views.gain(i, nu, other, before, agreement)
                        for other in views.tuples_left(used, shared)
                    ]
                    assert gain >= max(gains) * (1.0 - 1e-9)
                cost = views.cost(i, nu, after)
                assert path.cost[i, k, p + 1] == pytest.approx(cost, rel=1e-8)
                if agreement == "cumulative":
                    fall = path.cost[i, k, p] - path.cost[i, k, p + 1]
                    assert fall == pytest.approx(gain, rel=1e-6, abs=1e-9)
                for v in range(views.n_views):
                    assert chosen[v] not in used[v]
                    used[v].append(chosen[v])
