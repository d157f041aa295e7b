import numpy as np
import pytest
from coregularised_problems import ANY_AGREEMENT, assert_basic_path, random_views

from rankpursuit.solvers.coregularised import AlternatingSearch, JointProblem

MOSTLY = 0.9
"""Share of random problems; 92 of 100 were measured for three views, 56 of 60 for two."""


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


def test_alternating_search_over_two_views_is_mostly_the_exhaustive_one():
    best, n_problems = 0, 60
    for seed in range(n_problems):
        views = random_views(500 + seed, 2, n_problems=1)
        gains, _ = first_gains(views, 0.5)
        root, bar = views.root, views.unscored_root
        scored, target = [root(columns) for columns in views.scored], root(views.scores)
        problem = JointProblem(
            [columns.swapaxes(1, 2) for columns in scored],
            [bar(columns).swapaxes(1, 2) for columns in views.unscored],
            [target] * 2,
            np.array([0.5]),
            "cumulative",
        )
        correlations = [(target @ columns)[None] for columns in scored]
        found = AlternatingSearch(problem).best(correlations)
        gain = gains[tuple(found.chosen[0, 0].tolist())]
        best += gain >= max(gains.values()) * (1.0 - 1e-9)
    assert best >= MOSTLY * n_problems
