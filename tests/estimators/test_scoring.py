"""Scorers for scikit-learn, metrics of a search, its table of scores, and the choice."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
import sklearn
from all_estimators import ALL, grouped_data, id_of
from scipy.stats import kendalltau
from sklearn.base import clone
from sklearn.dummy import DummyRegressor
from sklearn.inspection import permutation_importance
from sklearn.metrics import make_scorer, mean_absolute_error, mean_squared_error, r2_score

from rankpursuit import (
    PathCV,
    RankingPursuit,
    RankRLS,
    group_scorer,
    groups_from_sizes,
    kendall_scorer,
    ndcg_scorer,
    sizes_from_groups,
)
from rankpursuit.estimators.scoring import choose_row, score_table, stacked_metric
from rankpursuit.metrics import (
    disagreement_error,
    kendall_tau,
    mean_average_precision,
    mean_reciprocal_rank,
    ndcg_error,
    pairwise_accuracy,
)


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


# Metrics of a search, by name and as functions, over stacks of predictions

rng = np.random.default_rng(0)
SCORES, STACK = np.abs(rng.normal(size=12)), rng.normal(size=(2, 3, 12))
GROUPS = np.repeat([0, 1, 2], 4)
EXPECTED = {
    "pairwise_accuracy": pairwise_accuracy,
    "ndcg": lambda y, f, groups: 1.0 - ndcg_error(y, f, groups),
    "map": mean_average_precision,
    "mrr@2": lambda y, f, groups: mean_reciprocal_rank(y, f, groups, k=2),
    "kendall": kendall_tau,
    "ndcg@2": lambda y, f, groups: 1.0 - ndcg_error(y, f, groups, k=2),
    "disagreement": lambda y, f, groups: -disagreement_error(y, f, groups),
    "r2": lambda y, f, groups: r2_score(y, f),
    "neg_mean_squared_error": lambda y, f, groups: -mean_squared_error(y, f),
}


@pytest.mark.parametrize("name", EXPECTED)
@pytest.mark.parametrize("groups", [None, GROUPS])
def test_a_name_is_the_metric_of_each_prediction(name, groups):
    found = stacked_metric(name)(SCORES, STACK, groups)
    assert found.shape == (2, 3)
    for place in np.ndindex(2, 3):
        assert found[place] == pytest.approx(EXPECTED[name](SCORES, STACK[place], groups))


def test_scores_that_do_not_differ_leave_no_r2():
    assert np.isnan(stacked_metric("r2")(np.ones(12), STACK, None)).all()


@pytest.mark.parametrize(
    "metric", [mean_absolute_error, lambda scores, values: 0.0, lambda *, scores: 0.0]
)
def test_a_function_that_takes_no_groups_is_told_so(metric):
    with pytest.raises(ValueError, match="scoring must take three arguments"):
        stacked_metric(metric)


def test_a_function_of_one_prediction_is_called_for_each():
    def tau(y, prediction, groups):
        return kendalltau(y, prediction).statistic

    def wrong_on_stacks(y, predictions, groups):
        return np.corrcoef(y, np.asarray(predictions).ravel()[:12])[0, 1]

    for metric in (tau, wrong_on_stacks):
        found = stacked_metric(metric)(SCORES, STACK, None)
        for place in np.ndindex(2, 3):
            assert found[place] == pytest.approx(metric(SCORES, STACK[place], None))


@pytest.mark.parametrize(
    ("scorer", "expected"),
    [
        (ndcg_scorer(2), EXPECTED["ndcg@2"]),
        (kendall_scorer(), kendall_tau),
        (group_scorer(), pairwise_accuracy),
        (
            make_scorer(mean_absolute_error, greater_is_better=False),
            lambda y, f, groups: -np.abs(y - f).mean(),
        ),
    ],
    ids=["ndcg", "kendall", "group", "of scikit-learn"],
)
def test_a_scorer_scores_predictions_with_their_groups_and_needs_no_routing(scorer, expected):
    found = stacked_metric(scorer)(SCORES, STACK, GROUPS)
    for place in np.ndindex(2, 3):
        assert found[place] == pytest.approx(expected(SCORES, STACK[place], GROUPS))


def test_a_scorer_of_groups_without_groups_tells_the_remedy():
    with pytest.raises(ValueError, match="grouped=False"):
        stacked_metric(ndcg_scorer())(SCORES, STACK, None)
    expected = EXPECTED["ndcg@2"](SCORES, STACK[0, 0], None)
    assert stacked_metric(ndcg_scorer(2, grouped=False))(SCORES, STACK[0, :1], None) == expected


def test_faults_of_a_metric_are_told():
    def metric(y, predictions, groups):
        raise ZeroDivisionError("by the metric")

    with pytest.raises(ZeroDivisionError, match="by the metric"):
        stacked_metric(metric)(SCORES, STACK, None)


def test_the_choice_follows_the_metric():
    def size(y, predictions, groups):
        return np.square(predictions).sum(axis=-1)

    X, y, groups = grouped_data()
    for scoring, ridge in ((size, 0.1), (lambda *data: -size(*data), 50.0)):
        search = PathCV(RankingPursuit(4), {"ridge": [0.1, 50.0]}, scoring=scoring)
        assert search.fit(X, y, groups).best_params_ == {"ridge": ridge}


# The choice from a table of scores


def choose(scores, selection, **axes):
    points = [dict(zip(axes, values, strict=True)) for values in product(*axes.values())]
    table = score_table(points, np.reshape(scores, (len(scores), -1)).astype(float))
    return tuple(points[choose_row(table, selection)].values())


def spread(means, width):
    """Three folds with these means, each with the standard error width / sqrt(3)."""
    return np.array(means) + np.multiply.outer([-1.0, 0.0, 1.0], np.full(np.shape(means), width))


def test_the_choice_is_the_best_or_the_simplest_within_one_standard_error():
    means, sizes = [0.70, 0.785, 0.79, 0.80, 0.795], [1, 2, 3, 4, 5]
    assert choose(spread(means, 0.0346), "best", n_basis=sizes) == (4,)
    assert choose(spread(means, 0.0346), "sparsest", n_basis=sizes) == (2,)
    assert choose(spread(means, 0.0087), "sparsest", n_basis=sizes) == (4,)
    uneven = [[0.70, 0.80], [0.72, 0.80], [0.95, 0.80]]  # the error that counts is the best one's
    assert choose(uneven, "sparsest", n_basis=[1, 2]) == (2,)
    axes = {"gamma": [0.1, 1.0], "ridge": [0.5, 8.0, 2.0], "n_basis": [1, 2]}
    scores = np.zeros((3, 2, 3, 2))
    assert choose(scores, "best", **axes) == choose(scores, "sparsest", **axes) == (0.1, 0.5, 1)
    scores[:, 0] = scores[:, :, 1] = -1.0
    assert choose(scores, "best", **axes) == (1.0, 0.5, 1)
    assert choose([[0.3, 0.3 + 1e-16]] * 2, "best", n_basis=[5, 9]) == (5,)  # rounding
    assert choose([[np.nan] * 2, [0.2, 0.4]], "best", alpha=[1.0, 2.0]) == (2.0,)  # two folds
    assert choose([[np.nan, 0.1], [0.9, 0.2]], "best", alpha=[1.0, 2.0]) == (2.0,)
    table = score_table([{"C": 1.0}], np.array([[0.0], [3.0], [6.0]]))
    assert table["standard_error"] == pytest.approx(3.0 / np.sqrt(3.0))  # that of a mean
    table = score_table([{"C": 1.0}] * 4, np.array([[1.0, 3.0, 3.0, 2.0]]))
    assert table["rank_test_score"].tolist() == [4, 1, 1, 3]
    with pytest.raises(ValueError, match="scoring is undefined in every fold"):
        choose(np.full((3, 2), np.nan), "best", alpha=[1.0, 2.0])
