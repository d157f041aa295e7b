"""What holds for every estimator, and what their parameters mean."""

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process.kernels import RBF
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics.pairwise import linear_kernel, polynomial_kernel, rbf_kernel
from sklearn.model_selection import GridSearchCV, GroupKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from rankpursuit import (
    RLS,
    CombinedRankingRegressionPursuit,
    KernelMatchingPursuit,
    RankingPursuit,
    RankRLS,
    RankSVM,
    SemiSupervisedRankingPursuit,
    SparseRankRLS,
    group_scorer,
)

ALL = [
    RLS(),
    KernelMatchingPursuit(),
    RankRLS(),
    SparseRankRLS(random_state=0),
    RankSVM(),
    RankingPursuit(),
    SemiSupervisedRankingPursuit(random_state=0),
    CombinedRankingRegressionPursuit(),
]
RANK_ONLY = [ALL[2], ALL[3], ALL[4], ALL[5], ALL[6]]
PURSUITS = [ALL[1], ALL[5], ALL[7]]


def name(estimator):
    return type(estimator).__name__


@pytest.fixture
def data():
    rng = np.random.default_rng(5)
    groups = np.repeat(np.arange(5), 8)
    X = rng.normal(size=(40, 3))
    y = X[:, 0] - 0.5 * X[:, 1] ** 2 + 0.1 * rng.normal(size=40) + 3.0 * groups
    return X, y, groups


