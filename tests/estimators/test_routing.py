"""Groups on their way through scikit-learn: where they arrive, and where their loss is told."""

import warnings

import numpy as np
import pytest
import sklearn
from all_estimators import ALL, RANK_ONLY, SEARCHES, id_of, made
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_predict, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from rankpursuit import (
    RankingPursuit,
    RankRLS,
    SemiSupervisedRankingPursuit,
    group_scorer,
    kendall_scorer,
    map_scorer,
    mrr_scorer,
    ndcg_scorer,
)
from rankpursuit.metrics import (
    kendall_tau,
    mean_average_precision,
    mean_reciprocal_rank,
    ndcg_error,
    pairwise_accuracy,
)

RANKERS = [*RANK_ONLY, *made("CombinedRankingRegressionPursuit")]
SCORERS = {
    "group": (group_scorer(), pairwise_accuracy),
    "ndcg": (
        ndcg_scorer(k=3, gain="shifted"),
        lambda *data: 1 - ndcg_error(*data, k=3, gain="shifted"),
    ),
    "map": (map_scorer(threshold=5), lambda *data: mean_average_precision(*data, threshold=5)),
    "mrr": (mrr_scorer(threshold=5), lambda *data: mean_reciprocal_rank(*data, threshold=5)),
    "kendall": (kendall_scorer(), kendall_tau),
}
each_ranker = pytest.mark.parametrize("estimator", RANKERS, ids=id_of)
each_scorer = pytest.mark.parametrize("name", SCORERS)


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def by_hand(estimator, X, y, groups, measure):
    """Return what a cross-validation should find with models fitted to groups."""
    found = []
    for train, test in GroupKFold(2).split(X, y, groups):
        model = clone(estimator).fit(X[train], y[train], groups[train])
        found.append(measure(y[test], model.predict(X[test]), groups[test]))
    return found


@pytest.mark.parametrize("estimator", [*ALL, *SEARCHES], ids=id_of)
def test_every_estimator_requests_groups_of_its_own_accord(routing, data, estimator):
    X, y, groups = data
    model = make_pipeline(StandardScaler(), clone(estimator)).fit(X, y, groups=groups)
    alone = clone(estimator).fit(StandardScaler().fit_transform(X), y, groups)
    np.testing.assert_array_equal(
        model.predict(X), alone.predict(StandardScaler().fit_transform(X))
    )


@each_ranker
def test_a_pipeline_scores_inside_groups(routing, data, estimator):
    X, y, groups = data
    model = make_pipeline(StandardScaler(), clone(estimator)).fit(X, y, groups=groups)
    inside = model[-1].score(model[:-1].transform(X), y, groups)
    assert model.score(X, y, groups=groups) == inside
    with pytest.raises(ValueError, match="fitted to 5 groups but is scored without groups"):
        model.score(X, y)


@each_ranker
def test_a_search_without_a_scorer_scores_inside_groups(routing, data, estimator):
    X, y, groups = data
    search = GridSearchCV(
        make_pipeline(StandardScaler(with_std=False), clone(estimator)),
        {f"{type(estimator).__name__.lower()}__gamma": [0.3]},
        cv=GroupKFold(2),
    ).fit(X, y, groups=groups)
    scores = []
    for train, test in GroupKFold(2).split(X, y, groups):
        model = make_pipeline(
            StandardScaler(with_std=False), clone(estimator).set_params(gamma=0.3)
        )
        model.fit(X[train], y[train], groups=groups[train])
        scores.append(model.score(X[test], y[test], groups=groups[test]))
    assert search.best_score_ == np.mean(scores)
    assert search.best_estimator_[-1].n_groups_ == 5
    assert search.score(X, y, groups=groups) == search.best_estimator_.score(X, y, groups=groups)


@each_scorer
def test_scorers_and_pipelines_pass_groups_to_predict(routing, data, name):
    X, y, groups = data
    X, (scorer, measure) = X + 10.0 * np.arange(5)[groups, None], SCORERS[name]
    model = RankingPursuit(4, scale="group")
    results = cross_validate(
        make_pipeline(StandardScaler(), model),
        X,
        y,
        scoring={"multiple": scorer},
        cv=GroupKFold(2),
        params={"groups": groups},
        error_score="raise",
    )
    expected = []
    for train, test in GroupKFold(2).split(X, y, groups):
        fitted = clone(model).fit(X[train], y[train], groups[train])
        expected.append(measure(y[test], fitted.predict(X[test], groups[test]), groups[test]))
    np.testing.assert_allclose(results["test_multiple"], expected)
    pipeline = make_pipeline(StandardScaler(), model).fit(X, y, groups=groups)
    alone = clone(model).fit(X, y, groups).predict(X, groups)
    np.testing.assert_allclose(pipeline.predict(X, groups=groups), alone)
    search = GridSearchCV(pipeline, {"rankingpursuit__ridge": [1.0]}, scoring=scorer)
    search.set_params(cv=GroupKFold(2)).fit(X, y, groups=groups)
    assert search.best_score_ == pytest.approx(np.mean(expected))
    for predict in (pipeline.predict, search.predict):
        with pytest.raises(ValueError, match="with scale='group' but is given points without"):
            predict(X)
    with pytest.raises(ValueError, match=r"cross_val_predict, .* pass none: fit and predict each"):
        cross_val_predict(model, X, y, cv=GroupKFold(2), params={"groups": groups})


