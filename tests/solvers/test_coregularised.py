"""Co-regularised pursuit against the paper's formulas and a dense joint problem."""

import itertools
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from problems import dense_laplacian, group_graph, least_squares, ranking_cost

from rankpursuit.preferences import GroupPreferences
from rankpursuit.solvers import coregularised_pursuit, pursue
from rankpursuit.solvers.coregularised import (
    AGGREGATIONS,
    split_features,
    split_points,
    weighted_mean,
)

AGREEMENTS = ["cumulative", "incremental"]
ANY_AGREEMENT = pytest.mark.parametrize("agreement", AGREEMENTS)
ANY_FITTING = pytest.mark.parametrize("fitting", ["basic", "backfit"])


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
        return [(g,) * self.n_views for g in left[0]] if shared else list(itertools.product(*left))

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
        for v, u in itertools.combinations(range(self.n_views), 2):
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


@ANY_AGREEMENT
@ANY_FITTING
@pytest.mark.parametrize("n_views", [1, 2, 3])
def test_a_view_that_need_not_agree_is_ranking_pursuit(agreement, fitting, n_views):
    views, nus = random_views(40, n_views, n_groups=2), [0.0, 3.0][: 3 - min(n_views, 2)]
    path = views.pursue(nus, 4, agreement=agreement, fitting=fitting)
    total = 0.0
    for v in range(n_views):
        alone = pursue(views.root(views.scored[v]), views.root(views.scores), 4, fitting=fitting)
        for k in range(len(nus)):
            assert np.array_equal(path.selected[:, k, :, v], alone.selected)
            np.testing.assert_allclose(path.coefficients(v)[:, k], alone.coefficients(), rtol=1e-8)
        total = total + alone.cost
    np.testing.assert_allclose(path.cost[:, -1], total, rtol=1e-8, atol=1e-12)


@ANY_AGREEMENT
@ANY_FITTING
@pytest.mark.parametrize(("n_views", "shared"), [(1, False), (2, False), (2, True), (3, False)])
def test_stack_of_problems_and_nus_is_one_at_a_time(agreement, fitting, n_views, shared):
    rng = np.random.default_rng(72)
    scored, unscored = (
        [rng.normal(size=(3, n_rows, 5)) for _ in range(n_views)] for n_rows in (7, 6)
    )
    targets, nus = [rng.normal(size=(3, 7)) for _ in range(n_views)], [0.0, 0.3, 100.0]
    options = {"agreement": agreement, "fitting": fitting, "shared": shared}
    together = coregularised_pursuit(scored, unscored, targets, nus, 4, **options)
    for i, k in np.ndindex(3, 3):
        one = ([part[i : i + 1] for part in parts] for parts in (scored, unscored))
        alone = coregularised_pursuit(*one, [rows[i] for rows in targets], [nus[k]], 4, **options)
        assert np.array_equal(together.selected[i, k], alone.selected[0, 0])
        np.testing.assert_allclose(together.cost[i, k], alone.cost[0, 0], rtol=1e-9)
        for v in range(n_views):
            np.testing.assert_allclose(
                together.coefficients(v)[i, k], alone.coefficients(v)[0, 0], rtol=1e-7, atol=1e-10
            )


@ANY_FITTING
def test_predictions_of_views_and_their_mean_are_columns_times_coefficients(fitting):
    sizes = [5, 4, 6]
    path = random_views(80, 3, sizes=sizes).pursue([0.1, 0.5, 2.0], 4, fitting=fitting)
    rng = np.random.default_rng(0)
    elsewhere = [rng.normal(size=(2, 7, size)) for size in sizes]
    predictions = [path.predict(part, v) for v, part in enumerate(elsewhere)]
    for v, i, k, p in np.ndindex(3, 2, 3, 4):
        columns = elsewhere[v][i][:, path.selected[i, k, :, v]]
        expected = columns @ path.coefficients(v)[i, k, p]
        np.testing.assert_allclose(predictions[v][i, k, p], expected, atol=1e-9)
    steps = np.array([1, 3, 3, 4])
    expected = np.mean(predictions, axis=0)[:, :, steps - 1]
    np.testing.assert_allclose(path.predict_mean(elsewhere, steps), expected, atol=1e-12)


