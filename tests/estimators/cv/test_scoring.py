"""Metrics by name and as functions, over stacks of predictions."""

import numpy as np
import pytest
from scipy.stats import kendalltau
from sklearn.metrics import make_scorer, mean_absolute_error, mean_squared_error, r2_score

from rankpursuit import RankingPursuitCV, group_scorer, kendall_scorer, ndcg_scorer
from rankpursuit.estimators.cv import stacked_metric
from rankpursuit.metrics import (
    disagreement_error,
    kendall_tau,
    mean_average_precision,
    mean_reciprocal_rank,
    ndcg_error,
    pairwise_accuracy,
)

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


def test_the_choice_follows_the_metric(data):
    X, y, groups = data

    def few_functions_are_bad(y, predictions, groups):
        return np.square(predictions).sum(axis=-1)

    model = RankingPursuitCV(4, ridges=[0.1, 50.0], gammas=[0.3], scoring=few_functions_are_bad)
    assert model.fit(X, y, groups).best_params_["ridge"] == 0.1
    model = model.set_params(scoring=lambda *told: -few_functions_are_bad(*told))
    assert model.fit(X, y, groups).best_params_["ridge"] == 50.0


@pytest.mark.parametrize("name", ["accuracy", "ndcg@0", "ndcg@", "r2@3", "kendall@2", 3])
def test_an_unknown_metric_is_refused(data, name):
    X, y, groups = data
    with pytest.raises(
        ValueError, match=r"scoring must be one of 'disagreement', .*'ndcg', .*or a"
    ):
        RankingPursuitCV(scoring=name).fit(X, y, groups)
