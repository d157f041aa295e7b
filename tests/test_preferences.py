import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from problems import dense_laplacian, group_graph, pair_graph

from rankpursuit.preferences import Blend, GroupPreferences, PairPreferences, Pointwise


@st.composite
def graphs(draw):
    """Preferences of each kind, with the dense form of the paper that they stand for."""
    n_points = draw(st.integers(1, 7))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    kind = draw(st.sampled_from(["one group", "groups", "pairs", "all pairs", "points"]))
    if kind == "points":
        preferences, form = Pointwise(n_points), np.eye(n_points)
    elif kind in ("one group", "groups"):
        groups = rng.integers(0, 1 if kind == "one group" else 4, size=n_points)
        preferences, form = GroupPreferences(groups), dense_laplacian(group_graph(groups))
    else:
        pairs = np.column_stack(np.triu_indices(n_points, k=1))
        if kind == "pairs":
            pairs = rng.permutation(pairs)[: draw(st.integers(0, len(pairs)))]
            pairs = rng.permuted(pairs, axis=1)
        weights = rng.integers(0, 3, size=len(pairs)) * rng.random(len(pairs))
        preferences = PairPreferences(n_points, pairs, weights)
        form = dense_laplacian(pair_graph(n_points, pairs, weights))
    beta = draw(st.sampled_from([None, 0.0, 0.3, 1.0]))
    if beta is not None:
        preferences = Blend(preferences, beta)
        form = beta * np.eye(n_points) + (1.0 - beta) * form
    return preferences, form


def arrays_of(n_points, n_columns=2):
    rng = np.random.default_rng(n_points)
    return [
        rng.normal(size=n_points),
        rng.normal(size=(n_points, n_columns)),
        rng.normal(size=(3, n_points, n_columns)),
        rng.normal(size=(2, 3, n_points, n_columns)),
    ]


@given(graphs())
def test_laplacian_is_that_of_the_paper_for_vectors_and_stacks(graph):
    preferences, form = graph
    for x in arrays_of(len(form)):
        result = preferences.laplacian(x)
        assert result.shape == x.shape
        np.testing.assert_allclose(result, np.matmul(form, x), atol=1e-12)


@given(graphs())
def test_root_is_a_root_of_the_laplacian_and_its_transpose_its_transpose(graph):
    preferences, form = graph
    n_points = len(form)
    root = preferences.root(np.eye(n_points))
    np.testing.assert_allclose(root.T @ root, form, atol=1e-12)
    for x in arrays_of(n_points):
        np.testing.assert_allclose(preferences.root(x), np.matmul(root, x), atol=1e-12)
    for y in arrays_of(len(root)):
        np.testing.assert_allclose(preferences.root_transpose(y), np.matmul(root.T, y), atol=1e-12)


@given(graphs())
def test_square_root_is_the_same_form_with_no_more_rows_than_points(graph):
    preferences, form = graph
    n_points = len(form)
    rooted = preferences.square_root()
    assert rooted.n_points == n_points
    root = rooted.root(np.eye(n_points))
    assert len(root) <= n_points
    np.testing.assert_allclose(root.T @ root, form, atol=1e-12)
    for x in arrays_of(n_points):
        np.testing.assert_allclose(rooted.laplacian(x), np.matmul(form, x), atol=1e-12)


def test_square_root_of_pairs_maps_constants_to_zero():
    rng = np.random.default_rng(0)
    for n_points in range(4, 30):
        pairs = np.column_stack(np.triu_indices(n_points, k=1))
        rooted = PairPreferences(n_points, pairs, rng.random(len(pairs))).square_root()
        assert rooted.root(np.eye(n_points)).shape == (n_points, n_points)
        assert np.abs(rooted.root(np.ones(n_points))).max() < 1e-13 * n_points


def test_pairs_of_groups_are_all_pairs_inside_them():
    groups = np.array([2, 0, 2, 0, 2, 1])
    preferences = GroupPreferences(groups)
    pairs = preferences.pairs()
    expected = {(i, j) for i in range(6) for j in range(i + 1, 6) if groups[i] == groups[j]}
    assert {(i, j) for i, j in pairs.tolist()} == expected
    assert len(pairs) == preferences.n_pairs == len(expected)


@pytest.mark.parametrize(("n_columns", "n_rows"), [(1, 45), (2, 45), (3, 10), (10, 10)])
def test_smallest_root_of_pairs_takes_no_more_room_than_a_square_one(n_columns, n_rows):
    pairs = np.column_stack(np.triu_indices(10, k=1))
    preferences = PairPreferences(10, pairs, np.arange(1.0, 46.0))
    smallest = preferences.smallest_root(n_columns)
    assert smallest.root(np.eye(10)).shape == (n_rows, 10)
    x = arrays_of(10)[-1]
    np.testing.assert_allclose(smallest.laplacian(x), preferences.laplacian(x), atol=1e-10)
    groups = GroupPreferences.single(10)
    assert groups.smallest_root(n_columns) is groups


def test_root_of_groups_maps_constants_to_exactly_zero():
    x = np.array([0.1, 1e9 / 3.0, 0.1, 0.1, 1e9 / 3.0])
    for preferences in (GroupPreferences([0, 1, 0, 0, 1]), GroupPreferences.single(5)):
        assert not preferences.root(np.full((5, 2), 0.1)).any()
    assert not GroupPreferences([0, 1, 0, 0, 1]).root(x).any()


def test_root_of_groups_loses_no_digits_to_the_level_of_the_values():
    x = np.array([0.25, 1.5, -3.0, 7.75, 2.0])
    for groups in ([0] * 5, [0, 1, 1, 0, 1]):
        root = GroupPreferences(groups).root
        np.testing.assert_allclose(root(x + 2.0**40), root(x), rtol=1e-14)


@pytest.mark.parametrize("weight", ["equal", [0.5, 2.0, 3.0]])
def test_weights_of_groups_are_weights_of_their_pairs(weight):
    rng = np.random.default_rng(5)
    groups = rng.permutation(np.repeat([0, 1, 2], [2, 5, 4]))
    preferences = GroupPreferences(groups, weight)
    explicit = PairPreferences(11, preferences.pairs(), preferences.pair_weights())
    x = rng.normal(size=(11, 3))
    np.testing.assert_allclose(preferences.laplacian(x), explicit.laplacian(x), atol=1e-12)
    np.testing.assert_allclose(
        preferences.root_transpose(preferences.root(x)), explicit.laplacian(x)
    )


def test_with_equal_weights_a_group_costs_the_squared_deviations_of_its_points():
    groups, x = np.repeat([0, 1], [3, 7]), np.random.default_rng(6).normal(size=10)
    cost = np.square(GroupPreferences(groups, "equal").root(x)).sum()
    expected = sum(np.square(x[groups == g] - x[groups == g].mean()).sum() for g in (0, 1))
    assert cost == pytest.approx(expected)
