"""Groups in the forms of other ranking software, weights of samples, and tables of polars."""

import numpy as np
import pytest
from all_estimators import ALL, SEARCHES, grouped_data, id_of, made
from sklearn.base import clone
from sklearn.metrics import r2_score

from rankpursuit import (
    GrownDictionary,
    KernelMatchingPursuit,
    PathCV,
    RankingPursuit,
    RankRLS,
    RankSVM,
)
from rankpursuit.preferences import Blend, GroupPreferences, Pointwise
from rankpursuit.solvers.functions import Functions

WEIGHTED = made(
    "RLS",
    "RankRLS",
    "SparseRankRLS",
    "KernelMatchingPursuit",
    "RankingPursuit",
    "CombinedRankingRegressionPursuit",
)


class Fixed(GrownDictionary):
    """Functions placed once and for all, so that repeated rows have the same."""

    def fit(self, _):
        return super().fit(grouped_data()[0])


@pytest.fixture(scope="module")
def data():
    return grouped_data()


@pytest.mark.parametrize("estimator", [*ALL, *SEARCHES], ids=id_of)
def test_query_ids_and_sizes_are_groups(data, estimator):
    X, y, groups = data
    expected = clone(estimator).fit(X, y, groups).predict(X)
    for passed in ({"qid": groups}, {"group": np.bincount(groups)}):
        np.testing.assert_array_equal(clone(estimator).fit(X, y, **passed).predict(X), expected)


@pytest.mark.parametrize("estimator", [*ALL, *SEARCHES], ids=id_of)
def test_groups_that_cannot_be_used(data, estimator):
    X, y, groups = data
    with pytest.raises(ValueError, match="groups and qid both define the groups"):
        clone(estimator).fit(X, y, groups, qid=groups)
    with pytest.raises(ValueError, match="add up to 7, but there are 40 samples; pass the label"):
        clone(estimator).fit(X, y, group=[3, 4])
    with pytest.raises(ValueError, match="got 5: pass sizes of consecutive groups to fit as group"):
        clone(estimator).fit(X, y, np.bincount(groups))


def test_a_ranker_is_scored_by_query_ids(data):
    X, y, groups = data
    model = RankingPursuit(3).fit(X, y, qid=groups)
    assert model.score(X, y, qid=groups) == model.score(X, y, groups)
    with pytest.raises(ValueError, match="groups and qid both define the groups"):
        model.score(X, y, groups, qid=groups)


def test_the_score_of_a_regression_weighs_samples_and_scales_in_groups(data):
    X, y, groups = data
    weights = 1.0 + groups
    model = KernelMatchingPursuit(5, scale="group").fit(X, y, groups)
    expected = r2_score(y, model.predict(X, groups), sample_weight=weights)
    assert model.score(X, y, groups, sample_weight=weights) == expected
    with pytest.raises(ValueError, match="a ranker counts pairs, and takes no sample_weight"):
        RankingPursuit(5).fit(X, y, groups).score(X, y, groups, sample_weight=weights)


@pytest.mark.parametrize("dictionary", ["kernel", "fixed"])
@pytest.mark.parametrize("estimator", WEIGHTED, ids=id_of)
def test_weights_are_numbers_of_repeated_rows(data, estimator, dictionary):
    X, y, groups = data
    names = estimator.get_params()
    model = clone(estimator).set_params(gamma=0.3)
    if "n_basis" in names:
        model.set_params(n_basis=1.0 if id_of(model) == "SparseRankRLS" else 5)
    if dictionary == "fixed":
        if "dictionary" not in names:
            return
        model.set_params(dictionary=Fixed(2, handicap=0.0, steps=0))
    weights = np.random.default_rng(0).integers(1, 4, size=len(y))
    repeated = np.repeat(np.arange(len(y)), weights)
    expected = clone(model).fit(X[repeated], y[repeated], groups[repeated]).predict(X)
    found = model.fit(X, y, groups, sample_weight=weights).predict(X)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("kind", ["pairs", "equal"])
def test_the_root_of_weighted_groups(kind):
    rng = np.random.default_rng(0)
    groups, weights = rng.integers(0, 4, size=20), rng.uniform(0.5, 2.0, size=20)
    same = groups[:, None] == groups
    products = weights[:, None] * weights * same
    if kind == "equal":
        products /= (weights * same).sum(axis=1)
    expected = np.diag(products.sum(axis=1)) - products
    form = GroupPreferences(groups, kind, weights)
    for one, laplacian in (
        (form, expected),
        (Pointwise(20, weights), np.diag(weights)),
        (Blend(form, 0.3), 0.3 * np.diag(weights) + 0.7 * expected),
    ):
        root = one.root(np.eye(20))
        np.testing.assert_allclose(root.T @ root, laplacian, atol=1e-12)
        np.testing.assert_allclose(one.laplacian(np.eye(20)), laplacian, atol=1e-12)
        values = rng.uniform(-1.0, 1.0, size=(20, 3))
        functions = Functions(values, None, one, np.zeros(20))
        np.testing.assert_allclose(functions.norms, np.diag(values.T @ laplacian @ values))


def test_a_search_weighs_its_fits(data):
    X, y, groups = data
    weights = 1.0 + groups
    search = PathCV(RankRLS(gamma=0.3), {"alpha": [0.1, 1.0]}, cv=3)
    weighted = clone(search).fit(X, y, groups, sample_weight=weights)
    assert weighted.best_score_ != clone(search).fit(X, y, groups).best_score_
    again = clone(weighted.best_estimator_)
    scaled = weighted.scaler_.transform(X)
    again.fit(scaled, y, groups, sample_weight=weights)
    np.testing.assert_array_equal(again.predict(scaled), weighted.predict(X))


def test_weights_that_cannot_be_used(data):
    X, y, groups = data
    model = RankingPursuit(3)
    with pytest.raises(ValueError, match="sample_weight must be positive"):
        model.fit(X, y, groups, sample_weight=np.zeros(40))
    with pytest.raises(ValueError, match="one number for each of the 40 samples"):
        model.fit(X, y, groups, sample_weight=np.ones(39))
    with pytest.raises(ValueError, match="pass weights= of the pairs"):
        model.fit(X, pairs=[[0, 1]], sample_weight=np.ones(40))


@pytest.mark.parametrize(
    "estimator",
    [*made("RankSVM", "SemiSupervisedRankingPursuit"), PathCV(RankSVM())],
    ids=id_of,
)
def test_weights_are_refused_with_a_remedy(data, estimator):
    X, y, groups = data
    with pytest.raises(ValueError, match="takes no sample_weight: leave it out, or use RankRLS"):
        estimator.fit(X, y, groups, sample_weight=np.ones(40))
    with pytest.raises(TypeError, match=r"unexpected .*argument 'eval_set'"):
        estimator.fit(X, y, groups, eval_set=[(X, y)])
