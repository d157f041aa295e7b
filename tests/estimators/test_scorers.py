"""The scorer for model selection."""

import numpy as np
import pandas as pd
import pytest
import sklearn
from all_estimators import ALL, id_of
from sklearn.base import clone
from sklearn.dummy import DummyRegressor
from sklearn.inspection import permutation_importance

from rankpursuit import (
    RankRLS,
    group_scorer,
    groups_from_sizes,
    sizes_from_groups,
)
from rankpursuit.metrics import disagreement_error


@pytest.fixture(autouse=True)
def _metadata_routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


@pytest.fixture
def liked():
    """Points that are liked or not, so that half of the pairs are tied, in four groups."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(80, 3))
    y = (X[:, 0] + rng.normal(scale=0.7, size=80) > 0.0).astype(float)
    return X, y, np.repeat(np.arange(4), 20)


def test_the_score_of_a_ranker_and_its_scorer_are_one_number(liked):
    X, y, groups = liked
    model = RankRLS().fit(X, y, groups)
    assert group_scorer()(model, X, y, groups=groups) == model.score(X, y, groups)
    assert group_scorer()(model, X, y, groups=groups) != group_scorer(ties="half")(
        model, X, y, groups=groups
    )


def test_points_of_different_groups_are_never_compared_by_accident(liked):
    X, y, groups = liked
    model = RankRLS().fit(X, y + 10.0 * groups, groups)
    with pytest.raises(ValueError, match="groups did not reach the scorer"):
        group_scorer()(model, X, y)
    with pytest.raises(ValueError, match="groups did not reach the scorer"):
        permutation_importance(model, X, y, scoring=group_scorer())
    with pytest.raises(ValueError, match="fitted to 4 groups but is scored without groups"):
        permutation_importance(model, X, y)
    inside = permutation_importance(
        model, X, y, scoring=lambda model, X, y: model.score(X, y, groups), random_state=0
    )
    assert inside.importances_mean[0] > 0.1 > np.abs(inside.importances_mean[1:]).max()


def test_the_rule_of_ties_is_that_of_the_metric(liked):
    X, y, groups = liked
    for model in (RankRLS().fit(X, y, groups), DummyRegressor().fit(X, y)):
        for ties in ("half", "all", "untied"):
            error = disagreement_error(y, model.predict(X), groups, ties=ties)
            assert group_scorer(ties=ties)(model, X, y, groups=groups) == 1.0 - error


def test_sizes_become_labels_and_labels_sizes():
    sizes = [3, 1, 2]
    labels = groups_from_sizes(sizes, n_samples=6)
    assert labels.tolist() == [0, 0, 0, 1, 2, 2]
    assert sizes_from_groups(labels).tolist() == sizes
    assert sizes_from_groups(pd.Series(["q9", "q9", "q1"])).tolist() == [2, 1]


def test_sizes_may_be_whole_floats_and_a_group_may_be_empty():
    assert groups_from_sizes(np.array([2.0, 0.0, 1.0])).tolist() == [0, 0, 2]
    assert groups_from_sizes([]).tolist() == []
    assert sizes_from_groups([]).tolist() == []


@pytest.mark.parametrize(
    ("sizes", "said"),
    [
        ([4, 5], "sizes of 2 groups add up to 9, but there are 10 samples"),
        ([4, -1, 7], "sizes must be integers of at least 0"),
        ([4.5, 5.5], "sizes must be integers"),
        ([np.nan, 10.0], "sizes must be integers"),
        ([np.inf], "sizes must be integers"),
        (["4", "6"], "sizes must be integers"),
        ([True, True], "sizes must be integers"),
    ],
)
def test_wrong_sizes_are_refused_with_what_is_wrong(sizes, said):
    with pytest.raises(ValueError, match=said):
        groups_from_sizes(sizes, n_samples=10)


def test_labels_that_come_again_have_no_sizes():
    with pytest.raises(ValueError, match="'a' occurs again at sample 3: sort the samples"):
        sizes_from_groups(np.array(["a", "a", "b", "a", "b"], dtype=object))


@pytest.mark.parametrize("estimator", ALL, ids=id_of)
def test_groups_need_not_be_contiguous_and_may_be_any_labels(data, estimator):
    X, y, groups = data
    order = np.random.default_rng(0).permutation(len(X))
    words = np.array(["e", "d", "c", "b", "a"])[groups]
    exact = {"tol": 1e-7} if "tol" in estimator.get_params() else {}
    one = clone(estimator).set_params(kernel="linear", **exact).fit(X, y, groups)
    other = clone(one).fit(X, y, words)
    np.testing.assert_allclose(other.predict(X), one.predict(X), atol=1e-10)
    if "random_state" not in estimator.get_params():
        moved = clone(one).fit(X[order], y[order], words[order])
        np.testing.assert_allclose(moved.predict(X), one.predict(X), atol=1e-2)