@ANY_AGREEMENT
@pytest.mark.parametrize(
    ("sizes", "options"),
    [
        ([5, 5], {}),
        ([3, 6], {}),
        *(([5] * n_views, {"shared": True}) for n_views in (1, 2, 3)),
        ([3, 4, 5], {"exhaustive": False}),
    ],
    ids=str,
)
def test_each_step_is_the_solution_of_the_papers_system_of_a_best_tuple(agreement, sizes, options):
    views, nus = random_views(20, len(sizes), sizes=sizes, n_groups=2), [0.0, 0.3, 10.0]
    shared = options.get("shared", False)
    path = views.pursue(nus, 5, agreement=agreement, shared=shared)
    assert path.selected.shape == (2, 3, min(sizes), len(sizes))
    assert np.all(path.n_steps == min(sizes))
    assert_basic_path(views, path, nus, agreement, **options)


def test_alternating_search_ends_where_no_view_alone_does_better_mostly_at_the_best():
    n_best = 0
    for seed in range(100):
        views = random_views(100 + seed, 3, [4, 5, 3], n_problems=1, n_scored=12, n_unscored=12)
        nu, zero = [0.05, 0.5, 5.0][seed % 3], [np.zeros(size) for size in (4, 5, 3)]
        gains = {
            chosen: views.gain(0, nu, chosen, zero, "cumulative")
            for chosen in views.tuples_left([[]] * 3, shared=False)
        }
        chosen = tuple(views.pursue([nu], 1).selected[0, 0, 0].tolist())
        near = [other for other in gains if sum(map(int.__ne__, chosen, other)) == 1]
        assert gains[chosen] >= max(map(gains.get, near)) * (1.0 - 1e-9)
        n_best += gains[chosen] >= max(gains.values()) * (1.0 - 1e-9)
    assert n_best >= 90