@pytest.mark.parametrize("estimator", ALL, ids=name)
@pytest.mark.parametrize(
    ("kernel", "function"),
    [
        ("rbf", lambda X, Y: rbf_kernel(X, Y, gamma=0.4)),
        ("linear", linear_kernel),
        ("poly", lambda X, Y: polynomial_kernel(X, Y, degree=2, gamma=0.4, coef0=1.5)),
    ],
)
def test_named_callable_and_precomputed_kernels_agree(data, estimator, kernel, function):
    X, y, groups = data
    train, test = np.arange(30), np.arange(30, 40)
    parameters = {"gamma": 0.4, "degree": 2, "coef0": 1.5}
    if "n_basis" in estimator.get_params():
        parameters["n_basis"] = 3

    def fitted(kernel, train_X):
        model = clone(estimator).set_params(kernel=kernel, **parameters)
        return model.fit(train_X, y[train], groups[train])

    named = fitted(kernel, X[train]).predict(X[test])
    called = fitted(function, X[train]).predict(X[test])
    given = fitted("precomputed", function(X[train], X[train])).predict(function(X[test], X[train]))
    np.testing.assert_allclose(called, named, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(given, named, rtol=1e-6, atol=1e-8)


def test_kernel_objects_of_scikit_learn_are_callables(data):
    X, y, _ = data
    model = RankRLS(kernel=RBF(length_scale=2.0)).fit(X, y)
    same = RankRLS(gamma=1 / 8).fit(X, y)
    np.testing.assert_allclose(model.predict(X), same.predict(X), rtol=1e-8)


def test_rls_is_kernel_ridge_regression(data):
    X, y, _ = data
    ours = RLS(alpha=0.3, gamma=0.2).fit(X, y).predict(X)
    theirs = KernelRidge(alpha=0.3, kernel="rbf", gamma=0.2).fit(X, y).predict(X)
    np.testing.assert_allclose(ours, theirs, rtol=1e-9)


@pytest.mark.parametrize("estimator", RANK_ONLY, ids=name)
def test_scores_of_a_group_may_be_shifted_for_rank_only_methods(data, estimator):
    X, y, groups = data
    shifted = y + np.array([100.0, -7.0, 0.0, 3.0, 50.0])[groups]
    one = clone(estimator).fit(X, y, groups).predict(X)
    other = clone(estimator).fit(X, shifted, groups).predict(X)
    np.testing.assert_allclose(other, one, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("estimator", RANK_ONLY, ids=name)
def test_groups_change_what_a_ranker_learns(data, estimator):
    X, y, groups = data
    within = clone(estimator).fit(X, y, groups)
    across = clone(estimator).fit(X, y)
    assert within.score(X, y, groups) > 0.75
    assert within.score(X, y, groups) > across.score(X, y, groups)


def test_score_is_the_share_of_pairs_in_the_right_order(data):
    X, y, groups = data
    model = RankRLS().fit(X, y, groups)
    f = model.predict(X)
    right = [
        (y[i] > y[j]) == (f[i] > f[j])
        for i in range(40)
        for j in range(i)
        if groups[i] == groups[j]
    ]
    assert model.score(X, y, groups) == pytest.approx(np.mean(right))


@pytest.mark.parametrize("estimator", PURSUITS, ids=name)
@pytest.mark.parametrize("fitting", ["basic", "backfit", "prefit"])
def test_staged_predictions_are_those_of_smaller_models(data, estimator, fitting):
    X, y, groups = data
    model = clone(estimator).set_params(n_basis=6, fitting=fitting).fit(X, y, groups)
    staged = list(model.staged_predict(X))
    assert len(staged) == 6
    np.testing.assert_allclose(staged[-1], model.predict(X))
    for size in (1, 4):
        small = clone(model).set_params(n_basis=size).fit(X, y, groups)
        np.testing.assert_array_equal(small.basis_, model.basis_[:size])
        np.testing.assert_allclose(staged[size - 1], small.predict(X), rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("estimator", PURSUITS, ids=name)
def test_share_of_the_points_is_a_number_of_basis_functions(data, estimator):
    X, y, groups = data
    for share, number in [(0.1, 4), (0.01, 1), (0.5, 20)]:
        model = clone(estimator).set_params(n_basis=share).fit(X, y, groups)
        assert len(model.basis_) == len(set(model.basis_)) == number


def test_the_blend_has_both_pursuits_as_its_ends(data):
    X, y, groups = data
    blend = CombinedRankingRegressionPursuit
    ends = [(1.0, KernelMatchingPursuit(n_basis=7)), (0.0, RankingPursuit(n_basis=7))]
    for beta, end in ends:
        ours = blend(n_basis=7, beta=beta).fit(X, y, groups)
        end.fit(X, y, groups)
        np.testing.assert_array_equal(ours.basis_, end.basis_)
        np.testing.assert_allclose(ours.coef_, end.coef_, rtol=1e-9)


def test_full_ridge_pursuit_is_rank_rls(data):
    X, y, groups = data
    pursuit = RankingPursuit(n_basis=1.0, fitting="backfit", ridge=0.7, gamma=1.0)
    pursuit.fit(X, y, groups)
    exact = RankRLS(alpha=0.7, gamma=1.0).fit(X, y, groups)
    assert len(pursuit.basis_) == 40
    np.testing.assert_allclose(pursuit.predict(X), exact.predict(X), rtol=1e-6, atol=1e-8)


def test_sparse_rank_rls_on_all_points_is_rank_rls(data):
    X, y, groups = data
    sparse = SparseRankRLS(n_basis=1.0, alpha=0.7, gamma=1.0).fit(X, y, groups)
    exact = RankRLS(alpha=0.7, gamma=1.0).fit(X, y, groups)
    np.testing.assert_allclose(sparse.predict(X), exact.predict(X), rtol=1e-6, atol=1e-8)


def test_candidates_bound_the_basis(data):
    X, y, groups = data
    model = RankingPursuit(n_basis=5, n_candidates=8, random_state=3).fit(X, y, groups)
    again = RankingPursuit(n_basis=5, n_candidates=8, random_state=3).fit(X, y, groups)
    other = RankingPursuit(n_basis=5, n_candidates=8, random_state=4).fit(X, y, groups)
    np.testing.assert_array_equal(model.basis_, again.basis_)
    assert set(model.basis_) != set(other.basis_)


@pytest.mark.parametrize("estimator", [*PURSUITS, ALL[6]], ids=name)
def test_a_dictionary_that_runs_out_warns_and_leaves_a_usable_model(estimator):
    X = np.repeat([[0.0], [1.0], [2.0]], 4, axis=0)
    y = np.repeat([1.0, 3.0, 2.0], 4)
    model = clone(estimator).set_params(n_basis=6, fitting="backfit", gamma=1.0)
    with pytest.warns(ConvergenceWarning, match="ran out after . of 6"):
        model.fit(X, y)
    assert np.all(np.isfinite(model.predict(X)))
    assert model.score(X, y) > 0.9


@pytest.mark.parametrize("estimator", RANK_ONLY, ids=name)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_equal_scores_give_a_constant_prediction(estimator):
    X = np.random.default_rng(0).normal(size=(8, 2))
    prediction = clone(estimator).fit(X, np.full(8, 2.5)).predict(X)
    np.testing.assert_allclose(prediction, 0.0, atol=1e-12)


@pytest.mark.parametrize("estimator", ALL, ids=name)
def test_works_in_a_pipeline(data, estimator):
    X, y, groups = data
    model = make_pipeline(StandardScaler(), clone(estimator))
    step = model.steps[-1][0]
    model.fit(X, y, **{f"{step}__groups": groups})
    scaled = StandardScaler().fit_transform(X)
    alone = clone(estimator).fit(scaled, y, groups).predict(scaled)
    np.testing.assert_allclose(model.predict(X), alone)


@pytest.mark.parametrize("estimator", RANK_ONLY, ids=name)
def test_grid_search_with_the_group_scorer_compares_inside_groups_only(data, estimator):
    X, y, groups = data
    with sklearn.config_context(enable_metadata_routing=True):
        search = GridSearchCV(
            clone(estimator).set_fit_request(groups=True),
            {"gamma": [1e-3, 0.3]},
            scoring=group_scorer(),
            cv=GroupKFold(5),
        ).fit(X, y, groups=groups)
    scores = []
    for train, test in GroupKFold(5).split(X, y, groups):
        model = clone(estimator).set_params(gamma=0.3).fit(X[train], y[train], groups[train])
        scores.append(model.score(X[test], y[test], groups[test]))
    assert search.cv_results_["mean_test_score"][1] == pytest.approx(np.mean(scores))


BAD = [
    (RLS, {"alpha": 0.0}, "alpha must be a number above 0"),
    (RankRLS, {"gamma": -1.0}, "gamma must be a number above 0"),
    (RankRLS, {"kernel": "rbff"}, "kernel must be 'rbf'"),
    (RankRLS, {"degree": 0}, "degree must be a whole number"),
    (RankSVM, {"C": -1}, "C must be"),
    (RankSVM, {"loss": "log"}, "loss must be one of 'hinge'"),
    (RankSVM, {"tol": 0.0}, "tol must be"),
    (SparseRankRLS, {"n_basis": 0}, "n_basis must be"),
    (SparseRankRLS, {"alpha": float("inf")}, "alpha must be"),
    (RankingPursuit, {"n_basis": 0}, "n_basis must be a whole number of at least 1"),
    (RankingPursuit, {"n_basis": 1.5}, "n_basis must be"),
    (RankingPursuit, {"n_basis": True}, "n_basis must be"),
    (RankingPursuit, {"fitting": "best"}, "fitting must be one of 'basic'"),
    (RankingPursuit, {"ridge": -0.1}, "ridge must be"),
    (RankingPursuit, {"n_candidates": 0}, "n_candidates must be"),
    (CombinedRankingRegressionPursuit, {"beta": 1.1}, "beta must be a number from 0 to 1"),
    (CombinedRankingRegressionPursuit, {"beta": -0.1}, "beta must be a number from 0 to 1"),
    (SemiSupervisedRankingPursuit, {"nu": -1.0}, "nu must be a number of at least 0"),
    (SemiSupervisedRankingPursuit, {"n_views": 0}, "n_views must be"),
    (SemiSupervisedRankingPursuit, {"n_views": 41}, "n_views=41 views need at least as many"),
    (SemiSupervisedRankingPursuit, {"views": "items"}, "views must be one of 'points'"),
    (SemiSupervisedRankingPursuit, {"views": ["rbf"]}, "views holds 1 kernels"),
    (SemiSupervisedRankingPursuit, {"shared_basis": True}, "shared_basis needs views"),
    (SemiSupervisedRankingPursuit, {"fitting": "prefit"}, "fitting must be one of 'basic'"),
    (SemiSupervisedRankingPursuit, {"agreement": "no"}, "agreement must be one of"),
    (
        SemiSupervisedRankingPursuit,
        {"views": "features", "n_views": 4},
        "n_views=4 views need at least as many features",
    ),
    (
        SemiSupervisedRankingPursuit,
        {"views": "features", "kernel": "precomputed"},
        "views must be 'points'",
    ),
]


@pytest.mark.parametrize(("cls", "parameters", "message"), BAD)
def test_a_bad_parameter_is_named(data, cls, parameters, message):
    X, y, groups = data
    with pytest.raises(ValueError, match=message):
        cls(**parameters).fit(X, y, groups)


@pytest.mark.parametrize("estimator", ALL, ids=name)
def test_bad_data_is_refused_by_name(data, estimator):
    X, y, groups = data
    model = clone(estimator)
    spoilt = X.copy()
    spoilt[3, 1] = np.nan
    with pytest.raises(ValueError, match="X contains NaN"):
        model.fit(spoilt, y)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model.fit(X, y[:-1])
    with pytest.raises(ValueError, match="groups must have one label for each of the 40"):
        model.fit(X, y, groups[:-1])
    with pytest.raises(ValueError, match="X must be square with kernel='precomputed'"):
        clone(estimator).set_params(kernel="precomputed").fit(X, y)
    with pytest.raises(ValueError, match="kernel must return one value"):
        clone(estimator).set_params(kernel=lambda X, Y: np.ones(3)).fit(X, y)


@pytest.mark.parametrize("estimator", [*RANK_ONLY, ALL[7]], ids=name)
def test_groups_without_a_pair_are_refused(data, estimator):
    X, y, _ = data
    with pytest.raises(ValueError, match="groups leave no pair"):
        clone(estimator).fit(X, y, np.arange(40))
