"""Co-regularised pursuit against a dense joint problem."""

import numpy as np
import pytest
from coregularised_problems import (
    AGREEMENTS,
    ANY_AGREEMENT,
    Views,
    assert_basic_path,
    dense_coefficients,
    random_views,
)
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from problems import SMALL, least_squares

from rankpursuit.solvers import coregularised_pursuit, pursue
from rankpursuit.solvers.coregularised import (
    AGGREGATIONS,
    split_features,
    split_points,
    weighted_mean,
)


@ANY_AGREEMENT
@pytest.mark.parametrize("fitting", ["basic", "backfit"])
def test_one_view_is_ranking_pursuit(agreement, fitting):
    views = random_views(30, 1, n_groups=2)
    path = views.pursue([0.0, 3.0], 5, agreement=agreement, fitting=fitting)
    columns, target = views.root(views.scored[0]), views.root(views.scores)
    single = pursue(columns, target, 5, fitting=fitting)
    for k in range(2):
        assert np.array_equal(path.selected[:, k, :, 0], single.selected)
        np.testing.assert_allclose(path.coefficients(0)[:, k], single.coefficients(), rtol=1e-8)
        np.testing.assert_allclose(path.cost[:, k], single.cost, rtol=1e-8, atol=1e-12)


@ANY_AGREEMENT
@pytest.mark.parametrize("fitting", ["basic", "backfit"])
@pytest.mark.parametrize("n_views", [2, 3])
def test_no_agreement_decouples_the_views(agreement, fitting, n_views):
    views = random_views(40, n_views)
    path = views.pursue([0.0], 4, agreement=agreement, fitting=fitting)
    total = 0.0
    for v in range(n_views):
        alone = pursue(views.root(views.scored[v]), views.root(views.scores), 4, fitting=fitting)
        assert np.array_equal(path.selected[:, 0, :, v], alone.selected)
        np.testing.assert_allclose(path.coefficients(v)[:, 0], alone.coefficients(), rtol=1e-8)
        total = total + alone.cost
    np.testing.assert_allclose(path.cost[:, 0], total, rtol=1e-8)


@ANY_AGREEMENT
@pytest.mark.parametrize("fitting", ["basic", "backfit"])
@pytest.mark.parametrize(("n_views", "shared"), [(2, False), (2, True), (3, False)])
def test_many_nus_at_once_are_one_at_a_time(agreement, fitting, n_views, shared):
    views, nus = random_views(70, n_views, n_problems=3), [0.0, 0.01, 1.0, 100.0]
    options = {"agreement": agreement, "fitting": fitting, "shared": shared}
    together = views.pursue(nus, 4, **options)
    for k, nu in enumerate(nus):
        alone = views.pursue([nu], 4, **options)
        assert np.array_equal(together.selected[:, k], alone.selected[:, 0])
        np.testing.assert_allclose(together.cost[:, k], alone.cost[:, 0], rtol=1e-9)
        for v in range(n_views):
            np.testing.assert_allclose(
                together.coefficients(v)[:, k], alone.coefficients(v)[:, 0], rtol=1e-7, atol=1e-10
            )


@ANY_AGREEMENT
@pytest.mark.parametrize("fitting", ["basic", "backfit"])
@pytest.mark.parametrize(("n_views", "shared"), [(1, False), (2, False), (2, True), (3, False)])
def test_stack_of_different_targets_is_one_problem_at_a_time(agreement, fitting, n_views, shared):
    rng = np.random.default_rng(72)
    scored, unscored = (
        [rng.normal(size=(3, n_rows, 5)) for _ in range(n_views)] for n_rows in (7, 6)
    )
    targets = [rng.normal(size=(3, 7)) for _ in range(n_views)]
    options = {"agreement": agreement, "fitting": fitting, "shared": shared}
    together = coregularised_pursuit(scored, unscored, targets, [0.0, 0.3], 4, **options)
    for i in range(3):
        one = ([part[i : i + 1] for part in parts] for parts in (scored, unscored))
        target = [rows[i] for rows in targets]
        alone = coregularised_pursuit(*one, target, [0.0, 0.3], 4, **options)
        assert np.array_equal(together.selected[i], alone.selected[0])
        np.testing.assert_allclose(together.cost[i], alone.cost[0], rtol=1e-9)
        for v in range(n_views):
            np.testing.assert_allclose(
                together.coefficients(v)[i], alone.coefficients(v)[0], rtol=1e-7, atol=1e-10
            )