@each_scorer
def test_a_point_without_a_score_is_left_out_and_no_failure(routing, data, name):
    X, y, groups = data
    y = np.where(np.arange(40) % 3 == 0, np.nan, y)
    scored = ~np.isnan(y)
    scorer, measure = SCORERS[name]
    model = SemiSupervisedRankingPursuit(random_state=0).fit(X, y, groups)
    expected = measure(y[scored], model.predict(X)[scored], groups[scored])
    assert scorer(model, X, y, groups=groups) == expected
    found = cross_validate(
        model,
        X,
        y,
        scoring=scorer,
        cv=GroupKFold(2),
        params={"groups": groups},
        error_score="raise",
    )
    assert np.isfinite(found["test_score"]).all()


@each_scorer
def test_a_scorer_that_no_groups_reach_refuses_and_tells_the_remedy(data, name):
    X, y, groups = data
    scorer, _ = SCORERS[name]
    search = GridSearchCV(RankRLS(), {"alpha": [1.0]}, scoring=scorer, cv=GroupKFold(2))
    with pytest.raises(ValueError, match="groups did not reach the scorer"):
        clone(search).set_params(error_score="raise").fit(X, y, groups=groups)
    with pytest.warns(UserWarning, match=r"set_config\(enable_metadata_routing=True\)"):
        search.fit(X, y, groups=groups)
    assert np.isnan(search.cv_results_["mean_test_score"]).all()


def test_a_scorer_of_whole_test_sets_lets_the_splitter_have_the_groups(routing, data):
    X, y, groups = data
    scorer = kendall_scorer(grouped=False)
    search = GridSearchCV(RankRLS(), {"alpha": [1.0]}, scoring=scorer, cv=GroupKFold(2))
    search.fit(X, y, groups=groups)
    expected = by_hand(RankRLS(), X, y, groups, lambda true, found, _: kendall_tau(true, found))
    assert search.best_score_ == pytest.approx(np.mean(expected))


def test_what_an_ndcg_scorer_counts_for_an_empty_group(routing):
    X, y, groups = np.arange(4.0)[:, None], [0, 1, 0, 0], [0, 0, 1, 1]
    model = RankRLS(kernel="linear").fit(X, [0, 1, 2, 3], groups)
    for empty, expected in ((1.0, 1.0), (0.0, 0.5), (None, 1.0)):
        assert ndcg_scorer(empty=empty)(model, X, y, groups=groups) == expected


@pytest.mark.parametrize(
    ("make", "options", "said"),
    [
        (ndcg_scorer, {"k": 0}, "k: expected"),
        (ndcg_scorer, {"gain": "cubic"}, "gain: expected"),
        (map_scorer, {"empty": "none"}, "could not convert"),
        (mrr_scorer, {"k": -1}, "k: expected"),
        (group_scorer, {"ties": "none"}, "ties: expected"),
    ],
)
def test_wrong_options_are_refused_before_any_fold(make, options, said):
    with pytest.raises(ValueError, match=said):
        make(**options)


@each_ranker
def test_nothing_is_told_where_no_groups_are_lost(data, estimator):
    X, y, groups = data
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = clone(estimator).fit(X, y)
        assert model.n_groups_ == 1
        model.score(X, y)
        model.score(X, y, np.zeros(40))
        model.fit(X, y, groups)
        assert model.n_groups_ == 5
        model.score(X, y, groups)
        model.score(X[:8], y[:8], groups[:8])


@pytest.mark.parametrize("name", ["RankRLS", "RankSVM"])
def test_a_model_of_pairs_has_no_groups_to_lose(data, name):
    X, y, groups = data
    model = made(name)[0].fit(X, pairs=[(0, 1), (2, 3)])
    assert model.n_groups_ is None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.score(X, y)
        model.score(X, y, groups)


@pytest.mark.parametrize("estimator", ALL, ids=id_of)
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_predictions_have_the_precision_of_the_points_and_are_computed_in_double(
    data, estimator, kernel
):
    X, y, groups = data
    single = X.astype(np.float32)
    model = clone(estimator).set_params(kernel=kernel).fit(single, y, groups)
    exact = clone(model).fit(single.astype(np.float64), y, groups)
    expected = exact.predict(single.astype(np.float64))
    assert expected.dtype == np.float64
    for fitted in (model, exact):
        got = fitted.predict(single)
        assert got.dtype == np.float32
        np.testing.assert_array_equal(got, expected.astype(np.float32))


def test_groups_that_reach_fit_by_another_name_are_not_lost(data):
    X, y, groups = data
    pipeline, folds = make_pipeline(StandardScaler(), RankRLS()), GroupKFold(2)
    search = GridSearchCV(pipeline, {"rankrls__alpha": [1.0]}, cv=folds, scoring="r2")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        search.fit(X, y, groups=groups, rankrls__groups=groups)
        cross_validate(
            RankRLS(), X, y, groups=groups, cv=folds, params={"groups": groups}, scoring="r2"
        )
    assert search.best_estimator_[-1].n_groups_ == 5


def test_groups_for_splitting_only_do_not_scale_in_groups(data):
    X, y, groups = data
    model = RankingPursuit(4, scale="group")
    with pytest.raises(ValueError, match=r"needs the groups .*enable_metadata_routing=True"):
        cross_val_predict(model, X, y, groups=groups, cv=GroupKFold(2))


@each_ranker
def test_a_score_of_other_lengths_is_refused(data, estimator):
    X, y, groups = data
    model = clone(estimator).fit(X, y, groups)
    with pytest.raises(ValueError, match="y has 39 scores for 40 samples"):
        model.score(X, y[1:], groups)
    with pytest.raises(ValueError, match="one label for each of the 40 samples; got 39"):
        model.score(X, y, groups[1:])
