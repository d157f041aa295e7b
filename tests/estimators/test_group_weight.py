import numpy as np
import pytest

import rankpursuit

RANKERS = [
    rankpursuit.RankRLS(),
    rankpursuit.SparseRankRLS(n_basis=12, random_state=0),
    rankpursuit.RankSVM(loss="squared_hinge", tol=1e-9),
    rankpursuit.RankingPursuit(n_basis=6, fitting="backfit"),
    rankpursuit.CombinedRankingRegressionPursuit(n_basis=6),
    rankpursuit.SemiSupervisedRankingPursuit(n_basis=4, random_state=0),
]
BY_NAME = pytest.mark.parametrize("ranker", RANKERS, ids=lambda ranker: type(ranker).__name__)


def data():
    rng = np.random.default_rng(0)
    X, groups = rng.normal(size=(40, 2)), np.repeat(["a", "b", "c"], [4, 26, 10])
    return X, np.sin(X[:, 0]) + X[:, 1] + 0.3 * rng.normal(size=40), groups


@BY_NAME
def test_equal_weights_are_one_over_the_size_of_each_group(ranker):
    X, y, groups = data()
    equal = ranker.set_params(group_weight="equal").fit(X, y, groups).predict(X)
    sizes = {"a": 1 / 4, "b": 1 / 26, "c": 1 / 10}
    told = ranker.set_params(group_weight=sizes).fit(X, y, groups).predict(X)
    pairs = ranker.set_params(group_weight="pairs").fit(X, y, groups).predict(X)
    np.testing.assert_allclose(told, equal, atol=1e-6 * np.abs(equal).max())
    assert not np.allclose(pairs, equal, rtol=1e-3)


@pytest.mark.parametrize(
    ("weight", "said"),
    [
        ("sizes", "group_weight must be one of 'pairs', 'equal' or a mapping"),
        ({"a": 1.0, "b": 1.0}, "it has none for 'c'"),
        ({"a": 1.0, "b": -1.0, "c": 1.0}, "positive finite numbers"),
        ({"a": 1.0, "b": 1e307, "c": 1.0}, "group_weight must lie between 1e-30 and 1e\\+30"),
        ({"a": 1.0, "b": 1e-13, "c": 1.0}, "at most 1e\\+12 times the smallest"),
        ({"a": 1.0, "b": "x", "c": 1.0}, "group_weight must be one finite number for each group"),
    ],
)
def test_wrong_weights_are_refused(weight, said):
    X, y, groups = data()
    with pytest.raises(ValueError, match=said):
        rankpursuit.RankRLS(group_weight=weight).fit(X, y, groups)