@pytest.mark.parametrize("fitting", ["basic", "backfit"])
def test_mean_predictions_are_those_of_the_views_at_some_steps(fitting):
    sizes = [5, 4, 6]
    path = random_views(81, 3, sizes=sizes).pursue([0.1, 0.5, 2.0], 4, fitting=fitting)
    rng = np.random.default_rng(0)
    elsewhere = [rng.normal(size=(2, 3, size)) for size in sizes]
    steps = np.array([1, 3, 3, 4])
    expected = np.mean([path.predict(part, v) for v, part in enumerate(elsewhere)], axis=0)
    mean = path.predict_mean(elsewhere, steps)
    assert mean.shape == (2, 3, 4, 3)
    np.testing.assert_allclose(mean, expected[:, :, steps - 1], atol=1e-12)


@pytest.mark.parametrize("fitting", ["basic", "backfit"])
def test_predictions_of_a_view_are_its_columns_times_its_coefficients(fitting):
    views = random_views(80, 3, sizes=[5, 4, 6])
    path = views.pursue([0.1, 0.5, 2.0], 4, fitting=fitting)
    rng = np.random.default_rng(0)
    for v, size in enumerate([5, 4, 6]):
        elsewhere = rng.normal(size=(2, 7, size))
        predictions, coefficients = path.predict(elsewhere, v), path.coefficients(v)
        assert predictions.shape == (2, 3, 4, 7)
        for i, k, p in np.ndindex(2, 3, 4):
            expected = elsewhere[i][:, path.selected[i, k, :, v]] @ coefficients[i, k, p]
            np.testing.assert_allclose(predictions[i, k, p], expected, atol=1e-9)


@pytest.mark.parametrize("fitting", ["basic", "backfit"])
def test_agreement_that_weighs_more_brings_the_views_together(fitting):
    views, nus = random_views(90, sizes=[8, 8], n_scored=30), [0.0, 1.0, 1e3, 1e6]
    path = views.pursue(nus, 8, fitting=fitting)
    apart = path.predict(views.unscored[0], 0) - path.predict(views.unscored[1], 1)
    apart = np.square(views.unscored_root(apart[:, :, -1].swapaxes(1, 2))).sum(axis=(0, 1))
    assert np.all(np.diff(apart) < 0.0)
    assert apart[-1] < 1e-6 * apart[0]


def test_without_unscored_points_the_views_agree_on_the_scored_ones():
    views = random_views(97)
    supervised = Views(views.scored, views.scored, views.scores, views.groups, views.groups)
    path = supervised.pursue([0.0, 1.0], 5)
    assert_basic_path(supervised, path, [0.0, 1.0], "cumulative")
    apart = np.square(path.predict(views.scored[0], 0) - path.predict(views.scored[1], 1))
    assert np.all(apart[:, 1, -1].sum(axis=1) < apart[:, 0, -1].sum(axis=1))


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


@SMALL
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


@pytest.mark.parametrize("fitting", ["basic", "backfit"])
@pytest.mark.parametrize(("n_views", "shared"), [(1, False), (2, False), (2, True), (3, False)])
def test_function_that_vanishes_on_all_points_is_never_chosen(fitting, n_views, shared):
    views = random_views(99, n_views, sizes=[4] * n_views)
    for columns in (views.scored[0], views.unscored[0]):
        columns[0, :, 1] *= 1e-100
    path = views.pursue([0.0, 1.0], 4, fitting=fitting, shared=shared)
    assert path.n_steps.tolist() == [[3, 3], [4, 4]]
    assert not np.any(path.selected[0, :, :, 0] == 1)


@ANY_AGREEMENT
@pytest.mark.parametrize("sizes", [[5, 5], [3, 6]])
@pytest.mark.parametrize("seed", range(3))
def test_two_views_take_the_best_of_all_pairs(agreement, sizes, seed):
    views, nus = random_views(seed, sizes=sizes, n_groups=2), [0.0, 0.3, 10.0]
    path = views.pursue(nus, 5, agreement=agreement)
    assert path.selected.shape == (2, 3, min(sizes), 2)
    assert np.all(path.n_steps == min(sizes))
    assert_basic_path(views, path, nus, agreement)


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


MOSTLY = 0.9
"""Fraction of random problems; 92 of 100 were measured for three views."""


@ANY_AGREEMENT
@pytest.mark.parametrize("n_views", [1, 2, 3])
def test_shared_index_is_the_best_of_all_indices(agreement, n_views):
    views, nus = random_views(10 + n_views, n_views), [0.0, 0.5]
    path = views.pursue(nus, 5, agreement=agreement, shared=True)
    assert np.all(path.n_steps == 5)
    assert_basic_path(views, path, nus, agreement, shared=True)


@pytest.mark.parametrize("fitting", ["basic", "backfit"])
def test_shared_index_over_views_of_different_sizes_is_refused(fitting):
    with pytest.raises(
        ValueError, match=r"shared: the dictionaries have different sizes, \[3, 4\]"
    ):
        random_views(98, sizes=[3, 4]).pursue([1.0], 2, shared=True, fitting=fitting)


