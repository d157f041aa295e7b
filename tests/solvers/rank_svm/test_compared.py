"""Sums over pairs by sorting are those over a list of the pairs."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from problems import SMALL
from rank_svm_references import differences_by_loops

from rankpursuit.solvers.rank_svm import GroupedPairs, ListedPairs


def of_list(rows, weights, values, margin):
    """Weights, rows and the Laplacian of the pairs with a margin that is too small."""
    which = rows @ values < margin
    return weights[which], rows[which], rows[which].T @ (weights[which, None] * rows[which])


def assert_same(violated, weights, rows, laplacian):
    rng = np.random.default_rng(0)
    x, columns = rng.normal(size=len(laplacian)), rng.normal(size=(len(laplacian), 3))
    np.testing.assert_allclose(violated.count, weights.sum(), atol=1e-12)
    np.testing.assert_allclose(violated.balance, rows.T @ weights, atol=1e-12)
    np.testing.assert_allclose(violated.degrees, np.abs(rows).T @ weights, atol=1e-12)
    np.testing.assert_allclose(violated.laplacian(x), laplacian @ x, atol=1e-11)
    np.testing.assert_allclose(violated.laplacian(columns), laplacian @ columns, atol=1e-11)


@given(
    st.integers(0, 2**32 - 1),
    st.integers(1, 25),
    st.integers(1, 4),
    st.integers(1, 20),
    st.sampled_from([1.0, 0.3, 0.0]),
)
@SMALL
def test_pairs_of_groups_are_counted_by_sorting(seed, n_points, n_groups, n_scores, margin):
    rng = np.random.default_rng(seed)
    scores = rng.integers(n_scores, size=n_points).astype(float)
    _, groups = np.unique(rng.integers(n_groups, size=n_points), return_inverse=True)
    of_group = rng.random(n_groups) + 0.1
    rows = differences_by_loops(scores, groups)
    weights = of_group[groups[(rows > 0).argmax(axis=1)]] if len(rows) else np.empty(0)
    values = rng.normal(size=n_points)
    grouped = GroupedPairs(scores, groups, of_group[groups]).violated(values, margin)
    assert_same(grouped, *of_list(rows, weights, values, margin))


def test_listed_pairs_are_picked_by_their_differences():
    rng = np.random.default_rng(0)
    rows = differences_by_loops(rng.normal(size=8), np.zeros(8))[::2]
    ordered = np.column_stack([rows.argmax(axis=1), rows.argmin(axis=1)])
    weights, values = rng.random(len(rows)), rng.normal(size=8)
    listed = ListedPairs(8, ordered, weights).violated(values, 0.7)
    assert 0 < listed.count < weights.sum()
    assert_same(listed, *of_list(rows, weights, values, 0.7))


def test_no_array_is_as_large_as_the_number_of_pairs(monkeypatch):
    sizes = []
    cumsum = np.cumsum

    def measured(x, **options):
        sizes.append(x.size)
        return cumsum(x, **options)

    monkeypatch.setattr(np, "cumsum", measured)
    rng = np.random.default_rng(0)
    n_points = 3000
    grouped = GroupedPairs(
        rng.normal(size=n_points), np.zeros(n_points, dtype=int), np.ones(n_points)
    )
    violated = grouped.violated(np.zeros(n_points), 1.0)
    assert violated.count == n_points * (n_points - 1) / 2
    assert max(sizes) <= n_points


def test_a_common_level_of_a_group_is_taken_away():
    groups = np.array([0, 0, 1, 1])
    X = np.array([[1.0, 5.0], [3.0, 5.0], [1e9, 0.0], [1e9, 2.0]])
    centred = GroupedPairs(np.arange(4.0), groups, np.ones(4)).centred(X)
    np.testing.assert_array_equal(centred, [[-1.0, 0.0], [1.0, 0.0], [0.0, -1.0], [0.0, 1.0]])
    listed = ListedPairs(4, np.array([[0, 1]]), np.ones(1)).centred(X)
    np.testing.assert_allclose(listed, X - X.mean(axis=0))
