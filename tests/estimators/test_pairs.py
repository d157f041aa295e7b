"""Rankers that are told pairs instead of groups."""

from typing import get_args

import numpy as np
import pytest
import sklearn
from all_estimators import SQUARED_LOSS_RANKERS, id_of, made
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from rankpursuit import RankingPursuit, RankRLS, RankSVM
from rankpursuit.kernels import gaussian_stack, squared_distances
from rankpursuit.preferences import GroupPreferences
from rankpursuit.solvers import pursue
from rankpursuit.solvers.rank_svm import Loss

each_squared = pytest.mark.parametrize("estimator", SQUARED_LOSS_RANKERS, ids=id_of)
RANKERS = [*SQUARED_LOSS_RANKERS, *made("RankSVM")]
each_ranker = pytest.mark.parametrize("estimator", RANKERS, ids=id_of)


@pytest.fixture
def judged():
    """Points with judgements that repeat and contradict each other."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(30, 2))
    first = rng.integers(0, 30, size=90)
    second = (first + rng.integers(1, 30, size=90)) % 30
    utility = X[:, 0] + 0.5 * rng.normal(size=(90, 30))
    ahead = utility[np.arange(90), first] > utility[np.arange(90), second]
    pairs = np.where(ahead[:, None], np.stack([first, second], 1), np.stack([second, first], 1))
    pairs = np.concatenate([pairs, pairs[:20], pairs[:7, ::-1]])
    return X, pairs, rng.uniform(0.2, 3.0, size=len(pairs))


def rows_of(n_points, pairs, weights):
    """One row ``sqrt(w) (e_i - e_j)`` for each pair as it was given."""
    rows = np.zeros((len(pairs), n_points))
    rows[np.arange(len(pairs)), pairs[:, 0]] = np.sqrt(weights)
    rows[np.arange(len(pairs)), pairs[:, 1]] = -np.sqrt(weights)
    return rows


def gaussian(X, gamma=1.0):
    return gaussian_stack(squared_distances(X, X), [gamma])[0]


@each_squared
def test_all_pairs_inside_the_groups_are_the_groups(data, estimator):
    X, y, groups = data
    pairs = np.random.default_rng(0).permuted(GroupPreferences(groups).pairs(), axis=1)
    grouped, listed = clone(estimator).set_params(group_weight="pairs"), clone(estimator)
    grouped.fit(X, y, groups)
    listed.fit(X, y, pairs=pairs)
    np.testing.assert_array_equal(listed.basis_, grouped.basis_)
    scale = np.abs(grouped.coef_).max()
    np.testing.assert_allclose(listed.coef_, grouped.coef_, rtol=1e-8, atol=1e-8 * scale)


@pytest.mark.parametrize("n_pairs", [12, 117])
@pytest.mark.parametrize("scored", [False, True])
def test_rank_rls_of_pairs_solves_the_equations_of_every_pair(judged, n_pairs, scored):
    X, pairs, weights = judged
    pairs, weights = pairs[:n_pairs], weights[:n_pairs]
    y = np.random.default_rng(1).normal(size=30) if scored else None
    model = RankRLS(alpha=0.3, gamma=1.0).fit(X, y, pairs=pairs, weights=weights)
    rows = rows_of(30, pairs, weights)
    target = rows @ y if scored else np.sqrt(weights)
    left = rows.T @ rows @ gaussian(X) + 0.3 * np.eye(30)
    expected = np.linalg.solve(left, rows.T @ target)
    np.testing.assert_allclose(model.coef_, expected, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("fitting", ["basic", "backfit", "prefit"])
@pytest.mark.parametrize("n_candidates", [None, 6])
def test_ranking_pursuit_of_pairs_is_the_pursuit_of_every_pairs_difference(
    judged, fitting, n_candidates
):
    X, pairs, weights = judged
    model = RankingPursuit(
        5, fitting=fitting, ridge=0.0, gamma=1.0, n_candidates=n_candidates, random_state=0
    ).fit(X, pairs=pairs, weights=weights)
    candidates = np.arange(30)
    if n_candidates:
        drawn = np.argsort(np.random.RandomState(0).random(30))[:n_candidates]
        candidates = np.sort(drawn)
    dictionary = rows_of(30, pairs, weights) @ gaussian(X)[:, candidates]
    path = pursue(dictionary[None], np.sqrt(weights), 5, fitting=fitting)
    np.testing.assert_array_equal(model.basis_, candidates[path.selected[0]])
    np.testing.assert_allclose(model.coef_, path.coefficients()[0, -1], rtol=1e-8)
    np.testing.assert_allclose(np.diff(model.cost_), np.diff(path.cost[0]), rtol=1e-6)


@pytest.mark.parametrize("loss", get_args(Loss))
def test_rank_svm_of_the_ordered_pairs_of_the_groups_is_that_of_the_groups(data, loss):
    X, y, groups = data
    pairs = GroupPreferences(groups).pairs()
    ahead = y[pairs[:, 0]] > y[pairs[:, 1]]
    ordered = np.where(ahead[:, None], pairs, pairs[:, ::-1])
    ordered = np.random.default_rng(0).permutation(ordered)
    grouped = RankSVM(loss=loss, group_weight="pairs", tol=1e-10).fit(X, y, groups)
    listed = RankSVM(loss=loss, tol=1e-10).fit(X, pairs=ordered)
    scale = np.abs(grouped.predict(X)).max()
    np.testing.assert_allclose(listed.predict(X), grouped.predict(X), atol=1e-4 * scale)
    if loss == "squared_hinge":  # strictly convex: the coefficients are unique
        np.testing.assert_array_equal(listed.basis_, grouped.basis_)
        np.testing.assert_allclose(listed.coef_, grouped.coef_, rtol=1e-8, atol=1e-8)


def test_rank_svm_takes_scores_or_pairs_not_both(data):
    X, y, _ = data
    with pytest.raises(ValueError, match="y and pairs both define the preferences"):
        RankSVM().fit(X, y, pairs=GOOD)


@pytest.mark.parametrize(
    "name",
    [
        "RLS",
        "KernelMatchingPursuit",
        "CombinedRankingRegressionPursuit",
        "SemiSupervisedRankingPursuit",
    ],
)
def test_methods_that_cannot_learn_from_pairs_name_those_that_can(data, name):
    X, y, _ = data
    for scores in (None, y):
        with pytest.raises(ValueError, match=f"{name} takes no pairs: .* use RankRLS or"):
            made(name)[0].fit(X, scores, pairs=GOOD)


@each_ranker
def test_pairs_pass_through_a_pipeline(judged, estimator):
    X, pairs, weights = judged
    scaled = StandardScaler().fit_transform(X)
    alone = clone(estimator).fit(scaled, pairs=pairs, weights=weights).predict(scaled)
    with sklearn.config_context(enable_metadata_routing=True):
        model = make_pipeline(
            StandardScaler(), clone(estimator).set_fit_request(pairs=True, weights=True)
        ).fit(X, pairs=pairs, weights=weights)
    np.testing.assert_array_equal(model.predict(X), alone)


GOOD = [(0, 1), (2, 1)]
BAD = [
    ({"pairs": []}, "pairs must hold at least one pair"),
    ({"pairs": np.empty((0, 2), dtype=int)}, "pairs must hold at least one pair"),
    ({"pairs": [(0, 1, 2)]}, r"pairs must be integers of shape \(p, 2\)"),
    ({"pairs": [0, 1]}, r"pairs must be integers of shape \(p, 2\)"),
    ({"pairs": [(0.0, 1.0)]}, r"integers of shape \(p, 2\), .* got float64"),
    ({"pairs": [(0, 40)]}, "indices of the 40 samples, from 0 to 39; got indices from 0 to 40"),
    ({"pairs": [(-1, 0)]}, "indices of the 40 samples, from 0 to 39; got indices from -1 to 0"),
    ({"pairs": [(0, 1), (2, 2)]}, "row 1 compares sample 2 with itself"),
    ({"pairs": GOOD, "weights": [1.0]}, "weights must have one number for each of the 2 pairs"),
    ({"pairs": GOOD, "weights": [1.0, -1.0]}, "weights must be positive finite numbers"),
    ({"pairs": GOOD, "weights": [1.0, 0.0]}, "weights must be positive finite numbers"),
    ({"pairs": GOOD, "weights": [1.0, np.nan]}, "weights must be positive finite numbers"),
    ({"pairs": GOOD, "weights": [1.0, np.inf]}, "weights must be positive finite numbers"),
    ({"pairs": GOOD, "groups": np.zeros(40)}, "groups and pairs both define which samples"),
    ({"weights": [1.0]}, "weights can be used only with pairs"),
    ({}, "requires y to be passed, but the target y is None; pass scores, or pairs"),
]


@each_ranker
@pytest.mark.parametrize(("told", "message"), BAD)
def test_pairs_that_cannot_be_learned_from_are_refused(data, estimator, told, message):
    with pytest.raises(ValueError, match=message):
        clone(estimator).fit(data[0], **told)