@st.composite
def degenerate_views(draw):
    """Views of small integers: zero, equal and dependent columns, ties, lone points."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_views, n_scored, n_unscored = draw(st.integers(1, 3)), draw(st.integers(2, 5)), 3
    largest = draw(st.integers(0, 2))
    sizes = [3] * n_views

    def columns(n_points, size):
        return rng.integers(-largest, largest + 1, size=(2, n_points, size)).astype(float)

    return Views(
        [columns(n_scored, size) for size in sizes],
        [columns(n_unscored, size) for size in sizes],
        rng.integers(0, draw(st.integers(1, 4)), size=n_scored) / 10.0,
        rng.integers(0, 2, size=n_scored),
        rng.integers(0, 2, size=n_unscored),
    )


@given(
    degenerate_views(),
    st.sampled_from(["basic", "backfit"]),
    st.sampled_from(AGREEMENTS),
    st.booleans(),
)
def test_degenerate_views_give_finite_paths_with_true_costs(views, fitting, agreement, shared):
    nus = [0.0, 0.5, 1e4]
    path = views.pursue(nus, 3, fitting=fitting, agreement=agreement, shared=shared)
    for i, k in np.ndindex(2, len(nus)):
        assert np.all(path.selected[i, k, path.n_steps[i, k] :] == -1)
        total = views.cost(i, nus[k], dense_coefficients(views, path, i, k, 0))
        assert path.cost[i, k, 0] == pytest.approx(total, abs=1e-14)
        if total == 0.0:
            assert path.n_steps[i, k] == 0
        for p in range(1, path.selected.shape[2] + 1):
            cost = views.cost(i, nus[k], dense_coefficients(views, path, i, k, p))
            assert path.cost[i, k, p] == pytest.approx(cost, rel=1e-8, abs=1e-8 * total)
    if agreement == "cumulative" or fitting == "backfit":
        assert np.all(np.diff(path.cost, axis=2) <= 1e-12 * path.cost[..., :1])


@ANY_FITTING
@pytest.mark.parametrize(("n_views", "shared"), [(1, False), (2, False), (2, True), (3, False)])
def test_function_that_vanishes_on_all_points_is_never_chosen(fitting, n_views, shared):
    views = random_views(99, n_views, sizes=[4] * n_views)
    for columns in (views.scored[0], views.unscored[0]):
        columns[0, :, 1] *= 1e-100
    path = views.pursue([0.0, 1.0], 4, fitting=fitting, shared=shared)
    assert path.n_steps.tolist() == [[3, 3], [4, 4]]
    assert not np.any(path.selected[0, :, :, 0] == 1)


def test_of_equal_pairs_the_first_is_chosen():
    views, n_copies = random_views(74, sizes=[4, 4], n_scored=30), 3
    copied = Views(
        *([np.tile(part, n_copies) for part in parts] for parts in (views.scored, views.unscored)),
        views.scores,
        views.groups,
        views.unscored_groups,
    )
    selected = copied.pursue([0.0, 0.3], 8).selected
    for i, k, v in np.ndindex(2, 2, 2):
        chosen = selected[i, k, :, v].tolist()
        for step, index in enumerate(chosen):
            assert set(range(index % 4, index, 4)) <= set(chosen[:step])


@ANY_AGREEMENT
@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("n_views", [2, 3])
def test_backfitting_is_joint_least_squares_on_what_was_chosen(agreement, shared, n_views):
    views, nus = random_views(50, n_views, n_groups=2), [0.0, 0.4, 20.0]
    path = views.pursue(nus, 4, agreement=agreement, shared=shared, fitting="backfit")
    assert np.all(np.diff(path.cost, axis=2) <= 1e-12 * path.cost[..., :1])
    for k, nu in enumerate(nus):
        for i in range(2):
            joint, target, starts = views.joint_columns(i, nu)
            for p in range(1, path.n_steps[i, k] + 1):
                index = (path.selected[i, k, :p] + starts[:-1]).ravel()
                expected = np.zeros(starts[-1])
                expected[index] = least_squares(joint[:, index], target)
                dense = dense_coefficients(views, path, i, k, p)
                np.testing.assert_allclose(np.concatenate(dense), expected, rtol=1e-6, atol=1e-9)
                assert path.cost[i, k, p] == pytest.approx(views.cost(i, nu, dense), abs=1e-10)


VALUES = arrays(np.float64, (3, 2, 5), elements=st.integers(-4, 4).map(float))


@given(VALUES)
def test_borda_is_the_mean_number_of_points_below_plus_shared_ties(values):
    below = (values[..., :, None] > values[..., None, :]).sum(axis=-1)
    tied = (values[..., :, None] == values[..., None, :]).sum(axis=-1)
    np.testing.assert_allclose(
        AGGREGATIONS["borda"](list(values[:, None])), (below + (tied + 1) / 2).mean(axis=0)[None]
    )


@given(VALUES)
def test_median_is_the_middle_one_of_three(values):
    np.testing.assert_array_equal(AGGREGATIONS["median"](list(values)), np.sort(values, axis=0)[1])


@given(VALUES, arrays(np.float64, (3, 2), elements=st.floats(-0.5, 0.5)))
def test_views_weigh_as_they_are_skilled_and_alike_if_none_is(values, skills):
    expected = np.empty((2, 5))
    for row in range(2):
        own = [max(skill, 0.0) for skill in skills[:, row]]
        own = own if sum(own) > 0 else [1.0] * 3
        expected[row] = np.average(values[:, row], axis=0, weights=own)
    np.testing.assert_allclose(weighted_mean(list(values), skills), expected, atol=1e-9)


def test_points_are_dealt_out_evenly():
    scored = np.arange(23) < 10
    parts = split_points(scored, 3, np.random.default_rng(0))
    assert sorted(np.concatenate(parts)) == list(range(23))
    assert {len(part) for part in parts} <= {7, 8}
    assert {int(scored[part].sum()) for part in parts} <= {3, 4}


def test_features_are_dealt_out_evenly():
    parts = split_features(7, 2, np.random.default_rng(0))
    assert sorted(np.concatenate(parts)) == list(range(7))
    assert [len(part) for part in parts] == [4, 3]


@ANY_FITTING
def test_shared_index_over_views_of_different_sizes_is_refused(fitting):
    with pytest.raises(
        ValueError, match=r"shared: the dictionaries have different sizes, \[3, 4\]"
    ):
        random_views(98, sizes=[3, 4]).pursue([1.0], 2, shared=True, fitting=fitting)
