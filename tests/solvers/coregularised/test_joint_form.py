import numpy as np
import pytest
from coregularised_problems import AGREEMENTS, ANY_AGREEMENT, dense_coefficients, random_views
from problems import least_squares


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