@ANY_AGREEMENT
def test_three_views_step_by_the_system_of_the_paper(agreement):
    views, nus = random_views(20, 3, sizes=[3, 4, 5]), [0.0, 0.2, 5.0]
    path = views.pursue(nus, 3, agreement=agreement)
    assert_basic_path(views, path, nus, agreement, exhaustive=False)


def first_gains(views, nu):
    """Gains of all tuples at the start, and of the tuple of the functions best on their own."""
    zero = [np.zeros(columns.shape[2]) for columns in views.scored]
    tuples = views.tuples_left([[]] * views.n_views, shared=False)
    gains = {chosen: views.gain(0, nu, chosen, zero, "cumulative") for chosen in tuples}
    start = []
    for v in range(views.n_views):
        own = []
        for g in range(views.scored[v].shape[2]):
            chosen = [0] * views.n_views
            chosen[v] = g
            matrix, right = views.system(0, nu, chosen, zero, "cumulative")
            own.append(right[v] ** 2 / matrix[v, v])
        start.append(int(np.argmax(own)))
    return gains, tuple(start)


def test_alternating_search_is_never_worse_than_its_start_and_mostly_the_best():
    best, n_problems = 0, 100
    for seed in range(n_problems):
        views = random_views(100 + seed, 3, sizes=[4, 4, 4], n_problems=1)
        nu = [0.05, 0.5, 5.0][seed % 3]
        gains, start = first_gains(views, nu)
        path = views.pursue([nu], 1)
        gain = gains[tuple(path.selected[0, 0, 0].tolist())]
        assert gain >= gains[start] * (1.0 - 1e-9)
        best += gain >= max(gains.values()) * (1.0 - 1e-9)
    assert best >= MOSTLY * n_problems


def test_alternating_search_ends_where_no_view_alone_can_do_better():
    for seed in range(20):
        views = random_views(300 + seed, 3, sizes=[4, 5, 3], n_problems=1)
        gains, _ = first_gains(views, 1.0)
        chosen = views.pursue([1.0], 1).selected[0, 0, 0].tolist()
        for v in range(3):
            for g in range(views.scored[v].shape[2]):
                other = [*chosen[:v], g, *chosen[v + 1 :]]
                assert gains[tuple(other)] <= gains[tuple(chosen)] * (1.0 + 1e-9)


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


def test_backfitted_choice_is_the_best_pair_for_the_refitted_residue():
    views = random_views(60)
    path = views.pursue([0.4], 4, fitting="backfit")
    for i in range(2):
        used = [[], []]
        for p in range(4):
            before = dense_coefficients(views, path, i, 0, p)
            gains = {
                chosen: views.gain(i, 0.4, chosen, before, "cumulative")
                for chosen in views.tuples_left(used, shared=False)
            }
            chosen = tuple(path.selected[i, 0, p].tolist())
            assert chosen == max(gains, key=gains.get)
            for v in range(2):
                used[v].append(chosen[v])


def test_views_that_must_agree_still_learn_when_refitted():
    views = random_views(91, sizes=[8, 8], n_scored=30)  # 16 functions, agreeing on 5 points
    cost = views.pursue([0.0, 1e6], 8, fitting="backfit").cost[:, :, [0, -1]]
    free, bound = cost.swapaxes(0, 1)
    assert np.all(bound[:, 1] < 0.9 * bound[:, 0])
    assert np.all(bound[:, 1] > free[:, 1])


def test_cumulative_and_incremental_agree_on_the_first_step_and_then_differ():
    views = random_views(95)
    path, other = (views.pursue([1.0], 4, agreement=name) for name in AGREEMENTS)
    assert np.array_equal(path.selected[:, :, 0], other.selected[:, :, 0])
    np.testing.assert_allclose(path.cost[..., 1], other.cost[..., 1])
    assert np.all(np.abs(path.cost[..., 2] - other.cost[..., 2]) > 1e-6)
    assert np.all(np.diff(path.cost, axis=2) <= 1e-12)


VALUES = arrays(np.float64, (3, 2, 5), elements=st.integers(-4, 4).map(float))


@given(VALUES)
def test_borda_is_the_mean_number_of_points_below_plus_shared_ties(values):
    below = (values[..., :, None] > values[..., None, :]).sum(axis=-1)
    tied = (values[..., :, None] == values[..., None, :]).sum(axis=-1)
    np.testing.assert_allclose(
        AGGREGATIONS["borda"](list(values)), (below + (tied + 1) / 2).mean(axis=0)
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
